"""Real commands, real wrappers, real signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from bisect import bisect_left
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from eventually import living, until
from started_jobs import ended, printed, settable, start, started

from gas.errors import BadInput, GasError
from gas.service import processes, wrapper
from gas.service.output import output
from gas.service.processes import (
    Command,
    Ended,
    Unknown,
    alive,
    cancel_process,
    job_environment,
    read_state,
    reap_wrappers,
    settle,
    start_process,
)

pytestmark = pytest.mark.usefixtures("nothing_is_left")

UP = "while ! [ -e $GAS_JOB_DIRECTORY/started.json ]; do sleep 0.01; done"
"""For a shell: wait until the start of the job is on record."""


# --------------------------------------------------------------------------------------------------- a job's life


def test_a_job_starts_runs_and_ends(tmp_path: Path) -> None:
    start(tmp_path / "1", "sh", "-c", "echo $((GAS_PROCESSORS * 2)); echo oh >&2; exit 3", GAS_PROCESSORS="21")
    end = ended(tmp_path / "1")
    assert (end.exit_status, end.signal, end.reason, end.message) == (3, None, "exited", None)
    assert end.start <= end.end <= time.time() + 1
    assert output(tmp_path / "1") == b"42\n"
    assert output(tmp_path / "1", "stderr") == b"oh\n"


def test_a_running_job_is_alive_until_it_is_cancelled(tmp_path: Path) -> None:
    start(tmp_path, "sleep", "60")
    state = started(tmp_path)
    assert alive(state)
    assert settle(tmp_path) == state
    assert cancel_process(tmp_path)
    end = ended(tmp_path)
    assert (end.reason, end.signal, end.start) == ("cancelled", "SIGTERM", state.start)
    until(lambda: not alive(state), "the wrapper gone")
    assert not cancel_process(tmp_path)


def test_the_walltime_is_enforced(tmp_path: Path) -> None:
    start(tmp_path, "sleep", "60", walltime=0.3)
    assert ended(tmp_path).reason == "walltime"


def test_a_job_gets_what_it_declares_and_little_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAS_TOKEN", "secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    start(tmp_path, "env", HOME="/nowhere", GAS_WALLTIME="60")
    ended(tmp_path)
    assert set(output(tmp_path).decode().splitlines()) == {
        "LANG=C.UTF-8",
        "HOME=/nowhere",
        "GAS_WALLTIME=60",
        f"PATH={os.environ['PATH']}",
        f"GAS_JOB_DIRECTORY={tmp_path}",
    }


def test_a_service_without_a_path_gives_the_usual_one() -> None:
    assert job_environment({"A": "1"}, {"SECRET": "2"}) == {"A": "1", "PATH": os.defpath}


def test_ignored_and_blocked_signals_and_open_sockets_of_the_service_are_not_handed_on(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        with socket.socket() as listening:
            listening.set_inheritable(True)
            # not of the shell itself: dash blocks everything for a moment while it starts a program
            script = "grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/$$/fd; echo ready; sleep 60"
            start(tmp_path, "sh", "-c", script)
            printed(tmp_path, b"ready")
            wrapper_files = Path(f"/proc/{started(tmp_path).wrapper_pid}/fd")
            assert not any(str(each.readlink()).startswith("socket:") for each in wrapper_files.iterdir())
            assert cancel_process(tmp_path)
            ended(tmp_path)
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    _, blocked, _, ignored, *files = output(tmp_path).split()
    assert (settable(blocked), settable(ignored), files) == (0, 0, [b"0", b"1", b"2", b"ready"])


def test_a_relative_working_directory_is_seen_from_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    now = time.time()
    start_process(Path("1"), Command(("pwd",), {}, "data"), terminate_at=now + 60, kill_at=now + 60)
    assert ended(Path("1")).exit_status == 0
    assert output(Path("1")) == f"{tmp_path}/data\n".encode()


def test_the_records_of_a_job_are_for_its_owner_only(tmp_path: Path) -> None:
    start(tmp_path / "1", "echo", "private")
    ended(tmp_path / "1")
    assert (tmp_path / "1").stat().st_mode & 0o077 == 0
    for name in ("job.json", "claim.json", "started.json", "ended.json", "stdout", "stderr", "wrapper.log"):
        assert (tmp_path / "1" / name).stat().st_mode & 0o077 == 0, name


@pytest.mark.parametrize(
    ("arguments", "environment", "directory", "message"),
    [
        ((), {}, "/", "command: is empty"),
        (("",), {}, "/", "command: is empty"),
        (("echo", "a\0b"), {}, "/", r"command\[1\]: contains a NUL"),
        (("echo",), {"A=B": "1"}, "/", "environment 'A=B'"),
        (("echo",), {"": "1"}, "/", "environment ''"),
        (("echo",), {"A": "\0"}, "/", "environment 'A'"),
        (("echo",), {}, "", "directory ''"),
        (("echo",), {}, "/\0", "holds a NUL"),
    ],
)
def test_what_no_system_could_run_is_refused_beforehand(
    arguments: tuple[str, ...], environment: dict[str, str], directory: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        Command(arguments, environment, directory)


def test_one_string_that_no_program_can_be_given_is_refused_beforehand() -> None:
    Command(("echo", "x" * 131_071), {}, "/")
    with pytest.raises(BadInput, match=r"command\[1\]: has 131073 bytes.* at most 131072 .*into a file"):
        Command(("echo", "x" * 131_072), {}, "/")
    with pytest.raises(BadInput, match="environment 'A': has 131073 bytes"):
        Command(("echo",), {"A": "x" * 131_070}, "/")


@pytest.mark.thorough
@pytest.mark.parametrize("size", [0, 1000, 100_000])
def test_of_command_and_environment_together_what_is_taken_can_be_started_and_what_is_too_much_is_refused(
    tmp_path: Path, size: int
) -> None:
    each = ("x" * size,)

    def refused(count: int) -> bool:
        with suppress(BadInput):
            Command(("true", *each * count), {}, "/")
            return False
        return True

    too_many = bisect_left(range(2**23 // (size + 9)), True, key=refused)
    with pytest.raises(BadInput, match=r"command and environment: have \d+ bytes .* at most \d+ .*into a file"):
        Command(("true", *each * too_many), {}, "/")
    most = too_many - 1
    assert most > 0
    start(tmp_path, "true", *each * most)
    assert ended(tmp_path).exit_status == 0


def test_a_command_that_is_not_there_is_an_end_that_says_so(tmp_path: Path) -> None:
    start(tmp_path, "no-such-command")
    end = ended(tmp_path)
    assert (end.reason, end.exit_status, end.signal) == ("not started", None, None)
    assert "no-such-command: command not found in PATH" in str(end.message)


def test_a_job_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GasError, match=r"job directory .*file/1: the job cannot be started there"):
        start(tmp_path / "file" / "1", "true")


def test_a_job_that_is_started_twice_runs_once(tmp_path: Path) -> None:
    for _ in range(3):
        start(tmp_path, "sh", "-c", "echo ran; sleep 0.05")
    ended(tmp_path)
    start(tmp_path, "sh", "-c", "echo ran again")
    until(lambda: not living(tmp_path), "no wrapper left")
    assert output(tmp_path) == b"ran\n"


@pytest.mark.thorough
def test_thirty_jobs_at_once_end_and_leave_neither_process_nor_zombie(tmp_path: Path) -> None:
    jobs = [tmp_path / str(i) for i in range(30)]
    for i, directory in enumerate(jobs):
        start(directory, "sh", "-c", f"sleep 60 & (setsid sleep 60 &); echo {i}; exit {i}")
    wrappers = {each.pid for each in processes._wrappers}
    assert len(wrappers) >= 30 - sum((each / "ended.json").exists() for each in jobs)
    for i, directory in enumerate(jobs):
        assert ended(directory).exit_status == i
        assert output(directory) == f"{i}\n".encode()
    assert not [pid for pid in living(tmp_path) if pid not in wrappers]

    def all_collected() -> bool:
        reap_wrappers()
        return not processes._wrappers

    until(all_collected, "all wrappers collected")
    assert not any(Path(f"/proc/{pid}").exists() for pid in wrappers)


# ------------------------------------------------------------------------------------------ life without service

SERVICE = """
import os, sys, time
from pathlib import Path
from gas.service.processes import Command, start_process

now = time.time()
command = Command(("sh", "-c", sys.argv[2]), {}, "/")
start_process(Path(sys.argv[1]), command, terminate_at=now + 60, kill_at=now + 60)
"""


def test_a_job_outlives_the_service_that_is_killed(tmp_path: Path) -> None:
    script = "echo up; while ! [ -e $GAS_JOB_DIRECTORY/go ]; do sleep 0.01; done; echo done; exit 5"
    program = SERVICE + "\nprint('started', flush=True)\ntime.sleep(60)"
    service = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path), script], stdout=subprocess.PIPE, start_new_session=True
    )
    with service:
        printed(tmp_path, b"up")
        os.killpg(service.pid, signal.SIGKILL)
    assert service.returncode == -signal.SIGKILL
    assert alive(started(tmp_path))
    (tmp_path / "go").touch()
    assert ended(tmp_path).exit_status == 5
    assert output(tmp_path) == b"up\ndone\n"


def test_a_service_that_stops_while_jobs_run_has_nothing_to_warn_about(tmp_path: Path) -> None:
    service = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", SERVICE, str(tmp_path), "sleep 60"],
        capture_output=True,
        check=True,
    )
    assert service.stderr == b""
    assert alive(started(tmp_path))
    assert cancel_process(tmp_path)
    assert ended(tmp_path).reason == "cancelled"


def test_what_a_killed_wrapper_leaves_behind_is_killed_and_the_job_is_lost(tmp_path: Path) -> None:
    start(tmp_path, "sh", "-c", "sleep 60 & setsid env -u PATH sleep 60 & env -i sleep 60 & echo up; wait")
    printed(tmp_path, b"up")
    state = started(tmp_path)
    os.kill(state.wrapper_pid, signal.SIGKILL)
    end = ended(tmp_path)
    assert (end.reason, end.exit_status, end.signal, end.start) == ("lost", None, None, state.start)
    assert "its wrapper was killed" in str(end.message)
    assert living(tmp_path) == []
    table = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    states = [line.split()[1] for line in table.splitlines() if line.split()[0] == str(state.process_group)]
    assert all(each.startswith("Z") for each in states)


def test_a_job_of_another_boot_is_lost_and_no_present_process_suffers(
    tmp_path: Path, innocent: subprocess.Popen[bytes]
) -> None:
    start(tmp_path, "true")
    ended(tmp_path)
    (tmp_path / "ended.json").unlink()
    ticks = int(Path(f"/proc/{innocent.pid}/stat").read_text().split()[21])
    for name, pid in (("claim.json", "pid"), ("started.json", "wrapper_pid")):
        record = json.loads((tmp_path / name).read_text())
        record |= {pid: innocent.pid, pid.replace("pid", "ticks"): ticks, "boot": "another"}
        (tmp_path / name).write_text(json.dumps(record))
    state = started(tmp_path)
    assert not alive(state)
    assert alive(replace(state, boot=wrapper.boot_identity()))
    assert ended(tmp_path).reason == "lost"
    assert innocent.poll() is None


def test_a_signal_is_for_one_process_and_not_for_a_later_one_with_its_pid(innocent: subprocess.Popen[bytes]) -> None:
    ticks = int(Path(f"/proc/{innocent.pid}/stat").read_text().split()[21])
    assert not processes.signal_process(innocent.pid, ticks + 1, signal.SIGKILL)
    assert innocent.poll() is None
    assert processes.signal_process(innocent.pid, ticks, signal.SIGKILL)
    assert innocent.wait(15) == -signal.SIGKILL
    assert not processes.signal_process(innocent.pid, ticks, signal.SIGKILL)


def test_an_end_recorded_while_the_wrapper_is_looked_for_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path, "sh", "-c", "exit 6")
    ended(tmp_path)
    record = (tmp_path / "ended.json").read_bytes()
    (tmp_path / "ended.json").unlink()

    def ends_now(*_: object) -> bool:
        (tmp_path / "ended.json").write_bytes(record)
        return False

    monkeypatch.setattr(processes, "is_running", ends_now)
    assert ended(tmp_path).exit_status == 6


def test_a_lost_job_ends_also_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    start(tmp_path, "sleep", "60")
    os.kill(started(tmp_path).wrapper_pid, signal.SIGKILL)
    monkeypatch.setattr(wrapper, "write_record", full)
    assert ended(tmp_path).reason == "lost"
    assert living(tmp_path) == []


def test_a_job_that_no_wrapper_has_taken_may_be_started(tmp_path: Path) -> None:
    assert settle(tmp_path / "1") is None
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "job.json").write_text("{}")
    assert settle(tmp_path / "1") is None
    start(tmp_path / "1", "true")
    assert ended(tmp_path / "1").exit_status == 0


def test_a_job_without_records_may_not_be_started_again_while_its_wrapper_lives(tmp_path: Path) -> None:
    start(tmp_path / "1", "sh", "-c", f"{UP}; rm -rf $GAS_JOB_DIRECTORY; touch {tmp_path}/up; sleep 60")
    until(lambda: (tmp_path / "up").exists(), "the directory removed")
    assert settle(tmp_path / "1") is not None
    assert cancel_process(tmp_path / "1")


# -------------------------------------------------------------------------------------------------- cancellation


def test_a_job_cancelled_before_it_is_started_never_runs(tmp_path: Path) -> None:
    assert cancel_process(tmp_path)
    assert ended(tmp_path).reason == "cancelled"
    start(tmp_path, "echo", "ran")
    assert ended(tmp_path).reason == "cancelled"
    assert output(tmp_path) == b""
    assert not cancel_process(tmp_path)


def test_a_cancellation_cut_short_by_the_end_of_the_service_is_completed(tmp_path: Path) -> None:
    assert cancel_process(tmp_path)
    (tmp_path / "ended.json").unlink()
    start(tmp_path, "echo", "ran")
    end = ended(tmp_path)
    assert (end.reason, end.message) == ("cancelled", "cancelled before the command was started")


def test_there_is_nothing_to_cancel_without_a_job_directory(tmp_path: Path) -> None:
    assert not cancel_process(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_job_that_has_stopped_its_wrapper_can_be_cancelled(tmp_path: Path) -> None:
    start(
        tmp_path,
        "sh",
        "-c",
        "while ! [ -e $GAS_JOB_DIRECTORY/started.json ]; do sleep 0.01; done; kill -STOP $PPID; sleep 60",
    )
    pid = started(tmp_path).wrapper_pid
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "the wrapper stopped")
    assert cancel_process(tmp_path)
    assert ended(tmp_path).reason == "cancelled"


@pytest.mark.parametrize("removed", ["$GAS_JOB_DIRECTORY/*", "$GAS_JOB_DIRECTORY"])
def test_a_job_that_has_removed_its_records_is_cancelled_by_way_of_its_wrapper(tmp_path: Path, removed: str) -> None:
    script = f"trap 'echo TERM >> {tmp_path}/told; exit 0' TERM; {UP}; rm -rf {removed}; touch {tmp_path}/up"
    start(tmp_path / "1", "sh", "-c", f"{script}; while :; do sleep 0.02; done")
    until(lambda: (tmp_path / "up").exists(), "the records removed")
    assert cancel_process(tmp_path / "1")
    state = until(lambda: isinstance(state := settle(tmp_path / "1", begun=True), Ended) and state, "ended")
    assert state.reason == ("lost" if removed == "$GAS_JOB_DIRECTORY" else "cancelled")
    assert (tmp_path / "told").read_text() == "TERM\n"  # it had time to save its data


@pytest.mark.parametrize("what", ["process", "processes", "boot_identity"])
def test_while_the_system_cannot_say_what_runs_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def wanting(*_: object) -> None:
        raise OSError(23, "Too many open files in system")

    start(tmp_path, "sleep", "60")
    state = started(tmp_path)
    if what == "processes":  # they are looked through only for a job without a wrapper
        os.kill(state.wrapper_pid, signal.SIGKILL)
        until(lambda: not alive(state), "the wrapper gone")
    with monkeypatch.context() as patch:
        patch.setattr(wrapper, what, wanting)
        with pytest.raises(Unknown, match="Too many open files in system"):
            settle(tmp_path)
        with pytest.raises(Unknown):
            cancel_process(tmp_path)
    assert read_state(tmp_path) == state
    if what != "processes":
        assert alive(state)
        assert cancel_process(tmp_path)
    assert ended(tmp_path).reason == ("lost" if what == "processes" else "cancelled")


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize("milliseconds", [0, 5, 10, 15, 20, 25, 30, 40])
def test_a_job_cancelled_while_it_comes_up_ends_as_cancelled(tmp_path: Path, milliseconds: int) -> None:
    start(tmp_path, "sleep", "60")
    time.sleep(milliseconds / 1000)
    assert cancel_process(tmp_path)
    assert ended(tmp_path).reason == "cancelled"


@pytest.mark.parametrize("name", ["claim.json", "started.json", "ended.json"])
def test_a_job_with_a_rubbish_record_still_comes_to_an_end(tmp_path: Path, name: str) -> None:
    start(tmp_path, "sh", "-c", "sleep 60 & wait")
    state = started(tmp_path)
    os.kill(state.wrapper_pid, signal.SIGKILL)
    until(lambda: not alive(state), "the wrapper gone")
    (tmp_path / name).write_bytes(b"\0" * 100)
    assert ended(tmp_path).reason == "lost"
    assert living(tmp_path) == []


@pytest.mark.parametrize("hours", [-2, 2])
def test_a_step_of_the_wall_clock_changes_no_walltime(tmp_path, hours):
    """The service's clock counts from its start; the wall clock has been set since."""
    now = time.time() + 3600 * hours
    command = Command(("sleep", "30"), {}, "/")
    start_process(tmp_path / "1", command, terminate_at=now + 1, kill_at=now + 1.5, now=now)
    state = until(lambda: (found := read_state(tmp_path / "1")) and isinstance(found, Ended) and found, "ended")
    assert (state.reason, 0.5 < state.end - state.start < 5) == ("walltime", True)
