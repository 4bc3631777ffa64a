"""What Gas predicts of a real Slurm comes true: a job that asked for ten minutes ends as those before it did.

One job holds all 16 processors. By its walltime it ends in ten minutes, and all of Slurm's plans begin then. By what
accounting tells of its user it ends after two. The application runs on 4 nodes in one minute, in three on one.
"""

import json
import subprocess
import sys
import time

import pytest
from private_slurm import PrivateSlurm, own_name

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

MINUTES, RUNS = 10, 45
"""What jobs ask for, and the seconds after which they have always ended."""

APPLICATION = """
name = "lu"
[speedup]
model = "table"
times = { 4 = 180, 16 = 60 }
"""
SOON = 20
"""Seconds within which Slurm starts who can start: the jobs that ended have to be reaped, and its cycles pass."""


@pytest.fixture(scope="module")
def slurm():
    with PrivateSlurm(4, 4) as cluster:
        yield cluster


def accounting(path):
    """Write what sacct would print: a month of jobs of whoever runs this, each over after `RUNS` seconds."""
    lines = ["JobID|User|Timelimit|ElapsedRaw|Submit|Start|AllocCPUS|State"]
    began = int(time.time()) - 30 * 86_400
    for job in range(200):
        submit = began + job * 3600
        lines.append(f"{job}|{own_name()}|00:{MINUTES}:00|{RUNS}|{submit}|{submit + 5}|16|COMPLETED")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


class Program:
    """``gas`` with one Slurm, and with what its accounting told."""

    def __init__(self, folder, slurm):
        self.folder = folder
        table = f'[endpoints.busy]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\n'
        (folder / "gas.toml").write_text(table)
        (folder / "lu.toml").write_text(APPLICATION)
        self.history = accounting(folder / "history")

    def __call__(self, command, *words):
        line = [sys.executable, "-m", "gas", command, "lu.toml", "--config", "gas.toml", "--json"]
        line += ["--predict", self.history, *words]
        done = subprocess.run(line, cwd=self.folder, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def started(slurm, job):
    """Wait until a job has started, and return when it did."""
    deadline = time.monotonic() + RUNS + 3 * SOON
    while True:
        said = slurm.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T %S", SLURM_TIME_FORMAT="%s")
        if said.startswith(("RUNNING", "COMPLET")):
            return int(said.split()[1])
        assert time.monotonic() < deadline, f"job {job} has not started: {said}"
        time.sleep(0.5)


def test_a_job_starts_when_it_was_predicted_to_and_long_before_it_was_promised_to(slurm, tmp_path, capsys):
    gas = Program(tmp_path, slurm)
    assert gas("plan")["predicted_best"]["processors"] == 16  # compiles the simulator too
    holding = slurm.submit("-n", "16", "-t", str(MINUTES), seconds=RUNS)
    began = slurm.planned_start(holding)
    found = gas("submit", "--", "true")
    plan, job = found["plan"], found["job"]["id"]
    promised, expected = plan["best"], plan["predicted_best"]["predicted"]
    low, high = expected["start_low"], expected["start_high"]
    start = started(slurm, job)
    with capsys.disabled():
        print(f"\nseconds from the start of the job in the way: promised {promised['start'] - began}, ", end="")
        print(f"expected {expected['start'] - began}, 90% in {low - began} to {high - began}, ", end="")
        print(f"started {start - began}")
    assert promised["start"] >= began + 60 * MINUTES
    assert low <= began + RUNS <= high
    assert abs(expected["start"] - start) <= SOON + 2 * RUNS
    assert start <= high + SOON


def watched(gas, job, *words):
    """Watch a job until it has started; return the kinds of the events and the events."""
    line = [
        sys.executable,
        "-m",
        "gas",
        "watch",
        str(job),
        "lu.toml",
        "--config",
        "gas.toml",
        "--json",
        "--every",
        "2s",
    ]
    done = subprocess.run([*line, "--least", "5s", *words], cwd=gas.folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    events = [json.loads(each) for each in done.stdout.splitlines()]
    return [one["event"] for one in events], events


def test_by_predictions_a_job_waits_for_the_nodes_that_it_would_give_up_by_plans(slurm, tmp_path, capsys):
    """Four processors are free at once, all in ten minutes as planned and in one as ever; sooner is done who waits."""
    gas = Program(tmp_path, slurm)
    gas("plan")  # compiles what predicts, which may take longer than the job in the way
    holding = slurm.submit("-n", "12", "-t", str(MINUTES), seconds=RUNS)
    slurm.planned_start(holding)
    large = slurm.submit("-n", "16", "-t", "2", seconds=5)
    by_plans = subprocess.run(
        [sys.executable, "-m", "gas", "reshape", str(large), "lu.toml", "--config", "gas.toml", "--json", "--dry-run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    assert json.loads(by_plans.stdout)["chosen"]["processors"] == 4
    kinds, events = watched(gas, large, "--dry-run", "--predict", gas.history)
    with capsys.disabled():
        print("", *(one["text"] for one in events), sep="\n")
    assert kinds[:2] == ["predicted", "left"]
    assert "would change" not in kinds
    assert "predicted to start" in events[1]["text"]
    assert "the predicted interval" in events[-1]["text"]
