import os
import signal
import time
from pathlib import Path

import pytest

from gas.errors import BadInput, Conflict
from gas.service import processes
from gas.service.clock import Clock
from gas.service.jobs import Job, Wish
from gas.service.runner import Runner, command_of


def job(*command, walltime=60, id=1, **more):
    now = int(time.time())
    wish = Wish("job", "job", 2, walltime, actuator="process", command=command, **more)
    return Job(id, wish, now, "running", now, now, now, now + walltime)


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path, Clock())


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
    assert runner.output(one, "stdout", 100).decode() == f"1 2 60\n{runner.directory_of(1)}\n"


def test_beginning_twice_runs_it_once(runner, tmp_path):
    one = job("sh", "-c", f"echo x >> {tmp_path}/count")
    runner.begin(one)
    runner.begin(one)
    Runner(tmp_path, Clock()).begin(one)  # as a service that starts again might
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
    while not isinstance(started := processes.read_state(runner.directory_of(1)), processes.Started):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(started.wrapper_pid, signal.SIGKILL)
    until_ended(runner, one)
    assert one.state == "lost"
    stat = Path(f"/proc/{started.command_pid}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"  # gone, or waits to be reaped


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
    one = Job(1, Wish("job", "x", 1, 1, actuator="simulated", run_time=1), 0, "running", 0, 0, 0, 1)
    with pytest.raises(Conflict, match="no output"):
        runner.output(one, "stdout", 1)


def test_a_command_that_can_never_start_is_refused_beforehand(tmp_path):
    with pytest.raises(BadInput):
        command_of(job("a\0b"), tmp_path)
