"""OAR's scheduler puts the next job where its chart leaves room, to the second; each resource is known."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.oar.answers import jobs_of, records_of
from gas.endpoints.oar.chart import Chart
from gas.endpoints.oar.interpretation import Rules, interpret
from gas.endpoints.oar.machine import Job, Machine, Resource
from gas.errors import BadInput, Infeasible
from gas.profile.flat import NEVER

PLAIN = Rules(quotas=(), policy="fifo")


def anchor(machine, processors, walltime, first=0, resource="resource_id", **rules):
    chart = Chart(rules.pop("security_time", 60), rules.pop("shortest_hole", 300))
    found = interpret(machine, resource, Rules(chart, **rules)).availability
    return int(found.anchors(np.array([processors]), np.array([walltime]), first)[0])


def cores(count, per_host=1, **more):
    return tuple(
        Resource(id, f"n{1 + (id - 1) // per_host}", "Alive", properties={"core": str(id)}, **more)
        for id in range(1, count + 1)
    )


def running(id, start, walltime, *resources, **more):
    return Job(id, "", "ann", "Running", walltime=walltime, start=start, resources=resources, **more)


def planned(id, start, walltime, *resources, **more):
    return Job(id, "", "ann", "Waiting", walltime=walltime, expected=start, resources=resources, **more)


def test_a_recorded_job_of_three_shapes_was_planned_where_each_fits_first(chart):
    """When OAR planned job 4, job 3 still had its slot: 8 for 900 s was planned at 1795220303, and ended first."""
    before = [replace(job, state="Running") if job.id == 3 else job for job in chart.jobs if job.id != 4]
    chart = replace(chart, now=1795219398, jobs=tuple(before))
    ends = {shape: anchor(chart, *shape) + shape[1] for shape in ((32, 300), (16, 480), (8, 900))}
    assert ends[8, 900] == 1795220303 + 900
    assert min(ends, key=ends.get) == (8, 900)


def test_the_same_job_really_started_in_its_second_shape_when_a_slot_was_given_back(chart):
    """OAR started it at 1795219415 on 16 resources, with job 2 planned at 1795220015 on 8 of them."""
    chart = replace(chart, now=1795219415, jobs=tuple(job for job in chart.jobs if job.id != 4))
    ends = {shape: anchor(chart, *shape) + shape[1] for shape in ((32, 300), (16, 480), (8, 900))}
    assert ends[16, 480] == 1795219415 + 480
    assert min(ends, key=ends.get) == (16, 480)


def test_the_recorded_job_behind_a_running_one_was_planned_a_minute_and_a_second_after_its_end(chart):
    chart = replace(chart, now=1795219360, jobs=tuple(job for job in chart.jobs if job.id == 1))
    assert anchor(chart, 24, 1200) == 1795219354 + 600 + 61 == 1795220015
    assert anchor(chart, 24, 1200, security_time=0) == 1795219354 + 600 + 1


@pytest.mark.parametrize("transport", ["commands", "rest"])
def test_each_job_of_a_recorded_queue_was_planned_where_it_fits_behind_those_before_it(busy_machines, transport):
    """Nine jobs wait, in the order of their numbers; OAR's plan for each is known."""
    machine = busy_machines[transport]
    waiting = [job for job in machine.jobs if job.waiting]
    assert len(waiting) == 9
    for job in waiting:
        before = replace(machine, jobs=tuple(one for one in machine.jobs if one.id < job.id))
        sizes = {len(job.resources): job.walltime}
        if job.id == 25:
            sizes = {32: 3600, 3: 60, 2: 90}  # its three shapes
        ends = {size: anchor(before, size, walltime) + walltime for size, walltime in sizes.items()}
        best = min(ends, key=ends.get)
        assert best == len(job.resources), job
        assert ends[best] - sizes[best] == job.expected, job


def test_both_transports_give_the_same_availability(busy_machines):
    by_commands, by_rest = (interpret(busy_machines[name]).availability for name in ("commands", "rest"))
    assert by_commands.version == by_rest.version
    assert by_commands.names == by_rest.names
    assert by_commands.counts.to_wire() == by_rest.counts.to_wire()
    assert by_commands.processors == 32
    assert by_commands.kind == "estimate"


def test_the_window_of_the_rest_api_gives_the_same_as_all_that_is_active(recorded, rest_machine):
    window = jobs_of(records_of(json.loads(recorded("rest-jobs-details-from-to")), ""), "")
    assert {job.id for job in window} == {1, 2, 3, 4}
    of_window = interpret(replace(rest_machine, jobs=window)).availability
    assert of_window.version == interpret(rest_machine).availability.version


def test_a_resource_that_is_free_before_and_another_after_are_none_for_the_whole_time():
    """Two cores of one host: at each moment one is free, but neither from now on forever."""
    machine = Machine("m", 0, cores(2, per_host=2), (running(1, 0, 1000, 1), planned(2, 2000, 5000, 2)))
    found = interpret(machine)
    assert min(frame["free"] for frame in found.availability.counts.to_wire()["frames"]) == 1
    assert anchor(machine, 1, 3000) == 1061  # core 1, and not core 2 from now on
    assert anchor(machine, 1, 1940) == 0
    assert anchor(machine, 1, 1941) == 1061  # core 2 must be given back a minute before it is needed


def test_resources_of_a_host_that_are_taken_together_are_one_node():
    jobs = (running(1, 0, 1000, 1, 2, 5),)
    found = interpret(Machine("m", 0, cores(8, per_host=4), jobs)).availability
    assert sorted(zip(found.names, found.capacity.tolist(), strict=True)) == [
        ("n1#1", 2), ("n1#2", 2), ("n2#1", 1), ("n2#2", 3)
    ]  # fmt: skip
    assert found.processors == 8


def test_a_hole_of_five_minutes_is_none_and_a_longer_one_is():
    def machine(hole):
        return Machine("m", 0, cores(1), (running(1, 0, 1000, 1), planned(2, 1061 + hole, 100, 1)))

    assert anchor(machine(300), 1, 100) == 1061 + 300 + 161
    assert anchor(machine(301), 1, 100) == 1061
    assert anchor(machine(301), 1, 241) == 1061
    assert anchor(machine(301), 1, 242) == 1061 + 301 + 161
    assert anchor(machine(300), 1, 100, shortest_hole=0) == 1061


def test_a_job_that_should_have_ended_keeps_its_resources_for_a_moment_more():
    assert anchor(Machine("m", 5000, cores(1), (running(1, 0, 1000, 1),)), 1, 10) == 5061


def test_ended_jobs_hold_nothing_even_while_they_are_still_in_the_chart():
    ended = replace(running(1, 0, 9000, 1), state="Terminated")
    assert anchor(Machine("m", 5, cores(1), (ended,)), 1, 10) == 5


def test_besteffort_jobs_hold_nothing_but_from_their_like():
    machine = Machine("m", 0, cores(1), (running(1, 0, 9000, 1, types=("besteffort",)),))
    assert anchor(machine, 1, 10) == 0
    assert anchor(machine, 1, 10, queue="besteffort") == anchor(machine, 1, 10, kinds=("besteffort",)) == 9061


@pytest.mark.parametrize(
    "change", [{"state": "Suspected"}, {"state": "Absent", "until": 0}, {"state": "Dead"}, {"draining": True}]
)
def test_resources_on_which_no_job_starts_are_left_out(change):
    resources = cores(3)
    machine = Machine("m", 100, (replace(resources[0], **change), *resources[1:]), ())
    found = interpret(machine, rules=PLAIN)
    assert found.availability.processors == 2
    assert anchor(machine, 3, 10) == NEVER
    assert "left out: 1" in found.remarks[0]


def test_resources_of_other_kinds_and_desktop_computers_are_not_counted():
    resources = cores(4)
    others = (replace(resources[0], kind="licence"), replace(resources[1], desktop=True))
    found = interpret(Machine("m", 0, others + resources[2:], ()), rules=PLAIN)
    assert found.availability.processors == 2
    assert found.remarks == ()


def test_absent_resources_that_oar_wakes_count_if_that_is_said_until_they_are_wanted_back():
    asleep = replace(cores(1)[0], state="Absent", until=10_000)
    machine = Machine("m", 100, (asleep, *cores(2)[1:]), ())
    found = interpret(machine, rules=PLAIN)
    assert found.availability.processors == 1
    assert "standby = true" in found.remarks[0]
    assert anchor(machine, 2, 9000, standby=True) == 100
    assert anchor(machine, 2, 9900, standby=True) == NEVER


def test_a_unit_may_be_a_host_or_a_core_of_two_threads():
    threads = tuple(
        Resource(id, f"n{1 + (id - 1) // 4}", "Alive", properties={"network_address": f"n{1 + (id - 1) // 4}",
                                                                  "core": str((id + 1) // 2)})
        for id in range(1, 9)
    )  # fmt: skip
    machine = Machine("m", 0, threads, (running(1, 0, 1000, 1),))
    assert interpret(machine, "core").availability.processors == 4
    assert anchor(machine, 4, 10, resource="core") == 1061
    assert anchor(machine, 3, 10, resource="core") == 0
    hosts = interpret(machine, "nodes").availability
    assert (hosts.names, hosts.capacity.tolist()) == (("n1", "n2"), [1, 1])
    assert anchor(machine, 1, 5000, resource="nodes") == 0
    assert anchor(machine, 2, 10, resource="nodes") == 1061


def test_a_unit_of_which_a_part_cannot_be_used_is_not_given_but_dead_parts_are_forgotten():
    pair = cores(2, per_host=2)
    pair = tuple(replace(one, properties={"network_address": "n1"}) for one in pair)
    dead = Machine("m", 0, (replace(pair[0], state="Dead"), pair[1]), ())
    assert interpret(dead, "nodes").availability.processors == 1
    with pytest.raises(Infeasible, match=r"none of its resources is usable \(1 suspected, 1 usable, but in a unit"):
        interpret(replace(dead, resources=(replace(pair[0], state="Suspected"), pair[1])), "nodes")


def test_a_property_that_there_is_not_is_named_with_those_there_are():
    with pytest.raises(BadInput, match='no property "cors".*did you mean "core"'):
        interpret(Machine("m", 0, cores(2), ()), "cors")


def test_waiting_jobs_without_a_plan_are_counted():
    jobs = (Job(1, "", "ann", "Waiting"), Job(2, "", "bob", "Hold"), planned(3, 50, 10, 1))
    found = interpret(Machine("m", 0, cores(2), jobs), rules=PLAIN)
    assert found.unplanned == (1, 2)
    assert "2 waiting jobs have no planned start (1 of them held)" in found.remarks[0]


def test_the_version_changes_with_the_chart_and_not_with_the_clock():
    machine = Machine("m", 0, cores(2), (running(1, 0, 1000, 1),))
    version = interpret(machine).availability.version
    assert interpret(replace(machine, now=30)).availability.version == version
    assert interpret(replace(machine, jobs=(running(1, 0, 1001, 1),))).availability.version != version


def test_an_absent_resource_is_in_standby_only_where_oar_saves_energy_with_it():
    """By default, OAR never switches one off, and an absent one was removed by hand."""
    gone = replace(cores(1)[0], state="Absent", never_halted=True)
    found = interpret(Machine("m", 100, (gone, *cores(2)[1:]), ()), rules=PLAIN)
    assert found.remarks == ("resources left out: 1 absent",)


def test_waiting_jobs_that_are_planned_later_than_a_new_one_are_not_in_its_way():
    karma = "R=2,W=0:1:0,J=B (Karma={:.3f},quota_ok)".format
    jobs = (
        running(1, 0, 1000, 1, 2),
        planned(2, 1061, 3600, 1, 2, queue="default", message=karma(0.1)),
        replace(planned(3, 4722, 3600, 1, 2, queue="default", message=karma(0.9)), user="bob"),
        replace(planned(4, 8383, 3600, 1, 2, queue="besteffort"), types=("besteffort",)),
    )
    machine = Machine("m", 0, cores(2), jobs, user="ann")
    assert anchor(machine, 2, 60) == 1061 + 3661
    assert anchor(replace(machine, user="bob"), 2, 60) == 1061 + 2 * 3661


def test_besteffort_jobs_are_planned_behind_those_that_wait_where_oar_puts_these():
    """The commands do not show their planned resources: the first free ones, for five minutes."""
    message = "R=2,W=9:0:0,J=B,T=besteffort (Karma=0.000,quota_ok)"
    waiting = planned(2, 1061, 32400, types=("besteffort",), queue="besteffort", message=message)
    machine = Machine("m", 0, cores(3), (running(1, 0, 1000, 1, 2, 3), waiting), user="ann")
    assert anchor(machine, 1, 9000, queue="besteffort") == 1061
    assert anchor(machine, 2, 9000, queue="besteffort") == 1061 + 301
    shown = replace(machine, jobs=(machine.jobs[0], replace(waiting, resources=(1, 2))))
    assert anchor(shown, 2, 9000, queue="besteffort") == 1061 + 301


def test_hosts_with_so_many_cores_free_are_planned_for_as_such():
    """On host n1 cores 1 to 3 are free, on n2 core 8; the jobs on the others end one after the other."""
    resources = tuple(replace(one, properties={**one.properties, "host": one.host}) for one in cores(8, per_host=4))
    jobs = (running(1, 0, 1000, 4), running(2, 0, 2000, 5), running(3, 0, 3000, 6, 7))
    machine = Machine("m", 0, resources, jobs)
    assert anchor(machine, 1, 10, resource="host/core=3") == 0
    assert anchor(machine, 1, 10, resource="host/core=4") == 1061
    assert anchor(machine, 2, 10, resource="host/core=2") == 2061
    assert anchor(machine, 2, 10, resource="host/core=3") == 3061
    assert anchor(machine, 3, 10, resource="host/core=1") == NEVER
    assert anchor(machine, 1, 10, resource="host=2/core") == 0
    assert anchor(machine, 2, 10, resource="host=2/core") == 2061
    found = interpret(machine, "host/core=3").availability
    assert [(frame["start"], frame["free"]) for frame in found.counts.to_wire()["frames"]] == [(0, 1), (3061, 2)]
    with pytest.raises(Infeasible, match="cannot hold one host"):
        interpret(machine, "host/core=5")


# ---------------------------------------------------------------------------------------------------- brute force

SECURITY, SHORTEST = 3, 4


@st.composite
def charts(draw):
    count = draw(st.integers(1, 6))
    per_host = draw(st.integers(1, 3))
    jobs = []
    for id in range(1, draw(st.integers(0, 6)) + 1):
        resources = draw(st.lists(st.integers(1, count), min_size=1, max_size=count, unique=True))
        make = draw(st.sampled_from([running, planned]))
        start = draw(st.integers(0, 10)) if make is running else draw(st.integers(10, 60))
        jobs.append(make(id, start, draw(st.integers(12, 30)), *resources))
    return Machine("m", 10, cores(count, per_host), tuple(jobs))


def taken(machine):
    """Return for each resource the seconds in which the next job cannot be there, second by second."""
    seconds = {one.id: set() for one in machine.resources}
    for job in machine.jobs:
        start = job.start if job.start is not None else job.expected
        for id in job.resources:
            seconds[id] |= set(range(start, start + job.walltime + SECURITY + 1))
    for held in seconds.values():
        edges = sorted(held)
        for a, b in itertools.pairwise(edges):
            if 1 < b - a <= SHORTEST + 1:  # the hole has b - a - 1 seconds
                held |= set(range(a, b))
    return seconds


@given(charts(), st.integers(1, 6), st.integers(1, 25))
def test_the_earliest_start_is_that_of_trying_every_second(machine, processors, walltime):
    held = taken(machine)

    def fits(start):
        needed = set(range(start, start + walltime + SECURITY))
        return sum(not needed & seconds for seconds in held.values()) >= processors

    wanted = next((s for s in range(10, 400) if fits(s)), NEVER)
    assert anchor(machine, processors, walltime, security_time=SECURITY, shortest_hole=SHORTEST) == wanted


@given(charts())
def test_pieces_of_hosts_are_all_of_their_resources(machine):
    found = interpret(machine, rules=Rules(Chart(SECURITY, SHORTEST))).availability
    assert found.processors == len(machine.resources)
    of_host = {}
    for name, units in zip(found.names, found.capacity.tolist(), strict=True):
        host = name.partition("#")[0]
        of_host[host] = of_host.get(host, 0) + units
    assert of_host == {one.host: sum(r.host == one.host for r in machine.resources) for one in machine.resources}
