"""The helper that stays root: which requests it refuses, and the effect of misleading directories."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eventually import until
from unix_users import PrivilegedPlace, UnixUsers

from gas.errors import BadInput, GasError
from gas.service import wrapper
from gas.service.accounts import Accounts
from gas.service.launcher import Helper, Launcher, privileged
from gas.service.processes import Ended, read_state
from gas.service.records import Unknown


class Planted:
    """A helper on directories in which a compromised service has put things."""

    def __init__(self, users: UnixUsers, top: Path) -> None:
        account = users.uid(users.service)
        self.users, self.account, self.top = users, account, top
        self.jobs = top / "jobs"
        self.jobs.mkdir(mode=0o700)
        os.chown(self.jobs, account, account)
        python = "/usr/bin/python3"  # a program that all users may run
        if not Path(python).exists():
            pytest.skip("needs a python3 that all users may run")
        accounts = Accounts(users.service, 1000)
        self.helper = Helper(
            self.jobs, account, account, accounts, lambda: [python, "-I", "-S", "-X", "utf8", wrapper.__file__]
        )
        self.victim = top / "victim"
        self.victim.write_text("root's own")
        self.victim.chmod(0o666)
        self.before = self.victim.stat()

    def job(self, id: int, script: str = "echo ran; id -un") -> Path:
        directory = self.jobs / str(id)
        directory.mkdir(mode=0o700)
        now = time.time()
        job = {"command": ["/bin/sh", "-c", script], "environment": {}, "directory": "/",
               "terminate_at": now + 60, "kill_at": now + 60}  # fmt: skip
        (directory / "job.json").write_text(json.dumps(job))
        for each in (directory, directory / "job.json"):
            os.chown(each, self.account, self.account)
        return directory

    def start(self, job: object, *user: object) -> dict[str, object]:
        request = {"do": "start", "job": str(job), "user": (*user, self.users.ada)[0]}
        return self.helper.answer(json.dumps(request).encode())

    def end(self, directory: Path) -> Ended:
        def look() -> Any:
            return isinstance(state := read_state(directory), Ended) and state

        state = until(look, f"ended: {(directory / 'wrapper.log').read_text()}")
        assert isinstance(state, Ended)
        return state

    def check(self) -> None:
        """Verify that nothing happened to a file of root's to which a trap points."""
        after = self.victim.stat()
        assert self.victim.read_text() == "root's own"
        assert (after.st_uid, after.st_mode, after.st_mtime_ns) == (0, self.before.st_mode, self.before.st_mtime_ns)


@pytest.fixture
def planted(unix_users: UnixUsers) -> Iterator[Planted]:
    place = PrivilegedPlace()
    one = Planted(unix_users, place.top)
    yield one
    one.check()
    place.close()


def test_a_helper_starts_a_job_as_its_user(planted: Planted) -> None:
    directory = planted.job(1)
    assert planted.start(1) == {}
    assert planted.end(directory).exit_status == 0
    assert (directory / "stdout").read_text() == f"ran\n{planted.users.ada}\n"


OUTPUTS: dict[str, Callable[[Path, Path], object]] = {
    "a symbolic link": lambda place, victim: place.symlink_to(victim),
    "a hard link": lambda place, victim: os.link(victim, place),
    "a pipe": lambda place, victim: os.mkfifo(place),
    "a device": lambda place, victim: os.mknod(place, 0o666 | stat.S_IFCHR, os.makedev(1, 5)),
    "a directory": lambda place, victim: place.mkdir(),
    "a dangling link": lambda place, victim: place.symlink_to(victim.with_name("new")),
}


@pytest.mark.thorough(but=4)
@pytest.mark.parametrize("plant", OUTPUTS.values(), ids=list(OUTPUTS))
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_an_output_that_leads_elsewhere_is_never_opened_nor_given_away(
    planted: Planted, plant: Callable[[Path, Path], object], name: str
) -> None:
    directory = planted.job(1)
    plant(directory / name, planted.victim)
    assert planted.start(1) == {}
    assert planted.end(directory).reason == "not started"
    assert not planted.victim.with_name("new").exists()
    assert (directory / name).lstat().st_uid == 0


@pytest.mark.parametrize("name", ["claim.json", "started.json", "ended.json", "wrapper.log", "job.json"])
def test_a_record_that_is_a_link_leads_nothing_to_what_it_names(planted: Planted, name: str) -> None:
    directory = planted.job(1)
    (directory / name).unlink(missing_ok=True)
    (directory / name).symlink_to(planted.victim)
    planted.start(1)
    time.sleep(0.5)
    planted.check()


def test_a_directory_of_jobs_that_is_a_link_or_another_s_or_open_to_others_is_refused(planted: Planted) -> None:
    elsewhere = planted.job(1).rename(planted.top / "elsewhere")
    (planted.jobs / "1").symlink_to(elsewhere)
    assert "the directory of job 1 cannot be used" in str(planted.start(1)["error"])
    (planted.jobs / "2").mkdir()
    assert "is not the service's own (uid 0" in str(planted.start(2)["error"])
    planted.job(3).chmod(0o777)
    assert "is not the service's own" in str(planted.start(3)["error"])
    assert "cannot be used: No such file" in str(planted.start(4)["error"])
    (planted.jobs / "5").write_text("")
    assert "cannot be used: Not a directory" in str(planted.start(5)["error"])


@pytest.mark.parametrize("name", ["..", ".", "", "1/../2", "/etc", "1\n", "1.x", "-1", "1.0123456789abcdeg", "١"])
def test_a_name_that_no_directory_of_a_job_has_is_refused(planted: Planted, name: str) -> None:
    assert "is not the directory of a job" in str(planted.start(name)["error"])


def test_a_user_that_no_job_may_run_as_is_refused_by_the_helper_itself(planted: Planted) -> None:
    planted.job(1)
    for user in ("root", "daemon", planted.users.service, "no-such-user", "0", "../root", 0, ["root"]):
        assert "user" in str(planted.start(1, user)["error"])
    assert not (planted.jobs / "1" / "claim.json").exists()


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"{}", b'{"do": "start"}', b'{"do": 1, "job": 1, "user": "x"}', b"\xff"]
)
def test_no_request_ends_the_helper(planted: Planted, text: bytes) -> None:
    assert "error" in planted.helper.answer(text)


def test_a_helper_kills_processes_of_the_user_alone(planted: Planted) -> None:
    directory = planted.job(1)
    other = subprocess.Popen(["sleep", "60"], env={"GAS_JOB_DIRECTORY": str(directory)}, start_new_session=True)
    try:
        for wanted in ({"wrapper": other.pid}, {"wrapper": os.getpid()}, {"group": [other.pid, other.pid]}):
            request = {"do": "end", "job": "1", "user": planted.users.ada, "wrapper": None, "group": None, **wanted}
            assert planted.helper.answer(json.dumps(request).encode()) == {"ended": 0}
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


class Other:
    """The other end of a launcher's connection: the requests to it, and its answers."""

    def __init__(self) -> None:
        near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.launcher = Launcher(near, Accounts("root", 1000))

    def says(self, answer: dict[str, object]) -> None:
        self.far.send(json.dumps(answer).encode())

    def asked(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.far.recv(4096))
        return found


@pytest.fixture
def other() -> Iterator[Other]:
    one = Other()
    yield one
    one.far.close()
    one.launcher._connection.close()


def test_a_request_names_the_job_and_the_user_and_its_answer_is_taken(other: Other) -> None:
    other.says({})
    other.launcher.start("7.0123456789abcdef", "ada")
    assert other.asked() == {"do": "start", "job": "7.0123456789abcdef", "user": "ada"}
    other.says({"ended": 3})
    assert other.launcher.end("7", "ada", None, (12, 12)) == 3
    assert other.asked() == {"do": "end", "job": "7", "user": "ada", "wrapper": None, "group": [12, 12]}


def test_what_the_helper_refuses_is_an_error_with_the_systems_own_number_beneath(other: Other) -> None:
    other.says({"error": "the user root: jobs of it are not run"})
    with pytest.raises(GasError, match="the user root: jobs of it are not run") as refused:
        other.launcher.start("7", "root")
    assert refused.value.__cause__ is None
    other.says({"error": "no memory", "errno": 12})
    with pytest.raises(GasError, match="no memory") as failed:
        other.launcher.start("7", "ada")
    assert isinstance(failed.value.__cause__, OSError)
    assert failed.value.__cause__.errno == 12


def test_without_a_helper_nothing_is_known_and_a_restart_is_advised(other: Other) -> None:
    other.far.close()
    with pytest.raises(Unknown, match="restart the service; running jobs continue"):
        other.launcher.start("7", "ada")


def test_after_silence_the_connection_is_closed_so_that_a_late_answer_is_taken_for_no_other(other: Other) -> None:
    other.launcher._connection.settimeout(0.05)
    with pytest.raises(Unknown, match=r"does not answer \(timed out\)"):
        other.launcher.end("7", "ada", None, None)
    with pytest.raises(BrokenPipeError):
        other.says({"ended": 5})
    with pytest.raises(Unknown):
        other.launcher.end("8", "ada", None, None)


def test_only_root_can_leave_a_helper_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BadInput, match="--user s3: needs root, to start each job as its own user"):
        privileged("s3", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(BadInput, match="--user no-such-user: is not a Unix user of this machine"):
        privileged("no-such-user", tmp_path)
    with pytest.raises(BadInput, match="--user root: has uid 0; give an unprivileged account for the service"):
        privileged("root", tmp_path)
