"""One plan per job, whichever process asks, however often."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gas.workflows.memory import VARIABLE, PlanMemory

JOB = {"rule": "solve", "wildcards": {"n": "1"}, "attempt": 1}


@pytest.fixture(autouse=True)
def a_run_of_its_own(monkeypatch):
    monkeypatch.setenv(VARIABLE, "")  # restored after the test, whatever is set meanwhile


def test_it_is_made_once(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"size": len(made)}

    assert [PlanMemory(tmp_path).once(JOB, make) for _ in range(3)] == [{"size": 1}] * 3
    memory = PlanMemory(tmp_path)
    assert [memory.once({**JOB, "attempt": 2}, make) for _ in range(3)] == [{"size": 2}] * 3
    assert len(made) == 2


def test_other_processes_of_the_run_are_answered_the_same(tmp_path):
    PlanMemory(tmp_path).once(JOB, lambda: {"size": 7})
    program = (
        "import sys, json; from pathlib import Path; from gas.workflows.memory import PlanMemory\n"
        "print(json.dumps(PlanMemory(Path(sys.argv[1])).once(json.loads(sys.argv[2]), lambda: 1 / 0)))"
    )
    command = [sys.executable, "-c", program, str(tmp_path), json.dumps(JOB)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"size": 7}


def test_of_processes_that_make_it_at_once_the_first_wins(tmp_path):
    program = (
        "import sys, os, json, time; from pathlib import Path; from gas.workflows.memory import PlanMemory\n"
        "make = lambda: (time.sleep(0.3), {'size': os.getpid()})[1]\n"
        "print(PlanMemory(Path(sys.argv[1])).once({'rule': 'solve'}, make)['size'])"
    )
    PlanMemory(tmp_path)  # the run that both are of
    command = [sys.executable, "-c", program, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({process.communicate(timeout=30)[0] for process in both}) == 1


def test_the_next_run_of_the_workflow_makes_it_anew(tmp_path, monkeypatch):
    PlanMemory(tmp_path).once(JOB, lambda: {"size": 1})
    monkeypatch.delenv(VARIABLE)
    assert PlanMemory(tmp_path).once(JOB, lambda: {"size": 2}) == {"size": 2}


def test_the_plans_of_a_workflow_around_this_one_are_not_its_own(tmp_path):
    PlanMemory(tmp_path / "outer").once(JOB, lambda: {"size": 1})
    assert PlanMemory(tmp_path / "inner").once(JOB, lambda: {"size": 2}) == {"size": 2}
    assert Path(os.environ[VARIABLE]).parent == tmp_path / "inner"


def test_what_could_not_be_made_is_asked_again(tmp_path):
    memory = PlanMemory(tmp_path)
    with pytest.raises(ZeroDivisionError):
        memory.once(JOB, lambda: 1 / 0)
    assert memory.once(JOB, lambda: {"size": 3}) == {"size": 3}
    assert [path.suffix for path in memory.directory.iterdir()] == [".json"]
