"""Why a job waits: the reason in words, who is ahead, its priority and its limits."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, a_cluster, an_accounting, job, running

from gas.slurm.accounting import Bounds
from gas.slurm.explanation import Ahead, explanation

WEIGHTS = {"age": 0, "association": 0, "fair share": 0, "size": 0, "partition": 1000, "QOS": 0}


def waiting(id, priority=50, **more):
    return replace(
        job(1), **{"id": id, "priority": priority, "submitted": id, "account": "lab", "qos": "normal"} | more
    )


def test_who_is_ahead_by_tier_then_priority_then_submission():
    urgent = replace(MAIN, name="urgent", tier=9)
    jobs = [
        waiting(1, 40), waiting(2, 60, user="other"), waiting(3), waiting(4, user="other"), waiting(6, user="other"),
        waiting(7, 1, user="other", partitions=("urgent",)), waiting(8, 0, user="other"), running(9, 4, 600),
        waiting(10, 99, user="other", reason="QOSGrpCpuLimit"),
    ]  # fmt: skip
    asked = waiting(5, reason="Priority")
    found = explanation(a_cluster(jobs=[*jobs, asked], partitions=(MAIN, urgent), weights=WEIGHTS), asked)
    ahead, own, verdict = found.in_partition["main"]
    assert ahead == Ahead(higher_tier=1, higher_priority=1, earlier=2, own=1, tasks=4)
    assert ahead.all == 4
    assert (own.value, verdict.outcome) == (1000, "free")
    assert found.reason == "jobs of higher priority are ahead of it"


def test_a_limit_is_explained_with_what_is_in_use():
    asked = waiting(2, reason="QOSMaxCpuPerUserLimit", cpus=4)
    cluster = a_cluster(an_accounting(normal=Bounds(user_tres={"cpu": 8.0})), jobs=[running(1, 6, 600), asked])
    found = explanation(cluster, asked)
    assert found.reason == (
        'you in QOS "normal" may have 8 CPUs (MaxTRESPU); 6 CPUs are in use and 4 CPUs are requested '
        "(QOSMaxCpuPerUserLimit)"
    )
    assert found.in_partition["main"][2].release == 1_000_600


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"reason": "Resources"}, "it waits until enough nodes are free"),
        (
            {"reason": "(Dependency)", "dependency": "afterok:7"},
            "it waits for another job that it depends on (afterok:7)",
        ),
        ({"reason": "ReqNodeNotAvail, UnavailableNodes:n1"}, "nodes that it needs are down, drained or reserved"),
        ({"reason": "QOSGrpGRES"}, "a limit holds it back (QOSGrpGRES)"),
        ({"reason": "SomethingNew"}, 'Slurm says "SomethingNew"'),
        ({"reason": ""}, "Slurm gives no reason"),
        (
            {"reason": "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"},
            "too few nodes are available: others are down, drained or reserved for jobs of higher tiers",
        ),
    ],
)
def test_reasons_in_words(about, words):
    asked = waiting(1, **about)
    assert explanation(a_cluster(jobs=[asked]), asked).reason == words
