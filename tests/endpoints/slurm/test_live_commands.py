"""The commands that act, on real Slurms of three releases, by Slurm's programs and by slurmrestd.

A job of an ordinary user is submitted, shown, probed for, reshaped, watched, run, waited for, read and cancelled.
"""

import json
import os
import pwd
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from eventually import event
from private_slurm import RELEASES, USERS, PrivateSlurm

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

NODES, CPUS = 6, 4
TOLD = "echo $GAS_PROCESSORS $GAS_WALLTIME $1 $(SLURM_CONF={conf} {srun} sh -c 'echo x' | wc -l); sleep 3"
"""Writes what it was told, and how many tasks srun starts, which is not where jobs of slurmrestd look by themselves."""


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    if request.param == "26.05" and os.getuid() != 0:
        pytest.skip("slurmrestd 26.05 runs neither as SlurmUser nor, for others than root, as another user")
    with PrivateSlurm(NODES, CPUS, release=request.param, rest=True) as cluster:
        yield cluster


@pytest.fixture(params=["commands", "rest"])
def keys(request, slurm):
    """Return how the table of the endpoint names this Slurm."""
    return f'url = "{slurm.rest_url}"' if request.param == "rest" else f'slurm_conf = "{slurm.folder}/slurm.conf"'


@pytest.fixture
def busy(slurm):
    """Return a job that holds everything until it is cancelled."""
    blocker = slurm.submit("-n", str(NODES * CPUS), "-t", "30")
    assert slurm.planned_start(blocker) is not None
    yield blocker
    ids = slurm.run("squeue", "-h", "-o", "%A").split()
    slurm.tried("scancel", *ids)


def ordinary_user():
    """Return an ordinary user who can run this interpreter; None if that is who runs this, or if there is none."""
    if os.getuid() != 0:
        return None
    user = USERS[0]
    who = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
    try:
        subprocess.run([sys.executable, "-c", "import gas.cli.main"], cwd="/", check=True, **who)
    except (OSError, subprocess.CalledProcessError):  # they are in a closed place
        return None
    return user


class Program:
    """``gas`` in a folder of its own, by an ordinary user where one can act as one."""

    def __init__(self, slurm, folder, keys):
        self.folder, user = folder, ordinary_user()
        self.environment = {key: value for key, value in slurm.environment.items() if not key.startswith("GAS_")}
        self.script = ("sh", "-c", TOLD.format(conf=f"{slurm.folder}/slurm.conf", srun=slurm.programs() / "srun"))
        self.who = {}
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
            self.who = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        self.environment |= {"HOME": str(folder), "XDG_STATE_HOME": str(folder), "SLURM_JWT": slurm.token(user=user)}
        self.environment.pop("SLURM_CONF")
        (folder / "gas.toml").write_text(f'[endpoints.busy]\ntype = "slurm"\n{keys}\n')
        for size, seconds in ((6, 700), (22, 300)):
            times = f"times = {{ 6 = 700{f', {size} = {seconds}' if size != 6 else ''} }}"
            (folder / f"app{size}.toml").write_text(f'name = "app"\n[speedup]\nmodel = "table"\n{times}\n')

    def start(self, command, *words):
        line = [sys.executable, "-m", "gas", command, "--config", "gas.toml", "--json", *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(line, cwd=self.folder, env=self.environment, **pipes, **self.who)

    def __call__(self, command, *words):
        return json.loads(self.started(command, *words)[0])

    def started(self, command, *words, code=0):
        with self.start(command, *words) as process:
            out, err = process.communicate(timeout=100)
        assert process.returncode == code, err
        assert "Traceback" not in err
        return out, err


@pytest.fixture
def gas(slurm, keys, open_folder):
    return Program(slurm, open_folder, keys)


@pytest.fixture
def open_folder():
    """Return a folder that another user may use; pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="gas-") as folder:
        yield Path(folder)


def shown(slurm, job, *keys):
    said = slurm.run("scontrol", "-o", "show", "job", str(job))
    found = dict(word.split("=", 1) for word in said.split() if "=" in word)
    return [found[key] for key in keys]


def until(slurm, job, *states):
    deadline = time.monotonic() + 60
    while (state := shown(slurm, job, "JobState")[0]) not in states:
        assert time.monotonic() < deadline, f"job {job} is still {state}"
        time.sleep(0.2)


def test_a_job_is_submitted_shown_reshaped_run_waited_for_and_read(slurm, busy, gas):
    key = gas.folder.name
    submitted = gas("submit", "app6.toml", "--key", key, "--", *gas.script, "sh", "{processors}")
    job = submitted["job"]["id"]
    assert (submitted["job"]["processors"], submitted["already"]) == (6, False)
    assert gas("submit", "app6.toml", "--key", key, "--", *gas.script, "sh", "{processors}")["already"]
    assert gas("status", job)["state"] == "queued"
    place = shown(slurm, job, "Priority")
    found = gas("reshape", job, "app22.toml", "--processors", 22)
    assert (found["changed"], found["job"]["processors"], found["job"]["walltime"]) == (True, 22, 360)
    assert shown(slurm, job, "NumCPUs", "NumTasks", "TimeLimit") == ["22", "22", "00:06:00"]
    assert shown(slurm, job, "Priority") == place, "it keeps its place in the queue"
    slurm.cancel(busy)
    assert gas("wait", job)["state"] == "completed"
    out, _ = gas.started("logs", job)
    assert [int(word) for word in json.loads(out)["text"].split()] == [22, 360, 22, 22]


def test_a_watched_job_gets_the_shape_that_finishes_sooner_once_there_is_room(slurm, busy, gas):
    """Of 24 CPUs 16 are kept for an hour after the job in the way, so that 6 finish first; then they are not."""
    ahead = slurm.submit("-n", "16", "-t", "60")
    assert slurm.planned_start(ahead) is not None
    job = gas("submit", "app22.toml", "--", *gas.script, "sh", "{processors}")["job"]["id"]
    assert shown(slurm, job, "NumCPUs") == ["6"]
    with gas.start("watch", job, "app22.toml", "--every", "1s", "--least", "5s", "--threshold", "1%") as watch:
        try:
            event(watch, "left")
            slurm.cancel(ahead)
            assert event(watch, "changed")["best"]["processors"] == 22
            slurm.cancel(busy)
            event(watch, "started")
        finally:
            watch.kill()
    until(slurm, job, "COMPLETED")
    assert shown(slurm, job, "NumCPUs") == ["22"]


def test_a_job_is_cancelled_and_probes_leave_none(slurm, busy, gas):
    job = gas("submit", "app6.toml", "--", "sleep", "100")["job"]["id"]
    found = gas("plan", "app22.toml", "--probe", 2)
    starts = {one["processors"]: one["start"] for one in found["candidates"]}
    for one in found["candidates"]:
        assert abs(one["start"] - slurm.probe(one["processors"], -(-one["walltime"] // 60))) <= 60, starts
    assert {int(id) for id in slurm.run("squeue", "-h", "-o", "%A").split()} == {busy, job}
    assert gas("cancel", job)["state"] == "cancelled"
    assert "cancelled" in gas.started("wait", job, code=1)[1]
