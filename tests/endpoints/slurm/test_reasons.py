"""Why a job waits, as a record."""

from dataclasses import replace

import pytest
from made_clusters import NOW, cluster, job, running, with_nodes

from gas.agent.states import describe
from gas.endpoints.slurm.reasons import why
from gas.endpoints.slurm.records import record_of
from gas.slurm.cluster import Gres, Partition
from gas.times import iso_time

FULL = running(9, "n0", end=3600)


def explained(waiting):
    made = cluster(FULL, waiting, nodes=1)
    return why(made, waiting, user="stranger")


def test_without_a_plan_of_slurms_the_start_is_worked_out():
    found = explained(job(5, 4))
    assert (found["expected"], found["remarks"]) == (NOW + 3600, [])


def test_the_plan_of_slurm_is_believed_and_a_difference_is_said():
    found = explained(replace(job(5, 4), start=NOW + 600))
    assert (found["planned"], found["expected"]) == (NOW + 600, NOW + 600)
    assert all(one["start"] < NOW + 600 for one in found["sooner"])
    assert any("uncertain" in one for one in found["remarks"])


def test_the_earliest_start_that_was_requested_is_not_taken_for_a_plan():
    """Slurm shows it as the start: a job behind a full machine was expected to start at its --begin."""
    waiting = replace(job(5, 4), reason="BeginTime", start=NOW + 600, eligible=NOW + 600)
    found = explained(waiting)
    assert (found["expected"], found["remarks"]) == (NOW + 3600, [])
    record = record_of(waiting, "cpus", "ann")
    assert (record["expected"], record["not_before"]) == (None, NOW + 600)
    assert f"no start is planned, and it cannot start before {iso_time(NOW + 600)} (waits" in describe(record)


def test_a_held_job_is_expected_at_no_time_and_nothing_starts_it_sooner():
    found = explained(replace(job(5, 4), priority=0, reason="JobHeldUser"))
    assert (found["expected"], found["sooner"]) == (None, [])


@pytest.mark.parametrize(
    ("reason", "dependency"),
    [("DependencyNeverSatisfied", "afterok:1(failed)"), ("Dependency", "afterany:9(unfulfilled),afterok:1(failed)")],
)
def test_a_job_whose_dependency_cannot_be_met_never_starts_and_the_way_out_is_said(reason, dependency):
    found = explained(replace(job(5, 4), reason=reason, dependency=dependency))
    assert (found["never"], found["expected"], found["sooner"]) == (True, None, [])
    assert found["way_out"] == (
        "cancel it (gas cancel 5), or remove its dependency (scontrol update JobId=5 Dependency=)"
    )


@pytest.mark.parametrize(
    ("dependency", "provided"),
    [
        ("afterok:9(unfulfilled)", "job 9 succeeds"),
        ("afterok:9_2(unfulfilled)", "job 9_2 succeeds"),
        ("afterok:9(unfulfilled),afterok:8(unfulfilled)", "jobs 9 and 8 succeed"),
        ("afterok:9(unfulfilled)?afterok:8(unfulfilled)", "job 9 or 8 succeeds"),
        ("afterok:9(unfulfilled)?afterany:8(unfulfilled)", None),
        ("afterok:1(failed)?afterany:9(unfulfilled)", None),
        ("afterany:9(unfulfilled)", None),
    ],
)
def test_a_start_behind_a_job_that_must_succeed_is_said_to_depend_on_that(dependency, provided):
    found = explained(replace(job(5, 4), reason="Dependency", dependency=dependency))
    assert (found["never"], found["provided"], found["way_out"]) == (False, provided, None)
    assert found["expected"] is not None


def test_a_job_beyond_a_limit_of_all_its_partitions_never_starts():
    partition = Partition("p", ("n0",), longest=3600)
    waiting = replace(job(5, 4, minutes=90), reason="PartitionTimeLimit")
    found = why(cluster(FULL, waiting, nodes=1, partitions=(partition,)), waiting, user="stranger")
    assert (found["never"], found["expected"]) == (True, None)
    assert found["sooner"]


def test_gpus_that_a_job_does_not_ask_for_are_not_advised():
    def advised(**asked):
        full, free = Partition("p", ("n0",)), Partition("gpu", ("n1",))
        waiting = replace(job(5, 4), user="ada", **asked)
        made = with_nodes(cluster(FULL, waiting, partitions=(full, free)), gres=[(), (Gres("gpu"),)])
        return [one["words"] for one in why(made, waiting, user="ada")["sooner"] if one["change"] == "partition"]

    assert advised() == []
    assert advised(gres_per_node=(Gres("gpu"),)) == ["partition gpu"]
