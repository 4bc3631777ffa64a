import errno
import os
import resource
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from gas.errors import BadInput, Conflict, GasError
from gas.service import processes
from gas.service.clock import Clock
from gas.service.jobs import Job, JobRequest
from gas.service.runner import Runner, command_of


def job(*command, walltime=60, id=1, **more):
    now = int(time.time())
    request = JobRequest("job", "job", 2, walltime, actuator="process", command=command, **more)
    return Job(id, request, now, "running", now, now, now, now + walltime)


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path, Clock())


def place_of(runner, id):
    return runner.directory_of(job(id=id))


def until_ended(runner, one, seconds=10):
    deadline = time.monotonic() + seconds
    while not (ended := runner.ended([one])):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return ended


def test_a_job_is_told_its_size_and_runs_in_a_directory_of_its_own(runner):
    one = job("sh", "-c", "echo $GAS_JOB_ID $GAS_PROCESSORS $GAS_WALLTIME; pwd")
    runner.begin(one)
    ((instant, id),) = until_ended(runner, one)
    assert (id, one.state, one.exit_status) == (1, "completed", 0)
    assert abs(instant - time.time()) < 3
    assert runner.output(one, "stdout", 1000).decode() == f"1 2 60\n{place_of(runner, 1)}/work\n"


def test_a_job_that_clears_its_working_directory_clears_nothing_of_the_service(runner):
    one = job("sh", "-c", "touch ended.json stdout; echo kept; ls -A; rm -rf ./* .[!.]*; exit 3")
    runner.begin(one)
    until_ended(runner, one)
    assert (one.state, one.exit_status) == ("failed", 3)
    assert runner.output(one, "stdout", 100) == b"kept\nended.json\nstdout\n"
    assert {each.name for each in place_of(runner, 1).iterdir()} >= {"job.json", "claim.json", "started.json"}


def test_what_a_job_has_is_for_its_owner_only_whatever_the_umask_which_the_job_keeps(runner):
    before = os.umask(0o002)
    try:
        one = job("sh", "-c", "umask; touch file")
        runner.begin(one)
        until_ended(runner, one)
    finally:
        os.umask(before)
    directory = place_of(runner, 1)
    assert runner.output(one, "stdout", 100).strip() == b"0002"
    assert (directory / "work" / "file").stat().st_mode & 0o777 == 0o664
    assert directory.stat().st_mode & 0o777 == 0o700
    for each in directory.iterdir():
        assert each.stat().st_mode & 0o077 == 0, each


def test_beginning_twice_runs_it_once(runner, tmp_path):
    one = job("sh", "-c", f"echo x >> {tmp_path}/count")
    runner.begin(one)
    runner.begin(one)
    Runner(tmp_path, Clock()).begin(one)  # like a restarted service
    until_ended(runner, one)
    time.sleep(0.2)
    assert (tmp_path / "count").read_text() == "x\n"


def test_a_job_that_nobody_started_is_started_by_the_next_look(runner):
    one = job("true")
    until_ended(runner, one)
    assert one.state == "completed"


def test_a_job_that_cannot_be_handed_over_fails_and_frees_its_processors(runner, tmp_path):
    (tmp_path / "1").write_text("a file where the directory should be")
    one = job("true")
    runner.begin(one)
    assert [id for _, id in runner.ended([one])] == [1]
    assert one.state == "failed"
    assert one.message


def test_a_job_whose_wrapper_was_killed_is_lost_and_leaves_nothing_behind(runner):
    one = job("sleep", "600")
    runner.begin(one)
    deadline = time.monotonic() + 10
    while not isinstance(started := processes.read_state(place_of(runner, 1)), processes.Started):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(started.wrapper_pid, signal.SIGKILL)
    until_ended(runner, one)
    assert one.state == "lost"
    stat = Path(f"/proc/{started.command_pid}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"  # gone, or waits to be reaped


UP = "while ! [ -e $GAS_JOB_DIRECTORY/started.json ]; do sleep 0.01; done"


def until_printed(path, text):
    deadline = time.monotonic() + 10
    while not path.exists() or path.read_text() != text:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def living_started(runner, id=1):
    deadline = time.monotonic() + 10
    while not isinstance(started := processes.read_state(place_of(runner, id)), processes.Started):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return started


# --------------------------------------------------------------------- jobs that meddle with what is theirs to write


@pytest.mark.parametrize("gone", ["$GAS_JOB_DIRECTORY", "$GAS_JOB_DIRECTORY/*"])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_job_that_removes_its_directory_is_freed_when_it_ends_and_not_run_again(runner, tmp_path, gone, restarted):
    one = job("sh", "-c", f"cd /; echo x >> {tmp_path}/count; {UP}; rm -rf {gone}; echo x >> {tmp_path}/count; sleep 1")
    runner.begin(one)
    if restarted:
        until_printed(tmp_path / "count", "x\nx\n")
        runner = Runner(tmp_path, Clock())
        assert runner.was_begun(one)
        runner.begin(one)
    assert runner.ended([one]) == []
    until_ended(runner, one)
    assert runner.ended([]) == []
    if gone == "$GAS_JOB_DIRECTORY":
        assert one.state == "lost"
        assert "was removed" in one.message
    else:  # there was a place for the record of the end
        assert one.state == "completed"
    assert (tmp_path / "count").read_text() == "x\nx\n"


def test_what_a_job_leaves_behind_that_removed_its_directory_and_killed_its_wrapper_is_killed(runner, tmp_path):
    script = f"setsid sleep 600 & echo $! > {tmp_path}/pid; rm -rf $GAS_JOB_DIRECTORY; kill -KILL $PPID; wait"
    one = job("sh", "-c", f"{UP}; {script}")
    runner.begin(one)
    until_ended(runner, one)
    assert one.state == "lost"
    stat = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_job_whose_wrapper_died_before_it_could_take_it_is_begun_again(runner, tmp_path, monkeypatch):
    one = job("sh", "-c", f"echo x >> {tmp_path}/count")
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/bin/true")  # a wrapper that ends without having done anything
        runner.begin(one)
    assert not (place_of(runner, 1) / "claim.json").exists()
    until_ended(runner, one)
    assert one.state == "completed"
    assert (tmp_path / "count").read_text() == "x\n"


@pytest.mark.thorough(but=4)
@pytest.mark.parametrize("name", ["ended.json", "started.json", "claim.json", "wrapper.log"])
@pytest.mark.parametrize("what", ["mkfifo", "ln -s /dev/zero", "mkdir"])
def test_a_job_that_puts_something_else_in_the_place_of_a_record_keeps_nobody_waiting(runner, name, what):
    one = job("sh", "-c", f"{UP}; cd $GAS_JOB_DIRECTORY; rm -f {name}; {what} {name}; echo done; sleep 600")
    runner.begin(one)
    deadline = time.monotonic() + 10
    while b"done" not in runner.output(one, "stdout", 10):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for _ in range(2):
        assert runner.end_of(one) is None
    runner.cancel(one)
    if (name, what) == ("ended.json", "mkdir"):  # the only thing that keeps the wrapper from writing the end
        time.sleep(0.2)
        (place_of(runner, 1) / name).rmdir()
    until_ended(runner, one)
    assert one.state == "cancelled"


def test_a_job_that_closes_its_directory_is_neither_killed_nor_kept_for_ever(runner, tmp_path):
    (tmp_path / "closed").mkdir(0)
    if os.access(tmp_path / "closed", os.X_OK):
        pytest.skip("root may enter any directory")
    one = job("sh", "-c", f"{UP}; sleep 0.2; chmod 000 $GAS_JOB_DIRECTORY; sleep 600")
    runner.begin(one)
    started = living_started(runner)
    time.sleep(0.6)
    assert runner.end_of(one) is None
    assert processes.alive(started)
    runner.cancel(one)
    place_of(runner, 1).chmod(0o700)
    until_ended(runner, one)
    assert one.state == "cancelled"


def test_a_job_that_stops_its_wrapper_has_a_walltime_all_the_same(runner):
    one = job("sh", "-c", "kill -STOP $PPID; sleep 600", walltime=3)
    runner.begin(one)
    until_ended(runner, one, 20)
    assert one.state == "timeout"


# ------------------------------------------------------------------------------------------------ want that passes


@contextmanager
def no_descriptors():
    """Opening anything in this process fails with EMFILE."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.dup(0)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_without_descriptors_a_job_waits_to_be_started_and_a_living_one_lives_on(runner, caplog):
    one, two = job("sleep", "0.5"), job("true", id=2)
    runner.begin(one)
    started = living_started(runner)
    with no_descriptors():
        runner.begin(two)
        for _ in range(3):
            assert runner.end_of(one) is None
            assert runner.end_of(two) is None
        assert runner.was_begun(one)
        runner.cancel(two)
        runner._to_cancel.clear()
    assert processes.alive(started)
    assert [each.message.split(":")[0] for each in caplog.records] == [
        "job 2 cannot be started yet",
        "job 1 is assumed to be still running",
    ]
    until_ended(runner, one)
    until_ended(runner, two)
    assert (one.state, two.state) == ("completed", "completed")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT])
def test_a_job_that_cannot_be_handed_over_at_present_is_when_it_can(runner, monkeypatch, number):
    def wanting(*_, **__):
        raise GasError("cannot be started") from OSError(number, os.strerror(number))

    one = job("true")
    with monkeypatch.context() as patch:
        patch.setattr(processes, "start_process", wanting)
        runner.begin(one)
        assert runner.ended([one]) == []
        assert runner.end_of(one) is None
    until_ended(runner, one)
    assert one.state == "completed"


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_job_whose_walltime_is_over_before_it_can_be_handed_over_fails_with_the_reason(runner, monkeypatch):
    monkeypatch.setattr(processes.wrapper, "write_record", full)
    one = job("true", walltime=60)
    runner.begin(one)
    assert runner.ended([one]) == []
    one.start -= 60
    assert [id for _, id in runner.ended([one])] == [1]
    assert one.state == "failed"
    assert "walltime ended" in one.message
    assert "No space left" in one.message


def test_a_job_that_could_not_be_handed_over_yet_can_be_cancelled_without_any_room(runner, monkeypatch):
    monkeypatch.setattr(processes.wrapper, "write_record", full)
    one = job("true")
    runner.begin(one)
    runner.cancel(one)
    assert [id for _, id in runner.ended([one])] == [1]
    assert one.state == "cancelled"


def test_cancelling_before_the_wrapper_is_up_and_after(runner):
    for id in (1, 2):
        one = job("sleep", "600", id=id)
        runner.begin(one)
        if id == 2:
            time.sleep(0.3)
        runner.cancel(one)
        until_ended(runner, one)
        assert one.state == "cancelled"


def test_only_a_process_has_output(runner):
    one = Job(1, JobRequest("job", "x", 1, 1, actuator="simulated", run_time=1), 0, "running", 0, 0, 0, 1)
    with pytest.raises(Conflict, match="no output"):
        runner.output(one, "stdout", 1)


def test_a_command_that_can_never_start_is_refused_beforehand(tmp_path):
    with pytest.raises(BadInput):
        command_of(job("a\0b"), tmp_path)
