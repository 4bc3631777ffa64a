"""From a Slurm job script to a submitted job in two commands, without any file of Gas's own."""

import os
import re
import subprocess
import sys

import pytest
from private_slurm import RELEASES, PrivateSlurm

from gas.endpoints.slurm.directives import Script

pytestmark = pytest.mark.live

SCRIPT = """\
#!/bin/bash
#SBATCH --job-name=ocean --ntasks=4
#SBATCH -c 2            # CPUs of each task
#SBATCH --time=1:00:00 --output=%x-%j.out
#SBATCH --comment="as it is"
echo "$SLURM_NTASKS tasks of $SLURM_CPUS_PER_TASK"
"""
WORDS = ("--script", "job.sh", "--sizes", "1,2,4,8", "--time", "8h,4h10m,2h20m,1h20m")


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    lines = ("PartitionName=debug Nodes=n01,n02 MaxTime=180 State=UP",)
    with PrivateSlurm(8, 2, *lines, release=request.param) as cluster:
        for tasks, minutes in ((6, 60), (10, 90), (4, 200)):
            cluster.submit("-n", str(tasks), "-t", str(minutes))
        yield cluster


@pytest.fixture
def here(slurm, tmp_path):
    (tmp_path / "job.sh").write_text(SCRIPT)
    path = f"{slurm.programs()}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}

    def run(*words):
        command = [sys.executable, "-m", "gas", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done

    return run


LINES = [
    "--comment='two words'", '--comment="it is \\"so\\""', "--comment=a#b", "--comment 'a # b' # c",
    "-J 'x y' --comment=\"'\"", "--comm=short --job-na=j", "--comment=a'b'\"c\"d", "--comment=\\\\ -Jz",
    "-Jq --comment==",
]  # fmt: skip
"""Words that sbatch takes apart in all three releases; 22.05 ends a word at an escaped blank, too."""


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read_as_sbatch_reads_it(slurm, tmp_path, line):
    text = f"#!/bin/sh\n#SBATCH {line}\n#SBATCH -H\nsleep 1\n"
    (tmp_path / "job.sh").write_text(text)
    id = slurm.run("sbatch", "--parsable", "-D", "/", str(tmp_path / "job.sh")).strip()
    shown = slurm.run("squeue", "-h", "-j", id, "-O", "Comment:60,Name:60")
    script = Script.of(text, "job.sh")
    assert shown[:60].strip() == script.value("comment")
    assert shown[60:120].strip() == (script.value("job-name") or "job.sh")
    slurm.run("scancel", id)


def test_a_script_is_planned_and_submitted_in_two_commands(slurm, here):
    planned = here("plan", *WORDS).stdout
    [command] = re.findall(r"^submit it: gas (.*)$", planned, re.MULTILINE)
    [by_hand] = re.findall(r"^or by hand: (.*)$", planned, re.MULTILINE)
    submitted = here(*command.split())
    [id] = re.findall(r"^job (\d+) on private-", submitted.stdout, re.MULTILINE)
    shown = slurm.run("scontrol", "show", "job", id)
    size = re.search(r"--ntasks=(\d+)", by_hand)[1]
    assert f" NumTasks={size} " in shown
    assert re.search(r" CPUs/Task=2 ", shown)
    assert "Comment=as it is" in shown
    assert slurm.run("scontrol", "write", "batch_script", id, "-") == SCRIPT
    [where] = re.findall(r"follow it: gas wait (.*)$", submitted.stdout, re.MULTILINE)
    assert f" {id} " in f" {here('status', *where.split()).stdout} "
