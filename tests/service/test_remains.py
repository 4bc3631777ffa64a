"""Jobs that resist being ended by their wrapper, and after it by the service."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from eventually import until

from gas.service import processes, remains, wrapper
from gas.service.cgroup import Cgroups
from gas.service.clock import Clock
from gas.service.jobs import Job, JobRequest
from gas.service.processes import Started, read_state
from gas.service.runner import Host, Runner

UP = "while ! [ -e $GAS_JOB_DIRECTORY/started.json ]; do sleep 0.01; done"
DAEMON = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(600)
"""


def shell(script: str, walltime: int = 60) -> Job:
    now = int(time.time())
    request = JobRequest("job", "job", 1, walltime, actuator="process", command=("sh", "-c", script))
    return Job(1, request, now, "running", now, now, now, now + walltime)


def gone(pid: int) -> bool:
    found = wrapper.process(pid)
    return found is None or not found.lives


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    one = Runner(tmp_path / "jobs", Clock())
    yield one
    for directory in (tmp_path / "jobs").iterdir():
        owner = remains.wrapper_of(directory)
        remains.end(remains.Traces(directory, owner))
        if owner is not None:
            with suppress(ProcessLookupError):
                os.kill(owner.pid, signal.SIGKILL)


def started(runner: Runner, job: Job) -> Started:
    state = until(lambda: isinstance(s := read_state(runner.directory_of(job)), Started) and s, "started")
    assert isinstance(state, Started)
    return state


# ------------------------------------------------------------------------------------------------ stopped wrappers

STOPPING = "while :; do kill -STOP $PPID 2>/dev/null; done"


@pytest.mark.thorough
@pytest.mark.parametrize("helpers", [0, 3])
def test_a_job_that_stops_its_wrapper_in_a_loop_gives_its_processors_back_soon_after_its_walltime(
    runner: Runner, helpers: int
) -> None:
    away = 'setsid sh -c "while :; do kill -STOP $PPID 2>/dev/null; done" & ' * helpers
    one = shell(f"trap '' TERM; {away}{STOPPING}", walltime=3)
    runner.begin(one)
    until(lambda: runner.ended([one]), "ended", 60)
    assert (one.state, one.signal) == ("timeout", "SIGKILL")
    assert one.due + 2 <= time.time() < one.due + 30  # 3 to 4 s on an idle machine
    mark = f"GAS_JOB_DIRECTORY={runner.directory_of(one)}".encode()
    assert not [
        each for each in wrapper.processes() if each.lives and mark in remains._facts(each.pid, "environ", 2**23)
    ]


@pytest.mark.thorough
def test_a_cancelled_job_that_stops_its_wrapper_in_a_loop_ends_long_before_its_walltime(runner: Runner) -> None:
    one = shell(f"trap '' TERM; {UP}; {STOPPING}", walltime=600)
    runner.begin(one)
    started(runner, one)
    runner.cancel(one)
    until(lambda: runner.ended([one]), "ended", 60)
    assert one.state == "cancelled"


def test_a_wrapper_that_others_stop_is_killed_when_its_job_is_gone_and_the_end_is_still_the_walltime(
    runner: Runner,
) -> None:
    one = shell("exec sleep 600", walltime=600)
    runner.begin(one)
    state = started(runner, one)
    os.kill(state.wrapper_pid, signal.SIGSTOP)
    os.kill(state.command_pid, signal.SIGKILL)
    until(lambda: gone(state.command_pid), "the command gone")
    processes.overpower(runner.directory_of(one))
    until(lambda: gone(state.wrapper_pid), "the wrapper gone")
    end = processes.settle(runner.directory_of(one), reason="walltime")
    assert isinstance(end, processes.Ended)
    assert (end.reason, end.start) == ("walltime", state.start)
    assert "the service killed it" in str(end.message)


def test_a_wrapper_that_waits_for_its_record_to_be_taken_is_left_alone_for_a_while(runner: Runner) -> None:
    one = shell("while ! [ -e $GAS_JOB_DIRECTORY/ended.json ]; do sleep 0.01; done; exit 7")
    runner.begin(one)
    state = started(runner, one)
    (runner.directory_of(one) / "ended.json").mkdir()
    until(lambda: gone(state.command_pid), "the command gone")
    processes.overpower(runner.directory_of(one))
    assert not gone(state.wrapper_pid)
    (runner.directory_of(one) / "ended.json").rmdir()
    until(lambda: runner.ended([one]), "ended")
    assert one.exit_status == 7


# ------------------------------------------------------------------------------------------------------ daemons


def test_a_daemon_that_was_made_after_the_wrapper_was_killed_is_found_by_its_mark(
    runner: Runner, tmp_path: Path
) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON)
    # the wrapper's death kills the command; a child of the command in its own session goes on
    late = f"setsid sh -c 'sleep 0.3; exec {sys.executable} {tmp_path}/daemon.py {tmp_path}/pid' & "
    one = shell(f"{UP}; {late} kill -KILL $PPID; sleep 600")
    runner.begin(one)
    pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the daemon"))
    until(lambda: runner.ended([one]), "ended")
    assert one.state == "lost"
    until(lambda: gone(pid), "the daemon gone")


def test_no_mark_of_another_user_makes_a_process_a_jobs(tmp_path: Path) -> None:
    mark = {"GAS_JOB_DIRECTORY": str(tmp_path / "1")}
    forged = os.posix_spawn("/bin/sleep", ["sleep", "60"], mark)
    try:
        until(lambda: mark["GAS_JOB_DIRECTORY"].encode() in remains._facts(forged, "environ", 2**23), "the mark")
        found = [each.pid for each in remains.members(remains.Traces(tmp_path / "1"))]
        assert found == [forged]
        assert not remains.members(remains.Traces(tmp_path / "1", uid=os.getuid() + 1))
    finally:
        os.kill(forged, signal.SIGKILL)
        os.waitpid(forged, 0)


# ------------------------------------------------------------------------------------------------ with a real cgroup


def test_in_its_cgroup_a_daemon_without_session_parent_and_mark_is_found(tmp_path: Path, real_cgroup: Path) -> None:
    runner = Runner(tmp_path / "jobs", Clock(), host=Host(cgroups=Cgroups(real_cgroup)))
    (tmp_path / "daemon.py").write_text(DAEMON)
    daemon = f"env -i {sys.executable} {tmp_path}/daemon.py {tmp_path}/pid"
    one = shell(f"{UP}; {daemon}; while ! [ -s {tmp_path}/pid ]; do sleep 0.01; done; kill -KILL $PPID; sleep 600")
    runner.begin(one)
    pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the daemon"))
    until(lambda: runner.ended([one]), "ended")
    assert one.state == "lost"
    assert gone(pid)
    assert not list(real_cgroup.glob("job-*"))


def test_in_its_cgroup_a_job_that_forks_without_end_is_killed_at_its_walltime(
    tmp_path: Path, real_cgroup: Path
) -> None:
    runner = Runner(tmp_path / "jobs", Clock(), host=Host(cgroups=Cgroups(real_cgroup)))
    chain = "import os\nwhile True:\n    if os.fork():\n        os._exit(0)\n    os.setsid()\n"
    (tmp_path / "chain.py").write_text(chain)
    one = shell(f"trap '' TERM; env -i {sys.executable} {tmp_path}/chain.py & while :; do sleep 1; done", walltime=3)
    runner.begin(one)
    until(lambda: runner.ended([one]), "ended", 60)
    assert one.state == "timeout"
    assert not list(real_cgroup.glob("job-*"))


def test_of_a_process_with_a_huge_command_line_and_environment_only_the_beginning_is_read(tmp_path: Path) -> None:
    long = ["x" * 100_000] * 10
    script = "import time; print(flush=True); time.sleep(60)"
    environment = {**os.environ, **{f"V{n}": text for n, text in enumerate(long)}}
    child = subprocess.Popen([sys.executable, "-c", script, *long], env=environment, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    try:
        assert len(remains._facts(child.pid, "cmdline", remains._MOST_COMMAND)) == remains._MOST_COMMAND
        assert remains.wrapper_of(tmp_path / "1.x") is None
        assert remains.members(remains.Traces(tmp_path / "1.x")) == []
        marked = remains.Traces(Path("x" * 100_000))
        assert remains.members(marked) == [], "a mark is a variable of its own"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
