"""The waiting jobs that limits hold back: as Slurm says, and as its limits say of those that it has not tested."""

from dataclasses import replace

import pytest
from slurm_standing import a_cluster, an_accounting, job, running

from gas.slurm.accounting import Bounds
from gas.slurm.blocked import blocked
from gas.slurm.reasons import of_limit

AT_ITS_LIMIT = an_accounting(normal=Bounds(user_tres={"cpu": 8.0}))


def waiting(id, cpus, **more):
    return replace(job(cpus), **{"id": id, "priority": 1, "user": "me", "account": "lab", "qos": "normal"} | more)


def test_what_slurm_says_counts():
    jobs = [waiting(1, 1, reason="AssocGrpCpuLimit", start=5), waiting(2, 1, reason="Resources")]
    assert blocked(a_cluster(jobs=jobs)) == {1: "AssocGrpCpuLimit"}


def test_jobs_that_it_has_not_tested_are_tested_here():
    jobs = [running(1, 6, 600), waiting(2, 2, reason="Priority"), waiting(3, 3, reason="Priority")]
    assert blocked(a_cluster(AT_ITS_LIMIT, jobs=jobs)) == {3: "QOSMaxCpuPerUserLimit"}


def test_a_job_with_a_plan_is_not_held_back():
    planned = waiting(2, 4, reason="Priority", start=2_000_000, planned_nodes=("n1",))
    jobs = [running(1, 6, 600), planned, replace(planned, id=3, planned_nodes=())]
    assert blocked(a_cluster(AT_ITS_LIMIT, jobs=jobs)) == {3: "QOSMaxCpuPerUserLimit"}, "a start without nodes"


def test_nor_is_one_that_may_run_in_another_partition():
    cluster = a_cluster(AT_ITS_LIMIT, jobs=[running(1, 6, 600), waiting(2, 4, partitions=("main", "small"))])
    small = replace(cluster.partitions[0], name="small", qos="part")
    qos = {**cluster.accounting.qos, "part": replace(cluster.accounting.qos["high"], name="part")}
    more = replace(qos["part"], bounds=Bounds(user_tres={"cpu": 40.0}))
    accounting = replace(cluster.accounting, qos={**qos, "part": more})
    assert blocked(cluster) == {2: "QOSMaxCpuPerUserLimit"}
    assert blocked(replace(cluster, partitions=(*cluster.partitions, small), accounting=accounting)) == {}


def test_held_jobs_are_held_by_other_things():
    assert blocked(a_cluster(AT_ITS_LIMIT, jobs=[waiting(1, 9, priority=0, reason="JobHeldUser")])) == {}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("QOSGrpCpuLimit", True), ("MaxCpuPerAccount", True), ("Licenses", True), ("PartitionTimeLimit", True),
        ("Job's QOS not permitted to use this partition (a allows b not c)", True),
        ("Priority", False), ("Resources", False), ("JobArrayTaskLimit", False), ("Dependency", False),
    ],
)  # fmt: skip
def test_which_reasons_are_limits(reason, expected):
    assert of_limit(reason) == expected
