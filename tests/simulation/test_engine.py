"""The event loop can stop between any two events, and goes on as if it had not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, assert_equal, disturbed_logs
from thorough import examples

from gas.errors import BadInput
from gas.simulation.schedule import NEVER_STARTED, NOT_CANCELLED, ORDERS, POLICIES
from gas.simulation.simulate import Simulation, simulate

each_policy = pytest.mark.parametrize("policy", POLICIES)

each_order = pytest.mark.parametrize("order", ORDERS)

few = examples(15)


def simulation(case, policy, order, machine_code=False, **more):
    return Simulation(case.jobs, policy, order=order, machine_code=machine_code, **case.beside, **more)


TWO = Case(2, ((0, 1, 5, 5), (3, 1, 5, 5)))


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs())
def test_one_event_at_a_time_is_the_same_as_all_at_once(policy, order, case):
    stepping = simulation(case, policy, order)
    for done in range(1, 1_000):
        stepping.run(events=1)
        if stepping.events < done:
            break
    stepping.run()
    assert_equal(stepping.schedule(), case.by_force(policy, order=order))


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), stops=st.lists(st.integers(-10, 60), max_size=4).map(sorted))
def test_stopping_before_an_instant_changes_nothing(policy, order, case, stops):
    stopping = simulation(case, policy, order)
    for instant in stops:
        stopping.run(before=instant)
        assert stopping.events == 0 or stopping.now < instant
    stopping.run()
    assert_equal(stopping.schedule(), case.by_force(policy, order=order))


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_before_an_instant_is_known_who_had_started_and_ended_by_then(policy, order, case, data):
    instant = data.draw(st.integers(case.rows[0][0], case.rows[-1][0] + 20))
    paused = simulation(case, policy, order)
    paused.run(before=instant)
    so_far, in_the_end = paused.schedule(), case.by_force(policy, order=order)
    for at, (start, end) in enumerate(zip(in_the_end.start, in_the_end.end, strict=True)):
        begun = start is not None and start < instant
        assert so_far.start[at] == (start if begun else NEVER_STARTED)
        if start is not None:
            assert so_far.end[at] == (end if begun and end < instant else NEVER_STARTED)


def test_a_simulation_does_not_go_back():
    with pytest.raises(BadInput, match="events -1"):
        Simulation(TWO.jobs, "s3").run(events=-1)


@pytest.mark.parametrize("machine_code", [False, True])
def test_instants_beyond_all_events_are_no_limit_and_those_before_them_are_one(machine_code):
    stopping = Simulation(TWO.jobs, "s3", machine_code=machine_code)
    stopping.run(before=-(2**80))
    assert stopping.events == 0
    stopping.run(before=2**80, events=2**80)
    assert stopping.schedule().end.tolist() == [5, 8]


@pytest.mark.parametrize(("order", "start"), [("event", 5), ("instant", NEVER_STARTED)])
def test_cancellations_of_one_second_come_one_by_one_in_order_event_and_all_at_once_in_order_instant(order, start):
    # The first keeps 3 of 5 processors until 9. The second, which needs 3 as well, leaves at 5, and so does the third,
    # which needs the 2 that are free: one by one, it is let in before its own turn to leave has come.
    case = Case(5, ((0, 3, 10, 9), (0, 3, 5, 1), (3, 2, 12, 12)), cancellations=(NOT_CANCELLED, 5, 5))
    schedule = simulate(case.jobs, "fcfs", order=order, machine_code=False, **case.beside)
    assert schedule.start.tolist() == [0, NEVER_STARTED, start]
    assert schedule.end.tolist() == [9, 5, 5]


@each_policy
def test_submissions_before_second_0_are_like_any_other(policy):
    case = Case(2, ((-300, 2, 100, 100), (-290, 2, 50, 20), (-1, 1, 5, 5), (0, 1, 5, 5)))
    schedule = simulate(case.jobs, policy, machine_code=False)
    assert schedule.start.tolist() == [-300, -200, -1, 0]
