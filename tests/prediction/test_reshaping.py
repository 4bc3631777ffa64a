"""A waiting job in other shapes, at its place in the queue: when it would start, and whether a change is worth it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.application import Application
from gas.availability import AvailabilityList
from gas.planner import Candidate
from gas.prediction.forward import starts_of_waiting
from gas.prediction.ledger import Ledger
from gas.prediction.reshaping import likely_reshaping, starts_in_place, worth_following
from gas.prediction.snapshot import Snapshot
from gas.reshaping import reshaping
from speedup_models import Table

NOW = 1000
APP = Application(Table.of({2: 240.0, 4: 125.0, 8: 68.0, 16: 40.0}), name="lu")


def snapshot(*jobs, machine=8):
    """Jobs of (processors, walltime, start, runs)."""
    columns = [np.array(column, np.int64) for column in list(zip(*jobs, strict=True))[:3]]
    runs = np.array([job[3] for job in jobs], np.bool_)
    return Snapshot(NOW, machine, *columns, runs, np.full(len(jobs), -1, np.int64))


def standing(late=3600, *, threshold=0.05, least=60):
    """Plan for a job of 8 processors that starts when all are free, later than any smaller shape."""
    listed = AvailabilityList.of([NOW, late], [4, 16], scheduler="s3", kind="promise")
    return reshaping(APP, listed, 8, 300, expected=late, threshold=threshold, least=least)


# ------------------------------------------------------------------------------------------------- in its place


def test_in_its_own_shape_it_starts_when_it_would_in_the_whole_queue():
    whole = snapshot((8, 100, 950, True), (8, 100, 1050, False), (4, 50, 1150, False), (8, 70, 1200, False))
    rest = snapshot((8, 100, 950, True), (8, 100, 1050, False), (8, 70, 1200, False))
    run_times = np.array([[60, 100, 50, 70], [100, 20, 50, 70], [80, 30, 10, 1]])
    expected = starts_of_waiting(whole, run_times, machine_code=False)[:, 2]
    latest, starts = starts_in_place(rest, 2, [(4, 50)], np.delete(run_times, 2, axis=1), machine_code=False)
    assert latest.tolist() == [1150]
    assert starts[:, 0].tolist() == expected.tolist()


def test_a_shape_too_long_for_its_hole_is_planned_after_all_others_and_likely_starts_before_them_by_its_place():
    rest = snapshot((8, 100, 950, True), (8, 100, 1050, False), (8, 70, 1200, False))
    latest, starts = starts_in_place(rest, 2, [(4, 50), (4, 60)], np.array([[60, 100, 70]]), machine_code=False)
    assert latest.tolist() == [1150, 1270]
    assert starts.tolist() == [[1110, 1110]]


def test_one_that_comes_first_in_the_queue_is_moved_up_before_the_others():
    """Either of the two fits if the running job ends early; the job gets the slot if it is first in the queue."""
    rest = snapshot((8, 1000, 900, True), (8, 100, 1900, False))
    for place, start in ((1, 1051), (2, 1151)):
        _, starts = starts_in_place(rest, place, [(8, 100)], np.array([[151, 100]]), machine_code=False)
        assert starts.tolist() == [[start]], place


def test_not_before_an_instant_is_kept():
    rest = snapshot((8, 1000, 900, True), (8, 100, 1900, False))
    latest, starts = starts_in_place(
        rest, 2, [(8, 100), (1, 10)], np.array([[151, 10]]), not_before=1500, machine_code=False
    )
    assert (latest >= 1500).all()
    assert (starts >= 1500).all()


@given(
    runs=st.lists(st.integers(1, 300), min_size=6, max_size=6),
    sizes=st.lists(st.integers(1, 8), min_size=5, max_size=5),
    place=st.integers(1, 6),
    shape=st.tuples(st.integers(1, 8), st.integers(1, 400)),
)
def test_it_starts_between_now_and_the_slot_that_it_would_be_promised(runs, sizes, place, shape):
    jobs, at = [(8, 300, 900, True)], 1200
    for size in sizes:
        jobs.append((size, 300, at, False))
        at += 300
    run_times = np.maximum(np.array([runs]), [101, 1, 1, 1, 1, 1])
    latest, starts = starts_in_place(snapshot(*jobs), place, [shape], run_times, machine_code=False)
    assert NOW <= starts[0, 0] <= latest[0]


# ---------------------------------------------------------------------------------------------------- the decision


def choice(gains, *, risk=None, threshold=0.0, least=60, start=2000):
    """Decide on a job and one other shape that gains these seconds in the samples."""
    found = standing(start, threshold=threshold, least=least)
    other = next(one for one in found.plan.candidates if one.processors == 4)
    gains = np.array(gains, np.int64)
    own = np.full(len(gains), start, np.int64)
    theirs = own + found.current.execution_time - gains - other.execution_time
    return likely_reshaping(found, {found.current: own, other: theirs}, risk=risk, threshold=threshold, least=least)


def test_without_a_risk_the_mean_gain_decides():
    assert choice([1000, -800, 100]).gain == 100
    assert choice([1000, -800, 100]).worth_it
    assert not choice([1000, -900, 10]).worth_it


def test_with_a_risk_the_gain_must_be_reached_so_often():
    gains = [100] * 9 + [-1000]
    assert choice(gains, risk=0.9).worth_it
    assert not choice(gains, risk=0.95).worth_it
    assert not choice(gains).worth_it, "its mean is no gain"
    assert choice(gains, risk=0.9).why() == ("4 processors would finish 1m40s sooner, with a probability of 90%")


@given(
    gains=st.lists(st.integers(-2000, 2000), min_size=1, max_size=40),
    risk=st.none() | st.floats(0.01, 0.99),
    threshold=st.sampled_from([0.0, 0.05, 0.5]),
    least=st.integers(0, 600),
)
def test_it_is_changed_only_if_the_margin_is_reached_as_surely_as_is_asked(gains, risk, threshold, least):
    made = choice(gains, risk=risk, threshold=threshold, least=least)
    margin = max(least, round(threshold * (2000 - NOW + made.current.execution_time)), 1)
    if risk is None:
        assert made.worth_it == (math.floor(np.mean(gains)) >= margin)
    else:
        reached = np.mean(np.array(gains) >= margin)
        assert made.worth_it == (reached >= risk - 1e-9)


@given(st.lists(st.integers(-500, 500), min_size=2, max_size=30), st.floats(0.05, 0.9), st.floats(0.01, 0.09))
def test_more_certainty_never_gains_more(gains, risk, more):
    assert choice(gains, risk=risk + more).gain <= choice(gains, risk=risk).gain


def test_of_several_the_one_that_gains_most_is_taken_and_of_equals_the_smallest():
    found = standing(3600, threshold=0.0)
    two, four = (next(one for one in found.plan.candidates if one.processors == size) for size in (2, 4))
    own = np.full(4, 3600)

    def best(**starts):
        given = {found.current: own, two: np.full(4, starts["two"]), four: np.full(4, starts["four"])}
        return likely_reshaping(found, given, threshold=0.0).best

    assert best(two=NOW, four=NOW) == four
    assert best(two=NOW, four=NOW + two.execution_time - four.execution_time) == two
    assert best(two=NOW, four=3000) == two


def test_a_shape_that_is_planned_sooner_and_likely_later_is_left_alone():
    found = standing(3600)
    assert found.worth_it, "by plans it would be changed"
    four = next(one for one in found.plan.candidates if one.processors == 4)
    made = likely_reshaping(found, {found.current: np.full(10, NOW + 10), four: np.full(10, NOW)})
    assert not made.worth_it
    assert made.why() == "no other size is predicted to finish sooner"


def test_the_margin_is_a_part_of_the_time_to_the_end_that_is_expected_not_of_the_planned():
    found = standing(100_000, threshold=0.05)
    made = likely_reshaping(found, {found.current: np.full(10, 3000)}, threshold=0.05)
    assert found.least > 4000
    assert made.least == round(0.05 * (3000 - NOW + found.current.execution_time))
    assert made.best is None
    assert not made.worth_it


def test_what_can_gain_nothing_even_at_once_is_not_followed():
    found = standing(NOW + 100)  # in its own shape it finishes in 168 s; on 2 processors it runs for 240
    assert {one.processors for one in worth_following(found, 9)} == {4, 8, 16}, "8 for a shorter time too"
    assert [one.processors for one in worth_following(standing(3600), 1)] == [4]


def test_what_is_noted_is_bound_by_the_promise_and_corrected_by_what_came_true():
    ledger = Ledger()
    found = standing(3600)
    made = likely_reshaping(found, {found.current: np.arange(1000, 2000, 10)}, ledger=ledger)
    noted = made.prediction(found.current)
    assert (noted.now, noted.latest) == (NOW, 2600)
    assert 0 <= noted.low <= noted.high <= 2600
    assert made.start_of(found.current) == round(np.arange(1000, 2000, 10).mean())


def test_past_waits_are_mixed_into_what_is_noted_and_do_not_decide():
    found, starts = standing(3600), np.arange(1000, 2000, 10)
    beside = {found.current: np.full(100, 55)}
    made = likely_reshaping(found, {found.current: starts}, ledger=Ledger(weight=0.9), beside=beside)
    assert (made.prediction(found.current).waits == 55).sum() == 10
    assert made.start_of(found.current) == round(starts.mean())


def test_one_that_would_be_killed_is_changed_whatever_that_gains():
    listed = AvailabilityList.of([NOW], [16], scheduler="s3", kind="promise")
    found = reshaping(APP, listed, 8, 30, expected=NOW)
    assert found.killed
    other = next(one for one in found.plan.candidates if one.processors == 4)
    made = likely_reshaping(found, {found.current: np.array([NOW]), other: np.array([5000])})
    assert isinstance(made.best, Candidate)
    assert made.worth_it


@pytest.mark.parametrize("risk", [None, 0.5])
def test_held_by_something_else_it_is_left(risk):
    listed = AvailabilityList.of([NOW], [16], scheduler="s3", kind="promise")
    found = reshaping(APP, listed, 8, 300, expected=9000, blocked="it is held")
    four = next(one for one in found.plan.candidates if one.processors == 4)
    made = likely_reshaping(found, {found.current: np.array([9000]), four: np.array([NOW])}, risk=risk)
    assert not made.worth_it
    assert made.why() == "it is held"
