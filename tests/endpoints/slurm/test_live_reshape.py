"""A real Slurm gives waiting jobs other shapes, up and down, and what they run is told the one that they get."""

import time
from pathlib import Path

import pytest
from private_slurm import PrivateSlurm

pytestmark = [pytest.mark.live, pytest.mark.timeout(200)]

NODES, CPUS = 6, 4


@pytest.fixture(scope="module")
def slurm():
    with PrivateSlurm(NODES, CPUS) as cluster:
        yield cluster


@pytest.fixture
def busy(slurm):
    """Return a job that holds everything until it is cancelled."""
    blocker = slurm.submit("-n", str(NODES * CPUS), "-t", "30")
    assert slurm.planned_start(blocker) is not None
    yield blocker
    slurm.run("scancel", "--user", slurm.run("id", "-un").strip())


@pytest.fixture
def run(gas, slurm, tmp_path, monkeypatch):
    """Return the program, told of this Slurm as one of CPUs and one of nodes."""
    monkeypatch.chdir(tmp_path)
    tables = (
        f'[endpoints.{unit}]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\nunit = "{unit}"\n'
        for unit in ("cpus", "nodes")
    )
    (tmp_path / "gas.toml").write_text("".join(tables))

    def run(command, *words, code=0):
        outcome = gas(command, "--config", "gas.toml", "--json", *words)
        assert outcome.code == code, outcome.err
        return outcome.json if code == 0 else outcome.err

    return run


def application(path, **times):
    """Write an application that takes so many seconds on so many processors."""
    table = ", ".join(f"{size[1:]} = {seconds}" for size, seconds in times.items())
    Path(path).write_text(f'name = "app"\n[speedup]\nmodel = "table"\ntimes = {{ {table} }}\n')
    return str(path)


def shown(slurm, job, key):
    said = slurm.run("scontrol", "-o", "show", "job", str(job))
    return dict(word.split("=", 1) for word in said.split() if "=" in word)[key]


def until_ended(slurm, job):
    deadline = time.monotonic() + 60
    while (state := shown(slurm, job, "JobState")) in ("PENDING", "RUNNING", "COMPLETING"):
        assert time.monotonic() < deadline, f"job {job} is still {state}"
        time.sleep(0.2)
    return state


SCRIPT = "echo $GAS_PROCESSORS $GAS_WALLTIME $1 $(srun sh -c 'echo $SLURM_JOB_NUM_NODES' | sort | uniq -c)"
"""Writes what it was told, and how many tasks srun starts on how many nodes."""


@pytest.mark.parametrize(
    ("unit", "before", "after", "nodes", "per_node"),
    [
        ("cpus", 6, 22, 6, None),
        ("cpus", 22, 3, 1, None),
        ("nodes", 2, 5, 5, None),
        ("nodes", 5, 1, 1, None),
        ("nodes", 2, 5, 5, 4),
    ],
    ids=["more CPUs", "fewer CPUs", "more nodes", "fewer nodes", "more nodes of several tasks"],
)
def test_a_reshaped_job_runs_in_its_new_shape_and_is_told_so(slurm, busy, run, unit, before, after, nodes, per_node):
    first = application("first.toml", **{f"p{before}": 700})
    native = [] if per_node is None else [f"--native=--ntasks-per-node={per_node}"]
    submitted = run("submit", first, "-e", unit, *native, "--", "sh", "-c", SCRIPT, "sh", "{processors}")
    job = submitted["job"]["id"]
    place = shown(slurm, job, "Priority")
    other = application("other.toml", **{f"p{before}": 700, f"p{after}": 300})
    found = run("reshape", f"{unit}:{job}", other, "--processors", str(after))
    assert found["changed"]
    assert (found["current"]["processors"], found["chosen"]["processors"]) == (before, after)
    assert (found["job"]["processors"], found["job"]["walltime"]) == (after, 360)
    assert shown(slurm, job, "Priority") == place, "it keeps its place in the queue"
    slurm.run("scancel", str(busy))
    assert until_ended(slurm, job) == "COMPLETED"
    told = Path(f"slurm-{job}.out").read_text().split()
    assert [int(word) for word in told] == [after, 360, after, after * (per_node or 1), nodes]


def test_a_job_that_runs_keeps_its_shape(slurm, run, busy):
    app = application("app.toml", p24=700, p3=300)
    before = [shown(slurm, busy, key) for key in ("NumCPUs", "NumNodes", "TimeLimit")]
    refusal = run("reshape", f"cpus:{busy}", app, code=1)
    assert "only waiting jobs can be reshaped" in refusal
    assert [shown(slurm, busy, key) for key in ("NumCPUs", "NumNodes", "TimeLimit")] == before


@pytest.mark.parametrize(
    ("asks", "sizes", "now"), [("-n 6", "6,22", "22"), ("-N 2", "2,5", "5")], ids=["tasks", "nodes"]
)
def test_a_job_of_a_script_gets_another_shape_without_any_file_of_gas(
    slurm, busy, gas, tmp_path, monkeypatch, asks, sizes, now
):
    """The script says what a size counts; the job is found by its number, in whatever partition it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_CONF", f"{slurm.folder}/slurm.conf")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    Path("job.sh").write_text(f"#!/bin/sh\n#SBATCH {asks} -t 60\nsleep 1\n")
    job = int(slurm.run("sbatch", "--parsable", "-o", "/dev/null", f"{tmp_path}/job.sh"))
    assert slurm.planned_start(job) is not None
    words = ("reshape", str(job), "--script", "job.sh", "--sizes", sizes, "--time", "60m,10m")
    dry = gas(*words, "--dry-run")
    assert (dry.code, "would request" in dry.out) == (0, True), dry.err
    done = gas(*words, "--json")
    assert (done.code, done.json["changed"]) == (0, True), done.err
    key = "NumNodes" if asks.startswith("-N") else "NumTasks"
    assert (shown(slurm, job, key).split("-")[0], shown(slurm, job, "TimeLimit")) == (now, "00:10:00")
