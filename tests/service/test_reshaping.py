"""Another shape for a waiting job: its new start, the refusals, and that the change is durable and made once."""

import sqlite3
from dataclasses import replace

import pytest

from gas.errors import BadInput, Conflict, NotFound, OverLimit, StalePlan, StoreFailed
from gas.service.changes import Reshape
from gas.service.clock import Clock
from gas.service.jobs import JobRequest
from gas.service.limits import Limits
from gas.service.live import LiveScheduler
from gas.service.runner import command_of


def simulated(processors, walltime, run_time=None, **more):
    lasts = walltime if run_time is None else run_time
    return JobRequest("job", "job", processors, walltime, actuator="simulated", run_time=lasts, **more)


@pytest.fixture
def full(live, hand):
    """Return a machine of 10: job 1 runs for 100 s from 1,000,001, jobs 2 (10 for 100 s) and 3 (4 for 50 s) wait."""
    for request in (simulated(8, 100), simulated(10, 100, 90, key="k", user="ada"), simulated(4, 50)):
        live.submit(request)
    hand.time += 1
    assert [job.promise - 1_000_001 for job in live.jobs()] == [0, 100, 200]
    return live


def test_a_waiting_job_gets_another_shape_and_a_new_first_promise(full, hand):
    before = full.jobs()
    job = full.reshape(Reshape(2, 10, 200, user="ada"))
    assert (job.id, job.state, job.request.processors, job.request.walltime) == (2, "queued", 10, 200)
    assert (job.promise, job.first_promise, job.reshaped) == (1_000_151, 1_000_151, 1_000_001)
    assert full.job(3).promise == 1_000_101  # it has moved up, as after a cancellation
    assert job.submitted == before[1].submitted
    with full.frozen() as machine:
        machine.schedule.check()
    hand.time += 150
    assert full.job(2).start == job.first_promise
    assert "gas_promises_kept_total 3.0" in full.metrics_text().decode(), "put off as its user asked, it was kept"
    assert "gas_reshapes_total 1.0" in full.metrics_text().decode()


@pytest.mark.parametrize(
    ("wanted", "run_time"),
    [
        (Reshape(2, walltime=50), 45),
        (Reshape(2, 5), 90),
        (Reshape(2, 5, 201), 181),  # of 180.9
        (Reshape(2, walltime=50, run_time=7), 7),
        (Reshape(2, run_time=300), 300),
    ],
)
def test_a_simulated_job_uses_the_same_part_of_its_walltime_unless_another_is_given(full, wanted, run_time, hand):
    job = full.reshape(wanted)
    assert job.request.run_time == run_time
    hand.time += 1000
    done = full.job(2)
    assert done.finished - done.start == min(run_time, done.request.walltime)
    assert done.state == ("timeout" if run_time > done.request.walltime else "completed")


def test_a_new_shape_outlives_the_service(full, tmp_path, hand):
    told = full.reshape(Reshape(2, 2, 400, user="ada", key="r"))
    known, frames = full.jobs(), full.availability().to_wire()
    full.stop()
    new = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))
    try:
        assert new.job(2).snapshot() == told
        assert new.jobs() == known
        assert new.availability().to_wire() == frames
        assert new.reshape(Reshape(2, 2, 400, user="ada", key="r")) == told
        hand.time += 500
        assert new.job(2).finished - new.job(2).start == 360
    finally:
        new.stop()


def test_a_key_changes_a_job_once_and_is_of_one_user(full):
    first = Reshape(2, 5, 200, key="r", user="ada")
    full.reshape(first)
    later = full.reshape(Reshape(2, 4, 300, key="s", user="ada"))
    assert full.reshape(first) == later, "a late copy of the first changes nothing"
    with pytest.raises(Conflict, match="key 'r' was used for another change of job 2"):
        full.reshape(replace(first, processors=6))
    assert full.reshape(replace(first, user="operator", processors=6)).request.processors == 6
    assert full.reshape(Reshape(3, 1, 10, key="r", user="ada")).request.processors == 1, "each job has its own keys"


def test_the_key_of_a_submission_still_finds_the_job_that_it_made(full):
    full.reshape(Reshape(2, 5, 200))
    job, new = full.submit(simulated(10, 100, 90, key="k", user="ada"))
    assert (job.id, new, job.request.processors) == (2, False, 5)
    with pytest.raises(Conflict, match="different request"):
        full.submit(simulated(5, 200, 180, key="k", user="ada"))


def test_what_is_refused_changes_nothing(full, hand):
    full.submit(JobRequest("reservation", "r", 1, 5, actuator="none", start=2_000_000))
    full.cancel(full.submit(simulated(1, 1))[0].id)
    before, wire = full.jobs(ended=9), full.availability().to_wire()
    for wanted, kind, message in [
        (Reshape(1, 1), Conflict, "job 1 is running; only waiting jobs"),
        (Reshape(4, 1), Conflict, "job 4 is a reservation"),
        (Reshape(5, 1), Conflict, "job 5 is cancelled"),
        (Reshape(77, 1), NotFound, "no job 77"),
        (Reshape(2, 11), BadInput, "the machine has 10"),
        (Reshape(2, 10, 101, start_by=1_000_101), StalePlan, "starts 2m30s after start_by 1000101"),
    ]:
        with pytest.raises(kind, match=message):
            full.reshape(wanted)
    assert (full.jobs(ended=9), full.availability().to_wire()) == (before, wire)
    assert 'gas_refusals_total{error="Conflict"} 3.0' in full.metrics_text().decode()


def test_a_process_has_no_run_time_to_give(live):
    live.submit(simulated(10, 100))
    job, _ = live.submit(JobRequest("job", "job", 1, 10, actuator="process", command=("true",)))
    with pytest.raises(BadInput, match="run_time: job 2 runs a command"):
        live.reshape(Reshape(job.id, 2, run_time=5))


def test_limits_are_those_of_the_job_s_user_and_less_is_always_allowed(tmp_path, hand):
    limits = Limits(max_queued=2, max_processor_seconds=3000)
    live = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand), limits=limits)
    try:
        for request in (simulated(10, 100, user="bob"), simulated(10, 100, user="ada"), simulated(10, 100, user="ada")):
            live.submit(request)
        with pytest.raises(OverLimit, match="10 processors for 3m21s .* 1000 processor-seconds of ada"):
            live.reshape(Reshape(2, walltime=201, user="operator"))
        assert live.reshape(Reshape(2, walltime=200, user="operator")).request.walltime == 200
        live._admission._limits = Limits(max_processor_seconds=10)
        assert live.reshape(Reshape(2, walltime=199)).request.walltime == 199
    finally:
        live.stop()


def test_a_waiting_job_is_reshaped_while_no_new_ones_are_accepted(full):
    full.accept(False)
    assert full.reshape(Reshape(2, 1)).request.processors == 1


def test_a_write_that_fails_leaves_the_shape(full, monkeypatch):
    before, wire, usage = full.jobs(), full.availability().frames, dict(full._book.usage.by_user)

    def fail(**_):
        raise sqlite3.OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(full._store, "write", fail)
        with pytest.raises(StoreFailed, match="nothing was changed"):
            full.reshape(Reshape(2, 2, 400, key="r"))
    assert (full.jobs(), full.availability().frames, full._book.usage.by_user) == (before, wire, usage)
    assert full.reshape(Reshape(2, 2, 400, key="r")).request.processors == 2


def test_those_who_follow_see_the_new_shape_and_who_moved_up(full):
    last = full.feed.last
    full.reshape(Reshape(2, 10, 200))
    changes = full.feed.since(last)
    assert {change.job.id: change.job.promise for change in changes if change.job} == {2: 1_000_151, 3: 1_000_101}
    assert [change.job.request.walltime for change in changes if change.job and change.job.id == 2] == [200]


WORDS = ("mpirun", "-n", "{processors}", "--tasks={tasks}x{cpus_per_task}", "{{x}}", "${Y}", "{walltime}")


def test_placeholders_of_a_command_stand_for_the_shape_in_which_it_starts(live, tmp_path):
    live.submit(simulated(10, 100))
    environment = {"GAS_PROCESSORS": "8", "GAS_TASKS": "4", "X": "1"}
    request = JobRequest(
        "job", "job", 8, 100, actuator="process", command=WORDS, environment=environment, cpus_per_task=2, key="k"
    )
    job, _ = live.submit(request)
    live.reshape(Reshape(job.id, 4, 170))
    found = live._store.job(job.id)
    command = command_of(found, tmp_path)
    assert command.arguments == ("mpirun", "-n", "4", "--tasks=2x2", "{x}", "${Y}", "170")
    assert found.to_wire()["command"] == list(command.arguments)
    sizes = {"GAS_PROCESSORS": "4", "GAS_TASKS": "2", "GAS_CPUS_PER_TASK": "2", "GAS_WALLTIME": "170", "X": "1"}
    assert sizes.items() <= command.environment.items()
    assert live.submit(request)[0].id == job.id
    with pytest.raises(BadInput, match="{gpus}"):
        live.submit(replace(request, command=("x", "{gpus}"), key=None))


def test_variables_of_a_fixed_command_follow_its_shape_too(live, tmp_path):
    live.submit(simulated(10, 100))
    environment = {"GAS_PROCESSORS": "8", "GAS_TASKS": "8", "GAS_CPUS_PER_TASK": "1"}
    command = ("run", "{processors}")
    job, _ = live.submit(JobRequest("job", "job", 8, 100, "process", command, environment))
    assert command_of(live.job(job.id), tmp_path).environment.items() >= environment.items()
    live.reshape(Reshape(job.id, 4, 170))
    given = command_of(live._store.job(job.id), tmp_path)
    assert given.arguments == command, "nobody said that these are placeholders"
    sizes = {"GAS_PROCESSORS": "4", "GAS_TASKS": "4", "GAS_CPUS_PER_TASK": "1", "GAS_WALLTIME": "170"}
    assert given.environment.items() >= sizes.items()
