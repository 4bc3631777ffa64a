"""Starts beside and in reservations of many kinds, on real Slurms, are foreseen as they are planned."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import RELEASES, Nodes, PrivateSlurm

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
queues, sites = import_module("queues"), import_module("sites")

pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.getuid() != 0, reason="acts as several users"),
]

LATER, NOW = "StartTime=now+60minutes Duration=60", "StartTime=now Duration=600"
SOME = "Nodes=n[05-12]"
KINDS = {
    "daily": f"{SOME} Users=root {NOW} Flags=DAILY",
    "moves ahead": "Nodes=ALL Users=root StartTime=now+120minutes Duration=600 Flags=TIME_FLOAT,IGNORE_JOBS",
    "flexible": f"{SOME} Users=root {NOW} Flags=FLEX",
    "licences later": f"Licenses=lic:4 Users=root {LATER} Flags=ANY_NODES",
    "licences now": f"Licenses=lic:4 Users=root {NOW} Flags=ANY_NODES",
    "magnetic for a user": f"{SOME} Users={sites.ASKER} {NOW} Flags=MAGNETIC",
    "magnetic later": f"{SOME} Users={sites.ASKER} {LATER} Flags=MAGNETIC",
    "magnetic but for one": f"{SOME} Users=-{sites.ASKER} {NOW} Flags=MAGNETIC",
    "magnetic but for another": f"{SOME} Users=-{sites.OTHERS[0]} {NOW} Flags=MAGNETIC",
    "magnetic for an account above": f"{SOME} Accounts=root {NOW} Flags=MAGNETIC",
    "magnetic but for an account": f"{SOME} Users={sites.ASKER} Accounts=-lab {NOW} Flags=MAGNETIC",
    "named": f"{SOME} Users={sites.ASKER} {NOW}",
    "named, later": f"{SOME} Users={sites.ASKER} {LATER}",
    "named, flexible": f"{SOME} Users={sites.ASKER} {LATER} Flags=FLEX",
    "named, some cores": f"CoreCnt=10 Users={sites.ASKER} {NOW}",
    "named, not one's own": f"{SOME} Users=-{sites.ASKER} {NOW}",
}
PROBES = ((4, 10), (4, 150), (40, 30), (20, 590))
SHORT = ((4, 10), (40, 30))
"""What is over before a reservation that moves ahead; of others Slurm's plans move too."""
ACCOUNTS = f"""\
add account lab
add account dept
add user {sites.ASKER} account=lab
add user {sites.OTHERS[0]} account=dept
add user root account=dept"""
LINES = (
    "AccountingStorageEnforce=associations", "Licenses=lic:6",
    "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP",
)  # fmt: skip


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    made = PrivateSlurm([Nodes(12)], 0, *LINES, release=request.param, rest=True, accounting=True, accounts=ACCOUNTS)
    with made as own:
        for words in ("-n8 -t50", "-n6 -t200", "-n2 -t400", "-n44 -t20"):
            last = own.submit(*words.split(), seconds=100_000, user=sites.OTHERS[0])
        own.settle(last)
        own.last = last
        yield own


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_is_foreseen(slurm, kind, monkeypatch):
    monkeypatch.setattr(queues, "SIZES", queues.SIZES | {"reservation"})
    more = {"licenses": "lic:3"} if "licences" in kind else {"reservation": "kept"} if "named" in kind else {}
    slurm.run("scontrol", "create", "reservation", "ReservationName=kept", *KINDS[kind].split())
    try:
        slurm.settle(slurm.last)
        here = queues.Situation(slurm, sites.ASKER, queues.transports(slurm, sites.ASKER))
        for number, (tasks, minutes) in enumerate(SHORT if kind == "moves ahead" else PROBES):
            asked = sites.Asked({"ntasks": str(tasks), "time": str(minutes), "partition": "main", **more})
            one = queues.measured_one(here, asked, kind, slurm.release, "reservations", number)
            assert all(one.met(way) for way in one.said), (one.words, one.planned and one.planned - one.now, one.said)
    finally:
        slurm.run("scontrol", "delete", "ReservationName=kept")
