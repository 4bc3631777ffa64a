"""What a real Slurm's accounting keeps goes all the way: converted, simulated, audited, replayed.

A dozen jobs run on 16 processors: some at once, some wait, one fails, one is cancelled while it runs and one while it
waits, one is an array. ``sacct`` then prints them as a user would have it print them.
"""

import json
import subprocess
import sys
import time

import pytest
from private_slurm import PrivateSlurm

from workloads.formats import read_log_file

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

FORMAT = "JobID,User,Account,Partition,Timelimit,Elapsed,Submit,Start,End,AllocCPUS,State"
JOBS = [(16, 3), (4, 2), (16, 1), (8, 2), (1, 1), (4, 4), (12, 2), (2, 1)]
"""Processors and seconds of each."""


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """What ``sacct --parsable2`` printed, once all has ended."""
    with PrivateSlurm(4, 4, accounting=True) as slurm:
        for processors, seconds in JOBS:
            slurm.submit("-n", str(processors), "-t", "5", seconds=seconds)
        slurm.submit("-n", "2", "-t", "5", "--array=0-2", seconds=1)
        slurm.run("sbatch", "-o", "/dev/null", "-D", "/", "-n", "1", "-t", "5", "--wrap=exit 3")
        running = slurm.submit("-n", "16", "-t", "5", seconds=600)
        waiting = slurm.submit("-n", "16", "-t", "5", seconds=600)
        slurm.run("scancel", str(waiting))
        deadline = time.monotonic() + 120
        while f"{running} RUNNING" not in slurm.run("squeue", "-h", "-o", "%A %T"):
            assert time.monotonic() < deadline
            time.sleep(0.5)
        time.sleep(1.5)  # one of no length could have been cancelled while it waited, for all that sacct says
        slurm.run("scancel", str(running))
        while True:  # the database is told a little later
            words = ["sacct", "-aXP", "-S", "now-1days", "-o", FORMAT]
            printed = slurm.run(*words)
            over = [line for line in printed.splitlines()[1:] if line.split("|")[8] != "Unknown"]
            if len(over) >= len(JOBS) + 3 + 3 and len(over) == len(printed.splitlines()) - 1:
                break
            assert time.monotonic() < deadline, printed
            time.sleep(0.5)
        path = tmp_path_factory.mktemp("history") / "sacct.txt"
        path.write_text(printed)
        return path


def gas(folder, *words, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "gas", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == code, done.stderr
    return done


def test_it_converts_without_losing_what_the_formats_have_in_common(history):
    folder = history.parent
    for name in ("log.swf", "log.csv", "log.parquet", "log.json", "again.sacct"):
        gas(folder, "convert", history, name, "-p", 16)
    ran = {form: read_log_file(folder / f"log.{form}") for form in ("swf", "csv", "parquet")}
    first = ran["swf"]
    assert sorted(set(first.allocated_processors[first.run_time > 0].tolist())) >= [1, 2, 4, 8, 12, 16]
    for log in ran.values():
        for column in ("job", "submit", "wait", "run_time", "allocated_processors", "requested_time", "status"):
            assert getattr(log, column).tolist() == getattr(first, column).tolist(), column
    again = read_log_file(folder / "again.sacct")
    known = set(again.job.tolist())
    both = [i for i, job in enumerate(first.job.tolist()) if job in known]
    assert len(both) >= len(JOBS)
    assert again.run_time.tolist() == first.run_time[both].tolist()
    assert again.wait.tolist() == first.wait[both].tolist()


def test_it_is_simulated_and_audited(history):
    folder = history.parent
    done = gas(folder, "simulate", history, "-p", 16, "--policy", "easy,s3", "--json", "-o", "{policy}.swf")
    easy, s3 = json.loads(done.stdout)["results"]
    assert easy["jobs"] == s3["jobs"] >= len(JOBS) + 5
    for policy in ("easy", "s3"):
        assert json.loads(gas(folder, "audit", f"{policy}.swf", "--log", history, "--json").stdout)["ok"]


def test_what_slurm_did_is_audited_itself(history):
    found = json.loads(gas(history.parent, "audit", history, "-p", 16, "--json").stdout)
    assert found["ok"]
    assert found["metrics"]["mean_wait"] > 0


def test_it_is_replayed(history):
    folder = history.parent
    done = gas(folder, "replay", history, "-p", 16, "--seeds", 1, "--workers", 1, "-o", "replay")
    assert "waited" in done.stdout
    text = (folder / "replay" / "replay.md").read_text()
    assert "| recorded |" in text
    assert "Who loses" in text
