"""One cycle over the queue: arrays, several partitions, depth, licences."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, outlook, planned, plans, running

from gas.slurm.accounting import Accounting, Association, Qos
from gas.slurm.cluster import Licence, Partition, Scheduling, Tasks
from gas.slurm.forecast import forecast
from gas.slurm.why import Why


def array(id, count, cpus=4, at_once=None, **fields):
    return job(id, cpus, array=id, tasks=Tasks((range(count),), at_once), **fields)


def test_for_a_job_of_a_qos_that_reserves_nothing_a_start_is_found_and_kept_by_nobody():
    """Seen on 22.05 and 24.11: squeue shows a start without nodes, and those behind are planned as without it."""
    accounting = Accounting("u", qos={"free": Qos("free", flags=frozenset({"noreserve"}))})
    waiting = (running(9, "n0", end=600), job(1, qos="free"), job(2, qos="free"), job(3))
    made = cluster(*waiting, nodes=1, accounting=accounting)
    assert plans(made) == [(3, 600, [0])]
    assert plans(replace(made, accounting=None)) == [(1, 600, [0]), (2, 1200, [0]), (3, 1800, [0])]
    assert outlook(made, job()).planned == NOW + 1200
    assert outlook(made, job(qos="free")).planned == NOW + 1200
    free = cluster(job(1, qos="free"), job(3), nodes=1, accounting=accounting)
    assert outlook(free, job()).planned == NOW + 1200  # 1 starts now, and 3 behind it


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


def test_a_job_of_a_higher_tier_comes_before_others():
    partitions = (Partition("p", ("n0",), tier=2), Partition("q", ("n0",)))
    made = cluster(running(9, "n0", end=600), job(1, partitions=("q",)), nodes=1, partitions=partitions)
    assert planned(made, job(partitions=("q",)))[0] == 1200
    assert planned(made, job())[0] == 600


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


@pytest.mark.parametrize(("partition", "planned"), [("", None), ("q", NOW + 1800)])
def test_the_depth_of_an_association_counts_all_partitions_unless_it_is_for_one(partition, planned):
    """Seen on 24.11: with bf_max_job_assoc=2, jobs in another partition count too."""
    there = tuple(Partition(name, ("n0",)) for name in "pq")
    known = Accounting("u", (Association("lab", "u"), Association("lab", "u", partition)), default_account="lab")
    queue = [job(1, account="lab"), job(2, account="lab")]
    made = cluster(
        running(9, "n0", end=600), *queue, nodes=1, partitions=there, accounting=known,
        scheduling=Scheduling(parameters={"bf_max_job_assoc": "2"}),
    )  # fmt: skip
    assert outlook(made, job(partitions=("q",))).planned == planned


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


def test_with_bf_licenses_planned_jobs_take_licences_from_their_slots():
    table = Scheduling(parameters={"bf_licenses": ""})
    first = job(1, 8, 10, licences={"l": 2})
    made = cluster(running(9, "n0", end=300), first, licences=(Licence("l", 2),), scheduling=table, nodes=3)
    assert planned(made, job(licences={"l": 1}))[0] == 600
    assert planned(made, job())[0] == 300


def test_without_bf_licenses_spans_that_differ_in_licences_only_are_joined():
    """Seen on 22.05 (DebugFlags=BackfillMap, Licenses:(null)): the search went on over the longer span, and found one.

    That release tries no start behind two spans in which no node appears.
    """
    few = {"licences": {"l": 1}}
    queue = [running(9, "n0", end=600), job(1, 4, 20, **few), job(2, 4, 10), job(3, 4, 20, **few)]
    made = cluster(*queue, nodes=1, licences=(Licence("l", 2),), version=OLD)
    assert planned(made, job(minutes=5))[0] == 3600


# -- starts


def test_what_starts_now_runs_for_the_rest_of_the_cycle():
    """It has the CPUs that it takes, and not whole nodes as planned jobs have."""
    made = cluster(job(1, 1, 30), job(2, 1, 30), nodes=1, cpus=2)
    assert plans(made) == [(1, 0, [0]), (2, 0, [0])]


def test_parts_of_a_heterogeneous_job_do_not_start_before_each_other():
    parts = [job(1, 4, leader=1), job(2, 4, leader=1)]
    made = cluster(running(9, "n0", end=600), *parts, nodes=1)
    assert [start for _, start, _ in plans(made)] == [600, 1200]
