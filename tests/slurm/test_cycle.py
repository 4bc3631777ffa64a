"""One cycle over the queue: arrays, several partitions, depth; and that machine code plans the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, listed, outlook, planned, plans, running, with_nodes
from thorough import examples

from gas import compiled
from gas.slurm.cluster import Gres, Licence, Partition, Reservation, Scheduling, Tasks
from gas.slurm.held_back import limits_in
from gas.slurm.node_weights import weights_stay
from gas.slurm.outlook import Why, forecast


def array(id, count, cpus=4, at_once=None, **fields):
    return job(id, cpus, array=id, tasks=Tasks((range(count),), at_once), **fields)


# -- arrays


def test_tasks_of_an_array_are_planned_one_after_the_other():
    made = cluster(running(9, "n0", end=600), array(1, 3), nodes=1, scheduling=Scheduling(array_depth=2))
    assert plans(made) == [(1, 600, [0]), (1, 1200, [0])]


@pytest.mark.parametrize(("version", "count"), [(OLD, 4), (MIDDLE, 2)])
def test_no_more_tasks_than_may_run_at_once_are_planned_from_23_02_4_on(version, count):
    made = cluster(running(9, "n0", end=600), array(1, 4, at_once=2), nodes=1, version=version)
    assert len(plans(made)) == count


def test_an_array_of_which_a_task_starts_is_passed_over_in_its_other_partitions():
    """Seen on 24.11: the other node stays idle in this cycle, and a job behind the array starts on it."""
    both = (Partition("p", ("n0",)), Partition("q", ("n1",)))
    made = cluster(array(1, 3, partitions=("p", "q")), job(2, partitions=("q",)), partitions=both)
    assert plans(made) == [(1, 0, [0]), (1, 600, [0]), (1, 1200, [0]), (2, 0, [1])]


def test_with_no_room_for_tasks_arrays_are_passed_over():
    made = cluster(array(1, 2), job(2), nodes=1, scheduling=Scheduling(array_depth=0))
    assert plans(made) == [(2, 0, [0])]


def test_an_array_of_which_a_task_cannot_be_planned_is_rejected():
    made = cluster(array(1, 3, cpus=8), job(2), nodes=1)
    assert plans(made) == [(2, 0, [0])]


def test_hidden_tasks_are_where_a_real_slurm_planned_them():
    """From the log of a 22.05.8 (DebugFlags=Backfill): 8 nodes of 2 CPUs, and five tasks of 6 CPUs for 10 minutes."""
    now, end = 1795297663, 1795298861
    names = tuple(f"n{n}" for n in range(8))
    queue = [
        job(1, 16, 20, state="RUNNING", start=end - 1200, end=end, nodes=names), job(2, 8, 30), array(3, 5, cpus=6),
        job(4, 3, 15),
    ]  # fmt: skip
    made = replace(cluster(*queue, nodes=8, cpus=2, version=OLD), now=now)
    found = [(one, start + NOW, places) for one, start, places in plans(made)]
    assert found == [
        (2, end, [0, 1, 2, 3]), (3, end, [4, 5, 6]), (3, 1795299420, [4, 5, 6]), (3, 1795300020, [4, 5, 6]),
        (3, 1795300620, [0, 1, 2]), (3, 1795300620, [3, 4, 5]), (4, 1795300620, [6, 7]),
    ]  # fmt: skip


# -- several partitions, tiers


def test_a_job_of_two_partitions_keeps_nodes_in_both():
    """Seen with DebugFlags=Backfill: it is planned once for each of its partitions."""
    partitions = (Partition("p", ("n0",)), Partition("q", ("n1",)))
    busy = running(8, "n0", end=600), running(9, "n1", end=900)
    both = job(1, partitions=("p", "q"))
    asked = job(partitions=("q",))
    assert planned(cluster(*busy, both, partitions=partitions), asked)[0] == 1500
    once = Scheduling(parameters={"bf_one_resv_per_job": ""})
    assert planned(cluster(*busy, both, partitions=partitions, scheduling=once), asked)[0] == 900


def test_a_probe_of_two_partitions_gets_the_earlier_start():
    partitions = (Partition("p", ("n0",)), Partition("q", ("n1",)))
    made = cluster(running(8, "n0", end=600), running(9, "n1", end=300), partitions=partitions)
    found = outlook(made, job(partitions=("p", "q")))
    assert (found.planned, found.partition, found.nodes) == (NOW + 300, "q", ("n1",))


def test_a_job_of_a_higher_tier_comes_before_others():
    partitions = (Partition("p", ("n0",), tier=2), Partition("q", ("n0",)))
    made = cluster(running(9, "n0", end=600), job(1, partitions=("q",)), nodes=1, partitions=partitions)
    assert planned(made, job(partitions=("q",)))[0] == 1200
    assert planned(made, job())[0] == 600


def test_probes_at_several_places_are_answered_in_one_pass():
    made = cluster(running(9, "n0", end=600), job(1), job(2), nodes=1)
    found = forecast(made, [job(priority=10_000), job(priority=998, submitted=NOW), job()]).outlooks
    assert [one.planned - NOW for one in found] == [600, 1800, 1800]


# -- depth


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"bf_max_job_user": "2"}, Why.USER_DEPTH), ({"bf_max_job_part": "2"}, Why.PARTITION_DEPTH),
        ({"bf_max_job_user_part": "2"}, Why.USER_PARTITION_DEPTH), ({"bf_max_job_assoc": "2"}, Why.ACCOUNT_DEPTH),
        ({"bf_min_prio_reserve": "100"}, Why.NOW_ONLY), ({"bf_job_part_count_reserve": "2"}, Why.NOW_ONLY),
        ({"bf_min_age_reserve": "60"}, Why.NOW_ONLY),
    ],
)  # fmt: skip
def test_behind_the_depth_there_is_no_plan_but_an_expectation(parameters, why):
    queue = [job(1, submitted=NOW - 99), job(2, submitted=NOW - 99)]
    made = cluster(running(9, "n0", end=600), *queue, nodes=1, scheduling=Scheduling(parameters=parameters))
    found = outlook(made, job())
    assert (found.planned, found.why, found.expected) == (None, why, NOW + 1800)


def test_the_depth_of_a_cycle_counts_tests():
    queue = [job(1), job(2)]
    made = cluster(running(9, "n0", end=600), *queue, nodes=1)
    wide = {"bf_node_space_size": "50"}
    made = replace(made, scheduling=Scheduling(depth=2, parameters=wide))
    found = outlook(made, job())
    assert (found.planned, found.why, found.expected) == (None, Why.DEPTH, NOW + 1800)
    assert planned(replace(made, scheduling=Scheduling(depth=3, parameters=wide)), job())[0] == 1800


def test_plans_end_when_the_table_has_as_many_slots_as_jobs_are_tested():
    """Seen on 22.05 and 24.11: with bf_max_job_test=6 the cycle ends for bf_node_space_size, its default."""
    jobs = [job(at, 4, 10 * at) for at in range(1, 9)]
    made = cluster(running(9, "n0", end=600), *jobs, nodes=1)
    short = replace(made, scheduling=Scheduling(depth=6))
    wide = replace(made, scheduling=Scheduling(depth=6, parameters={"bf_node_space_size": "50"}))
    assert len(forecast(short, beyond=False).plans) < len(forecast(wide, beyond=False).plans) == 6
    assert Why.TABLE_FULL in {why for _, why in forecast(short, beyond=False).unplanned}


@pytest.mark.parametrize(("reason", "why"), [("QOSGrpCpuLimit", Why.PARTITION_DEPTH), ("QOSGrpJobsLimit", None)])
def test_jobs_that_wait_for_a_limit_of_resources_count_for_the_depth(reason, why):
    """Seen on 24.11 with bf_max_job_part."""
    held = [job(at, 4, reason=reason) for at in (1, 2)]
    parameters = Scheduling(parameters={"bf_max_job_part": "3"})
    made = cluster(running(9, "n0", end=600), *held, job(3, 4), nodes=1, scheduling=parameters)
    assert [one for one, _, _ in plans(made)] == [3]
    assert outlook(made, job(cpus=4)).why == why


@pytest.mark.parametrize("version", [OLD, NEW])
def test_jobs_that_a_limit_of_resources_keeps_from_starting_hold_nothing(version):
    """Seen on 22.05: the limit is found when the job would start, and those behind it get its nodes (backfill.c)."""
    made = cluster(job(1, 4, reason="QOSGrpNodeLimit"), job(2, 4, 60), nodes=1, version=version)
    assert plans(made) == [(2, 0, [0])]
    assert planned(made, job(cpus=4)) == (3600, [0])


def test_the_depth_of_one_user_is_not_that_of_another():
    parameters = {"bf_max_job_user": "1"}
    made = cluster(running(9, "n0", end=600), job(1), job(2), nodes=1, scheduling=Scheduling(parameters=parameters))
    assert [one[0] for one in plans(made)] == [1]
    assert planned(made, job(user="other"))[0] == 1200


# -- licences


def test_licences_that_are_short_now_leave_no_plan():
    made = cluster(job(1, licences={"l": 1}), licences=(Licence("l", 2, used=2),))
    assert plans(made) == []
    assert outlook(made, job(licences={"l": 1})).why is Why.LICENCES
    assert planned(made, job(licences={}))[0] == 0


def test_who_lacks_licences_is_expected_when_running_jobs_give_them_back():
    """Of a job that Slurm has no plan for at first; where it is not shown who has them, nothing is said."""
    made = cluster(running(9, "n0", end=3600, licences={"l": 2}), licences=(Licence("l", 2, used=2),))
    found = outlook(made, job(licences={"l": 1}), limits=limits_in(made))
    assert (found.planned, found.expected, found.why) == (None, NOW + 3600, Why.LICENCES)
    hidden = cluster(licences=(Licence("l", 2, used=2),))
    found = outlook(hidden, job(licences={"l": 1}), limits=limits_in(hidden))
    assert (found.planned, found.expected, found.never) == (None, None, False)


def test_with_bf_licenses_planned_jobs_take_licences_from_their_slots():
    table = Scheduling(parameters={"bf_licenses": ""})
    first = job(1, 8, 10, licences={"l": 2})
    made = cluster(running(9, "n0", end=300), first, licences=(Licence("l", 2),), scheduling=table, nodes=3)
    assert planned(made, job(licences={"l": 1}))[0] == 600
    assert planned(made, job())[0] == 300


# -- starts


def test_what_starts_now_runs_for_the_rest_of_the_cycle():
    """It has the CPUs that it takes, and not whole nodes as planned jobs have."""
    made = cluster(job(1, 1, 30), job(2, 1, 30), nodes=1, cpus=2)
    assert plans(made) == [(1, 0, [0]), (2, 0, [0])]


def test_parts_of_a_heterogeneous_job_do_not_start_before_each_other():
    parts = [job(1, 4, leader=1), job(2, 4, leader=1)]
    made = cluster(running(9, "n0", end=600), *parts, nodes=1)
    assert [start for _, start, _ in plans(made)] == [600, 1200]


# -- machine code

NAMES = tuple(f"n{n}" for n in range(6))


@st.composite
def clusters(draw):
    half = NAMES[:3]
    partitions = (
        Partition("p", NAMES), Partition("q", half, longest=3600, most_nodes=2, most_cpus=2),
        Partition("w", NAMES, whole_nodes=True, tier=draw(st.integers(1, 2))),
    )  # fmt: skip
    jobs = []
    for place, end in enumerate(draw(st.lists(st.integers(-40, 4000), max_size=6))):
        if end:
            name = NAMES[place]
            share = {
                "cpus_on": {name: draw(st.integers(1, 4))},
                "gres_on": {name: (Gres("gpu", "", draw(st.integers(0, 1))),)},
            }
            jobs.append(running(place + 1, name, end=end, **share))
    for number in range(draw(st.integers(0, 8))):
        fields = {
            "partitions": draw(st.sampled_from((("p",), ("q",), ("w",), ("p", "q")))),
            "exclusive": draw(st.booleans()), "least_nodes": draw(st.integers(1, 2)),
            "priority": draw(st.integers(1, 5)), "excluded_nodes": draw(st.sampled_from(((), ("n0",)))),
            "required_nodes": draw(st.sampled_from(((), ("n1",)))),
            "eligible": draw(st.sampled_from((None, NOW + 1000))), "user": draw(st.sampled_from("uv")),
            "gres_per_node": draw(st.sampled_from(((), (Gres("gpu", "", 1),)))),
            "features": draw(st.sampled_from(("", "a", "[a|b]"))),
        }  # fmt: skip
        if draw(st.booleans()):
            at_once = draw(st.sampled_from((None, 1, 2)))
            fields |= {"array": 100 + number, "tasks": Tasks((range(draw(st.integers(1, 4))),), at_once)}
        elif draw(st.integers(0, 3)) == 0:
            start = NOW + draw(st.integers(1, 9000))
            fields |= {"start": start, "planned_nodes": draw(st.sampled_from((NAMES[:1], NAMES)))}
        jobs.append(job(100 + number, draw(st.integers(1, 12)), draw(st.integers(1, 120)), **fields))
    parameters = draw(st.sampled_from(({}, {"bf_max_job_user": "2"}, {"bf_one_resv_per_job": ""}, {"bf_licenses": ""})))
    made = cluster(
        *jobs, nodes=6, partitions=partitions, version=draw(st.sampled_from((OLD, MIDDLE, NEW))),
        reservations=draw(st.sampled_from(((), (Reservation("r", NOW + 900, NOW + 5000, half),)))),
        scheduling=Scheduling(depth=draw(st.sampled_from((3, 500))), parameters=parameters),
        licences=(Licence("l", 2),),
    )  # fmt: skip
    features = [frozenset(draw(st.sets(st.sampled_from("ab")))) for _ in NAMES]
    return with_nodes(made, features=features, gres=[(Gres("gpu", "", 2),)] * 4 + [()] * 2, weight=[1, 1, 2, 1, 1, 1])


probes = st.builds(
    job, st.just(0), st.integers(1, 12), st.integers(1, 120), priority=st.integers(0, 6),
    partitions=st.sampled_from((("p",), ("q", "w"))),
)  # fmt: skip


def wrong_with(found):
    """Return what is wrong with plans that were made anew, in words."""
    wrong = []
    state = found.state
    rows = state.rows
    taken = []
    for one in found.plans:
        at = next(
            k
            for k, record in enumerate(state.records)
            if record.job is one.job and record.partition.name == one.partition
        )
        nodes = np.isin(np.arange(len(state.names)), one.places)
        if one.start < NOW:
            wrong.append(f"job {one.job.id} starts before now")
        if np.any(nodes & ~state.sets[rows.nodes[at]]) or np.any(state.sets[rows.required[at]] & ~nodes):
            wrong.append(f"job {one.job.id} is on nodes that it may not have, or not on those that it must have")
        if not rows.need[at][3] <= np.count_nonzero(nodes) <= rows.need[at][5]:
            wrong.append(f"job {one.job.id} has another number of nodes than it may")
        if one.cpus.sum() < rows.need[at][0]:
            wrong.append(f"job {one.job.id} has too few CPUs")
        resolution = state.parameters.resolution
        end = one.start + one.limit
        span = one.start // resolution * resolution, end // resolution * resolution
        if one.start > NOW:
            wrong += [
                f"jobs {one.job.id} and {other} are on the same nodes at once"
                for first, last, places, other in taken
                if first < span[1] and last > span[0] and np.any(places & nodes)
            ]
            taken.append((*span, nodes, one.job.id))
    return wrong


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.lists(probes, max_size=3))
def test_no_planned_job_is_in_anothers_way_or_breaks_what_it_asks_for(made, asked):
    found = forecast(made, asked, pinned=False, beyond=False)
    assert wrong_with(found) == []
    again = forecast(made, asked, pinned=False, beyond=False)
    assert listed(again) == listed(found)


@given(clusters(), st.lists(probes, max_size=3))
def test_a_probe_changes_nothing_for_others(made, asked):
    assume(not weights_stay(made, asked))  # where its submission leaves weights of nodes
    assert listed(forecast(made, asked, beyond=False)) == listed(forecast(made, beyond=False))


@pytest.fixture(scope="module")
def as_machine_code():
    pytest.importorskip("numba")
    return compiled.compiled


@examples(60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(clusters(), st.lists(probes, max_size=3))
def test_machine_code_plans_the_same(as_machine_code, made, asked):
    from gas.slurm import outlook as module

    plain = forecast(made, asked, pinned=False)
    patch = pytest.MonkeyPatch()
    patch.setattr(module, "fastest", lambda kernel, steps, **_: as_machine_code(kernel))
    try:
        quick = forecast(made, asked, pinned=False)
    finally:
        patch.undo()
    assert listed(quick) == listed(plain)
    assert quick.outlooks == plain.outlooks
