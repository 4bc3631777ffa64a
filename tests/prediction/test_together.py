"""All candidates in one simulation per sample: their approximate starts."""

import numpy as np
import pytest
from small_logs import random_log, standing_at

from gas.prediction.forward import latest_starts, starts_of_each
from gas.prediction.snapshot import Snapshot
from gas.prediction.together import starts_of_all


def test_a_whole_machine_waits_for_all_however_it_is_followed():
    for seed in range(60):
        case = random_log(seed, jobs=(5, 30))
        _, snapshot, run_times, _ = standing_at(case, len(case.rows) - 1)
        whole = np.array([[case.machine], [20]])
        alone = starts_of_each(snapshot, run_times, whole)
        assert starts_of_all(snapshot, run_times, whole).tolist() == alone.tolist()


@pytest.mark.parametrize("every", [1, 3, 50])
def test_all_candidates_of_a_long_queue_are_followed_at_once(every):
    random = np.random.default_rng(every)
    count = 300
    walltime = random.integers(600, 40_000, count)
    running = np.arange(count) < 8
    start = np.where(running, -random.integers(0, 500, count), 2**62)
    snapshot = Snapshot(0, 64, random.integers(1, 9, count), walltime, start, running, np.full(count, -1))
    run_times = np.clip((walltime * random.random((4, count))).astype(np.int64), 1 - np.minimum(start, 0), walltime)
    candidates = np.array([[64, 48, 2], [3600, 3600, 36_000]])
    alone = starts_of_each(snapshot, run_times, candidates)
    found = starts_of_all(snapshot, run_times, candidates, every=every)
    assert np.abs(found[:, 0] / alone[:, 0] - 1).mean() < 0.03
    assert np.abs(found[:, 1] / alone[:, 1] - 1).mean() < 0.03
    assert (found <= latest_starts(snapshot, candidates)).all()


def a_queue(*, size=8, running=((8, 100),), waiting=()):
    """Return a snapshot at second 0: (processors, walltime) of jobs that have just started, and of waiting ones."""
    jobs = np.array([*running, *waiting], np.int64).reshape(-1, 2)
    runs = np.arange(len(jobs)) < len(running)
    return Snapshot(0, size, jobs[:, 0], jobs[:, 1], np.where(runs, 0, 2**62), runs, np.full(len(jobs), -1))


def starts(snapshot, run_times, candidates, **more):
    return starts_of_all(
        snapshot, np.array(run_times), np.array(candidates).T, machine_code=False, every=1, **more
    ).tolist()


def test_a_candidate_starts_when_enough_processors_are_free_in_each_sample():
    assert starts(a_queue(), [[100], [40]], [(8, 10), (1, 10)]) == [[100, 100], [40, 40]]


def test_candidates_are_not_in_each_others_way():
    queue = a_queue(running=((4, 100), (4, 50)))
    assert starts(queue, [[100, 50]], [(4, 1000), (4, 1000), (8, 10)]) == [[50, 50, 100]]


def test_a_candidate_fills_a_hole_before_the_queue_and_delays_no_job_of_it():
    queue = a_queue(running=((6, 100),), waiting=((8, 50),))
    assert starts(queue, [[100, 50]], [(2, 100), (2, 101), (8, 1)]) == [[0, 150, 150]]


def test_no_candidate_starts_before_its_first_instant():
    assert starts(a_queue(running=((2, 100),)), [[30]], [(4, 10), (8, 10)], not_before=20) == [[20, 30]]
    assert starts(a_queue(running=()), np.zeros((2, 0), np.int64), [(8, 10)], not_before=7) == [[7], [7]]
