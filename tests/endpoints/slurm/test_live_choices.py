"""Which partitions, accounts and QOS a user may use is what Slurm accepts from that user."""

import itertools
import os
import subprocess

import pytest
from private_slurm import RELEASES, PrivateSlurm

from gas.endpoints.slurm.choices import Choice, choices, why_not
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.generation import configuration_of, tables_of
from gas.endpoints.slurm.options import Options

pytestmark = pytest.mark.live

USER = "games"
ACCOUNTS = f"""\
add account sea
add account ice
add account fire
add qos high
add qos none
modify qos none set MaxJobsPerUser=0
add user {USER} account=sea
add user {USER} account=ice
modify user {USER} where account=sea set qos=normal,high defaultqos=normal
modify user {USER} where account=ice set qos=normal,none defaultqos=normal
"""
LINES = (
    "AccountingStorageEnforce=limits,qos",
    "EnforcePartLimits=ALL",
    "PartitionName=main Nodes=ALL Default=YES MaxTime=1440 State=UP",
    "PartitionName=rich Nodes=ALL AllowQos=high State=UP",
    "PartitionName=cold Nodes=ALL AllowAccounts=ice State=UP",
    "PartitionName=closed Nodes=ALL AllowAccounts=fire State=UP",
    "PartitionName=staff Nodes=ALL AllowGroups=staff State=UP",
    "PartitionName=off Nodes=ALL State=INACTIVE",
)
PARTITIONS = ("main", "rich", "cold", "closed", "staff", "off")


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    if os.getuid() != 0:
        pytest.skip("only root can submit jobs of another user")
    with PrivateSlurm(2, 4, *LINES, release=request.param, accounting=True, accounts=ACCOUNTS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def transport(slurm):
    transport = CommandTransport("private", folder=str(slurm.programs(USER)))
    transport.user = USER
    return transport


@pytest.fixture(scope="module")
def cluster(transport):
    return transport.cluster("private")


def accepted(slurm, *options):
    """Return whether Slurm takes a job of the user; it is gone afterwards."""
    words = [str(slurm.programs(USER) / "sbatch"), "--parsable", "-D", "/", "-H", "-t", "1", *options, "--wrap=true"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode == 0:
        slurm.run("scancel", done.stdout.strip())
    return done.returncode == 0


def test_why_not_says_what_slurm_refuses(slurm, cluster):
    partitions = {one.name: one for one in cluster.partitions}
    wrong = []
    for name, account, qos in itertools.product(PARTITIONS, ("sea", "ice", "fire"), ("normal", "high")):
        binding = why_not(cluster, partitions[name], USER, account=account, qos=qos, groups=frozenset({USER}))
        if accepted(slurm, "-p", name, "-A", account, "-q", qos) != (binding is None):
            wrong.append((name, account, qos, binding))
    assert wrong == []


def test_choices_are_those_that_a_job_can_start_with(cluster):
    there = {one.name: one for one in cluster.partitions}
    groups = frozenset({USER})
    found = {n: choices(cluster, (there[n],), Options(), USER, groups=groups) for n in ("main", "rich", "cold")}
    assert found["main"] == [Choice(), Choice(qos="high"), Choice(account="ice")]  # with QOS none no job starts
    assert found["rich"] == [Choice(qos="high")]
    assert found["cold"] == [Choice(account="ice")]


def test_only_partitions_that_the_user_may_use_are_written(cluster):
    groups = frozenset({USER})
    assert list(tables_of(cluster, {}, USER, groups)) == ["private-main", "private-rich", "private-cold"]
    text = configuration_of(cluster, {}, USER, groups)
    assert '# partition "closed" is left out: partition "closed" is not open to account "sea"' in text
    assert '# partition "staff" is left out: partition "staff" is open only to the groups staff' in text


def test_each_choice_is_an_endpoint_that_plans_and_submits_with_it(slurm, transport):
    endpoint = SlurmEndpoint("private", transport, partition="main")
    endpoint.availability()
    others = endpoint.choices()
    assert [one.name for one in others] == ["private+qos=high", "private+account=ice"]
    for one in others:
        one.availability()
        assert accepted(slurm, *(f"--{name}={value}" for name, value in one.options().items()))
