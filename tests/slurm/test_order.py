"""The queue as the backfill scheduler has it."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, outlook, plans, running

from gas.slurm.accounting import Accounting, Qos
from gas.slurm.cluster import Partition, Reservation, Scheduling, Tasks
from gas.slurm.order import Blocked, limit_of, queue
from gas.slurm.settings import Settings
from gas.slurm.verdict import NEVER, WAITS, Binding, Verdict

P, Q = Partition("p", ("n0",)), Partition("q", ("n0",), tier=2)


def ids(*jobs, **options):
    made = cluster(*jobs, nodes=1, partitions=(P, Q), reservations=(Reservation("r", NOW, NOW + 60, ("n0",)),))
    return [(one.job.id, one.partition.name) for one in queue(made, **options)]


def test_jobs_come_by_reservation_tier_priority_submission_and_number():
    jobs = [
        job(6, priority=5, submitted=NOW), job(5, priority=5, submitted=NOW), job(4, priority=5, submitted=NOW - 9),
        job(3, priority=9), job(2, priority=1, partitions=("q",)), job(1, priority=1, reservation="r"),
    ]  # fmt: skip
    assert [one for one, _ in ids(*jobs)] == [1, 2, 3, 4, 5, 6]


def test_there_is_a_record_for_each_partition_with_its_own_priority():
    both = job(1, partitions=("p", "q"))
    assert ids(both, job(2, partitions=("q",), priority=1000)) == [(2, "q"), (1, "q"), (1, "p")]
    assert ids(job(1, partitions=("p",), priority_in={"p": 1}), job(2, priority=5)) == [(2, "p"), (1, "p")]


def test_a_probe_stands_at_its_priority_and_comes_last_without_one():
    assert ids(job(1), job(2), probes=[job(priority=998)])[1:] == [(2, "p"), (0, "p")]
    assert ids(job(1), job(2), probes=[job(priority=999)])[1] == (0, "p")
    assert ids(job(1), job(2), probes=[job()])[-1] == (0, "p")


def test_a_job_whose_qos_may_preempt_others_comes_before_those():
    """Seen on 26.05.5: an urgent job with the lowest priority is planned before all others but urgent ones."""
    known = Accounting("me", qos={"normal": Qos("normal"), "urgent": Qos("urgent", preempts=("normal",))})
    settings = Settings(preempt_type="qos", preempt_mode=frozenset({"REQUEUE"}))
    jobs = [job(1, qos="normal"), job(2, qos="urgent"), job(3, qos="normal"), job(4, qos="other", priority=9999)]
    made = cluster(*jobs, nodes=1, partitions=(P, Q), accounting=known, settings=settings)
    found = [one.job.id for one in queue(made, [job(qos="urgent"), job(qos="normal")])]
    assert found[-1] == 0
    planned = replace(made, jobs=tuple(replace(one, start=NOW + 60) for one in jobs))
    exempting = replace(
        planned, settings=replace(settings, preempt_exempt=600)
    )  # which says nothing of those that wait
    assert [one.job.id for one in queue(exempting)] == [one.job.id for one in queue(made)]
    assert found.index(2) < found.index(0) < found.index(1) < found.index(3)
    off = replace(made, settings=Settings(preempt_type="qos", preempt_mode=frozenset({"OFF"})))
    assert [one.job.id for one in queue(off)] == [4, 1, 2, 3]


def test_limits_block_nobody_with_assoc_limit_stop():
    """Seen on 22.05, 24.11 and 26.05: jobs that wait for MaxJobsPerUser are planned, and hold their nodes."""
    jobs = (job(1, 4, reason="QOSMaxJobsPerUserLimit"), job(2, 4))
    made = cluster(*jobs, running(9, "n0", end=60), nodes=1)
    stops = replace(made, scheduling=Scheduling(parameters={"assoc_limit_stop": ""}))
    assert [record.blocked for record in queue(made)] == [Blocked.LIMIT, None]
    assert plans(made) == [(2, 60, [0])]
    assert [record.blocked for record in queue(stops)] == [None, None]
    assert [one[:2] for one in plans(stops)] == [(1, 60), (2, 660)]


@pytest.mark.parametrize(
    ("fields", "blocked"),
    [
        ({}, None), ({"priority": 0}, Blocked.HELD), ({"reason": "Dependency"}, Blocked.DEPENDENCY),
        ({"dependency": "afterok:7"}, Blocked.DEPENDENCY), ({"eligible": NOW + 60}, Blocked.BEGIN),
        ({"reason": "QOSMaxCpuPerUserLimit"}, Blocked.LIMIT), ({"reason": "AssocGrpCpuLimit"}, Blocked.LIMIT),
        ({"reason": "Priority"}, None), ({"reason": "BadConstraints"}, Blocked.CONSTRAINT),
        ({"time_limit": 7200, "partitions": ("short",)}, Blocked.PARTITION),
        ({"least_nodes": 2, "partitions": ("short",)}, Blocked.PARTITION),
        ({"account": "a", "partitions": ("short",), "reason": "PartitionConfig"}, Blocked.ACCOUNT),
        ({"account": "a", "partitions": ("short",), "reason": "MaxGRESPerAccount"}, Blocked.LIMIT),
        ({"qos": "high", "partitions": ("short",)}, Blocked.PARTITION),
        ({"reservation": "later"}, Blocked.RESERVATION), ({"reservation": "now"}, None),
    ],
)  # fmt: skip
def test_what_is_passed_over(fields, blocked):
    short = Partition("short", ("n0",), longest=3600, most_nodes=1, allowed_accounts=("b",), denied_qos=("high",))
    kept = Reservation("now", NOW, NOW + 60, ("n0",)), Reservation("later", NOW + 9, NOW + 60, ("n0",))
    made = cluster(job(1, **fields), nodes=1, partitions=(P, short), reservations=kept)
    (record,) = queue(made)
    assert record.blocked is blocked
    assert bool(record.why) == (blocked is not None)


def test_an_array_of_which_as_many_run_as_may_is_passed_over():
    waiting = job(7, array=7, tasks=Tasks((range(3),), at_once=1))
    made = cluster(running(8, "n0", end=60, array=7), waiting, nodes=1)
    assert [one.blocked for one in queue(made)] == [Blocked.TASKS]


def test_limits_of_accounts_come_from_outside():
    def said(one, _):
        return Verdict((Binding(WAITS if one.id else NEVER, "GrpTRES", "words", release=NOW + 60),))

    found = queue(cluster(job(1), nodes=1), [job()], said)
    assert [(one.blocked, one.why, one.release) for one in found] == [
        (Blocked.LIMIT, "words", NOW + 60), (Blocked.FORBIDDEN, "words", None),
    ]  # fmt: skip
    assert [one.blocked for one in queue(cluster(job(1), nodes=1), [job()], lambda *_: None)] == [None, None]


def test_what_has_a_plan_is_considered_whatever_it_waits_for():
    has = job(1, start=NOW + 600, planned_nodes=("n0",), reason="Dependency")
    assert [one.blocked for one in queue(cluster(has))] == [None]
    assert [one.blocked for one in queue(cluster(has), use_plans=False)] == [Blocked.DEPENDENCY]


def test_the_limit_is_the_least_of_those_that_there_are():
    partition = Partition("p", ("n0",), longest=3600)
    assert [limit_of(job(minutes=m), partition) for m in (10, 60, 90)] == [600, 3600, 3600]
    assert limit_of(job(time_limit=None), P) == 365 * 24 * 3600
    assert limit_of(job(minutes=60, shortest=300), P) == 300


@pytest.mark.parametrize(
    ("text", "release"),
    [("afterok:9", 600), ("afterany:77", 0), ("after:9+5", 300), ("afterok:5", None), ("afterok:5?afterok:9", 600)],
)
def test_a_probe_that_waits_for_running_jobs_comes_when_these_have_to_end(text, release):
    made = cluster(running(9, "n0", end=600), job(5, 4))
    found = [one for one in queue(made, [replace(job(), dependency=text)]) if one.probe is not None]
    assert found[0].blocked is Blocked.DEPENDENCY
    assert found[0].release == (None if release is None else NOW + release)


def test_on_26_05_one_task_is_never_planned_where_several_a_node_are_asked_for():
    asked = job(cpus=1, tasks_asked=1, tasks_per_node=2)
    found = outlook(cluster(version=NEW), asked)
    assert found.never
    assert found.words == f"Slurm {NEW} never plans one task with --ntasks-per-node=2"
    assert outlook(cluster(version=NEW), job(cpus=2, tasks_asked=2, tasks_per_node=3)).planned is not None
    assert outlook(cluster(version=MIDDLE), asked).planned is not None


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_on_26_05_more_cpus_for_memory_do_not_suffice_for_a_last_node_with_fewer_tasks(version):
    """Seen: NumCPUs=6 and MinCPUsNode=2 of -n 3 --ntasks-per-node=2 --mem-per-cpu=600, with MaxMemPerCPU=400."""
    asked = {"cpus_per_task": 2, "tasks_per_node": 2, "memory_per_cpu": 300, "cpus_per_node": 2}
    assert outlook(cluster(version=version), job(cpus=6, tasks_asked=3, **asked)).never == (version == NEW)
    assert not outlook(cluster(version=version), job(cpus=8, tasks_asked=4, **asked)).never
    assert not outlook(cluster(version=version), job(cpus=6, tasks_asked=3, **asked | {"cpus_per_node": 4})).never


def test_where_a_qos_preempts_another_the_order_is_that_of_a_merge_sort():
    """Seen on 22.05: eight jobs that wait, of which those of QOS urgent may preempt those of QOS normal."""
    qos = {"normal": Qos("normal", 0), "urgent": Qos("urgent", 0, preempts=("normal",))}
    waiting = (
        (7, "normal", 5781), (9, "urgent", 6875), (10, "normal", 6718), (13, "urgent", 6041), (14, "low", 6302),
        (15, "high", 6302), (16, "urgent", 5729), (17, "normal", 7135),
    )  # fmt: skip
    jobs = [job(id, qos=name, priority=value, submitted=NOW) for id, name, value in waiting]
    settings = Settings(preempt_type="qos", preempt_mode=frozenset({"CANCEL"}))
    accounting = Accounting("me", qos={**qos, "low": Qos("low", 0), "high": Qos("high", 0)})
    made = cluster(*jobs, settings=settings, accounting=accounting)
    assert [one.job.id for one in queue(made)] == [9, 14, 15, 13, 16, 17, 10, 7]
    held = job(8, qos="urgent", priority=0, submitted=NOW)
    assert [one.job.id for one in queue(replace(made, jobs=(*jobs, held)))][:8] == [9, 14, 15, 13, 16, 17, 10, 7]
    asked = [job(qos=name, priority=6500) for name in ("urgent", "low")]
    alone = [[one.probe for one in queue(made, [each])].index(0) for each in asked]
    together = queue(made, asked)
    for number, place in enumerate(alone):
        at = next(at for at, one in enumerate(together) if one.probe == number)
        assert sum(one.probe is None for one in together[:at]) == place
