"""The recorded answers, read, and a Slurm of programs that replay them."""

from dataclasses import replace

import pytest
from fake_slurm import FakeSlurm
from slurm_answers import recorded, renewed
from slurm_rest import slurmrestd

from gas.endpoints.slurm import command_line


@pytest.fixture
def said():
    """Return what the commands answered."""
    return recorded("v22.05")


@pytest.fixture
def published():
    """Return what slurmrestd v0.0.38 answered."""
    return recorded("v0.0.38")


@pytest.fixture
def cluster(said):
    """Return the recorded cluster, in detail."""
    found = command_line.read_cluster(said, name="gastest")
    jobs = command_line.with_details(found.jobs, said["details"])
    return replace(found, jobs=jobs)


@pytest.fixture
def renewed_answers(published):
    """Return the same queue in the forms of v0.0.43, with the nodes that squeue says jobs are planned on."""
    planned = {5: "n[07-15]", 7: "n[01-06]", 9: "n[01-04,07-15]", 11: "n[13-14]", 15: "n[01-02]"}
    return renewed(published, planned)


@pytest.fixture
def slurm(tmp_path):
    """Return a Slurm of programs; tests of a real one have their own."""
    return FakeSlurm(tmp_path / "bin")


@pytest.fixture
def server():
    """A slurmrestd that publishes what v0.0.38 answered."""
    with slurmrestd() as own:
        own.publishes("v0.0.38", recorded("v0.0.38"))
        yield own
