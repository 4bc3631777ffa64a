"""The wrapper as a program of its own, started without the rest of Gas."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from eventually import living, until
from hypothesis import given, settings
from hypothesis import strategies as st
from started_jobs import settable

from gas.service import wrapper
from gas.service.wrapper import Deadlines, Process

PYTHON = sys.executable
IGNORING_TERM = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


class Job:
    """A wrapper at work on a directory of its own."""

    def __init__(
        self,
        directory: Path,
        *command: str,
        term: float = 60,
        kill: float = 60,
        cwd: str = "/",
        environment: dict[str, str] | None = None,
        program: tuple[str, ...] = (wrapper.__file__,),
    ) -> None:
        now = time.time()
        self.directory = directory
        job = {
            "command": command,
            "environment": {"PATH": os.environ["PATH"], **(environment or {})},
            "directory": cwd,
            "terminate_at": now + term,
            "kill_at": now + kill,
        }
        (directory / "job.json").write_text(json.dumps(job))
        self.process = subprocess.Popen(
            [PYTHON, "-I", "-S", "-X", "utf8", *program, str(directory)], start_new_session=True
        )

    def read(self, name: str) -> Any:
        with suppress(FileNotFoundError):
            return json.loads((self.directory / name).read_text())

    def printed(self, text: str) -> None:
        """Wait until the command has printed a text."""
        stdout = self.directory / "stdout"
        until(lambda: stdout.exists() and text in stdout.read_text(), f"{text!r} in {stdout}")

    def end(self) -> Any:
        """Wait for the record of the end; nothing of the job is left then, and the wrapper exits with 0."""
        record = until(lambda: self.read("ended.json"), "ended.json")
        assert living(self.directory, wrappers=False) == []
        assert self.process.wait(10) == 0
        return record


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Callable[..., Job]]:
    jobs: list[Job] = []

    def begin(*command: str, **options: Any) -> Job:
        directory = tmp_path / f"job{len(jobs)}"
        directory.mkdir()
        jobs.append(Job(directory, *command, **options))
        return jobs[-1]

    yield begin
    for each in jobs:
        each.process.kill()
        each.process.wait()
        for pid in living(each.directory, wrappers=False):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


# ------------------------------------------------------------------------------------------- an end of its own


@pytest.mark.parametrize("status", [0, 1, 255])
def test_the_exit_status_and_the_output_are_kept(job: Callable[..., Job], status: int) -> None:
    ran = job("sh", "-c", f"echo out; echo err >&2; exit {status}")
    end = ran.end()
    assert end["exit_status"] == status
    assert (end["signal"], end["reason"], end["message"]) == (None, "exited", None)
    assert end["start"] <= end["end"]
    assert (ran.directory / "stdout").read_text() == "out\n"
    assert (ran.directory / "stderr").read_text() == "err\n"


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (10, "SIGUSR1"), (37, "SIGRTMIN+3")])
def test_a_command_that_dies_by_a_signal_has_its_name_and_no_status(
    job: Callable[..., Job], number: int, name: str
) -> None:
    end = job("sh", "-c", f"kill -{number} $$").end()
    assert (end["exit_status"], end["signal"], end["reason"]) == (None, name, "exited")


def test_the_start_is_on_record_while_the_command_runs(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "echo $$; ps -o pgid= -p $$; sleep 60")
    start = until(lambda: ran.read("started.json"), "started.json")
    assert start["wrapper_pid"] == ran.process.pid
    assert start["wrapper_ticks"] == int(Path(f"/proc/{ran.process.pid}/stat").read_text().split()[21])
    assert abs(start["start"] - time.time()) < 60
    until(lambda: len((ran.directory / "stdout").read_text().split()) == 2, "two lines of output")
    pid, group = map(int, (ran.directory / "stdout").read_text().split())
    assert start["command_pid"] == start["process_group"] == pid == group
    assert ran.read("ended.json") is None


def test_the_command_gets_its_environment_and_directory_and_nothing_of_the_wrapper(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "pwd; env; cat /proc/self/status; ls -l /proc/$$/fd", cwd="/usr", environment={"COLOUR": "é"})
    ran.end()
    lines = (ran.directory / "stdout").read_text().splitlines()
    assert lines[0] == "/usr"
    environment = [line for line in lines if "=" in line]
    assert set(environment) - {"PWD=/usr", "SHLVL=0", "_=/usr/bin/env", "OLDPWD=/usr"} == {
        "COLOUR=é",
        f"PATH={os.environ['PATH']}",
        f"GAS_JOB_DIRECTORY={ran.directory}",
    }
    masks = {line.split()[0]: settable(line.split()[1]) for line in lines if line.startswith(("SigBlk", "SigIgn"))}
    assert masks == {"SigBlk:": 0, "SigIgn:": 0}
    files = [line.split(" -> ")[1] for line in lines if " -> " in line]
    assert files == ["/dev/null", str(ran.directory / "stdout"), str(ran.directory / "stderr")]


def test_arguments_that_are_no_text_arrive_byte_by_byte(job: Callable[..., Job]) -> None:
    ran = job("printf", "%s", "caf\u00e9 \udcff")
    ran.end()
    assert (ran.directory / "stdout").read_bytes() == b"caf\xc3\xa9 \xff"


# --------------------------------------------------------------------------------------------------- leftovers


def test_a_leftover_that_ends_soon_may_finish_its_work(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "(sleep 0.02; echo last words) & exit 3")
    assert ran.end()["exit_status"] == 3
    assert (ran.directory / "stdout").read_text() == "last words\n"


def test_a_background_child_does_not_outlive_the_command(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "sleep 60 & exit 0")
    end = ran.end()
    assert (end["exit_status"], end["reason"]) == (0, "exited")
    assert end["end"] - end["start"] < 30


def test_a_leftover_that_ignores_term_is_killed(job: Callable[..., Job]) -> None:
    ran = job(
        "sh",
        "-c",
        f'{PYTHON} -c "{IGNORING_TERM}" & while ! [ -s {{}}/stdout ]; do sleep 0.01; done'.replace(
            "{}", "$GAS_JOB_DIRECTORY"
        ),
    )
    assert ran.end()["exit_status"] == 0


ESCAPES = {
    "a session of its own": "os.setsid()",
    "double fork and a session of its own": "os.setsid(); os.fork() and os._exit(0)",
    "the group of the wrapper": "os.setpgid(0, os.getsid(0))",
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=list(ESCAPES))
def test_a_child_that_leaves_the_process_group_is_killed_with_the_job(job: Callable[..., Job], escape: str) -> None:
    program = f"""
import os, signal, time
if os.fork():
    time.sleep(60)
signal.signal(15, signal.SIG_IGN)
{escape}
print("away", flush=True)
time.sleep(60)
"""
    ran = job(PYTHON, "-c", program)
    ran.printed("away")
    ran.process.terminate()
    assert ran.end()["reason"] == "cancelled"


def test_without_a_subreaper_leftovers_of_the_session_are_still_found(job: Callable[..., Job]) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(Path(wrapper.__file__).parent)!r}); import wrapper; "
        "wrapper.load_libc = lambda: None; sys.exit(wrapper.main(sys.argv[1]))"
    )
    ran = job("sh", "-c", "set -m; (sleep 60 &); exit 5", program=("-c", code))
    assert ran.end()["exit_status"] == 5


def test_children_that_die_by_the_hundred_are_all_collected(job: Callable[..., Job]) -> None:
    orphans = "for i in $(seq 100); do (true &); done"
    ran = job("sh", "-c", f"{orphans}; while ps -o stat= --ppid $PPID | grep -q Z; do sleep 0.01; done; exit 9")
    assert ran.end()["exit_status"] == 9


# ---------------------------------------------------------------------------------------------------- walltime


def test_term_before_the_end_of_the_walltime_lets_the_command_save_its_work(job: Callable[..., Job]) -> None:
    # 1.5 s: until then a busy machine has set the trap
    ran = job("sh", "-c", "trap 'echo saved; exit 7' TERM; while :; do sleep 0.02; done", term=1.5, kill=30)
    end = ran.end()
    assert (end["reason"], end["exit_status"], end["signal"]) == ("walltime", 7, None)
    assert (ran.directory / "stdout").read_text() == "saved\n"


def test_a_command_that_ignores_term_is_killed_at_the_end_of_its_walltime(job: Callable[..., Job]) -> None:
    ran = job(PYTHON, "-c", IGNORING_TERM, term=0.5, kill=0.9)
    end = ran.end()
    assert (end["reason"], end["exit_status"], end["signal"]) == ("walltime", None, "SIGKILL")
    assert end["end"] >= json.loads((ran.directory / "job.json").read_text())["kill_at"] - 0.02


def test_a_job_whose_walltime_is_over_is_not_started(job: Callable[..., Job]) -> None:
    ran = job("echo", "hello", term=-2, kill=-1)
    end = ran.end()
    assert end["reason"] == "not started"
    assert "walltime ended" in end["message"]
    assert not (ran.directory / "stdout").exists()


# ------------------------------------------------------------------------------------------------ cancellation


def test_term_to_the_wrapper_cancels_the_job(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "echo up; exec sleep 60")
    ran.printed("up")
    ran.process.terminate()
    end = ran.end()
    assert (end["reason"], end["exit_status"], end["signal"]) == ("cancelled", None, "SIGTERM")


def test_a_cancelled_command_sees_term_once_however_often_it_is_cancelled(job: Callable[..., Job]) -> None:
    count = "trap 'echo TERM' TERM; echo up; n=0; while [ $n -lt 30 ]; do sleep 0.01; n=$((n+1)); done"
    ran = job("sh", "-c", count)
    ran.printed("up")
    for _ in range(5):
        ran.process.terminate()
        time.sleep(0.02)
    assert ran.end()["reason"] == "cancelled"
    assert (ran.directory / "stdout").read_text() == "up\nTERM\n"


def test_a_cancelled_job_that_ignores_term_is_killed(job: Callable[..., Job]) -> None:
    ran = job(PYTHON, "-c", IGNORING_TERM, kill=1.2, term=1.1)
    ran.printed("deaf")
    ran.process.terminate()
    end = ran.end()
    assert (end["reason"], end["signal"]) == ("cancelled", "SIGKILL")


def test_a_stopped_job_can_be_cancelled(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "trap 'exit 4' TERM; echo up; kill -STOP $$")
    ran.printed("up")
    pid = until(lambda: ran.read("started.json"), "started.json")["command_pid"]
    until(lambda: Path(f"/proc/{pid}/stat").read_text().split()[2] == "T", "the command stopped")
    ran.process.terminate()
    end = ran.end()
    assert (end["reason"], end["exit_status"]) == ("cancelled", 4)


# --------------------------------------------------------------------------------- commands that cannot start


def not_executable(directory: Path) -> tuple[str, ...]:
    (directory / "script").write_text("#!/bin/sh\n")
    return (str(directory / "script"),)


def no_interpreter(directory: Path) -> tuple[str, ...]:
    (directory / "script").write_text("#!/no/such/shell\n")
    (directory / "script").chmod(0o755)
    return (str(directory / "script"),)


def no_program(directory: Path) -> tuple[str, ...]:
    (directory / "script").write_text("just words\n")
    (directory / "script").chmod(0o755)
    return (str(directory / "script"),)


CANNOT_START: list[tuple[Any, str, str]] = [
    (lambda _: ("no-such-command", "-x"), "/", "no-such-command: command not found in PATH"),
    (lambda _: ("/no/such/command",), "/", "/no/such/command: no such file"),
    (lambda _: ("true",), "/no/such/place", "working directory /no/such/place does not exist"),
    (lambda _: ("true",), "/bin/sh", "working directory /bin/sh is not a directory"),
    (not_executable, "/", "permission denied; is it an executable file"),
    (no_interpreter, "/", "the interpreter named in its first line"),
    (no_program, "/", "neither a program of this machine nor a script"),
]


@pytest.mark.parametrize(("command", "cwd", "message"), CANNOT_START, ids=[each[2][:30] for each in CANNOT_START])
def test_a_command_that_cannot_be_started_says_why(
    job: Callable[..., Job], tmp_path: Path, command: Any, cwd: str, message: str
) -> None:
    ran = job(*command(tmp_path), cwd=cwd)
    end = ran.end()
    assert end["reason"] == "not started"
    assert message in end["message"]
    assert "Traceback" not in end["message"]
    assert (end["exit_status"], end["signal"]) == (None, None)
    assert ran.read("started.json") is None


# ------------------------------------------------------------------------------------- failures of the wrapper


@pytest.mark.parametrize("text", ["", "{", "[]", '{"command": []}', '{"terminate_at": "soon", "kill_at": 1}'])
def test_an_unusable_job_file_is_an_end_too(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.json").write_text(text)
    subprocess.run([PYTHON, "-I", "-S", wrapper.__file__, str(tmp_path)], check=True)
    end = json.loads((tmp_path / "ended.json").read_text())
    assert end["reason"] == "not started"
    assert "job.json cannot be used" in end["message"]


def test_when_the_start_cannot_be_recorded_the_command_is_killed_and_the_end_says_so(tmp_path: Path) -> None:
    (tmp_path / "started.json").mkdir()
    ran = Job(tmp_path, "sleep", "60")
    end = ran.end()
    assert end["signal"] == "SIGKILL"
    assert "the wrapper failed and killed the command: IsADirectoryError" in end["message"]


def test_an_end_that_cannot_be_written_yet_is_written_later(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "echo up; sleep 60")
    ran.printed("up")
    in_the_way = ran.directory / "ended.json"
    in_the_way.mkdir()
    ran.process.terminate()
    until(lambda: not living(ran.directory, wrappers=False), "the command gone")
    assert ran.process.poll() is None
    in_the_way.rmdir()
    assert ran.end()["reason"] == "cancelled"


def test_a_wrapper_whose_directory_was_removed_does_not_wait_for_it_to_come_back(job: Callable[..., Job]) -> None:
    ran = job(
        "sh", "-c", "while ! [ -e $GAS_JOB_DIRECTORY/started.json ]; do sleep 0.01; done; rm -rf $GAS_JOB_DIRECTORY"
    )
    assert ran.process.wait(10) == 1
    assert not ran.directory.exists()


def test_only_what_is_not_there_is_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrapper.process(2**31 - 1) is None

    def wanting(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(wrapper, "open", wanting, raising=False)
    with pytest.raises(OSError, match="Too many"):
        wrapper.process(os.getpid())
    with pytest.raises(OSError, match="Too many"):
        wrapper.boot_identity()


def test_a_second_wrapper_leaves_the_job_to_the_first(job: Callable[..., Job]) -> None:
    ran = job("sh", "-c", "echo once; sleep 60")
    ran.printed("once")
    again = subprocess.run([PYTHON, "-I", "-S", wrapper.__file__, str(ran.directory)], check=True)
    assert again.returncode == 0
    assert ran.read("ended.json") is None
    ran.process.terminate()
    ran.end()
    assert (ran.directory / "stdout").read_text() == "once\n"


def test_the_command_is_killed_with_its_wrapper(job: Callable[..., Job]) -> None:
    ran = job("sleep", "60")
    until(lambda: ran.read("started.json"), "started.json")
    ran.process.kill()
    until(lambda: not living(ran.directory, wrappers=False), "the command gone")
    assert ran.read("ended.json") is None


# ------------------------------------------------------------------------------------------------------ records


def test_a_record_is_never_seen_half_written(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    sizes = [1, 200_000]

    def write() -> None:
        for i in range(60):
            wrapper.write_record(str(path), {"text": "x" * sizes[i % 2]}, durable=False)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for each in writers:
        each.start()
    seen = set()
    while any(each.is_alive() for each in writers):
        with suppress(FileNotFoundError):
            seen.add(len(json.loads(path.read_text())["text"]))
    assert seen <= set(sizes)
    assert [entry.name for entry in tmp_path.iterdir()] == ["record.json"]


def test_of_many_writers_of_a_record_that_is_made_once_one_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "claim.json"
    won = []

    def write(who: int) -> None:
        with suppress(FileExistsError):
            wrapper.write_record(str(path), {"who": who}, once=True, durable=False)
            won.append(who)

    writers = [threading.Thread(target=write, args=(i,)) for i in range(20)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert len(won) == 1
    assert json.loads(path.read_text()) == {"who": won[0]}
    assert [entry.name for entry in tmp_path.iterdir()] == ["claim.json"]


# ---------------------------------------------------------------------------------------------------- deadlines

instants = st.floats(0, 100)
EVENTS = st.lists(st.tuples(st.floats(0, 5), st.sampled_from(["wake", "cancel", "command ended"])), max_size=30)


def test_term_comes_first_and_kill_at_the_end_of_the_walltime() -> None:
    deadlines = Deadlines(10, 15)
    assert (deadlines.step(9.9), deadlines.pause(9)) == (0, 1)
    assert deadlines.step(10) == signal.SIGTERM
    assert (deadlines.step(10.1), deadlines.pause(10)) == (0, 5)
    assert deadlines.step(15) == signal.SIGKILL
    assert deadlines.reason == "walltime"


def test_an_end_before_the_walltime_is_no_matter_of_walltime() -> None:
    deadlines = Deadlines(10, 15)
    deadlines.command_ended(9.95)
    deadlines.step(10)
    deadlines.cancel(10)
    deadlines.step(15)
    assert deadlines.reason == "exited"


@settings(deadline=None)
@given(terminate_at=instants, notice=st.floats(0, 20), events=EVENTS)
def test_whatever_happens_kill_is_never_later_than_the_walltime_nor_term_earlier_than_due(
    terminate_at: float, notice: float, events: list[tuple[float, str]]
) -> None:
    kill_at = terminate_at + notice
    deadlines = Deadlines(terminate_at, kill_at)
    now, asked_to_end, killed = 0.0, False, False
    for gap, event in events:
        now += gap
        if event == "cancel":
            deadlines.cancel(now)
        elif event == "command ended":
            deadlines.command_ended(now)
        asked_to_end |= event != "wake"
        signals = []
        while deadlines.pause(now) == 0:
            signals.append(deadlines.step(now))
            assert len(signals) <= 3  # whoever waits for `pause` does not spin
        if signals and not asked_to_end:
            assert now >= terminate_at
        killed |= signal.SIGKILL in signals
        if now >= kill_at:
            assert killed
    if not asked_to_end:
        assert (deadlines.reason == "walltime") == (now >= terminate_at and bool(events))


# ---------------------------------------------------------------------------------------------------- processes


def test_a_process_may_be_called_anything(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    child = subprocess.Popen([program, "60"], start_new_session=True)
    try:
        until(lambda: b"a) R 1 (b" in Path(f"/proc/{child.pid}/stat").read_bytes(), "the program under its name")
        found = wrapper.process(child.pid)
        assert found is not None
        assert (found.parent, found.group, found.session) == (os.getpid(), child.pid, child.pid)
    finally:
        child.kill()
        child.wait()
    assert wrapper.process(child.pid) is None


def test_a_zombie_does_not_live() -> None:
    child = subprocess.Popen(["true"])
    zombie = until(lambda: (found := wrapper.process(child.pid)) and found.state == "Z" and found, "a zombie")
    assert not zombie.lives
    child.wait()


def test_a_family_is_all_that_descends_and_the_session_without_the_dead() -> None:
    def at(pid: int, parent: int, session: int, state: str = "S") -> Process:
        return Process(pid, state, parent, pid, session, 0)

    table = [
        at(1, 0, 1),
        at(10, 1, 10),  # the wrapper
        at(11, 10, 10),
        at(12, 11, 12),  # a grandchild in its own session
        at(13, 12, 12, "Z"),
        at(14, 1, 10),  # an orphan in the session
        at(15, 14, 15),
        at(20, 1, 20),
        at(21, 20, 20),
    ]
    found = {each.pid for each in wrapper.family(10, table)}
    assert found == {11, 12, 14, 15}


WITHOUT_SYNC = """
import errno, subprocess, sys
from gas.service import wrapper

def fail(path):
    raise OSError(errno.EIO, "Input/output error")

def another_comes_first(*record, **more):
    subprocess.run([sys.executable, wrapper.__file__, sys.argv[1]], check=True)
    return write_end(*record, **more)

wrapper.sync, wrapper.write_end, write_end = fail, another_comes_first, wrapper.write_end
sys.exit(wrapper.main(sys.argv[1]))
"""


def test_a_job_that_is_ended_because_its_claim_is_not_on_disk_is_started_by_no_other_wrapper(tmp_path: Path) -> None:
    order = {"command": ["touch", "ran"], "environment": {}, "directory": str(tmp_path)}
    (tmp_path / "job.json").write_text(json.dumps({**order, "terminate_at": 2e9, "kill_at": 2e9}))
    subprocess.run([PYTHON, "-c", WITHOUT_SYNC, str(tmp_path)], check=False, start_new_session=True, timeout=20)
    assert not (tmp_path / "ran").exists()
    assert json.loads((tmp_path / "ended.json").read_text())["reason"] == "not started"
