"""Each job as its own Unix user: real users, a real service started by root, and jobs that try all they can."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from eventually import until
from service_process import TRACEBACK, Service, shell
from unix_users import PrivilegedPlace, UnixUsers

from gas.cli.main import run
from gas.cli.serve import host_of
from gas.errors import BadInput
from gas.service import launcher, remains, wrapper
from gas.service.processes import Started, read_state
from gas.service.token_file import add_token


def status(pid: int) -> dict[str, str]:
    """Return what the system shows of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def uids(pid: int) -> set[int]:
    return {int(each) for each in status(pid)["Uid"].split()}


class Site:
    """A service started by root for the users of a test."""

    def __init__(self, users: UnixUsers, place: PrivilegedPlace, log: Path, *options: str) -> None:
        self.users, self.place, self.log, self.options = users, place, log, options
        self.state = place.state
        self.tokens: dict[str, str] = {}
        self.state.mkdir(mode=0o700)
        shutil.chown(self.state, users.service, users.service)
        for user in (users.ada, users.bob):
            self.token(user)
        self.service = self.begin()

    def token(self, user: str, role: Any = "user") -> None:
        self.tokens[user] = add_token(self.state / "tokens", user, role)[0]

    def begin(self) -> Service:
        return Service(self.place, "--user", self.users.service, *self.options, log=self.log).ready()

    def ask(self, user: str, method: str, path: str, body: Any = None) -> requests.Response:
        header = {"Authorization": f"Bearer {self.tokens[user]}"}
        return requests.request(method, self.service.url + path, json=body, headers=header, timeout=30)

    def submit(self, user: str, script: str, walltime: int = 60, **more: Any) -> int:
        body = shell(1, walltime, script)
        body["actuator"] |= more
        answer = self.ask(user, "POST", "/v1/jobs", body)
        assert answer.status_code in (200, 201), answer.text
        return int(answer.json()["id"])

    def job(self, user: str, id: int) -> dict[str, Any]:
        return dict(self.ask(user, "GET", f"/v1/jobs/{id}").json())

    def ended(self, user: str, id: int) -> dict[str, Any]:
        def look() -> Any:
            job = self.job(user, id)
            return job["state"] not in ("queued", "running") and job

        return dict(until(look, f"job {id} ended; {self.service.said()[-2000:]}"))

    def output(self, user: str, id: int, stream: str = "stdout") -> str:
        return self.ask(user, "GET", f"/v1/jobs/{id}/output?stream={stream}").text

    def run(self, user: str, script: str) -> str:
        """Run a script as a user and return what it printed, errors too."""
        id = self.submit(user, f"exec 2>&1; {script}")
        self.ended(user, id)
        return self.output(user, id)

    def directory(self, id: int) -> Path:
        return next(each for each in (self.state / "jobs").iterdir() if each.name.split(".")[0] == str(id))

    def started(self, id: int) -> Started:
        def look() -> Any:
            with suppress(StopIteration):
                return isinstance(state := read_state(self.directory(id)), Started) and state

        state = until(look, f"job {id} started")
        assert isinstance(state, Started)
        return state

    def helper(self) -> int:
        """Return the process that stays root."""
        children = [each.pid for each in wrapper.processes() if each.parent == self.service.pid and each.lives]
        return next(pid for pid in children if uids(pid) == {0})


@pytest.fixture(scope="module")
def site(unix_users: UnixUsers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = PrivilegedPlace()
    one = Site(unix_users, place, tmp_path_factory.mktemp("log") / "log")
    yield one
    one.service.kill()
    for directory in (one.state / "jobs").iterdir():
        owner = remains.wrapper_of(directory, unix_users.uid(unix_users.service))
        remains.end(remains.Traces(directory, owner))
    assert TRACEBACK not in one.service.said()
    place.close()


# ----------------------------------------------------------------------------------------------------- who is who


def test_the_service_runs_without_privileges_and_only_a_helper_stays_root(site: Site) -> None:
    account = site.users.uid(site.users.service)
    assert uids(site.service.pid) == {account}
    assert int(status(site.service.pid)["CapPrm"], 16) == int(status(site.service.pid)["CapEff"], 16) == 0
    assert 0 not in map(int, status(site.service.pid)["Groups"].split())
    assert uids(site.helper()) == {0}
    assert site.state.stat().st_mode & 0o777 == 0o700
    for each in (*site.state.iterdir(), *(site.state / "jobs").iterdir()):
        assert each.stat().st_uid in (account, 0), each
    assert f"the service runs as {site.users.service}" in site.service.said()


def test_a_job_is_its_user_s_with_groups_home_and_limits_of_a_login_and_no_capability(site: Site) -> None:
    user, home = site.users.ada, Path("~" + site.users.ada).expanduser()
    printed = site.run(
        user,
        "id -un; id -gn; pwd; echo $HOME $USER $LOGNAME $SHELL; umask; ulimit -n; ulimit -c; "
        "grep -E '^(Cap|Uid|Groups|NoNewPrivs)' /proc/self/status; touch made; stat -c %U made",
    ).splitlines()
    group = str(site.users.uid(user))
    assert printed[:4] == [user, user, str(home), f"{home} {user} {user} /bin/sh"]
    assert printed[4:7] == ["0022", "1024", "0"]
    told = dict(line.split(":", 1) for line in printed[7:-1])
    assert set(told["Uid"].split()) == {group}
    assert told["Groups"].split() == [group]
    assert {name: int(value, 16) for name, value in told.items() if name.startswith("Cap") and name != "CapBnd"} == {
        "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0,
    }  # fmt: skip
    assert printed[-1] == user


def test_a_wrapper_is_the_service_s_and_keeps_of_its_capabilities_what_ends_a_job(site: Site) -> None:
    id = site.submit(site.users.ada, "exec sleep 60")
    state = site.started(id)
    assert uids(state.wrapper_pid) == {site.users.uid(site.users.service)}
    assert int(status(state.wrapper_pid)["CapPrm"], 16) == 1 << wrapper.CAP_KILL
    assert int(status(state.wrapper_pid)["CapEff"], 16) == 1 << wrapper.CAP_KILL
    assert int(status(state.wrapper_pid)["CapAmb"], 16) == 0
    assert uids(state.command_pid) == {site.users.uid(site.users.ada)}
    site.ask(site.users.ada, "DELETE", f"/v1/jobs/{id}")
    assert site.ended(site.users.ada, id)["state"] == "cancelled"


def test_outputs_belong_to_the_user_and_records_to_the_service(site: Site) -> None:
    id = site.submit(site.users.ada, "echo hello; echo oh >&2")
    assert site.ended(site.users.ada, id)["state"] == "completed"
    assert site.output(site.users.ada, id) == "hello\n"
    assert site.output(site.users.ada, id, "stderr") == "oh\n"
    directory, account = site.directory(id), site.users.uid(site.users.service)
    assert (directory.stat().st_uid, directory.stat().st_mode & 0o777) == (account, 0o700)
    for name in ("stdout", "stderr"):
        assert (directory / name).stat().st_uid == site.users.uid(site.users.ada)
        assert (directory / name).stat().st_mode & 0o777 == 0o640
    for name in ("job.json", "claim.json", "started.json", "ended.json", "wrapper.log"):
        assert (directory / name).stat().st_uid == account
        assert (directory / name).stat().st_mode & 0o777 == 0o600


def test_a_directory_that_the_user_may_not_enter_is_an_end_that_says_so(site: Site) -> None:
    home = Path(f"~{site.users.bob}").expanduser()
    id = site.submit(site.users.ada, "true", directory=str(home))
    end = site.ended(site.users.ada, id)
    assert end["state"] == "failed"
    assert f"working directory {home} may not be entered" in end["message"]


# --------------------------------------------------------------------------------------- users apart from each other


def test_a_job_can_neither_read_nor_change_what_is_another_s_or_the_service_s(site: Site) -> None:
    ada, bob = site.users.ada, site.users.bob
    id = site.submit(ada, "echo secret | tee ~/mine; exec sleep 60")
    site.started(id)
    directory, home = site.directory(id), Path(f"~{ada}").expanduser()
    until(lambda: (home / "mine").exists(), "the file of the first")
    tries = [
        f"cat {home}/mine", f"ls {home}", f"cat {directory}/stdout", f"cat {directory}/job.json", f"ls {directory}",
        f"ls {site.state}", f"cat {site.state}/tokens", f"cat {site.state}/s3.sqlite", f"echo x >> {directory}/stdout",
        f"touch {directory}/ended.json", f"echo x > {home}/theirs", "ls $GAS_JOB_DIRECTORY",
        "touch $GAS_JOB_DIRECTORY/ended.json", "mv $GAS_JOB_DIRECTORY $GAS_JOB_DIRECTORY.old", "cat /etc/shadow",
    ]  # fmt: skip
    printed = site.run(bob, "; ".join(f"({each}) && echo DONE" for each in tries)).splitlines()
    assert len(printed) == len(tries), printed
    assert all("ermission denied" in line for line in printed), printed
    assert site.ask(bob, "GET", f"/v1/jobs/{id}/output").status_code in (403, 404)
    site.ask(ada, "DELETE", f"/v1/jobs/{id}")
    site.ended(ada, id)
    assert site.output(ada, id) == "secret\n"


def test_a_job_can_signal_and_trace_neither_another_s_processes_nor_its_own_wrapper_nor_the_service(site: Site) -> None:
    id = site.submit(site.users.ada, "exec sleep 60")
    state = site.started(id)
    targets = ["$PPID", state.wrapper_pid, state.command_pid, site.service.pid, site.helper()]
    tries = [f"kill -{name} {pid}" for pid in targets for name in ("STOP", "KILL", "TERM")]
    tries += [f"cat /proc/{pid}/environ" for pid in targets]
    tries += [f"head -c 1 /proc/{pid}/mem" for pid in targets]
    printed = site.run(site.users.bob, "; ".join(f"(/bin/{each}) && echo DONE" for each in tries)).splitlines()
    assert len(printed) == len(tries), printed
    assert all("not permitted" in line or "ermission denied" in line for line in printed), printed
    assert site.job(site.users.ada, id)["state"] == "running"
    site.ask(site.users.ada, "DELETE", f"/v1/jobs/{id}")
    site.ended(site.users.ada, id)


def test_a_process_with_the_command_line_of_a_wrapper_is_none(site: Site) -> None:
    id = site.submit(site.users.ada, "exec sleep 60")
    state, directory = site.started(id), site.directory(id)
    forged = subprocess.Popen(["python3", "-c", "import time; time.sleep(60)", wrapper.__file__, str(directory)])
    try:
        account = site.users.uid(site.users.service)
        until(lambda: remains.wrapper_of(directory, os.geteuid()), "the forged one")
        assert getattr(remains.wrapper_of(directory, account), "pid", None) == state.wrapper_pid
        os.kill(state.wrapper_pid, signal.SIGKILL)
        assert site.ended(site.users.ada, id)["state"] == "lost"
    finally:
        forged.kill()
        forged.wait()


def test_a_job_cannot_reach_its_wrapper_s_files_by_what_it_was_given(site: Site) -> None:
    """It has only its output files open, and through them it finds nothing else."""
    printed = site.run(
        site.users.ada,
        "ls /proc/$$/fd | tr '\\n' ' '; readlink /proc/$$/fd/0; cat /proc/$$/fd/1 > copy; ln -L /proc/$$/fd/1 ~/link; "
        "cd /proc/$$/fd/1/.. ; ls /proc/$PPID/fd; chmod 6777 /proc/$$/fd/1; echo end",
    )
    assert printed.splitlines()[0].startswith("0 1 2")
    assert "/dev/null" in printed
    assert "end" in printed
    id = max(int(each.name.split(".")[0]) for each in (site.state / "jobs").iterdir())
    assert not (site.directory(id) / "stdout").stat().st_mode & stat.S_ISGID  # no program of the service's group
    assert site.output(site.users.ada, id) == printed


# ------------------------------------------------------------------------------------------------- life of a job


def test_the_walltime_holds_against_a_job_that_ignores_term_and_leaves_its_session(site: Site) -> None:
    away = "(setsid sleep 300 &); (setsid env -i sleep 301 &)"
    script = f"trap '' TERM; {away}; while :; do kill -STOP $PPID; sleep 1; done"
    id = site.submit(site.users.ada, script, walltime=3)
    state = site.started(id)
    assert site.ended(site.users.ada, id)["state"] == "timeout"
    ada = site.users.uid(site.users.ada)

    def left() -> list[int]:
        found = []
        for each in wrapper.processes():
            with suppress(OSError):  # it ended meanwhile
                found += [each.pid] if each.lives and ada in uids(each.pid) else []
        return found

    until(lambda: not left(), "nothing of the user left")
    until(lambda: wrapper.process(state.wrapper_pid) is None, "the wrapper gone")


def test_what_is_left_of_a_job_whose_wrapper_was_killed_is_ended_by_the_helper(site: Site) -> None:
    id = site.submit(site.users.ada, "setsid sleep 300 & echo $! ; exec sleep 302")
    state = site.started(id)
    daemon = int(until(lambda: site.output(site.users.ada, id), "printed"))
    os.kill(state.wrapper_pid, signal.SIGKILL)
    assert site.ended(site.users.ada, id)["state"] == "lost"
    for pid in (daemon, state.command_pid):
        found = wrapper.process(pid)
        assert found is None or not found.lives


@pytest.mark.thorough
def test_a_restarted_service_finds_the_jobs_and_the_helper_of_the_dead_one_is_gone(site: Site) -> None:
    id = site.submit(site.users.bob, "until [ -e ~/go ]; do sleep 0.05; done; echo went on; exit 4")
    site.started(id)
    helper = site.helper()
    site.service.kill()
    until(lambda: wrapper.process(helper) is None, "the helper gone")
    site.service = site.begin()
    assert site.job(site.users.bob, id)["state"] == "running"
    Path(f"~{site.users.bob}/go").expanduser().touch()
    assert site.ended(site.users.bob, id)["exit_status"] == 4
    assert site.output(site.users.bob, id) == "went on\n"
    assert uids(site.service.pid) == {site.users.uid(site.users.service)}


@pytest.mark.thorough
def test_without_its_helper_a_service_starts_nothing_and_says_so(unix_users: UnixUsers, tmp_path: Path) -> None:
    place = PrivilegedPlace()
    site = Site(unix_users, place, tmp_path / "log")
    try:
        os.kill(site.helper(), signal.SIGKILL)
        id = site.submit(unix_users.ada, "true", walltime=600)
        until(lambda: "helper that starts jobs" in site.service.said(), "said")
        assert site.ask(unix_users.ada, "GET", "/healthz").status_code == 200
        assert not list((site.state / "jobs").glob(f"{id}*/claim.json"))
        site.service.kill()
        site.service = site.begin()
        assert site.ended(unix_users.ada, id)["state"] == "completed"
    finally:
        site.service.kill()
        place.close()


def test_a_job_is_in_a_cgroup_that_is_the_service_s_and_that_it_cannot_leave(
    unix_users: UnixUsers, tmp_path: Path, real_cgroup: Path
) -> None:
    place = PrivilegedPlace()
    site = Site(unix_users, place, tmp_path / "log", "--cgroup", str(real_cgroup))
    try:
        places = f"{real_cgroup} {real_cgroup}/service $own"
        find = f"own=$(grep ^0: /proc/self/cgroup); own={real_cgroup}/${{own##*/}}"
        tries = f"for each in {places}; do (echo 0 > $each/cgroup.procs) 2>&1; done"
        id = site.submit(unix_users.ada, f"{find}; {tries}; echo $own; sleep 60")
        state = site.started(id)
        own = real_cgroup / f"job-{site.directory(id).name}"
        until(lambda: str(own) in site.output(unix_users.ada, id), "printed")
        assert site.output(unix_users.ada, id).count("ermission denied") == 3
        assert str(state.command_pid) in (own / "cgroup.procs").read_text().split()
        assert str(state.wrapper_pid) in (real_cgroup / "service" / "cgroup.procs").read_text().split()
        assert own.stat().st_uid == unix_users.uid(unix_users.service)
        site.ask(unix_users.ada, "DELETE", f"/v1/jobs/{id}")
        assert site.ended(unix_users.ada, id)["state"] == "cancelled"
        until(lambda: not own.exists(), "the cgroup removed")
    finally:
        site.service.kill()
        place.close()


# --------------------------------------------------------------------------------------------------- who is refused


def test_no_token_and_no_job_is_root_s_a_system_user_s_or_the_service_s(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {"root": "jobs never run as root", "daemon": "system user", site.users.service: "account of this service",
               "no-such-user": "is not a Unix user"}  # fmt: skip
    for user, why in refused.items():
        assert run(["token", "add", user, "--state", str(site.state)]) == 2
        assert why in " ".join(capsys.readouterr().err.split())
        site.token(user, "operator")  # as if made before the service was one with users of their own
        answer = site.ask(user, "POST", "/v1/jobs", shell(1, 60, "id > /tmp/ran"))
        assert answer.status_code == 422
        assert why in answer.text
    assert run(["token", "add", site.users.ada, "--state", str(site.state)]) == 0
    assert (site.state / "tokens").stat().st_uid == site.users.uid(site.users.service)


@pytest.mark.parametrize(
    ("user", "tokens", "insecure", "message"),
    [
        ("no-such-user", "tokens", False, "is not a Unix user of this machine; create a system user"),
        ("root", "tokens", False, "has uid 0"),
        ("SERVICE", "tokens", True, "since a token names the user of a job"),
        ("SERVICE", "none", False, "needs tokens"),
        ("ADA", "tokens", False, "belongs to uid"),
        (None, "tokens", False, "runs each job as its own Unix user"),
    ],
)
def test_a_start_that_could_not_keep_users_apart_is_refused(
    site: Site, user: str | None, tokens: str, insecure: bool, message: str
) -> None:
    user = {"SERVICE": site.users.service, "ADA": site.users.ada}.get(user or "", user)
    with pytest.raises(BadInput, match=message):
        host_of(user, site.state, None, site.state / tokens, insecure=insecure)


@pytest.mark.thorough
def test_a_state_directory_that_root_has_made_for_tokens_becomes_the_service_s_and_no_other_does(
    unix_users: UnixUsers, tmp_path: Path
) -> None:
    state, uid = tmp_path / "state", unix_users.uid(unix_users.service)
    add_token(state / "tokens", unix_users.ada)
    assert (state / "tokens").stat().st_uid == 0
    assert launcher._prepared(state, uid, uid) == state / "jobs"
    assert {each.stat().st_uid for each in (state, state / "jobs", state / "tokens")} == {uid}
    other = tmp_path / "other"
    other.mkdir()
    (other / "s3.sqlite").touch()
    with pytest.raises(BadInput, match=r"other belongs to uid 0, not to .* chown -R"):
        launcher._prepared(other, uid, uid)
    (tmp_path / "link").symlink_to(other)
    with pytest.raises(BadInput, match="cannot be used"):
        launcher._prepared(tmp_path / "link", uid, uid)


@pytest.mark.thorough
def test_without_root_each_job_as_its_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BadInput, match="--user gas: needs root"):
        launcher.privileged("gas", tmp_path / "state")
    assert not (tmp_path / "state").exists()
