"""A policy in a separate process: it gives the same schedule, and may end in any way."""

import pytest
from made_policies import LEAVING
from small_logs import Case

from gas.errors import BadInput
from gas.policies.apart import simulate_apart
from gas.policies.finding import find_policy
from gas.simulation import simulate

JOBS = Case(4, ((0, 3, 100, 100), (1, 4, 10, 10), (2, 1, 50, 80))).jobs

SEVERAL = f"""
import os, signal, sys
{LEAVING}
class InOrder:
    def start(self, machine):
        print("a line for the terminal")
        first = machine.waiting[0]
        return [first] if first.processors <= machine.free else []

class Killed(InOrder):
    def arrive(self, job, machine):
        os.kill(os.getpid(), signal.SIGKILL)

class Wrong(InOrder):
    def complete(self, job, machine):
        raise ValueError("no")
"""


@pytest.fixture
def of_file(tmp_path):
    path = tmp_path / "several.py"
    path.write_text(SEVERAL)
    return lambda name: find_policy(f"{path}:{name}")


@pytest.mark.thorough
def test_the_schedule_comes_over_and_what_it_prints_is_no_result(of_file, capfd):
    schedule = simulate_apart(JOBS, of_file("InOrder"))
    assert schedule.start.tolist() == simulate(JOBS, "fcfs", machine_code=False).start.tolist()
    assert schedule.policy == "InOrder"
    out, err = capfd.readouterr()
    assert out == ""
    assert "a line for the terminal" in err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Leaving", r"policy Leaving: start at second 1, after job 2: it ended its process \(exit status 0\)"),
        ("Killed", r"policy Killed: arrive at second 0, job 1: it ended its process \(signal SIGKILL\)"),
        ("Wrong", "policy Wrong: complete at second 100, job 1: raised ValueError: no .several.py"),
    ],
)
@pytest.mark.thorough(but=1)
def test_what_ends_it_is_said(of_file, name, message):
    with pytest.raises(BadInput, match=message):
        simulate_apart(JOBS, of_file(name))


@pytest.mark.thorough
def test_an_interruption_that_a_policy_makes_up_is_its_error(tmp_path):
    path = tmp_path / "interrupting.py"
    path.write_text("class Mine:\n    def start(self, machine):\n        raise KeyboardInterrupt\n")
    with pytest.raises(BadInput, match="raised KeyboardInterrupt"):
        simulate_apart(JOBS, find_policy(f"{path}:Mine"))
