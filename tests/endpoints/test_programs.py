"""Programs of schedulers: what they receive, and what not."""

import os

import pytest

from gas.endpoints.oar.commands import CommandTransport as OarCommands
from gas.endpoints.programs import Programs
from gas.endpoints.slurm.commands import CommandTransport as SlurmCommands


def test_programs_see_no_token_of_the_user():
    programs = Programs("ada", {"GAS_TOKEN": "a", "SLURM_JWT": "b", "KEPT": "c", "PATH": os.defpath}, "", timeout=10)
    assert programs.run(["sh", "-c", 'echo "${GAS_TOKEN-none} ${SLURM_JWT-none} $KEPT"']).out == "none none c\n"


@pytest.mark.parametrize("transport", [SlurmCommands, OarCommands])
def test_so_a_job_that_inherits_their_environment_has_none(monkeypatch, transport):
    monkeypatch.setenv("GAS_TOKEN", "secret")
    monkeypatch.setenv("SLURM_JWT", "secret")
    made = transport("ada")
    everywhere = [made.programs, *([made.sending] if hasattr(made, "sending") else [])]
    assert all("secret" not in programs.environment.values() for programs in everywhere)
