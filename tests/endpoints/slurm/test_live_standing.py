"""Priorities and limits against real Slurms of three releases: what is foreseen of a job is what happens to it."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import RELEASES, PrivateSlurm

from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.rest import RestTransport
from gas.slurm.cluster import Job
from gas.slurm.limits import limits
from gas.slurm.priority import own_priority

sys.path.insert(0, str(Path(__file__).parent))
situations = import_module("situations")

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root submits jobs of several users")

SHORT = {"priorities": range(1), "limits": range(1)}
LONG = {"priorities": range(100, 120), "limits": range(100, 120)}


def figures(release, seeds):
    with situations.Situations(release) as there:
        limited = [met for seed in seeds["limits"] for met in there.at_limits(seed)]
        weighed = [one for seed in seeds["priorities"] for one in there.priorities(seed)]
    wrong = [met for met in limited if not met.right]
    off = [one for one in weighed if one[1] is None or abs(one[1] - one[2]) > 1]
    return limited, wrong, weighed, off


@pytest.mark.live
@pytest.mark.parametrize("release", RELEASES)
def test_what_happens_to_a_job_is_foreseen(release):
    limited, wrong, weighed, off = figures(release, SHORT)
    assert len(limited) == 4
    assert weighed
    assert (wrong, off) == ([], [])


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", RELEASES)
def test_what_happens_to_many_jobs_is_foreseen(release):
    limited, wrong, weighed, off = figures(release, LONG)
    print(f"{release}: {len(limited)} at limits, {len(wrong)} wrong; {len(weighed)} priorities, {len(off)} off")
    for one in (*wrong, *off):
        print(one)
    assert not [met for met in wrong if met.foreseen == "free"]  # never "starts now" where it does not
    assert len(wrong) <= 0.03 * len(limited)
    assert len(off) <= 0.02 * len(weighed)


@pytest.mark.live
@pytest.mark.parametrize("release", RELEASES)
def test_both_transports_say_what_a_limit_leaves(release, monkeypatch):
    me = situations.ME
    lines = (
        "PriorityType=priority/multifactor", "PriorityWeightFairshare=1000",
        "AccountingStorageEnforce=associations,limits,qos",
    )  # fmt: skip
    accounts = situations.ACCOUNTS + "modify qos normal set MaxTRESPU=cpu=6\n"
    with PrivateSlurm(6, 4, *lines, release=release, rest=True, accounting=True, accounts=accounts) as slurm:
        running = slurm.submit("-n4", "-t30", user=me)
        slurm.planned_start(running)
        monkeypatch.setenv("SLURM_JWT", slurm.token(user=me))
        commands = CommandTransport("x", str(slurm.folder / "slurm.conf"), folder=str(slurm.programs(me)))
        commands.user = me
        read = [commands.cluster("x"), RestTransport("x", slurm.rest_url, user=me).cluster("x")]
    for cluster in read:
        asked = Job(0, "", me, "PENDING", ("main",), 4, 0, time_limit=600, tasks_asked=4)
        found = limits(cluster, asked, cluster.partitions[0])
        assert (found.outcome, found.reason) == ("waits", "QOSMaxCpuPerUserLimit")
        assert found.release == next(job.end for job in cluster.jobs if job.id == running)
        assert cluster.accounting.accounts() == ("lab", "chem")
        priority = own_priority(cluster, asked, cluster.partitions[0])
        assert (priority.value, priority.sure) == ((1000, True) if cluster.settings else (None, False))
