"""A waiting job gets another shape at its place in the queue: the simulator does the same as the live core."""

import heapq
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import Recorded
from small_logs import Case, logs, random_log
from thorough import examples

from gas.errors import BadInput
from gas.profile.blocks import check as check_blocks
from gas.s3.machine import Machine
from gas.simulation.schedule import NEVER_STARTED, ORDERS, POLICIES
from gas.simulation.simulate import Simulation, simulate

PLANNING = [policy for policy in POLICIES if policy not in ("fcfs", "easy")]
LATER = 10


def waits(simulation, place):
    places, _, running = simulation.standing()
    return place in places[~running]


def live(jobs, changes):
    """Return the starts by the live core, with changes (instant, place, processors, walltime, run time)."""
    events = [(submit, 0, k, ()) for k, submit in enumerate(jobs.submit.tolist())]
    events += [(at, 1, place, (at, shape)) for at, place, *shape in changes]
    heapq.heapify(events)
    rows = list(zip(*(c.tolist() for c in (jobs.processors, jobs.estimate, jobs.run_time)), strict=True))
    schedule = Recorded(jobs.machine, events[0][0], machine_code=False)
    machine, ids = Machine(schedule), {}
    while events:
        now, kind, k, change = heapq.heappop(events)
        if kind == 0:
            if now > schedule.now:
                machine.advance(now, settle=False)
            ids[k] = machine.submit(*rows[k]).id
            continue
        machine.advance(now)
        if k in ids and ids[k] in schedule.entries and schedule.entry(ids[k]).state == "queued":
            machine.reshape(ids[k], *change[1])
    while (instant := machine.next_instant()) is not None:
        machine.advance(instant)
    schedule.check()
    return [schedule.starts.get(ids.get(k), NEVER_STARTED) for k in range(len(jobs))]


def simulated(jobs, changes, policy="s3", order="instant", machine_code=False):
    """Return the finished simulation with the same changes; promises of other jobs never get later."""
    simulation = Simulation(jobs, policy, order=order, machine_code=machine_code)
    for at, place, size, walltime, run_time in changes:
        simulation.stand_at(at)
        assert simulation.now == at
        if not waits(simulation, place):
            with pytest.raises(BadInput, match="does not wait"):
                simulation.reshape(place, processors=size, estimate=walltime, run_time=run_time)
            continue
        places, before, _ = simulation.standing()
        others = places != place
        offered = simulation.availability(without=place).anchors(np.array([size]), np.array([walltime]), at)[0]
        promised = simulation.reshape(place, processors=size, estimate=walltime, run_time=run_time)
        after = dict(zip(*(part.tolist() for part in simulation.standing()[:2]), strict=True))
        assert promised <= offered if policy != "conservative-replan" else promised >= at
        if policy != "conservative-replan":
            assert all(after[k] <= start for k, start in zip(places[others], before[others], strict=True))
        check_blocks(simulation._state.plan, jobs.machine)
    simulation.run()
    return simulation


@st.composite
def cases(draw):
    case = draw(logs())
    case = replace(case, rows=tuple((submit + LATER, *rest) for submit, *rest in case.rows))
    last, machine = case.rows[-1][0], case.jobs.machine
    changes = []
    for _ in range(draw(st.integers(1, 5))):
        walltime = draw(st.integers(1, 12))
        changes.append(
            (
                draw(st.integers(case.rows[0][0], last + 15)),
                draw(st.integers(0, len(case.rows) - 1)),
                draw(st.integers(1, machine)),
                walltime,
                draw(st.integers(0, walltime)),
            )
        )
    return case, sorted(changes)


@examples(150)
@given(made=cases())
def test_it_is_what_the_live_core_does(made):
    case, changes = made
    assert simulated(case.jobs, changes).schedule().start.tolist() == live(case.jobs, changes)


def long_case(seed):
    """Return a log of hundreds of jobs, many of which wait, and as many changes."""
    case = random_log(seed, jobs=(150, 200), most_processors=32)
    case = replace(case, rows=tuple((submit + LATER, *rest) for submit, *rest in case.rows))
    random, jobs = np.random.default_rng(seed), case.jobs
    changes = []
    for place in random.choice(len(jobs), 100, replace=False).tolist():
        walltime = int(random.integers(1, 40))
        at = int(jobs.submit[place] + random.integers(0, 10))
        changes.append((at, place, int(random.integers(1, jobs.machine + 1)), walltime, int(random.integers(walltime))))
    return jobs, sorted(changes)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_so_it_is_in_machine_code_and_with_many_jobs(seed):
    jobs, changes = long_case(seed)
    changed = simulated(jobs, changes, machine_code=True).schedule()
    assert changed.start.tolist() == live(jobs, changes)
    assert 10 < np.count_nonzero(changed.jobs.processors != jobs.processors) < 100  # the others had started


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", PLANNING)
@examples(20)
@given(made=cases())
def test_under_every_policy_that_plans_each_job_runs_once_in_its_last_shape(policy, order, made):
    case, changes = made
    simulation = simulated(case.jobs, changes, policy, order)
    schedule = simulation.schedule()
    assert (schedule.start >= case.jobs.submit).all()
    assert (schedule.end - schedule.start == np.minimum(schedule.jobs.run_time, schedule.jobs.estimate)).all()
    at = np.unique(schedule.start)
    held = (schedule.start[:, None] <= at) & (at < schedule.end[:, None])
    assert (schedule.jobs.processors @ held <= case.jobs.machine).all()


def test_the_same_shape_changes_nothing():
    jobs, changes = long_case(5)
    simulation = Simulation(jobs, "s3", machine_code=False)
    for at, place, *_ in changes:
        simulation.stand_at(at)
        if waits(simulation, place):
            simulation.reshape(place)
    simulation.run()
    assert np.array_equal(simulation.schedule().start, simulate(jobs, "s3", machine_code=False).start)


def test_it_stops_where_a_job_has_to_be_answered():
    jobs = Case(4, ((0, 4, 10, 10), (5, 2, 10, 10), (20, 1, 5, 5))).jobs
    simulation = Simulation(jobs, "s3", ask=[1], machine_code=False)
    assert simulation.stand_at(8) == 1
    assert simulation.now == 5
    simulation.answer(processors=4, estimate=30, run_time=20)
    assert simulation.stand_at(8) is None
    assert simulation.reshape(1, processors=3) == 10
    assert simulation.availability(without=1).free.tolist() == [0, 4]
    with pytest.raises(BadInput, match="instant 7: the simulation is at 8"):
        simulation.stand_at(7)
    simulation.run()
    found = simulation.schedule()
    assert (found.jobs.processors[1], found.jobs.estimate[1], found.start[1], found.end[1]) == (3, 30, 10, 30)


def test_what_cannot_be_reshaped_is_refused_and_nothing_changes():
    jobs = Case(4, ((0, 4, 10, 10), (5, 2, 10, 10), (20, 1, 5, 5))).jobs
    simulation = Simulation(jobs, "s3", machine_code=False)
    simulation.stand_at(6)
    for place, words in ((0, "job 1 does not wait: it is running"), (2, "job 3 does not wait: it was not submitted")):
        with pytest.raises(BadInput, match=words):
            simulation.reshape(place, processors=1)
    for shape in ({"processors": 5}, {"processors": 0}, {"estimate": 0}, {"run_time": -1}):
        with pytest.raises(BadInput):
            simulation.reshape(1, **shape)
    simulation.run()
    with pytest.raises(BadInput, match="job 2 does not wait: it left at 20"):
        simulation.reshape(1, processors=1)
    assert np.array_equal(simulation.schedule().start, simulate(jobs, "s3", machine_code=False).start)
    with pytest.raises(BadInput, match='policy "easy": does not plan every job'):
        Simulation(jobs, "easy", machine_code=False).reshape(1, processors=1)
