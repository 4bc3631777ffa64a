"""Waits as methods predict them: for the same jobs, and without knowledge of later events."""

from importlib.util import find_spec

import numpy as np
import pytest
from made_up import busy_log

from experiments.framework.logs import SOURCES, log_in
from experiments.prediction.methods import Quantiles, predicted
from experiments.prediction.waits import LEARNERS, METHODS, wait_run
from gas.prediction.recorded import RecordedQueue
from gas.simulation.simulate import simulate
from workloads import rigid_jobs, write_swf

WITHOUT = () if find_spec("sklearn") else LEARNERS


@pytest.fixture(scope="module")
def busy():
    """A log of 700 jobs whose waits are those of EASY."""
    log = busy_log(700, 64, seed=3)
    jobs = rigid_jobs(log)
    wait = np.full(len(log), -1.0)
    wait[jobs.row] = simulate(jobs, "easy").start - jobs.submit
    return log.with_columns(wait=wait)


# ------------------------------------------------------------------------------------------------------ no look ahead


def with_another_future(log, at):
    """Return a log that differs in all that was unknown at an instant: waits, run times, and later jobs."""
    start = log.submit + log.wait
    return log.with_columns(
        wait=np.where((start >= at) & (log.wait >= 0), np.maximum(at - log.submit, 0) + 7777, log.wait),
        run_time=np.where(start + log.run_time >= at, np.maximum(1, at - start) + 5, log.run_time),
        requested_time=np.where(log.submit > at, 60, log.requested_time),
    )


def known(log, predict, at):
    """Return the predictions up to an instant; a test detects if they depend on anything later."""
    queue = RecordedQueue(log)
    places = queue.places(None)
    count = int(np.count_nonzero(queue.jobs.submit[places] <= at))
    return list(predict(queue, places))[:count]


@pytest.fixture
def half(busy):
    return int(np.sort(busy.submit)[400])


SLOW = ("boosting", "network")
"""Methods that take seconds to learn, from the same records as the others."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.thorough if name in SLOW else ())
        for name, make in METHODS.items()
        if make and name not in WITHOUT
    ],
)
def test_no_method_knows_the_future(busy, half, name):
    def predict(queue, places):
        return predicted(METHODS[name](), queue, places)

    found = known(busy, predict, half)
    assert sum(one is not None for one in found) > 100
    assert known(with_another_future(busy, half), predict, half) == found


def test_a_method_that_knows_the_future_is_caught(busy, half):
    class Cheat(Quantiles):
        def __init__(self, queue, places):
            super().__init__()
            self._waits_to_come = iter((queue.start - queue.jobs.submit)[places].tolist())

        def predict(self, seen):
            return (0, next(self._waits_to_come), 10**6)

    def predict(queue, places):
        return predicted(Cheat(queue, places), queue, places)

    assert known(with_another_future(busy, half), predict, half) != known(busy, predict, half)


# --------------------------------------------------------------------------------------------------------------- a run


@pytest.fixture(scope="module")
def at_hand(busy, tmp_path_factory):
    path = tmp_path_factory.mktemp("waits") / "KTH-SP2-1996-2.swf"
    write_swf(busy, path)
    return log_in(path, SOURCES[1])


def run(log, **changes):
    configuration = {"log": log.sha256, "truth": "recorded", "method": "quantiles", "jobs": 60, "samples": 5, "seed": 0}
    return wait_run(configuration | changes, files={log.sha256: str(log.path)})


@pytest.mark.thorough
def test_all_methods_predict_the_same_jobs(at_hand):
    gas, other = run(at_hand, method="gas"), run(at_hand)
    assert [gas[name] for name in ("jobs", "month", "wait")] == [other[name] for name in ("jobs", "month", "wait")]
    assert set(gas["predicted"]) == {"gas", "simulation", "promise"}
    assert len(gas["predicted"]["gas"]) == len(other["predicted"]["quantiles"]) == 60


def test_waits_are_recorded_or_those_of_a_policy(at_hand):
    recorded, easy, s3 = (run(at_hand, truth=truth)["wait"] for truth in ("recorded", "easy", "s3"))
    assert recorded == easy  # the log was recorded under EASY
    assert s3 != easy


@pytest.mark.thorough
def test_what_came_true_is_simulated_once_for_all_methods(at_hand, monkeypatch):
    simulated = []
    monkeypatch.setattr("experiments.prediction.waits.simulate", lambda *asked: simulated.append(1) or simulate(*asked))
    run(at_hand, truth="recorded")
    first = run(at_hand, truth="easy", method="gas")
    run(at_hand, truth="easy", method="nearest")
    assert run(at_hand, truth="easy", method="gas") == first
    assert len(simulated) == 1
