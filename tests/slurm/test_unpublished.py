"""What shows of a configuration that is not published: how deep Slurm plans, and whether jobs are preempted."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, NOW, a_cluster, an_accounting

from gas.slurm.accounting import Qos
from gas.slurm.cluster import Job, Tasks
from gas.slurm.observed_depth import observed_depth
from gas.slurm.unpublished import with_inferred_settings

OTHER = replace(MAIN, name="other")


def waiting(id, start=None, user="ann", **changes):
    return replace(
        Job(id, "one", user, "PENDING", ("main",), 4, 1000 - id, start=start, time_limit=600, submitted=NOW - 100 + id,
            reason="Priority"), **changes,
    )  # fmt: skip


def unpublished(*jobs, partitions=(MAIN, OTHER), accounting=None):
    there = a_cluster(accounting, partitions=partitions)
    return replace(there, jobs=jobs, settings=None, planned=NOW)


def queue(planned, **changes):
    """Return jobs with a plan or without, in this order."""
    return [waiting(at, NOW + 600 * at if one else None, **changes) for at, one in enumerate(planned, 1)]


def test_plans_that_end_show_how_many_jobs_a_cycle_plans():
    assert observed_depth(unpublished(*queue([1, 1, 1, 0, 0]))) == ("bf_max_job_test", 3)


def test_where_all_have_one_or_only_the_last_has_none_nothing_shows():
    assert observed_depth(unpublished(*queue([1, 1, 1]))) is None
    assert observed_depth(unpublished(*queue([1, 1, 1, 0]))) is None
    assert observed_depth(unpublished(*queue([0, 0, 0]))) is None


def test_tasks_that_are_planned_and_jobs_that_the_cycle_started_count():
    array = waiting(1, NOW + 60, array=1, tasks=Tasks((range(4),), 3))
    begun = Job(9, "r", "ann", "RUNNING", ("main",), 4, 1, start=NOW, end=NOW + 99, nodes=("n1",), time_limit=99)
    before = replace(begun, id=10, start=NOW - 50)
    jobs = (array, *queue([0, 1, 1, 0, 0])[1:], begun, before)
    assert observed_depth(unpublished(*jobs)) == ("bf_max_job_test", 3 + 2 + 1)


def test_what_slurm_says_of_its_last_cycle_counts_instead():
    assert observed_depth(unpublished(*queue([1, 1, 0, 0])), tested=6) == ("bf_max_job_test", 6)


def test_jobs_that_are_new_or_held_back_show_nothing():
    new = [waiting(at, submitted=NOW) for at in (4, 5)]
    limited = [waiting(at, reason="QOSMaxJobsPerUserLimit") for at in (6, 7)]
    assert observed_depth(unpublished(*queue([1, 1, 1]), *new, *limited)) is None


@pytest.mark.parametrize(("key", "changes"), [
    ("bf_max_job_user", [{"user": "ann"}, {"user": "bob"}]),
    ("bf_max_job_part", [{}, {"partitions": ("other",)}]),
])  # fmt: skip
def test_plans_may_end_for_each_user_or_partition(key, changes):
    first = [waiting(at, start, **changes[0]) for at, start in ((1, NOW + 9), (2, NOW + 9), (3, None), (4, None))]
    second = [waiting(at, start, **changes[1]) for at, start in ((5, NOW + 9), (6, NOW + 9), (7, None))]
    assert observed_depth(unpublished(*first, *second)) == (key, 2)


def test_plans_without_any_order_show_nothing():
    assert observed_depth(unpublished(*queue([1, 0, 1, 0, 0, 1, 0]))) is None


def test_it_is_planned_with_and_said():
    found = with_inferred_settings(unpublished(*queue([1, 1, 1, 0, 0])))
    assert (found.scheduling.depth, found.scheduling.parameters) == (
        3,
        {"bf_max_job_test": "3", "bf_node_space_size": "0"},
    )
    assert found.cautions == ("Slurm seems to plan only 3 jobs in a cycle, judging by which waiting jobs have a plan",)
    known = replace(found, scheduling=replace(found.scheduling, parameters={"bf_max_job_test": "7"}))
    assert with_inferred_settings(known).scheduling == known.scheduling


TIERS = (MAIN, replace(OTHER, tier=5))


def preemption(*jobs, accounting=None, partitions=TIERS):
    found = with_inferred_settings(unpublished(*jobs, partitions=partitions, accounting=accounting))
    return None if found.settings is None else found.settings.preempt_type, found.cautions


def running(id, partition="main", **changes):
    return replace(
        Job(id, "r", "ann", "RUNNING", (partition,), 4, 1, start=NOW - 9, end=NOW + 99, nodes=("n1",), time_limit=108),
        **changes,
    )


def test_jobs_that_are_preemptable_show_that_there_is_preemption():
    kind, cautions = preemption(running(1, preemptable=NOW - 9))
    assert kind == "partition_prio"
    assert cautions == ("Gas assumes preemption by partitions of a higher tier: PreemptType is not published",)


def test_or_those_that_were_preempted_lately_or_began_anew_under_a_higher_tier():
    assert preemption(waiting(1, state="PREEMPTED"))[0] == "partition_prio"
    assert preemption(waiting(1, restarts=1), running(2, "other"))[0] == "partition_prio"
    assert preemption(waiting(1, restarts=1), running(2))[0] is None
    assert preemption(waiting(1, restarts=1), running(2, "other"), partitions=(MAIN, OTHER)) == (None, ())


def test_a_qos_that_lists_others_shows_it():
    accounting = replace(an_accounting(), qos={"a": Qos("a", 0, preempts=("b",)), "b": Qos("b", 0)})
    assert preemption(accounting=accounting)[0] == "qos"


def test_a_partition_of_jobs_that_share_nodes_with_none_of_others_keeps_them_for_a_user():
    own = [waiting(id, partitions=("other",), shared_with="user") for id in (1, 2, 3)]
    for jobs, whose in (
        ([*own, waiting(4)], "user"), (own[:2], ""), ([*own, waiting(5, partitions=("other",))], ""),
    ):  # fmt: skip
        assert [one.shared_with for one in with_inferred_settings(unpublished(*jobs)).partitions] == ["", whose]


def test_with_several_tiers_it_is_said_that_it_is_not_known():
    kind, (caution,) = preemption(running(1))
    assert kind is None
    assert caution.startswith("whether jobs of a higher tier preempt others is not known")
