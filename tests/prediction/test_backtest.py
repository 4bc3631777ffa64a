"""Backtests: what was known at a submission of a recorded log, the prediction from it, and the real wait."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from made_up import busy_log, log_of

from gas.errors import BadInput
from gas.prediction.backtest import LONGEST_QUEUE, backtest, rehearsed
from gas.prediction.ledger import Ledger
from gas.prediction.recorded import FEWEST, RecordedQueue
from gas.simulation.simulate import simulate
from workloads import rigid_jobs


def recorded_s3(jobs=600, seed=5):
    """Return a log of users who overestimate, with the waits of S³."""
    log = busy_log(jobs, 64, seed=seed)
    made = rigid_jobs(log)
    wait = np.full(len(log), -1.0)
    wait[made.row] = simulate(made, "s3").start - made.submit
    return log.with_columns(wait=wait)


def found_in(log, jobs=None, **options):
    queue = RecordedQueue(log)
    return list(backtest(queue, queue.places(jobs), **options))


@pytest.fixture(scope="module")
def busy():
    return recorded_s3()


@pytest.fixture(scope="module")
def outcomes(busy):
    return found_in(busy, 150, samples=30)


def test_nothing_is_predicted_before_some_jobs_have_ended(busy):
    queue = RecordedQueue(busy)
    first = islice(backtest(queue, queue.places(None), samples=1), 50)
    assert min(one.submitted for one in first) >= np.sort(queue.end)[FEWEST - 1]
    with pytest.raises(BadInput, match="of 2 usable jobs, 0 ended before the last submission; a prediction needs 20"):
        found_in(log_of([(0, 0, 5, 10, 1)] * 2))


def test_where_the_scheduler_is_the_one_that_is_simulated_predictions_beat_its_plans(outcomes):
    wait, simulated, planned = (
        np.array([getattr(one, of) for one in outcomes]) for of in ("wait", "simulated", "planned")
    )
    delayed = planned > 0
    assert delayed.sum() > 40
    assert (wait <= planned).all()  # S³ keeps its promises, which are the planned starts here
    assert np.abs(simulated - wait)[delayed].mean() < 0.7 * (planned - wait)[delayed].mean()
    assert np.mean([one.inside for one in outcomes]) >= 0.8


def test_an_outcome_has_its_interval_around_its_median(outcomes):
    for one in outcomes:
        assert 0 <= one.raw_low <= one.median <= one.raw_high
        assert one.simulated <= one.planned
        assert 0 <= one.low <= one.high


@pytest.mark.thorough(but=["2"])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_predicted_does_not_depend_on_what_comes_later(busy, outcomes, threads):
    """All that is unknown at an instant is changed: waits, run times, later jobs and their requests."""
    busy = busy.with_columns(partition=np.arange(len(busy)) % 3)
    at = outcomes[len(outcomes) // 8].submitted
    start = busy.submit + busy.wait
    later = busy.submit > at
    changed = busy.with_columns(
        wait=np.where((start >= at) & (busy.wait >= 0), np.maximum(at - busy.submit, 0) + 7777, busy.wait),
        run_time=np.where(start + busy.run_time >= at, np.maximum(1, at - start) + 5, busy.run_time),
        requested_time=np.where(later, 60, busy.requested_time),
        allocated_processors=np.where(later, 64, busy.allocated_processors),
        user=np.where(later, 1, busy.user),
        executable=np.where(later, 9, busy.executable),
        partition=np.where(later, 7, busy.partition),
    )
    true = {"wait": 0, "held_from": 0.0, "raw_held_from": 0.0}  # outcomes may differ
    of_both = RecordedQueue(busy), RecordedQueue(changed)
    until = int(np.count_nonzero(of_both[0].jobs.submit <= at)) + 40
    before, after = (
        [replace(one, **true) for one in backtest(of, of.places(None)[:until], samples=3, threads=threads)]
        for of in of_both
    )
    known = [one for one in before if one.submitted <= at]
    assert len(known) > 50
    assert after[: len(known)] == known
    assert after[len(known) + 20 :] != before[len(known) + 20 :]


@pytest.mark.thorough
def test_the_interval_heals_where_a_scheduler_is_later_than_any_plan():
    busy = recorded_s3(1500)
    late = busy.with_columns(wait=np.where(busy.wait >= 0, 2 * busy.wait + 1800, busy.wait))
    found = found_in(late, 600, samples=10)
    held = np.mean([one.raw_low <= one.wait <= one.raw_high for one in found[100:]])
    assert held < 0.75
    corrected = np.mean([one.inside for one in found[100:]])
    assert corrected - held > (0.9 - held) / 3  # at least a third of the gap


@pytest.mark.thorough
def test_what_a_simulation_cannot_know_is_learnt_from_past_waits():
    """The machine is almost empty, and yet the scheduler lets large jobs wait for an hour."""
    rows = [(400 * i, 3600 * (i % 2), 60, 600, 1 + 7 * (i % 2)) for i in range(200)]
    found = found_in(log_of(rows, machine=1000), samples=5)
    large = [one for one in found if one.wait][-20:]
    assert [one.simulated for one in large] == [0.0] * 20
    assert [one.median for one in large] == [3600.0] * 20
    assert all(one.weight == 0 for one in large)


def test_similar_jobs_are_those_of_like_size_that_have_started(outcomes, busy):
    assert all(one.similar is not None for one in outcomes[-50:])
    two = log_of([(i, 0, 1, 10, 1) for i in range(FEWEST)] + [(100, 9, 1, 10, 1), (105, 0, 1, 10, 1)])
    last = found_in(two, samples=1)[-1]
    assert (last.submitted, last.similar, last.weight) == (105, 0.0, 0.5)  # the wait of 9 s was not over


@pytest.mark.thorough
def test_threads_and_interruptions_change_nothing(busy):
    queue = RecordedQueue(busy)
    places = queue.places(80)
    whole = list(backtest(queue, places, samples=5))
    kept = {}
    begun = backtest(queue, places, samples=5, threads=2, kept=kept)
    assert [next(begun) for _ in range(25)] == whole[:25]
    begun.close()
    assert len(kept) >= 25
    simulated = dict(islice(kept.items(), 25))  # threads may be ahead, on a busy machine by all samples
    kept = dict(simulated)
    assert list(backtest(queue, places, samples=5, threads=3, kept=kept)) == whole
    assert len(kept) == 80
    assert all(kept[place] is one for place, one in simulated.items())  # none was simulated again


@pytest.mark.thorough
def test_a_queue_of_more_than_some_hundred_jobs_is_not_simulated_and_what_was_learnt_is_said_alone():
    crowd = RecordedQueue(log_of([(i, i * 30, 25, 100, 10) for i in range(1200)]))  # each waits for all before it
    outcomes = list(backtest(crowd, crowd.places(40)))
    assert min(one.waiting for one in outcomes) > LONGEST_QUEUE
    assert {(one.samples, one.simulated, one.weight) for one in outcomes} == {(0, None, 0.0)}
    learnt = [one for one in outcomes if one.learnt is not None]
    assert 10 < len(learnt) < 40  # at first too few have started; only the last similar jobs are known then
    assert all(one.median == one.learnt for one in learnt)
    assert all(one.median == one.similar for one in outcomes if one.learnt is None)


def test_shorter_queues_of_the_same_log_are_simulated_as_before(busy, outcomes, monkeypatch):
    monkeypatch.setattr("gas.prediction.backtest.LONGEST_QUEUE", 5)
    found = found_in(busy, 150, samples=30)
    assert 20 < sum(one.waiting > 5 for one in found) < 130
    for one, before in zip(found, outcomes, strict=True):
        assert (one.waiting, one.planned, one.learnt) == (before.waiting, before.planned, before.learnt)
        assert (one.samples, one.simulated) == ((0, None) if one.waiting > 5 else (30, before.simulated))


def test_where_nothing_at_all_is_known_of_a_long_queue_the_plan_is_said(monkeypatch):
    monkeypatch.setattr("gas.prediction.backtest.LONGEST_QUEUE", 0)
    few = [(i, 0, 1, 10, 1) for i in range(FEWEST)]  # small ones that end at once, before two of the whole machine
    queue = RecordedQueue(log_of([*few, (50, 0, 2000, 50_000, 10), (60, 1990, 500, 50_000, 10), (70, 2500, 5, 90, 10)]))
    last = list(backtest(queue, queue.places(None)))[-1]
    assert (last.waiting, last.samples, last.learnt, last.similar) == (1, 0, None, None)
    assert last.median == last.low == last.high == last.planned == 99_980


# ---------------------------------------------------------------------------------------------------- a rehearsal


def always(share):
    return True


def test_a_ledger_learns_from_the_last_starts_of_a_log_and_not_twice(busy):
    queue, ledger = RecordedQueue(busy), Ledger()
    found = rehearsed(queue, ledger, always, most=50, samples=5)
    assert len(found) == 50
    assert all(one.afterwards for one in found)
    assert [one.start for one in found] == np.sort(queue.start)[-50:].tolist()
    assert ledger.outcomes == []
    ledger.add(found)
    assert rehearsed(queue, ledger, always, most=50, samples=5) == []


def test_a_rehearsal_that_is_short_of_time_leaves_jobs_out_evenly_and_comes_to_its_end(busy):
    queue, shares = RecordedQueue(busy), []

    def every_fifth(share):
        shares.append(share)
        return len(shares) % 5 == 1

    found = rehearsed(queue, Ledger(), every_fifth, most=50, samples=5)
    assert len(found) == 10
    assert shares == [n / 50 for n in range(50)]
    assert rehearsed(queue, Ledger(), lambda share: False, most=50, samples=5) == []


@pytest.mark.thorough
def test_where_starts_are_later_than_any_simulation_says_an_interval_reaches_as_far_after_a_rehearsal(busy):
    late = busy.with_columns(wait=np.where(busy.wait >= 0, busy.wait + 7200, busy.wait))
    ledger, nobody = Ledger(), np.zeros(20, np.int64)
    assert ledger.predict(0, nobody, 600).high <= 600
    ledger.add(rehearsed(RecordedQueue(late), ledger, always, samples=5))
    assert ledger.predict(0, nobody, 600).high >= 7200
