"""Applications that choose among machines: where each starts, when requests are withdrawn, the gain by deviating."""

from dataclasses import replace

import numpy as np
import pytest
from made_machines import machines_of, world_of_these
from made_up import busy_jobs

from experiments.moldable.benchmarks import Form, application
from experiments.moldable.machines import STRATEGIES, Arriving, Machines, follow, submissions, world_of
from experiments.supercomputers.run import outcome, trial
from gas.application import Requests
from gas.planner import plan
from gas.simulation.audit import audit
from gas.simulation.recorded import recorded
from gas.simulation.schedule import NEVER_STARTED
from gas.simulation.simulate import Simulation, simulate


@pytest.fixture(scope="module")
def world():
    return world_of_these(machines_of(), percent=20)[0]


def run(world, strategy, machine_code=True):
    machines = Machines(world, machine_code=machine_code)
    follow(machines, lambda number, lists: submissions(strategy, world.applications[number], lists))
    return machines


# ----------------------------------------------------------------------------------------------------------- the world


def test_every_application_stands_in_every_list_once_in_one_order_and_all_other_jobs_as_before(world):
    own = machines_of()
    submit = [one.submit for one in world.applications]
    assert submit == sorted(submit)
    for machine, (jobs, places) in enumerate(zip(world.lists, world.places, strict=True)):
        assert (np.diff(places) > 0).all()
        assert jobs.submit[places].tolist() == submit
        home = [one.place for one in world.applications if one.home == machine]
        assert len(home) == len(own[machine]) // 5
        assert len(jobs) == len(own[machine]) + len(submit) - len(home)
        stays = np.setdiff1d(np.arange(len(own[machine])), home)
        rigid = world.rigid(machine)
        for name in ("id", "submit", "processors", "estimate", "run_time", "user"):
            assert np.array_equal(getattr(jobs, name)[rigid], getattr(own[machine], name)[stays])
        assert len(set(jobs.id.tolist())) == len(jobs)


def test_applications_take_the_place_of_about_as_much_processor_time_on_each_machine(world):
    own = machines_of()
    _, ratios = world_of_these(own, percent=20)
    for home, (jobs, ratio) in enumerate(zip(own, ratios, strict=True)):
        work = jobs.processors * jobs.run_time
        arriving = [one for one in world.applications if one.home == home]
        new = 0
        for one in arriving:
            sizes, times, _ = one.requests[home]
            new += one.static * int(times[sizes.tolist().index(one.static)])
        old = sum(int(work[one.place]) for one in arriving)
        assert ratio == pytest.approx((int(work.sum()) - old + new) / int(work.sum()))


def test_jobs_before_the_beginning_keep_machines_busy_and_are_neither_replaced_nor_counted():
    own = machines_of()
    world, _ = world_of_these(own, percent=20, begin=100)
    assert min(one.submit for one in world.applications) >= 100
    for machine, (jobs, mine) in enumerate(zip(world.lists, own, strict=True)):
        later = int((mine.submit >= 100).sum())
        assert 0 < later < len(mine)
        assert sum(one.home == machine for one in world.applications) == later // 5
        assert len(world.rigid(machine)) == later - later // 5
        assert jobs.id[jobs.submit < 100].tolist() == mine.id[mine.submit < 100].tolist()


def test_those_of_the_same_second_stand_in_the_same_order_everywhere():
    one = busy_jobs(6, 8, seed=1)
    same = [replace(one, submit=np.array([0, 5, 5, 5, 5, 9]))] * 3
    nothing = tuple(Requests(*np.ones((3, 1), np.int64)) for _ in range(3))
    arriving = [Arriving(5, home, place, "x", 1, nothing) for home in (2, 0, 1) for place in (4, 2)]
    made = world_of(same, arriving)
    order = [(one.home, one.place) for one in made.applications]
    assert order == [(0, 2), (0, 4), (1, 2), (1, 4), (2, 2), (2, 4)]
    for machine, places in enumerate(made.places):
        assert (np.diff(places) > 0).all()
        ids = made.lists[machine].id.tolist()
        assert [i for i in ids if i in one.id] == one.id.tolist()
        assert [ids[at] for at, key in zip(places, order, strict=True) if key[0] == machine] == [one.id[2], one.id[4]]


# ---------------------------------------------------------------------------------------------------------- strategies


@pytest.mark.parametrize("machine_code", [True, False])
def test_on_one_machine_it_is_the_simulation_of_that_machine(machine_code):
    world, _ = world_of_these(machines_of(1, jobs=150), percent=20)
    alone = Simulation(world.lists[0], "s3", ask=world.places[0], machine_code=machine_code)
    number = 0
    while (place := alone.run()) is not None:
        assert place == world.places[0][number]
        best = submissions("home", world.applications[number], [alone.availability()])[0]
        alone.answer(processors=best.processors, estimate=best.walltime, run_time=best.time)
        number += 1
    for strategy in ("home", "choose", "everywhere", "hedge"):
        machines = run(world, strategy, machine_code)
        found, expected = machines.simulations[0].schedule(), alone.schedule()
        assert np.array_equal(found.start, expected.start)
        assert np.array_equal(found.end, expected.end)
        assert machines.withdrawn == 0


@pytest.mark.parametrize("strategy", [one for one in STRATEGIES if one != "coallocate"])
def test_each_application_runs_once_and_no_machine_is_oversubscribed(world, strategy):
    machines = run(world, strategy)
    starts = np.array([each.starts(places) for each, places in zip(machines.simulations, world.places, strict=True)])
    assert ((starts != NEVER_STARTED).sum(axis=0) == 1).all()
    for number, submitted in enumerate(machines.submitted):
        won = submitted[machines.won[number]]
        assert starts[won.machine, number] != NEVER_STARTED
        assert machines.end(number) == starts[won.machine, number] + won.time
        # No job starts later than S³ promised, wherever it was submitted.
        assert starts[won.machine, number] <= min(one.start for one in submitted)
    for simulation in machines.simulations:
        schedule = simulation.schedule()
        assert schedule.unfinished == 0
        found = audit(recorded(schedule), processors=schedule.jobs.machine)
        assert found.ok, found
    assert machines.withdrawn == sum(len(submitted) - 1 for submitted in machines.submitted)
    assert (machines.withdrawn > 10) == (strategy in ("everywhere", "everywhere-static", "hedge"))


def test_parts_that_start_together_do_as_promised_and_delay_no_other_promise(world):
    machines = run(world, "coallocate")
    spread = [submitted for submitted in machines.submitted if submitted[0].held]
    assert len(spread) > 5
    for number, submitted in enumerate(machines.submitted):
        starts = [machines.simulations[one.machine].starts(world.places[one.machine, [number]])[0] for one in submitted]
        assert len({one.start for one in submitted}) == 1
        if submitted[0].held:
            assert starts == [one.start for one in submitted]
        assert machines.end(number) == starts[0] + submitted[0].time
    assert machines.withdrawn == 0
    for simulation in machines.simulations:
        schedule = simulation.schedule()
        ran = schedule.started
        assert (schedule.start <= schedule.promise)[ran].all()
        instants = np.concatenate([schedule.start[ran], schedule.end[ran]])
        change = np.concatenate([schedule.jobs.processors[ran], -schedule.jobs.processors[ran]])
        held = np.cumsum(change[np.lexsort((change, instants))])
        assert held.max() <= schedule.jobs.machine


def test_several_machines_are_taken_only_if_they_promise_an_earlier_end_than_any_one(world):
    machines = Machines(world)
    while (number := machines.run()) is not None:
        one, lists = world.applications[number], machines.lists()
        alone, spread = (submissions(strategy, one, lists) for strategy in ("choose", "coallocate"))
        assert spread == alone or (len(spread) > 1 and spread[0].end < alone[0].end)
        machines.answer(spread)


@pytest.mark.parametrize("strategy", ["everywhere", "everywhere-static", "hedge"])
def test_losers_leave_at_the_instant_at_which_the_winner_starts(world, strategy):
    machines = run(world, strategy)
    schedules = [simulation.schedule() for simulation in machines.simulations]
    for number, submitted in enumerate(machines.submitted):
        won = submitted[machines.won[number]]
        start = schedules[won.machine].start[world.places[won.machine, number]]
        for machine, schedule in enumerate(schedules):
            at = world.places[machine, number]
            if machine == won.machine:
                continue
            assert schedule.start[at] == NEVER_STARTED
            there = machine in [one.machine for one in submitted]
            assert schedule.end[at] == (start if there else world.applications[number].submit)


def test_what_is_submitted_is_what_the_planner_says(world):
    form = Form(accuracy=0.5)
    machines = Machines(world)
    seen = set()
    while (number := machines.run()) is not None:
        one, lists = world.applications[number], machines.lists()
        if number % 4:
            machines.answer(submissions("choose", one, lists))
            continue
        benchmark, problem_class = one.name.split(".")
        app = application(benchmark.upper(), problem_class, form)
        at_home_first = sorted(lists, key=lambda each: each.scheduler != lists[one.home].scheduler)
        best = plan(app, at_home_first).best
        chosen = submissions("choose", one, lists)
        assert [(lists[c.machine].scheduler, *c[1:5]) for c in chosen] == [
            (best.scheduler, best.processors, best.walltime, best.execution_time, best.start)
        ]
        of_each = {each.scheduler: plan(app, each).best for each in lists}
        everywhere = submissions("everywhere", one, lists)
        for c in everywhere:
            there = of_each[lists[c.machine].scheduler]
            assert c[1:5] == (there.processors, there.walltime, there.execution_time, there.start)
        at_once = [c.finish for c in of_each.values() if c.start == lists[0].now]
        if at_once:
            assert [c.end for c in everywhere] == [min(at_once)]
        else:
            assert sorted(c.machine for c in everywhere) == [0, 1, 2]
        hedged = submissions("hedge", one, lists)
        assert hedged[0] == chosen[0]
        assert all(c.time <= chosen[0].time and c.end >= chosen[0].end for c in hedged[1:])
        assert len(hedged) == 1 or chosen[0].start > lists[0].now
        seen |= {("everywhere", len(everywhere)), ("hedge", len(hedged))}
        static = submissions("everywhere-static", one, lists)
        assert {c.processors for c in static} == {one.static}
        assert submissions("choose-static", one, lists)[0].end == min(
            c.end for c in static + submissions("home-static", one, lists)
        )
        assert submissions("home", one, lists)[0].machine == one.home
        machines.answer(chosen)
    assert seen >= {("everywhere", 1), ("everywhere", 3), ("hedge", 1), ("hedge", 3)}


def test_alone_among_true_estimates_choosing_ends_as_soon_as_any_request_to_any_machine():
    own = machines_of(jobs=150, true=True)
    for percent, seed in ((1, 1), (1, 2), (1, 5)):
        arriving = world_of_these(own, percent, seed, accuracy=1.0)[0].applications
        one = arriving[len(arriving) // 2]
        world = world_of(own, [one])
        ends = {}
        for machine, (jobs, places) in enumerate(zip(world.lists, world.places, strict=True)):
            others = {}
            for size, time, walltime in zip(*(column.tolist() for column in one.requests[machine]), strict=True):
                columns = {name: getattr(jobs, name).copy() for name in ("processors", "estimate", "run_time")}
                for name, value in zip(columns, (size, walltime, time), strict=True):
                    columns[name][places[0]] = value
                others[size] = int(simulate(replace(jobs, **columns), "s3").end[places[0]])
            ends[machine] = others
        chosen, home = run(world, "choose").end(0), run(world, "home").end(0)
        assert chosen == min(end for others in ends.values() for end in others.values())
        assert home == min(ends[one.home].values())
        assert run(world, "home-static").end(0) == ends[one.home][one.static]


def test_uncompiled_it_is_the_same():
    world, _ = world_of_these(machines_of(jobs=60), percent=20)
    does = np.random.default_rng(3).random(len(world.applications)) < 0.5
    one, other = (trial(world, "choose", "hedge", does, deviating=True, machine_code=code) for code in (True, False))
    assert outcome(one) == outcome(other)
