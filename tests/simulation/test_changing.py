"""A simulation can be told of withdrawals between two events, and goes on as if it had known them from the start."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, assert_equal, disturbed_logs, random_log
from thorough import examples

from gas.errors import BadInput
from gas.simulation.schedule import NEVER_STARTED, NOT_CANCELLED, ORDERS, POLICIES
from gas.simulation.simulate import Simulation, simulate

each_policy = pytest.mark.parametrize("policy", POLICIES)
each_order = pytest.mark.parametrize("order", ORDERS)
few = examples(20)


def simulation(case, policy="s3", order="instant", machine_code=False, **more):
    return Simulation(case.jobs, policy, order=order, machine_code=machine_code, **case.beside, **more)


def assert_same(one, other):
    for name in ("start", "end", "promise", "reserved"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def told_on_the_way(case, policy, order, machine_code, words):
    """Tell a simulation of cancellations (told before, place, at); return it, and the case with them known before."""
    changing = simulation(case, policy, order, machine_code)
    known = list(case.cancellations or [NOT_CANCELLED] * len(case.rows))
    for before, place, at in sorted(words):
        changing.run(before=before)
        so_far = changing.schedule()
        can_be = so_far.start[place] == so_far.end[place] == NEVER_STARTED and known[place] == NOT_CANCELLED
        if can_be:
            changing.cancel(place, at)
            known[place] = at
        else:
            with pytest.raises(BadInput, match=f"job {place + 1} cannot be cancelled"):
                changing.cancel(place, at)
    changing.run()
    return changing, replace(case, cancellations=tuple(known))


@st.composite
def withdrawals(draw, case):
    """Return (told before, place, at) for some jobs, from before the first submission to after the last."""
    first, last = case.rows[0][0], case.rows[-1][0]
    found = []
    for place in draw(st.lists(st.sampled_from(range(len(case.rows))), max_size=6)):
        # A simulation that has seen nothing yet stands at its first event.
        at = draw(st.integers(first + 1, last + 20))
        found.append((draw(st.integers(first - 1, at)), place, at))
    return found


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_a_cancellation_told_on_the_way_is_one_told_before(policy, order, case, data):
    words = data.draw(withdrawals(case))
    first = simulation(case, policy, order).now
    words = [(before, place, at) for before, place, at in words if at >= first]
    changed, known = told_on_the_way(case, policy, order, False, words)
    assert_same(changed.schedule(), simulate(known.jobs, policy, order=order, machine_code=False, **known.beside))
    assert_equal(changed.schedule(), known.by_force(policy, order=order))


@pytest.mark.thorough(but=5)
@each_order
@each_policy
def test_so_it_is_in_machine_code(policy, order):
    for seed in range(4):
        case = random_log(seed, jobs=(150, 200), most_processors=32, disturbed=seed % 2 == 1)
        random = np.random.default_rng(seed)
        words = []
        for place in random.permutation(len(case.rows))[:60].tolist():
            at = case.rows[place][0] + int(random.integers(-3, 60))
            first = min(case.rows[0][0], min(case.cancellations or [at]))
            if at >= first:
                words.append((int(random.integers(min(first, at - 30), at + 1)), place, at))
        changed, known = told_on_the_way(case, policy, order, True, words)
        assert_same(changed.schedule(), simulate(known.jobs, policy, order=order, **known.beside))
        assert sum(at != NOT_CANCELLED for at in known.cancellations) > 10


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_a_job_that_is_not_submitted_equals_one_withdrawn_at_its_submission(policy, order, case, data):
    asked = data.draw(st.lists(st.sampled_from(range(len(case.rows))), unique=True, min_size=1).map(sorted))
    asking = simulation(case, policy, order, ask=asked)
    known = list(case.cancellations or [NOT_CANCELLED] * len(case.rows))
    while (place := asking.run()) is not None:
        submits = data.draw(st.booleans())
        asking.answer(submits=submits)
        if not submits:
            known[place] = min(known[place], case.rows[place][0])
    known = replace(case, cancellations=tuple(known))
    assert_same(asking.schedule(), simulate(known.jobs, policy, order=order, machine_code=False, **known.beside))


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_outcomes_know_of_withdrawals(policy, order, case, data):
    asked = (
        sorted(data.draw(st.sets(st.sampled_from(range(len(case.rows))), min_size=2, max_size=2), label="asked"))
        if len(case.rows) > 1
        else [0]
    )
    asking = simulation(case, policy, order, ask=asked)
    asking.run()
    asking.outcomes([1], [4], [2])
    asking.answer(submits=False)
    waiting = [
        place
        for place in range(len(case.rows))
        if place != asked[0]
        and asking.schedule().start[place] == asking.schedule().end[place] == NEVER_STARTED
        and (case.cancellations or [NOT_CANCELLED] * len(case.rows))[place] == NOT_CANCELLED
    ]
    for place in waiting[:2]:
        asking.cancel(place, asking.now + data.draw(st.integers(1, 9)))
    if (place := asking.run()) is None:
        return
    found = asking.outcomes([1], [4], [2])
    asking.answer(processors=1, estimate=4, run_time=2)
    asking.run()
    end = asking.schedule()
    assert found.tolist() == [[end.start[place], end.end[place]]]


# ------------------------------------------------------------------------------------------------------- now, at once

BUSY = Case(4, ((0, 4, 10, 10), (1, 4, 5, 5), (2, 2, 5, 5), (3, 1, 4, 4)))
"""The first job runs to 10; the second is planned from 10, the third and fourth from 15."""


@each_order
def test_who_waits_leaves_now_and_those_behind_move_up(order):
    changing = simulation(BUSY, order=order)
    changing.run(before=6)
    changing.cancel(1)
    assert changing.next_instant == changing.now == 3
    changing.run()
    schedule = changing.schedule()
    assert schedule.start.tolist() == [0, NEVER_STARTED, 10, 10]
    assert schedule.end.tolist() == [10, 3, 15, 14]


@each_order
def test_several_withdrawn_at_one_instant_all_leave_then(order):
    changing = simulation(BUSY, order=order)
    changing.run(before=5)
    for place in (2, 1):
        changing.cancel(place, 7)
    changing.run()
    assert changing.schedule().end.tolist() == [10, 7, 7, 14]


@each_order
def test_a_copy_knows_what_its_original_was_told_and_not_what_it_is_told_later(order):
    changing = simulation(BUSY, order=order)
    changing.run(before=5)
    changing.cancel(1)
    other = changing.copy()
    changing.cancel(2)
    for each in (changing, other):
        each.run()
    assert changing.schedule().start.tolist() == [0, NEVER_STARTED, NEVER_STARTED, 10]
    assert other.schedule().start.tolist() == [0, NEVER_STARTED, 10, 10]


def test_who_has_not_come_yet_never_enters():
    changing = simulation(BUSY)
    changing.run(before=1)
    changing.cancel(1)
    changing.run()
    assert changing.schedule().start.tolist() == [0, NEVER_STARTED, 10, 10]


def test_the_next_instant_and_the_starts_are_those_of_the_events():
    stepping = simulation(BUSY)
    seen = []
    while (instant := stepping.next_instant) is not None:
        stepping.run(before=instant + 1)
        seen.append((instant, stepping.starts([3, 0, 1]).tolist()))
    never = NEVER_STARTED
    assert seen == [
        *((instant, [never, 0, never]) for instant in range(4)),
        (10, [never, 0, 10]),
        *((instant, [15, 0, 10]) for instant in (15, 19, 20)),
    ]
    assert stepping.starts([]).tolist() == []


def test_what_cannot_be_withdrawn_is_refused_and_nothing_has_changed():
    changing = simulation(replace(BUSY, cancellations=(NOT_CANCELLED, NOT_CANCELLED, NOT_CANCELLED, 50)))
    changing.run(before=12)
    for arguments, message in (
        ((0,), "job 1 cannot be cancelled: it ended at 10"),
        ((1,), "job 2 cannot be cancelled: it is running"),
        ((2, 9), "job 3 cannot be cancelled at 9: the simulation is at 10"),
        ((3, 20), "job 4 cannot be cancelled at 20: it is cancelled at 50 already"),
        ((2, 2**61), r"the cancellation of job 3 at 2305843009213693952, .*2\*\*61"),
        ((2, 11.5), "at 11.5: is not an integer"),
        ((4,), "is not a place in `jobs`"),
        ((-1,), "is not a place in `jobs`"),
    ):
        with pytest.raises(BadInput, match=message):
            changing.cancel(*arguments)
    changing.run()
    assert changing.schedule().start.tolist() == [0, 10, 15, 15]


def test_a_refused_answer_withdraws_nothing():
    asking = simulation(BUSY, ask=[1])
    asking.run()
    with pytest.raises(BadInput):
        asking.answer(processors=5, submits=False)
    asking.answer()
    asking.run()
    assert asking.schedule().start.tolist() == [0, 10, 15, 15]
