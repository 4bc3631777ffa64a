"""A job after a power cut: real wrappers on a disk that is slow, fails, or forgets what was not synced."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from eventually import until
from fsync_shim import Call, Shim
from service_process import Place, Service, marked_processes, running_wrappers, shell

from gas.service import processes, wrapper
from gas.service.clock import Clock
from gas.service.jobs import Job, JobRequest
from gas.service.processes import Command, Ended, cancel_process, read_state, settle, start_process, was_started
from gas.service.runner import Runner


@pytest.fixture
def disk(fsync_shim: Shim, monkeypatch: pytest.MonkeyPatch) -> Shim:
    """The disk of every wrapper that this process starts."""
    for name, value in fsync_shim.variables.items():
        monkeypatch.setenv(name, value)
    return fsync_shim


def begin(directory: Path, script: str = "true", walltime: float = 60) -> None:
    now = time.time()
    command = Command(("sh", "-c", script), {}, "/")
    start_process(directory, command, terminate_at=now + walltime, kill_at=now + walltime)


def ended(directory: Path) -> Ended:
    state = until(lambda: isinstance(state := settle(directory), Ended) and state, "ended")
    assert isinstance(state, Ended)
    return state


def position(calls: list[Call], name: str, path: Path | str) -> int:
    """Return the position of the first such call that succeeded."""
    return next(i for i, each in enumerate(calls) if (each.name, each.path, each.error) == (name, str(path), 0))


# -------------------------------------------------------------------------------------------------- order on disk


def test_the_claim_and_all_that_leads_to_it_are_on_disk_before_the_command_is_started(
    tmp_path: Path, disk: Shim
) -> None:
    directory = tmp_path / "jobs" / "1"
    begin(directory)
    assert ended(directory).exit_status == 0
    calls = disk.calls()
    shell = shutil.which("sh")
    started = position(calls, "exec", str(shell))
    named = position(calls, "link", directory / "claim.json")
    assert position(calls, "fsync", directory / "claim.json") < started
    assert position(calls, "fsync", directory / "job.json") < started
    assert named < position(calls, "fsync", directory) < started
    assert position(calls, "fsync", directory.parent) < started


def on_disk(calls: list[Call], directory: Path) -> bool:
    """Return whether the claim is sure to survive a cut after these calls."""

    def synced(path: Path, after: int) -> bool:
        return any((each.name, each.path, each.error) == ("fsync", str(path), 0) for each in calls[after:])

    try:
        named = position(calls, "link", directory / "claim.json")
    except StopIteration:
        return False
    return synced(directory, named) and synced(directory.parent, 0)


def test_after_a_cut_at_any_call_a_command_that_was_started_is_known_to_have_been(tmp_path: Path, disk: Shim) -> None:
    directory = tmp_path / "jobs" / "1"
    begin(directory)
    ended(directory)
    calls = disk.calls()
    started = position(calls, "exec", str(shutil.which("sh")))
    verdicts = set()
    for cut in range(len(calls) + 1):
        after = tmp_path / f"after-{cut}" / "jobs" / "1"
        after.parent.mkdir(parents=True)
        if on_disk(calls[:cut], directory):  # all else may be lost; a boot later no process of the job is left
            after.mkdir()
            claim = json.loads((directory / "claim.json").read_text()) | {"boot": "an earlier one"}
            (after / "claim.json").write_text(json.dumps(claim))
        known = was_started(after)
        assert known or cut <= started, f"a cut before call {cut} of {calls}: it would run again"
        if known:
            state = settle(after)
            assert isinstance(state, Ended)
            assert state.reason == "lost"
        else:
            assert settle(after) is None
        verdicts.add(known)
    assert verdicts == {False, True}


def test_an_empty_claim_is_a_claim(tmp_path: Path) -> None:
    """A file system may keep a file's name and lose its content."""
    (tmp_path / "claim.json").touch()
    begin(tmp_path, f"touch {tmp_path}/ran")
    assert ended(tmp_path).reason == "lost"
    assert not (tmp_path / "ran").exists()


def test_the_directory_of_all_jobs_is_on_disk_before_any_is_started(tmp_path: Path, disk: Shim) -> None:
    state = tmp_path / "state"
    program = "import sys; from pathlib import Path; from gas.service.runner import Runner; "
    program += "from gas.service.clock import Clock; Runner(Path(sys.argv[1]), Clock())"
    subprocess.run([sys.executable, "-c", program, str(state / "jobs")], check=True)
    calls = disk.calls()
    assert position(calls, "fsync", state) < position(calls, "fsync", tmp_path)
    assert (state / "jobs").is_dir()


def test_a_cancellation_before_the_start_is_on_disk_when_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    with monkeypatch.context() as patch:
        patch.setattr(wrapper, "sync", synced.append)
        (tmp_path / "1").mkdir()
        assert cancel_process(tmp_path / "1")
    assert {str(tmp_path / "1" / "claim.json"), str(tmp_path / "1"), str(tmp_path)} <= set(synced)


# ---------------------------------------------------------------------------------------------------- a slow disk


def test_a_cut_while_the_claim_is_written_finds_nothing_that_ran(tmp_path: Path, disk: Shim) -> None:
    disk.rules("delay 1500 fsync */claim.json*")
    directory = tmp_path / "1"
    begin(directory, f"touch {tmp_path}/ran; sleep 60")
    claimed = until(lambda: (directory / "claim.json").exists(), "claimed")
    assert claimed
    assert not (tmp_path / "ran").exists()
    pid = json.loads((directory / "claim.json").read_text())["pid"]
    os.kill(pid, 9)  # the cut
    ended(directory)
    assert not (tmp_path / "ran").exists()


def test_a_slow_disk_costs_walltime_and_never_moves_its_end(tmp_path: Path, disk: Shim) -> None:
    disk.rules("delay 400 fsync */claim.json")
    begin(tmp_path / "1", "sleep 60", walltime=1.5)
    end = ended(tmp_path / "1")
    assert end.reason == "walltime"
    kill_at = json.loads((tmp_path / "1" / "job.json").read_text())["kill_at"]
    assert end.start >= kill_at - 1.5 + 0.4 - 0.05
    assert end.end - end.start <= 1.5 - 0.4 + 5  # from the planned start; a busy machine may be late to say so


def test_a_disk_too_slow_for_the_walltime_starts_nothing(tmp_path: Path, disk: Shim) -> None:
    disk.rules("delay 700 fsync */claim.json")
    begin(tmp_path / "1", f"touch {tmp_path}/ran", walltime=0.5)
    end = ended(tmp_path / "1")
    assert end.reason == "not started"
    assert "walltime ended" in str(end.message)
    assert not (tmp_path / "ran").exists()


# ------------------------------------------------------------------------------------------------ a disk that fails


@pytest.mark.parametrize("place", ["1/claim.json", "1", ""])
def test_a_claim_that_the_disk_refuses_starts_nothing_and_the_end_says_why(
    tmp_path: Path, disk: Shim, place: str
) -> None:
    jobs = tmp_path / "jobs"
    disk.rules(f"fail {errno.EIO} fsync {str(jobs / place).rstrip('/')}")
    begin(jobs / "1", f"touch {tmp_path}/ran")
    end = ended(jobs / "1")
    assert end.reason == "not started"
    assert end.message == "the claim to the job cannot be written to disk: Input/output error; nothing was started"
    assert not (tmp_path / "ran").exists()
    assert (jobs / "1" / "claim.json").exists(), "no other wrapper starts what is recorded as ended"


def test_a_claim_for_which_the_disk_is_full_for_a_moment_is_made_by_the_next_wrapper(
    tmp_path: Path, disk: Shim
) -> None:
    disk.rules(f"fail {errno.ENOSPC} fsync */claim.json")
    directory = tmp_path / "1"
    begin(directory, f"echo x >> {tmp_path}/ran")
    until(lambda: not processes.was_started(directory), "the wrapper gone without a claim")
    assert settle(directory, begun=True) is None
    disk.rules()
    begin(directory, f"echo x >> {tmp_path}/ran")
    assert ended(directory).exit_status == 0
    assert (tmp_path / "ran").read_text() == "x\n"


def test_an_end_that_the_disk_refuses_to_sync_is_on_record_all_the_same(tmp_path: Path, disk: Shim) -> None:
    (tmp_path / "job.json").write_text("{}")
    disk.rules(f"fail {errno.EIO} fsync {tmp_path}*")
    subprocess.run([sys.executable, "-I", "-S", wrapper.__file__, str(tmp_path)], check=True, timeout=30)
    state = read_state(tmp_path)
    assert isinstance(state, Ended)
    assert state.reason == "not started"


def test_a_job_that_no_wrapper_could_take_ends_with_its_walltime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/true")  # a wrapper that ends without having done anything
    runner = Runner(tmp_path, Clock())
    now = int(time.time())
    request = JobRequest("job", "job", 2, 60, actuator="process", command=("true",))
    one = Job(1, request, now, "running", now, now, now, now + 60)
    runner.begin(one)
    one.start -= 60
    until(lambda: runner.end_of(one), "gave up")
    assert one.state == "failed"
    assert "walltime ended before it could be started: no wrapper was available" in str(one.message)


# --------------------------------------------------------------------------------------------- the service in a cut


def forget(calls: list[Call], state: Path) -> int:
    """Remove the directories of jobs whose claims a cut would have removed; return how many claims there were."""
    lost = 0
    for directory in (state / "jobs").iterdir():
        if not on_disk(calls, directory):
            lost += (directory / "claim.json").exists()
            shutil.rmtree(directory)
    return lost


def cut(service: Service, state: Path) -> None:
    """End the service, its wrappers and their jobs as nearly at once as possible."""
    service.process.send_signal(signal.SIGSTOP)
    pids = [*running_wrappers(state).values(), *(pid for job in marked_processes(state).values() for pid in job)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    service.kill()
    until(lambda: not running_wrappers(state) and not marked_processes(state), "all gone")


@pytest.mark.thorough
@pytest.mark.parametrize("cuts", [1, pytest.param(25, marks=[pytest.mark.long, pytest.mark.timeout(3000)])])
def test_in_cuts_on_a_slow_disk_no_command_runs_twice(tmp_path: Path, disk: Shim, cuts: int) -> None:
    disk.rules("delay 300 fsync */claim.json", "delay 50 fsync */jobs*")
    place, ran = Place(tmp_path), tmp_path / "ran"
    ran.touch()
    random = Random(cuts)
    submitted = lost = 0
    for _ in range(cuts):
        service = Service(place, log=tmp_path / "log", processors=4).ready()
        for _ in range(6):
            submitted += service.submit(shell(1, 30, f"echo $GAS_JOB_ID >> {ran}; sleep 0.3")).status_code == 201
        time.sleep(random.uniform(0.8, 2.0))
        cut(service, place.state)
        lost += forget(disk.calls(), place.state)
    disk.rules()
    service = Service(place, log=tmp_path / "log", processors=4).ready()
    try:
        service.until(lambda: service.health()["queued"] == service.health()["running"] == 0, 120)
    finally:
        service.kill()
    runs = ran.read_text().split()
    assert len(runs) == len(set(runs)), f"of {submitted} jobs some ran twice: {sorted(runs)}"
    assert runs
    print(f"{cuts} cuts, {submitted} jobs, {len(runs)} ran once, {lost} claims lost in a cut")
