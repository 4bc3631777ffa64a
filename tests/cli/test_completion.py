"""Shell completion: names and numbers, in time, and no output without candidates."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from made_endpoints import job
from typer.testing import CliRunner

from gas.cli import completion
from gas.cli.commands import app

JOBS = [
    job(3, "running") | {"name": "lu; rm -rf $(x)"},
    job(14, "queued"),
    job(15, "queued") | {"mine": False, "user": "bob"},
    job(2, "completed"),
]


@pytest.fixture
def complete(endpoints, tmp_path, monkeypatch):
    """Complete the last of these words; the named schedulers have the jobs above."""

    def complete(*words, schedulers=("hpc",), kind="queue", jobs=JOBS):
        (tmp_path / "queue.json").write_text(json.dumps([jobs]))
        table = f'type = "{kind}"\n' + (f'path = "{tmp_path / "queue.json"}"' if kind == "queue" else "timeout = 9.0")
        config = endpoints(**dict.fromkeys(schedulers, table))
        environment = {"GAS_CONFIG": config, "_GAS_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["gas", *words])}
        done = CliRunner().invoke(app, prog_name="gas", env={**environment, "COMP_CWORD": str(len(words))})
        assert done.stderr == ""
        return done.stdout.split()

    return complete


def test_numbers_of_ones_own_jobs_are_those_that_the_command_can_mean(complete):
    assert complete("cancel", "") == ["3", "14"]
    assert complete("cancel", "3", "") == ["14"]
    assert complete("why", "") == ["14"]
    assert complete("logs", "") == ["3", "14", "2"]
    assert complete("status", "1") == ["14"]
    assert complete("wait", "-e", "hpc", "1") == ["14"]


def test_of_several_schedulers_the_name_comes_first(complete):
    assert complete("wait", "", schedulers=("kth", "ada")) == ["kth:3", "kth:14", "ada:3", "ada:14"]
    assert complete("wait", "-e", "ada", "", schedulers=("kth", "ada")) == ["3", "14"]


def test_schedulers_states_pages_and_commands(complete):
    assert complete("wait", "-e", "", schedulers=("kth", "ada")) == ["kth", "ada"]
    assert complete("status", "--state", "c") == ["completed", "cancelled"]
    assert complete("guide", "glo") == ["glossary"]
    assert complete("wai") == ["wait"]


def test_a_scheduler_that_fails_completes_nothing_and_says_nothing(complete):
    assert complete("wait", "", jobs="hpc: away") == []
    assert complete("wait", "", schedulers=()) == []


def test_one_that_does_not_answer_is_not_waited_for(complete, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr(completion, "PATIENCE", 0.01)
    monkeypatch.setattr("made_endpoints.Queue.jobs", lambda self, ended: released.wait(60))
    assert complete("wait", "") == []
    released.set()


def test_only_words_reach_the_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["kth", "k-2.ada", "$(touch`ran`)", "\\u001b[2J", "a'b"]
    Path("gas.toml").write_text("".join(f'[endpoints."{name}"]\ntype = "s3"\n' for name in names))
    assert completion.configured_names("") == ["kth", "k-2.ada"]


def test_the_program_itself_completes(tmp_path):
    (tmp_path / "gas.toml").write_text('[endpoints.kth]\ntype = "s3"\nurl = "http://127.0.0.1:9"\n')
    environment = {**os.environ, "GAS_CONFIG": str(tmp_path / "gas.toml"), "_GAS_COMPLETE": "complete_zsh"}
    command = [sys.executable, "-m", "gas"]
    done = subprocess.run(
        command,
        env={**environment, "_TYPER_COMPLETE_ARGS": "gas wait -e k"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "kth" in done.stdout
    assert done.stderr == ""
