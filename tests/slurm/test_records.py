"""The rows of a queue: which records the cycle plans, and which only now."""

from dataclasses import replace

from made_clusters import NOW, cluster, plans
from made_clusters import job as waiting
from slurm_standing import a_cluster, an_accounting, job

from gas.slurm.accounting import Bounds
from gas.slurm.cluster import Scheduling
from gas.slurm.forward import run_forward
from gas.slurm.order import Record
from gas.slurm.state import state_of


def test_a_job_below_the_least_priority_is_planned_only_now_and_others_by_bf_min_prio_reserve():
    made = a_cluster(an_accounting(normal=Bounds(least_priority=50)))
    made = replace(made, scheduling=Scheduling(parameters={"bf_min_prio_reserve": "90"}))
    asked = ((1, 60, "normal"), (2, 40, "normal"), (3, 60, "high"))
    jobs = [replace(job(account="lab"), id=number, priority=least, qos=qos) for number, least, qos in asked]

    def only_now(one):
        return state_of(one, [Record(job, one.partitions[0]) for job in jobs]).rows.now_only.tolist()

    assert only_now(made) == [False, True, True]
    assert only_now(replace(made, accounting=None)) == [True, True, True]


def test_a_job_whose_account_may_not_use_its_partition_holds_its_nodes_and_never_starts():
    """Seen on 22.05, 24.11 and 26.05, with AllowAccounts and DenyAccounts."""
    made = cluster(waiting(1, 8, account="sea", reason="PartitionConfig"), waiting(2, 4))
    for limits in ({"allowed_accounts": ("ice",)}, {"denied_accounts": ("sea",)}):
        denied = replace(made, partitions=(replace(made.partitions[0], **limits),))
        assert [one[:2] for one in plans(denied)] == [(1, 1), (2, 660)]
        assert [(one.job, one.start - NOW) for one in run_forward(denied, {2: 60}).starts] == [(2, 0)]


def test_nor_does_it_hold_any_if_a_limit_keeps_it_from_a_plan():
    """Then Slurm publishes a start without nodes, between other reasons than the limit (seen on 24.11)."""
    limited, other = (
        waiting(1, 8, account="sea", start=NOW + 60, reason="PartitionConfig"),
        waiting(3, 4, start=NOW, planned_nodes=("n1",)),
    )
    denied = replace(cluster(limited, waiting(2, 8), other).partitions[0], allowed_accounts=("ice",))
    assert [one[0] for one in plans(cluster(limited, waiting(2, 8), other, partitions=(denied,)))] == [2, 3]
    assert [one[0] for one in plans(cluster(limited, waiting(2, 8), partitions=(denied,)))] == [1, 2], "not published"
