"""What a real slurmdbd tells of the past, by sacct and by slurmrestd, and how it is learnt from.

What is right is what slurmctld itself says of the same jobs, as long as it remembers them. Each job that counts has a
walltime of its own, in minutes, by which it is known here.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from faulty_proxy import wait_until
from private_slurm import PrivateSlurm, own_name

from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens
from gas.errors import BadInput, Unreachable

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

APPLICATION = 'name = "lu"\n[speedup]\nmodel = "table"\ntimes = { 4 = 180, 16 = 60 }\n'
STEPS, SPREAD, FAILED, TASK, CANCELLED, FIRST_PART, SECOND_PART, AGAIN, OTHERS = range(2, 11)
RUNNING, WAITING, WITHDRAWN, ELSEWHERE = 1440, 21, 22, 23
SHORT = {STEPS, SPREAD, FAILED, TASK, CANCELLED, FIRST_PART, SECOND_PART, AGAIN, OTHERS}
"""The walltimes of jobs that have ended."""


@pytest.fixture(scope="module")
def slurm():
    with PrivateSlurm(5, 4, "PartitionName=debug Nodes=n05 State=UP", accounting=True, rest=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def jobs(slurm):
    """Run jobs of each kind, wait until slurmdbd knows what became of them, and return their numbers by walltime."""

    def submit(minutes, line, *options):
        words = ("sbatch", "--parsable", "-o", "/dev/null", "-D", "/", "-x", "n05", "-t", str(minutes), *options)
        return int(slurm.run(*words, f"--wrap={line}"))

    made = {
        RUNNING: submit(RUNNING, "sleep 3000", "-n", "2"),
        AGAIN: submit(AGAIN, 'test "$SLURM_RESTART_COUNT" || sleep 3000', "-n", "1", "--requeue"),
        CANCELLED: submit(CANCELLED, "sleep 3000", "-n", "3"),
        STEPS: submit(STEPS, "srun -n 1 sleep 1; srun -n 1 true", "-n", "2"),
        SPREAD: submit(SPREAD, "sleep 1", "-N", "2", "--exclusive"),
        TASK: submit(TASK, "sleep 1", "-n", "1", "--array=1-3"),
        FIRST_PART: submit(FIRST_PART, "sleep 1", "-n", "1", ":", "-x", "n05", "-t", str(SECOND_PART), "-n", "2"),
        ELSEWHERE: submit(ELSEWHERE, "true", "-p", "debug", "-x", "n01"),
    }
    made[FAILED] = submit(FAILED, "exit 3", "-n", "1", f"--dependency=afterany:{made[STEPS]}")
    if os.getuid() == 0:
        made[OTHERS] = submit(OTHERS, "true", "-n", "1", "--uid=nobody")
    wait_until(lambda: states(slurm, made[CANCELLED], made[AGAIN], made[RUNNING]) == {"RUNNING"}, 30)
    made[WAITING] = submit(WAITING, "true", "-n", "16")
    made[WITHDRAWN] = submit(WITHDRAWN, "true", "-n", "16")
    time.sleep(1.5)  # seconds are whole: it shall have run for one at least
    slurm.run("scancel", str(made[CANCELLED]), str(made[WITHDRAWN]))
    slurm.run("scontrol", "requeue", str(made[AGAIN]))
    wait_until(lambda: states(slurm, made[AGAIN]) == {"PENDING"}, 30)
    slurm.run("scontrol", "update", f"jobid={made[AGAIN]}", "StartTime=now")
    ended = {"COMPLETED", "FAILED", "CANCELLED"}
    ids = [id for minutes, id in made.items() if minutes not in (RUNNING, WAITING)]
    wait_until(lambda: states(slurm, *ids) <= ended, 60)
    wait_until(lambda: accounted(slurm, ids) <= ended, 60)
    return made


def states(slurm, *ids):
    return set(slurm.run("squeue", "-h", "-t", "all", "-j", ",".join(map(str, ids)), "-o", "%T").split())


def accounted(slurm, ids):
    """Return the states of jobs in the accounting, and what is no state for one that is not there yet."""
    lines = slurm.run("sacct", "-aXPn", "-S", "now-1days", "-o", "JobIDRaw,JobID,State").splitlines()
    there = {line.split("|")[0] for line in lines} | {line.split("|")[1].split("_")[0] for line in lines}
    found = {line.split("|")[2].split()[0] for line in lines if line.split("|")[1].split("_")[0] in map(str, ids)}
    return found | ({"missing"} if not {str(id) for id in ids} <= there else set())


def known(slurm):
    """Return what slurmctld says of the jobs of the partition that have ended, by walltime, in any order."""
    columns = "TimeLimit,NumCPUs,NumNodes,UserName,SubmitTime,EligibleTime,StartTime,EndTime,State,Partition"
    asked = ",".join(f"{column}:20|" for column in columns.split(","))
    lines = slurm.run("squeue", "-h", "-t", "all", "-O", asked, SLURM_TIME_FORMAT="%s").splitlines()
    found = []
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        limit, cpus, nodes, user, submitted, eligible, start, end, state, partition = cells[:10]
        if partition != "main" or state in ("PENDING", "RUNNING") or limit.startswith(f"{WITHDRAWN}:"):
            continue
        status = {"COMPLETED": 1, "FAILED": 0, "CANCELLED": 5}[state]
        job = (int(limit.split(":")[0]), int(cpus), int(nodes), user, max(int(submitted), int(eligible)), int(start))
        found.append((*job, int(end) - int(start), status))
    return sorted(found)


def told(history):
    """Return what a history says of its jobs, in the same form."""
    cpus, nodes = history.log("cpus"), history.log("nodes")
    assert np.array_equal(cpus.submit, nodes.submit)
    names = {number: name for name, number in history.users.items()}
    columns = (
        cpus.requested_time // 60,
        cpus.allocated_processors,
        nodes.allocated_processors,
        [names[number] for number in cpus.user.tolist()],
        cpus.start_time + cpus.submit,
        cpus.start_time + cpus.submit + cpus.wait,
        cpus.run_time,
        cpus.status,
    )
    return sorted(zip(*(getattr(column, "tolist", lambda column=column: column)() for column in columns), strict=True))


def commands(slurm, **more):
    return CommandTransport("busy", slurm.environment["SLURM_CONF"], **more)


def rest(slurm, token=None, **more):
    token = slurm.token() if token is None else token
    tokens = Tokens(slurm.rest_url, environment={"SLURM_JWT": token})
    return RestTransport("busy", slurm.rest_url, tokens=tokens, **more)


def history(transport):
    return SlurmEndpoint("busy", transport, partition="main").history()


def test_its_history_is_what_became_of_the_jobs_that_ended(slurm, jobs):
    found = history(commands(slurm))
    jobs_told = told(found)
    assert jobs_told == known(slurm)
    by_walltime = {job[0]: job[1:] for job in jobs_told}
    assert by_walltime.keys() == SHORT - ({OTHERS} - jobs.keys())
    assert [job[0] for job in jobs_told].count(TASK) == 3
    assert by_walltime[SPREAD][:2] == (8, 2)  # all CPUs of its nodes
    assert by_walltime[STEPS][0] == 2  # and its steps are not jobs
    assert (by_walltime[CANCELLED][6], by_walltime[FAILED][6]) == (5, 0)
    assert 1 <= by_walltime[CANCELLED][5] < 60
    ended = by_walltime[STEPS][4] + by_walltime[STEPS][5]
    assert by_walltime[FAILED][3] >= ended  # it depended on that job, and waits from then on
    assert set(found.users) == {own_name(), *(["nobody"] if OTHERS in jobs else [])}
    (remark,) = found.remarks
    assert remark.startswith("accounting: 3 jobs left out: ")
    assert {"1 not ended", "2 not started"} == set(remark.rpartition(": ")[2].split(", "))


@pytest.mark.parametrize("version", ["v0.0.36", "v0.0.37", "v0.0.38"])
def test_slurmrestd_tells_the_same_as_sacct(slurm, jobs, version):
    by_sacct, by_rest = history(commands(slurm)), history(rest(slurm, version=version))
    assert told(by_rest) == told(by_sacct)
    assert by_rest.remarks == by_sacct.remarks


def test_a_partition_without_jobs_has_no_history(slurm, jobs):
    for transport in (commands(slurm), rest(slurm)):
        [header] = transport.accounting("nowhere", 90).splitlines()
        found = transport.accounting("debug", 90).splitlines()
        assert (found[0], [line.split(b"|")[2] for line in found[1:]]) == (header, [b"00:23:00"])


@pytest.fixture
def gas(slurm, tmp_path):
    """Run the program with two endpoints for the same Slurm, or with one of them."""
    keys = {"busy": f'slurm_conf = "{slurm.folder}/slurm.conf"', "web": f'url = "{slurm.rest_url}"'}
    (tmp_path / "lu.toml").write_text(APPLICATION)

    def gas(*names):
        tables = [f'[endpoints.{name}]\ntype = "slurm"\npartition = "main"\n{keys[name]}\n' for name in names]
        (tmp_path / "gas.toml").write_text("".join(tables))
        line = [sys.executable, "-m", "gas", "plan", "lu.toml", "--config", "gas.toml", "--json"]
        line += ["--predict", "auto", "--samples", "5"]
        environment = os.environ | {"SLURM_JWT": slurm.token()}
        return subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)

    return gas


def test_plans_are_predicted_by_it_through_both(slurm, jobs, gas):
    few = gas("busy", "web")
    assert (few.returncode, "predictions need 20" in few.stderr) == (2, True)
    more = [slurm.submit("-n", "1", "-t", "2", seconds=0) for _ in range(12)]
    wait_until(lambda: accounted(slurm, more) == {"COMPLETED"}, 60)
    done = gas("busy", "web")
    assert done.returncode == 0, done.stderr
    schedulers = json.loads(done.stdout)["prediction"]["schedulers"]
    ended = known(slurm)
    found = {(one["history"], one["history_jobs"], one["unknown_users"]) for one in schedulers}
    assert found == {("busy's accounting", len(ended), 0), ("web's accounting", len(ended), 0)}


def test_a_token_that_is_not_accepted(slurm, jobs):
    with pytest.raises(BadInput, match="Protocol authentication error; does slurmdbd.conf have AuthAltTypes"):
        rest(slurm, token="a.b.c", version="v0.0.38").accounting("main", 90)


# ------------------------------------------------------------------------------------------- slurmdbd away: the last


@contextmanager
def away(slurm, *, hangs=False):
    """Take slurmdbd away for a while."""
    [child] = [one for one in slurm.children if one.args[0].endswith("slurmdbd") and one.poll() is None]
    child.send_signal(signal.SIGSTOP if hangs else signal.SIGKILL)
    if hangs:
        try:
            yield
        finally:
            child.send_signal(signal.SIGCONT)
        return
    child.wait()
    slurm.children.remove(child)
    try:
        yield
    finally:
        slurm.start_slurmdbd()


def test_a_slurmdbd_that_hangs_is_given_up_in_time(slurm, jobs):
    began = time.monotonic()
    with away(slurm, hangs=True):
        with pytest.raises(Unreachable, match="busy: sacct has not answered for 1 s"):
            commands(slurm, timeout=1).accounting("main", 90)
        with pytest.raises(Unreachable, match="did not answer within 1 s"):
            rest(slurm, timeout=1, version="v0.0.38").accounting("main", 90)
    assert time.monotonic() < began + 10


def test_a_slurmdbd_that_is_down_is_said_with_what_helps(slurm, jobs, gas):
    with away(slurm):
        with pytest.raises(BadInput, match=r"busy: its accounting is not available \(sacct: .*Connection refused"):
            commands(slurm).accounting("main", 90)
        with pytest.raises(BadInput, match=r"busy: its accounting is not available \(slurmrestd: .*database"):
            rest(slurm).accounting("main", 90)
        done = gas("busy")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Connection refused" in done.stderr
    assert "--predict FILE" in done.stderr
    assert "Traceback" not in done.stderr
