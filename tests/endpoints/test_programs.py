"""Programs of schedulers: what they receive, and what not."""

import os

import pytest

from gas.endpoints.oar.commands import CommandTransport as OarCommands
from gas.endpoints.programs import Programs, part_of_file
from gas.endpoints.slurm.commands import CommandTransport as SlurmCommands
from gas.errors import Forbidden


def test_programs_see_no_token_of_the_user():
    programs = Programs("ada", {"GAS_TOKEN": "a", "SLURM_JWT": "b", "KEPT": "c", "PATH": os.defpath}, "", timeout=10)
    assert programs.run(["sh", "-c", 'echo "${GAS_TOKEN-none} ${SLURM_JWT-none} $KEPT"']).out == "none none c\n"


def test_an_output_file_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "out")
    with pytest.raises(Forbidden, match=r"out: is a pipe, which only one program can read \(job 7 is running\)"):
        part_of_file(tmp_path / "out", 100, None, "job 7 is running")


@pytest.mark.parametrize("transport", [SlurmCommands, OarCommands])
def test_so_a_job_that_inherits_their_environment_has_none(monkeypatch, transport):
    monkeypatch.setenv("GAS_TOKEN", "secret")
    monkeypatch.setenv("SLURM_JWT", "secret")
    made = transport("ada")
    everywhere = [made.programs, *([made.sending] if hasattr(made, "sending") else [])]
    assert all("secret" not in programs.environment.values() for programs in everywhere)
