"""Methods that predict waits: what each says, and that none knows what comes later."""

from importlib.util import find_spec

import numpy as np
import pytest
from made_up import busy_log

from experiments.framework.logs import SOURCES, log_in
from experiments.prediction.methods import Bounds, Nearest, Quantiles, predicted
from experiments.prediction.waits import LEARNERS, METHODS, wait_run
from gas.prediction.backtest import RecordedQueue
from gas.prediction.queue_state import FEATURES
from gas.simulation.simulate import simulate
from workloads import rigid_jobs, write_swf

WITHOUT = () if find_spec("sklearn") else LEARNERS


def seen(**numbers):
    return np.array([numbers.get(name.replace(" ", "_"), 0.0) for name in FEATURES], np.float32)


@pytest.fixture(scope="module")
def busy():
    """A log of 700 jobs whose waits are those of EASY."""
    log = busy_log(700, 64, seed=3)
    jobs = rigid_jobs(log)
    wait = np.full(len(log), -1.0)
    wait[jobs.row] = simulate(jobs, "easy").start - jobs.submit
    return log.with_columns(wait=wait)


# ------------------------------------------------------------------------------------------------- what a method says


def test_similar_jobs_give_their_quantiles_and_their_mean():
    quantiles, mean = Quantiles(), Quantiles(np.mean)
    for wait in (0, 10, 20, 30, 140):
        for one in (quantiles, mean):
            one.learn(seen(processors=3, walltime=10), wait)
    assert quantiles.predict(seen(processors=3.5, walltime=10.9)) == (0, 20, 140)
    assert mean.predict(seen(processors=3, walltime=10)) == (0, 40, 140)
    assert mean.predict(seen(processors=4, walltime=10)) is None


def test_a_bound_takes_59_waits_and_is_above_the_quantile():
    bounds = Bounds()
    for wait in range(58):
        bounds.learn(seen(), wait)
    assert bounds.predict(seen()) is None
    bounds.learn(seen(), 58)
    assert bounds.predict(seen()) == (0, 29, 58)  # 0.95**59 < 0.05: the largest bounds the quantile, and no other does
    for wait in range(59, 1000):
        bounds.learn(seen(), wait % 59)
    assert bounds.predict(seen())[2] in (55, 56, 57)
    assert bounds.predict(seen(queue=2)) is None


def test_three_waits_in_a_row_above_the_bound_are_a_change():
    bounds = Bounds()
    for wait in [10] * 500 + [9_000] * 3:
        bounds.learn(seen(), wait)
    assert bounds.predict(seen())[2] == 9_000  # of the 59 that are left, which the three are among
    calm = Bounds()
    for wait in [10] * 500 + [9_000, 9_000, 10] * 2:
        calm.learn(seen(), wait)
    assert calm.predict(seen())[2] == 10


def test_the_nearest_are_those_at_whose_submission_as_many_waited():
    nearest = Nearest()
    for i in range(200):
        nearest.learn(seen(waiting=40.0 * (i % 2)), 3600 * (i % 2))
    assert nearest.predict(seen(waiting=39)) == (3600, 3600, 3600)
    assert nearest.predict(seen(waiting=1)) == (0, 0, 0)


@pytest.mark.skipif(bool(WITHOUT), reason="scikit-learn is not installed")
@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_learns_that_jobs_wait_where_others_do(name):
    method = METHODS[name]()
    generator = np.random.default_rng(1)
    for i in range(400):
        method.learn(seen(waiting=40.0 * (i % 2), hour=24 * generator.random()), 3600 * (i % 2))
    low, middle, high = method.predict(seen(waiting=40, hour=3))
    assert low <= middle <= high
    assert 1800 < middle < 7200
    assert method.predict(seen(waiting=0, hour=3))[1] < 60


# ------------------------------------------------------------------------------------------------------ no look ahead


def with_another_future(log, at):
    """Return a log in which all is different that was not known at an instant: waits, run times, and who comes."""
    start = log.submit + log.wait
    return log.with_columns(
        wait=np.where((start >= at) & (log.wait >= 0), np.maximum(at - log.submit, 0) + 7777, log.wait),
        run_time=np.where(start + log.run_time >= at, np.maximum(1, at - start) + 5, log.run_time),
        requested_time=np.where(log.submit > at, 60, log.requested_time),
    )


def known(log, predict, at):
    """Return what is predicted up to an instant, which depends on nothing later or is caught."""
    queue = RecordedQueue(log)
    places = queue.places(None)
    count = int(np.count_nonzero(queue.jobs.submit[places] <= at))
    return list(predict(queue, places))[:count]


@pytest.fixture
def half(busy):
    return int(np.sort(busy.submit)[400])


@pytest.mark.parametrize("name", [name for name, make in METHODS.items() if make and name not in WITHOUT])
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


def test_all_methods_predict_the_same_jobs(at_hand):
    gas, other = run(at_hand, method="gas"), run(at_hand)
    assert [gas[name] for name in ("jobs", "month", "wait")] == [other[name] for name in ("jobs", "month", "wait")]
    assert set(gas["predicted"]) == {"gas", "simulation", "promise"}
    assert len(gas["predicted"]["gas"]) == len(other["predicted"]["quantiles"]) == 60


def test_waits_are_recorded_or_those_of_a_policy(at_hand):
    recorded, easy, s3 = (run(at_hand, truth=truth)["wait"] for truth in ("recorded", "easy", "s3"))
    assert recorded == easy  # the log was recorded under EASY
    assert s3 != easy
