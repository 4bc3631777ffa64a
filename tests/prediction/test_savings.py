"""What choosing by predictions would have saved: sizes of recorded jobs, and a replay with each."""

import numpy as np
import pytest
from made_up import busy_log, log_of

from gas.prediction.recorded import RecordedQueue
from gas.prediction.savings import choices, places_of_choices
from gas.simulation.simulate import simulate
from workloads import apply_overrun, rigid_jobs


@pytest.fixture(scope="module")
def busy():
    """A log with the waits of S³."""
    log = busy_log(400, 64, seed=5)
    made = rigid_jobs(log)
    wait = np.full(len(log), -1.0)
    wait[made.row] = simulate(made, "s3").start - made.submit
    return log.with_columns(wait=wait)


def test_only_jobs_that_met_a_queue_choose_and_not_too_many(busy):
    queue = RecordedQueue(busy)
    places = places_of_choices(queue, queue.places(None))
    assert (queue.waiting(places) > 0).all()
    assert 50 < len(places) <= 200


def test_where_the_scheduler_is_the_one_that_is_simulated_the_replay_is_what_happened(busy):
    """Exactly so if later jobs cannot delay a job, as under S³."""
    made = apply_overrun(rigid_jobs(busy))
    start = simulate(made, "s3").start
    queue = RecordedQueue(busy)
    places = places_of_choices(queue, queue.places(None))[:60]
    found = list(choices(queue, places, samples=5))
    same = [one.wait == start[one.place] - made.submit[one.place] for one in found]
    assert np.mean(same) > 0.9


def test_no_choice_is_better_than_the_best_and_those_by_prediction_beat_the_requests(busy):
    queue = RecordedQueue(busy)
    found = list(choices(queue, places_of_choices(queue, queue.places(None)), samples=20, threads=2))
    for one in found:
        assert one.best <= min(one.requested, one.planned, one.predicted)
    mean = {name: np.mean([getattr(one, name) for one in found]) for name in ("requested", "predicted", "best")}
    assert mean["best"] < mean["predicted"] < mean["requested"]


def test_a_job_of_one_processor_or_of_the_whole_machine_has_no_half_or_double():
    rows = [(i, 0, 5, 10, 1) for i in range(25)] + [(100, 0, 500, 600, 10), (110, 490, 50, 100, 10)]
    queue = RecordedQueue(log_of(rows))
    (found,) = choices(queue, np.array([26]), samples=2)
    assert (found.requested, found.best, found.wait) == (540, 540, 490)  # twice as slow on half of the machine


def test_a_choice_knows_nothing_of_what_comes_later(busy):
    """The replay does: the outcome of a choice may change, the choice may not."""
    places = places_of_choices(RecordedQueue(busy), RecordedQueue(busy).places(None))[:41]
    at = int(busy.submit[places[-1]])
    start, later = busy.submit + busy.wait, busy.submit > at
    changed = busy.with_columns(
        run_time=np.where(start + busy.run_time >= at, np.maximum(1, at - start) + 5, busy.run_time),
        allocated_processors=np.where(later, 64, busy.allocated_processors),
        user=np.where(later, 3, busy.user),
    )
    own = busy.run_time[places]  # the application knows how long it runs
    changed = changed.with_columns(run_time=_put(changed.run_time, places, own))
    before, after = (list(choices(RecordedQueue(of), places, samples=5)) for of in (busy, changed))
    assert [one.chosen for one in before] == [one.chosen for one in after]
    assert before != after


def _put(values, places, new):
    values = values.copy()
    values[places] = new
    return values
