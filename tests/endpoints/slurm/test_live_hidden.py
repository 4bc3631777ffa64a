"""What an ordinary user may not see (PrivateData, in each of its forms): Gas works with what is left, and says so."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import RELEASES, USERS, PrivateSlurm

from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.errors import GasError

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
queues = import_module("queues")

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

ASKER, OTHER = USERS[:2]
FORMS = {
    "jobs": "hidden jobs",
    "nodes": "node",
    "partitions": "partition",
    "reservations,accounts,users,usage": "",
    "jobs,nodes,partitions,reservations,accounts,users,usage": "shown",
}
"""What is hidden, and a word of what must be said of it; nothing where the plan is the same without it."""


@pytest.fixture(scope="module", params=[(release, hidden) for release in RELEASES for hidden in FORMS], ids=str)
def hidden(request):
    """Return a Slurm that hides this, and the word."""
    release, hidden = request.param
    if os.getuid() != 0:
        pytest.skip("one user can hide something from another only where there are two: run as root")
    accounts = f"add account lab\nadd user {ASKER} account=lab\nadd user {OTHER} account=lab"
    lines = (f"PrivateData={hidden}", "PriorityType=priority/multifactor", "AccountingStorageEnforce=limits")
    with PrivateSlurm(6, 4, *lines, release=release, rest=True, accounting=True, accounts=accounts) as slurm:
        for size, minutes in ((12, 50), (20, 20)):
            last = slurm.submit("-n", str(size), "-t", str(minutes), user=OTHER)
        slurm.settle(last)
        yield slurm, FORMS[hidden]


@pytest.mark.parametrize("transport", queues.TRANSPORTS)
def test_a_job_is_planned_with_what_is_left_and_what_is_hidden_is_said(hidden, transport):
    slurm, word = hidden
    there = SlurmEndpoint("private", queues.transports(slurm, ASKER)[transport], partition="main", unit="tasks")
    try:
        outlook, said = there.availability().outlook(16, 600), there.remarks
    except GasError as problem:  # without nodes there is nothing to plan with
        outlook, said = None, (str(problem),)
    if word:
        assert any(word in one for one in said), said
        return
    assert outlook is not None, said
    job = slurm.submit("-n", "16", "-t", "10", "-p", "main", user=ASKER)
    start = slurm.plan_of(job).start
    slurm.cancel(job)
    assert outlook.planned is not None, there.remarks
    assert abs(outlook.planned - start) <= 60
