"""What a simulation shows between two events, and that stopping anywhere changes nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, disturbed_logs
from thorough import examples

from gas.errors import BadInput
from gas.simulation.schedule import NEVER_STARTED, ORDERS, POLICIES
from gas.simulation.simulate import Simulation, simulate

JOBS = Case(4, ((0, 3, 10, 8), (2, 2, 10, 10), (3, 1, 5, 5))).jobs
"""The second job waits for the first, the third is backfilled beside it."""


def standing_at(instant, policy="s3", **more):
    simulation = Simulation(JOBS, policy, machine_code=False, **more)
    simulation.stand_at(instant)
    return simulation


def frames(found):
    return dict(zip(found.starts.tolist(), found.free.tolist(), strict=True))


def test_who_waits_and_runs_and_for_when_that_is_planned():
    places, starts, running = standing_at(4).standing()
    assert (places.tolist(), starts.tolist(), running.tolist()) == ([0, 1, 2], [0, 10, 3], [True, False, True])


def test_starts_and_ends_are_those_that_have_come():
    simulation = standing_at(8)
    assert simulation.starts([0, 1, 2]).tolist() == [0, 8, 3]
    assert simulation.ends([0, 1, 2]).tolist() == [8, NEVER_STARTED, 8]


def test_what_is_free_is_shown_from_now_on_with_and_without_a_job_that_waits():
    simulation = standing_at(4)
    assert frames(simulation.availability()) == {4: 0, 8: 1, 10: 2, 20: 4}
    assert frames(simulation.availability(without=1)) == {4: 0, 8: 1, 10: 4}
    assert frames(simulation.availability()) == {4: 0, 8: 1, 10: 2, 20: 4}


def test_only_a_job_that_waits_in_a_plan_can_be_left_out():
    with pytest.raises(BadInput, match="job 1 does not wait: it is running"):
        standing_at(4).availability(without=0)
    with pytest.raises(BadInput, match='policy "easy": does not plan every job'):
        standing_at(4, "easy").availability(without=1)


def test_the_jobs_take_part_as_they_were_answered_and_reshaped():
    simulation = standing_at(1, ask=[1])
    assert simulation.stand_at(4) == 1
    simulation.answer(processors=4, run_time=9)
    simulation.stand_at(4)
    assert simulation.shapes.processors.tolist() == [3, 4, 1]
    simulation.reshape(1, processors=1, estimate=7, run_time=6)
    simulation.run()
    found = simulation.schedule()
    assert [column[1] for column in (found.jobs.processors, found.jobs.estimate, found.start, found.end)] == [
        1,
        7,
        8,
        14,
    ]
    assert simulation.jobs.processors.tolist() == [3, 2, 1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", POLICIES)
@examples(20)
@given(case=disturbed_logs(), data=st.data())
def test_standing_at_instants_changes_nothing(policy, order, case, data):
    simulation = Simulation(case.jobs, policy, order=order, machine_code=False, **case.beside)
    first = simulation.now
    for instant in sorted(data.draw(st.lists(st.integers(first, case.rows[-1][0] + 30), max_size=5))):
        assert simulation.stand_at(instant) is None
        assert simulation.now == instant
        following = simulation.next_instant
        assert following is None or following > instant
    simulation.run()
    whole = simulate(case.jobs, policy, order=order, machine_code=False, **case.beside)
    assert np.array_equal(simulation.schedule().start, whole.start)
    assert np.array_equal(simulation.schedule().end, whole.end)
