"""What goes wrong with a real Slurm: the right words and exit code, the others go on, nothing twice, nothing left over.

Faults come where they hit in life: programs in front of Slurm's own do what a bad moment does, daemons are killed.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from faulty_proxy import wait_until
from private_slurm import PrivateSlurm, find, own_name

from gas.endpoints.wording import tag_of

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

APPLICATION = 'name = "app"\n[speedup]\nmodel = "table"\ntimes = { 2 = 900, 4 = 500, 8 = 300 }\n'


@pytest.fixture(scope="module")
def slurms():
    """Return two: one that gets into trouble, and one that goes on."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(PrivateSlurm(8, 1, rest=rest)) for rest in (True, False))


@pytest.fixture
def slurm(slurms):
    yield slurms[0]
    if "is UP" not in slurms[0].tried("scontrol", "ping"):
        start(slurms[0])
    for one in slurms:
        one.tried("scancel", f"--user={own_name()}")
        wait_until(one._all_idle, 60)  # a controller that has come back does not know at once how its nodes are


@pytest.fixture
def front(slurm, tmp_path):
    """Put programs in front of Slurm's: ``front(squeue="sleep 99")`` runs that before the real one."""

    def front(**programs):
        folder = tmp_path / "front"
        folder.mkdir(exist_ok=True)
        for name, lines in programs.items():
            path = folder / name
            path.write_text(f'#!/bin/sh\n{lines}\nexec {find(name)} "$@"\n')
            path.chmod(0o755)
        return f"folder = {json.dumps(str(folder))}\n"

    return front


@pytest.fixture
def gas(slurms, tmp_path):
    """Run the program; `bad` are more keys of the first Slurm's table, the second is called good."""
    app = tmp_path / "app.toml"
    app.write_text(APPLICATION)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GAS_")}
    environment |= {"XDG_STATE_HOME": str(tmp_path / "state")}

    def gas(*words, bad="", only=False, wait=True, token=None):
        config = tmp_path / "gas.toml"
        tables = [f'[endpoints.bad]\ntype = "slurm"\n{bad}\n']
        if "url" not in bad and "slurm_conf" not in bad:
            tables[0] += f'slurm_conf = "{slurms[0].folder}/slurm.conf"\n'
        if not only:
            tables.append(f'[endpoints.good]\ntype = "slurm"\nslurm_conf = "{slurms[1].folder}/slurm.conf"\n')
        config.write_text("".join(tables))
        more = {} if token is None else {"SLURM_JWT": token}
        words = [str(app) if word == "APP" else word for word in words]
        command = [sys.executable, "-m", "gas", words[0], "--config", str(config), *words[1:]]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment | more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if not wait:
            return process
        out, err = process.communicate(timeout=120)
        assert "Traceback" not in err
        return process.returncode, out, err

    return gas


def kill(slurm):
    """Kill slurmctld."""
    for child in slurm.children:
        if child.args[0].endswith("slurmctld") and child.poll() is None:
            child.kill()
            child.wait()


def start(slurm):
    """Start slurmctld again."""
    slurm._child("slurmctld", "-D")
    wait_until(lambda: " is UP" in slurm.tried("scontrol", "ping"), 60)


def killing(slurm):
    """Return a line of shell that kills slurmctld, once."""
    [pid] = [child.pid for child in slurm.children if child.args[0].endswith("slurmctld") and child.poll() is None]
    return f"kill -9 {pid}; sleep 0.2"


def lost_answer(slurm):
    """Return what an sbatch does, once, whose slurmctld is killed when it has written down the job."""
    return f'{find("sbatch")} "$@" > /dev/null; rm "$0"; sleep 8; {killing(slurm)}; echo "Socket timed out" >&2; exit 1'


def named(slurm, word, *states):
    """Return the jobs whose name holds a word, in these states or any."""
    lines = slurm.run("squeue", "-h", "-t", "all", "-o", "%A %T %j").splitlines()
    return [line for line in lines if word in line and (not states or line.split()[1] in states)]


AWAY = "timeout = 4\n"


def test_slurmctld_killed_in_the_middle_of_planning(slurm, gas, front):
    code, out, err = gas("plan", "APP", bad=AWAY + front(squeue=killing(slurm)))
    assert (code, "on good" in out) == (0, True), err
    assert "bad: squeue" in err
    assert "slurmctld" in err or "has not answered" in err


def test_slurmctld_away_and_nobody_else(slurm, gas):
    kill(slurm)
    code, out, err = gas("plan", "APP", bad=AWAY, only=True)
    assert (code, out) == (4, "")
    assert "slurmctld" in err or "has not answered" in err


def test_a_squeue_that_hangs(slurm, gas, front):
    began = time.monotonic()
    code, out, err = gas("plan", "APP", bad="timeout = 2\n" + front(squeue="sleep 99"))
    assert (code, "on good" in out) == (0, True), err
    assert "bad: squeue has not answered for 2 s" in err
    assert time.monotonic() < began + 20


def test_an_answer_cut_off(slurm, gas, front):
    slurm.submit("-n", "1", "-t", "10", seconds=60)
    code, out, err = gas("plan", "APP", bad=front(squeue=f'{find("squeue")} "$@" | head -c 30; exit 0'))
    assert (code, "on good" in out) == (0, True), err
    assert "bad: squeue: the answer is cut off" in err or "squeue: the answer is cut off" in err


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ('partition = "mian"\n', 'has no partition "mian"; did you mean "main"'),
        ('url = "http://127.0.0.1:9"\n', "127.0.0.1:9"),
        ('folder = "/nowhere"\nslurm_conf = "/nowhere/slurm.conf"\n', "there is no file /nowhere/slurm.conf"),
        ('reservation = "kept"\n', 'has no reservation "kept"'),
    ],
)
def test_what_there_is_not(slurm, gas, bad, said):
    code, out, err = gas("plan", "APP", bad=bad, token="x")
    assert (code, "on good" in out) == (0, True), err
    assert said in err


def test_a_token_that_has_expired_and_one_that_never_was_good(slurm, gas):
    expired = slurm.token(1)
    time.sleep(2.5)
    for token in (expired, "nonsense"):
        code, out, err = gas("plan", "APP", bad=f'url = "{slurm.rest_url}"\n', token=token)
        assert (code, "on good" in out) == (0, True), err
        assert "token" in err
        assert token not in err
        assert gas("plan", "APP", bad=f'url = "{slurm.rest_url}"\n', token=token, only=True)[0] == 1


def test_slurmrestd_without_its_slurmctld_answers_500(slurm, gas):
    token = slurm.token()
    kill(slurm)
    code, out, err = gas("plan", "APP", bad=f'url = "{slurm.rest_url}"\n', token=token)
    assert (code, "on good" in out) == (0, True), err
    assert "bad" in err


def submission(key, *command):
    return ("submit", "-e", "bad", "APP", "--key", key, "--json", "--", *(command or ("sleep", "30")))


def test_slurmctld_killed_right_after_it_took_a_job(slurm, gas, front):
    """There is no answer; the job is found when slurmctld is back, and not submitted again."""
    once = lost_answer(slurm)
    process = gas(*submission("lost"), bad="timeout = 20\n" + front(sbatch=once), only=True, wait=False)
    wait_until(lambda: "is UP" not in slurm.tried("scontrol", "ping"), 60)
    start(slurm)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    [line] = named(slurm, tag_of("lost"))
    assert json.loads(out)["job"]["id"] == int(line.split()[0])


def test_a_call_that_gave_up_in_doubt_is_taken_up_by_the_next_with_its_key(slurm, gas, front):
    once = lost_answer(slurm)
    bad = "timeout = 20\npatience = 0\n" + front(sbatch=once)
    code, _, err = gas(*submission("once"), bad=bad, only=True)
    assert (code, "may or may not have been submitted" in err, "--key once" in err) == (4, True, True)
    start(slurm)
    wait_until(lambda: not slurm.tried("sinfo", "-h", "-N", "-t", "unknown,down,no_respond", "-o", "%N").split(), 60)
    for _ in range(2):
        code, out, err = gas(*submission("once"), bad="timeout = 9\n", only=True)
        assert (code, json.loads(out)["already"]) == (0, True), err
    assert len(named(slurm, tag_of("once"))) == 1


def test_a_job_that_slurm_has_forgotten_is_not_submitted_again(slurm, gas):
    short = submission("short", "true")
    first = json.loads(gas(*short, only=True)[1])["job"]["id"]
    wait_until(lambda: named(slurm, tag_of("short"), "COMPLETED"), 60)
    path = slurm.folder / "slurm.conf"
    path.write_text(path.read_text() + "MinJobAge=2\n")
    slurm.run("scontrol", "reconfigure")
    wait_until(lambda: not named(slurm, tag_of("short")), 150)
    path.write_text(path.read_text().replace("MinJobAge=2\n", ""))
    slurm.run("scontrol", "reconfigure")
    code, out, err = gas(*short, only=True)
    assert (code, json.loads(out)["already"], json.loads(out)["job"]["id"]) == (0, True, first), err
    assert named(slurm, tag_of("short")) == []


@pytest.mark.parametrize("end", ["Ctrl-C", "kill -9", "kill -9 while slurmctld is away"])
def test_no_probe_is_left_behind(slurm, gas, end):
    slurm.submit("-n", "8", "-t", "30")
    process = gas("plan", "APP", "--probe", "3", only=True, wait=False)
    wait_until(lambda: named(slurm, "gas-probe-", "PENDING") or process.poll() is not None, 60)
    assert process.poll() is None, process.communicate()
    if "away" in end:
        kill(slurm)
    process.send_signal(2 if end == "Ctrl-C" else 9)
    process.communicate(timeout=60)
    if "away" in end:
        time.sleep(1)
        start(slurm)
    wait_until(lambda: not named(slurm, "gas-probe-", "PENDING", "RUNNING"), 90)


def test_the_words_of_a_fault_name_the_way_out(slurm, gas):
    """A last look at one of them as a person sees it: one line, no traceback, the place that is to be changed."""
    code, _, err = gas("plan", "APP", bad='unit = "sockets"\n', only=True)
    assert code == 2
    assert err.count("\n") == 1
    assert "[endpoints.bad] unit" in err, shlex.quote(err)
