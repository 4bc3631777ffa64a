"""Classes of jobs: for which ones predictions were good, and which differences are beyond doubt."""

import numpy as np
import pytest
from made_up import log_of

from gas.intervals import Interval
from gas.prediction.backtest import Outcome
from gas.prediction.classes import FEWEST, best_baseline, classes_of, shortly
from gas.prediction.recorded import RecordedQueue


def outcome(place, wait, median, *, inside=True, similar=None, planned=10_000):
    low, high = (0, 2 * wait + 1) if inside else (wait + 1, wait + 2)
    parts = {"simulated": median, "learnt": None, "planned": planned, "similar": similar, "waiting": 0}
    return Outcome(
        place, 60 * place, wait, median, low, high, low, high, weight=0.5, samples=9, held_from=0.9, raw_held_from=0.9,
        **parts,
    )  # fmt: skip


def queue_of(jobs, sizes=(1,), queues=None):
    log = log_of([(60 * i, 0, 50, 3600, sizes[i % len(sizes)]) for i in range(jobs)], machine=2000)
    log = log.with_columns(user=np.arange(jobs) % 2)
    return RecordedQueue(log if queues is None else log.with_columns(partition=np.arange(jobs) % queues))


def found_in(queue, outcomes):
    return {(one.kind, one.name): one for one in classes_of(queue, np.arange(len(outcomes)), outcomes)}


def test_a_class_whose_intervals_clearly_hold_too_seldom_is_named_and_others_are_not():
    outcomes = [outcome(i, 30, 30, inside=i % 2 == 0 or i % 3 == 0) for i in range(600)]
    classes = found_in(queue_of(600, sizes=(1, 64)), outcomes)
    large, small = classes["processors", "33–128"], classes["processors", "1"]
    assert (large.jobs, small.jobs) == (300, 300)
    assert large.held.mean == pytest.approx(1 / 3)
    assert large.too_narrow
    assert not small.too_narrow
    assert small.held == Interval(1.0, pytest.approx(1 - 0.05 ** (1 / 300)))


def test_what_may_be_chance_is_not_named():
    """On one afternoon all intervals fail, otherwise none: 83% hold in all, which says little about the next months."""
    outcomes = [outcome(i, 30, 30, inside=not 200 <= i < 300) for i in range(600)]
    everybody = found_in(queue_of(600), outcomes)["", "all"]
    assert everybody.held.mean == pytest.approx(5 / 6)
    assert not everybody.too_narrow


def test_few_jobs_are_not_judged():
    outcomes = [outcome(i, 30, 30, inside=False) for i in range(FEWEST - 1)]
    assert not any(one.too_narrow for one in found_in(queue_of(FEWEST), outcomes).values())


def test_waits_are_far_off_where_fewer_than_half_are_within_a_factor_of_two():
    outcomes = [outcome(i, 6000, 6000 if i % 4 == 0 else 60) for i in range(400)]
    everybody = found_in(queue_of(400), outcomes)["", "all"]
    assert (everybody.delayed, everybody.within_factor_2.mean) == (400, 0.25)
    assert everybody.far_off
    short = found_in(queue_of(400), [outcome(i, 500, 5) for i in range(400)])["", "all"]
    assert short.within_factor_2 is None
    assert not short.far_off


def test_gas_is_compared_with_the_best_baseline_job_by_job():
    outcomes = [outcome(i, 1000, 1500, similar=1100.0 if i % 10 else 3000.0) for i in range(400)]
    assert best_baseline(outcomes) == "similar"
    everybody = found_in(queue_of(400), outcomes)["", "all"]
    assert everybody.beaten.mean == pytest.approx(0.1)
    assert everybody.no_better
    assert best_baseline([outcome(0, 5, 5)]) == "planned"  # nothing similar is known


def test_the_best_baseline_is_that_which_is_nearer_for_jobs_that_waited():
    """For jobs on an idle machine nearly any prediction is right."""
    at_once = [outcome(i, 0, 0, similar=100, planned=0) for i in range(9)]
    assert best_baseline(at_once) == "planned"
    assert best_baseline([*at_once, outcome(9, 6000, 6000, similar=5000, planned=60_000)]) == "similar"


def test_jobs_that_are_predicted_to_start_at_once_cannot_be_within_a_factor_of_two_of_a_wait():
    outcomes = [outcome(i, 6000 if i % 10 == 0 else 0, 0 if i % 2 == 0 else 4000) for i in range(400)]
    classes = found_in(queue_of(400), outcomes)
    at_once = classes["predicted wait", "under 1m"]
    assert (at_once.jobs, at_once.delayed, at_once.within_factor_2, at_once.far_off) == (200, 40, None, False)
    assert classes["", "all"].within_factor_2.mean == 0.0


def test_users_by_how_many_of_their_jobs_had_ended_and_partitions_by_name_are_classes():
    queue = queue_of(400, queues=2)
    queue.queues = {0: "batch", 1: "gpu"}
    classes = found_in(queue, [outcome(i, 30, 30) for i in range(400)])
    assert {name for kind, name in classes if kind == "partition"} == {"batch", "gpu"}
    assert {name: one.jobs for (kind, name), one in classes.items() if kind == "ended jobs of the user"} == {
        "0": 2, "1–9": 18, "10–99": 180, "100 or more": 200,
    }  # fmt: skip


def test_durations_are_written_shortly():
    assert [shortly(one) for one in (0, 59, 60, 90, 600, 3600, 5400, 86_400, 90_000)] == [
        "0s", "59s", "1m", "1m30s", "10m", "1h", "1h30m", "1d", "1d01h",
    ]  # fmt: skip


def test_a_few_jobs_that_lose_are_no_verdict_on_all_if_the_others_are_alike():
    outcomes = [outcome(i, 0, 5 if i % 120 == 10 else 0, similar=0) for i in range(600)]
    everybody = found_in(queue_of(600), outcomes)["", "all"]
    assert (everybody.jobs, everybody.told_apart, everybody.beaten.mean) == (600, 5, 0)
    assert not everybody.no_better
