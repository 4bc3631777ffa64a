"""A simulation as arrays: where it begins, what a copy shares, how its arrays grow."""

import numpy as np
import pytest
from small_logs import Case, busy_log

from gas.profile.blocks import profile_in
from gas.simulation.schedule import NOT_CANCELLED, Reservation
from gas.simulation.simulate import Simulation
from gas.simulation.state import (
    ALIVE,
    FREE,
    NOW,
    W_FIXED,
    W_PROCESSORS,
    W_SUBMIT,
    State,
    copy_state,
    initial_state,
    is_roomy,
    with_room,
)

CASE = Case(4, ((3, 1, 5, 5), (3, 2, 5, 5), (8, 3, 5, 5)))


def begun(cancellations=None, reservations=()):
    withdrawn = None if cancellations is None else np.array(cancellations, np.int64)
    return initial_state(CASE.jobs, "s3", "instant", withdrawn, [Reservation(*each) for each in reservations])


@pytest.mark.parametrize(
    ("cancellations", "reservations", "begin"),
    [
        (None, (), 3),
        ((9, NOT_CANCELLED, 4), (), 3),
        ((9, -7, NOT_CANCELLED), (), -7),
        (None, ((1, 1, 20, 5),), 1),
        ((-7, 0, 9), ((1, 1, -20, 5),), -7),  # a job submitted at 1 cannot start before
        ((9, 9, 9), ((-8, 1, 20, 5),), -8),
    ],
)
def test_time_and_plan_begin_when_the_first_submission_or_cancellation_is(cancellations, reservations, begin):
    state, _, _ = begun(cancellations, reservations)
    assert state.now[NOW] == begin
    assert state.now[FREE] == 4
    profile = profile_in(state.plan)
    assert (profile.starts[0], profile.free[0], profile.used[0]) == (begin, 4, 1)


def test_reservations_come_before_the_jobs_of_their_second_and_all_in_order_of_submission():
    state, jobs, reserved = begun(reservations=((8, 4, 20, 5), (3, 2, 9, 5)))
    assert state.work[W_SUBMIT].tolist() == [3, 3, 3, 8, 8]
    assert (reserved.tolist(), jobs.tolist()) == ([3, 0], [1, 2, 4])
    assert state.work[W_FIXED].tolist() == [1, 0, 0, 1, 0]
    assert state.work[W_PROCESSORS].tolist() == [2, 1, 2, 4, 3]


def test_jobs_are_cancelled_in_the_order_of_their_instants_and_of_the_log_within_one():
    state, _, _ = begun((9, 7, 7))
    assert state.cancellations.tolist() == [1, 2, 0]


def test_no_jobs_are_a_simulation_too():
    state, jobs, reserved = initial_state(Case(4, ()).jobs, "easy", "event", None, [])
    assert (state.work.shape[1], len(jobs), len(reserved), state.now[NOW]) == (0, 0, 0, 0)


def arrays_of(state):
    for part in state:
        yield from part if isinstance(part, tuple) else (part,)


@pytest.mark.parametrize("policy", ["easy", "s3"])
def test_a_copy_shares_no_memory_but_the_order_of_cancellations_which_nothing_changes(policy):
    case = busy_log(3, 60, disturbed=True)
    running = Simulation(case.jobs, policy, machine_code=False, **case.beside)
    running.run(events=50)
    state = running._state
    copied = copy_state(state)
    for own, other in zip(arrays_of(state), arrays_of(copied), strict=True):
        assert np.array_equal(own, other)
        assert own is state.cancellations or not np.shares_memory(own, other)
    before = [array.copy() for array in arrays_of(copied)]
    running.run()
    for then, now in zip(before, arrays_of(copied), strict=True):
        assert np.array_equal(then, now)


@pytest.mark.parametrize("order", ["instant", "event"])
@pytest.mark.parametrize("policy", ["easy", "s3"])
def test_room_is_made_without_changing_anything_that_is_there(policy, order):
    case = busy_log(5, 150)
    running = Simulation(case.jobs, policy, order=order, machine_code=False)
    for _ in range(20):
        running.run(events=10)
        state = running._state
        ahead = state._replace(now=state.now.copy())
        ahead.now[ALIVE] += 500  # as if this many more waited
        assert not is_roomy(ahead)
        roomy = with_room(ahead)
        assert isinstance(roomy, State)
        assert is_roomy(roomy)
        assert np.array_equal(profile_in(roomy.plan).free, profile_in(state.plan).free)
        assert np.array_equal(profile_in(roomy.plan).starts, profile_in(state.plan).starts)
