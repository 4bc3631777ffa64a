import errno
import sqlite3
import time
from contextlib import closing
from dataclasses import replace

import pytest
from eventually import living, until

from gas.errors import Conflict, Draining, GasError, NotFound, OverLimit, StalePlan, StoreDamaged, StoreFailed
from gas.service import processes
from gas.service.changes import Reshape
from gas.service.clock import Clock
from gas.service.jobs import JobRequest
from gas.service.limits import Limits
from gas.service.listing import Wanted
from gas.service.live import LiveScheduler


def simulated(processors, walltime, run_time=None, **more):
    lasts = walltime if run_time is None else run_time
    return JobRequest("job", "job", processors, walltime, actuator="simulated", run_time=lasts, **more)


def until_running(live, id):
    deadline = time.monotonic() + 10
    while live.job(id).state != "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def again(live, tmp_path, hand):
    """A new life of the service, on the same store."""
    live.stop()
    return LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))


def test_jobs_start_and_end_as_time_goes_by(live, hand):
    first, _ = live.submit(simulated(10, 100, 40))
    second, _ = live.submit(simulated(10, 100))
    assert (first.promise, second.promise) == (1_000_001, 1_000_101)
    hand.time += 41
    assert live.job(first.id).state == "completed"
    assert live.job(second.id).promise == 1_000_042
    hand.time += 1
    assert live.job(second.id).state == "running"
    hand.time += 1000
    done = live.job(second.id)
    assert (done.state, done.start, done.finished) == ("completed", 1_000_042, 1_000_142)


def test_many_instants_passed_at_once_are_handled_in_order(live, hand):
    jobs = [live.submit(simulated(10, 100, 10 * i))[0] for i in range(5)]
    hand.time += 10_000
    assert [live.job(j.id).finished - 1_000_000 for j in jobs] == [1, 12, 33, 64, 105]


def test_a_simulated_job_longer_than_its_walltime_is_cut_off(live, hand):
    job, _ = live.submit(simulated(1, 10, 20))
    hand.time += 11
    assert live.job(job.id).state == "timeout"


def test_the_next_life_keeps_every_promise(live, tmp_path, hand):
    for size, walltime in [(6, 100), (8, 50), (4, 30), (10, 10), (1, 500)]:
        live.submit(simulated(size, walltime))
    live.submit(JobRequest("reservation", "r", 5, 100, actuator="none", start=1_000_400))
    before = live.availability().to_wire()
    promises = {j.id: j.promise for j in live.jobs()}
    new = again(live, tmp_path, hand)
    assert new.availability().to_wire() == before
    assert {j.id: j.promise for j in new.jobs()} == promises
    with new.frozen() as machine:
        machine.schedule.check()
    assert new.submit(simulated(1, 1))[0].id == 7
    new.stop()


def test_what_an_outage_made_impossible_is_planned_again_and_counted(live, tmp_path, hand):
    live.submit(simulated(10, 100))
    missed, _ = live.submit(simulated(10, 50))
    later, _ = live.submit(simulated(10, 50))
    hand.time += 1
    assert live.job(1).state == "running"
    live.stop()
    hand.time += 120  # the second job should have started 20 s ago
    new = again(live, tmp_path, hand)
    assert new.job(1).state == "completed"
    assert new.job(missed.id).promise == 1_000_122, "as soon as the service is ready"
    assert new.job(later.id).promise == 1_000_172
    assert new.health()["promises_broken"] == 2
    new.stop()


def test_a_write_that_fails_changes_nothing(live, monkeypatch):
    live.submit(simulated(10, 100))
    before = live.availability().to_wire()

    def full(**_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(live._store, "write", full)
        with pytest.raises(StoreFailed, match="disk is full"):
            live.submit(simulated(1, 10))
        with pytest.raises(StoreFailed):
            live.cancel(1)
    assert live.availability().to_wire() == before
    assert [j.id for j in live.jobs()] == [1]
    assert live.submit(simulated(1, 10))[0].promise == 1_000_101


def test_a_failed_write_shows_in_the_health_until_one_has_succeeded_again(live, monkeypatch):
    def full(**_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(live._store, "write", full)
        with pytest.raises(StoreFailed):
            live.submit(simulated(1, 10))
        assert (live.health()["status"], live.health()["problem"]) == (
            "degraded",
            "the store cannot be written: database or disk is full",
        )
    live.start()  # the dispatcher tries again by itself
    deadline = time.monotonic() + 10
    while live.health()["status"] != "ok":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert live.health()["problem"] is None


def test_a_store_that_cannot_even_be_read_is_believed_again_once_it_can(live, monkeypatch):
    def broken(*_, **__):
        raise sqlite3.OperationalError("disk I/O error")

    live.submit(simulated(10, 100))
    before = live.availability().to_wire()
    with monkeypatch.context() as patch:
        for name in ("write", "active"):
            patch.setattr(live._store, name, broken)
        for _ in range(2):
            with pytest.raises(StoreFailed):
                live.submit(simulated(1, 10))
    assert live.availability().to_wire() == before
    assert live.submit(simulated(1, 10))[0].id == 2


def test_an_error_that_nobody_foresaw_leaves_nothing_half_done(live, monkeypatch):
    live.submit(simulated(10, 100))
    with monkeypatch.context() as patch:
        patch.setattr("gas.service.admission.job_of", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            live.submit(simulated(1, 10))
    assert [job.id for job in live.jobs()] == [1]
    assert live.availability().frames[-1].free == 10
    with live.frozen() as machine:
        assert machine.schedule.entries.keys() == {1}


def test_a_key_is_used_up_by_a_job_and_not_by_a_refusal(live):
    live.submit(simulated(10, 100))
    late = simulated(10, 100, start_by=1_000_050, key="k")
    with pytest.raises(StalePlan):
        live.submit(late)
    planned_again = replace(late, start_by=1_000_200)
    job, new = live.submit(planned_again)
    assert new
    assert live.submit(planned_again) == (job, False)
    with pytest.raises(Conflict, match=f"job {job.id}"):  # a copy of the first request, late
        live.submit(late)


def test_a_key_belongs_to_its_user(live):
    mine, _ = live.submit(simulated(1, 10, user="alice", key="k"))
    yours, new = live.submit(simulated(1, 10, user="bob", key="k"))
    assert (new, mine.id, yours.id) == (True, 1, 2)
    assert live.submit(simulated(1, 10, user="alice", key="k")) == (mine, False)
    assert live.job_with_key("alice", "k").id == 1
    assert live.job_with_key("carol", "k") is None


def test_the_limits_of_one_user_do_not_touch_another(tmp_path, hand):
    limits = Limits(max_queued=2, max_processor_seconds=1000)
    live = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand), limits=limits)
    live.submit(simulated(9, 100, user="alice"))
    with pytest.raises(OverLimit, match="1000 processor-seconds"):
        live.submit(simulated(2, 100, user="alice"))
    live.submit(simulated(1, 100, 10, user="alice"))
    with pytest.raises(OverLimit, match="limit is 2"):
        live.submit(simulated(1, 1, user="alice"))
    live.submit(simulated(1, 1, user="bob"))
    live.stop()
    new = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand), limits=limits)
    with pytest.raises(OverLimit):
        new.submit(simulated(1, 1, user="alice"))
    hand.time += 20  # one has ended
    new.submit(simulated(1, 100, user="alice"))
    new.stop()


def test_draining_finishes_what_is_scheduled_and_takes_nothing_new(live, hand):
    live.submit(simulated(10, 100, key="k"))
    live.drain()
    with pytest.raises(Draining, match="accepts no new jobs"):
        live.submit(simulated(1, 10))
    assert not live.submit(simulated(10, 100, key="k"))[1], "what was accepted is answered as before"
    assert not live.is_drained
    hand.time += 200
    live.jobs()
    assert live.is_drained


def test_an_operator_s_word_on_accepting_outlives_the_service_and_does_not_end_it(live, tmp_path, hand):
    live.accept(False)
    new = again(live, tmp_path, hand)
    with pytest.raises(Draining):
        new.submit(simulated(1, 10))
    assert not new.is_drained
    new.accept(True)
    new.submit(simulated(1, 10))
    new.stop()


def test_a_smaller_machine_breaks_promises_by_name_only(live, tmp_path, hand):
    live.submit(simulated(6, 100))
    beside, _ = live.submit(simulated(4, 100))
    large, _ = live.submit(simulated(8, 50))
    hand.time += 1
    small, _ = live.submit(simulated(2, 50))
    before = live.availability().to_wire()
    with pytest.raises(Conflict, match=f"job {large.id}: would have to be cancelled"):
        live.resize(7)
    assert live.availability().to_wire() == before
    moved = {b.job.id: b.start for b in live.resize(7, cancel_larger=True)}
    assert moved[large.id] is None
    gone = live.job(large.id)
    assert (gone.state, gone.message) == ("cancelled", "needs 8 processors, but the machine was reduced to 7")
    assert [live.job(1).state, live.job(beside.id).state] == ["running", "running"], "what runs goes on"
    kept = live.job(small.id)
    assert kept.promise <= kept.first_promise or moved[small.id] == kept.promise
    assert live.health()["promises_broken"] == len(moved)
    before = live.availability().to_wire()
    assert before["processors"] == 7
    new = again(live, tmp_path, hand)  # started with 10 processors on its command line: the operator's change is kept
    assert new.processors == 7
    assert new.availability().to_wire() == before
    assert new.resize(12) == []
    assert new.submit(simulated(12, 10))[0].promise == 1_000_101
    new.stop()


def test_a_size_that_nothing_depends_on_yet_may_be_corrected(tmp_path, hand):
    LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand)).stop()
    second = LiveScheduler("test", 20, tmp_path / "state", clock=Clock(real=hand))
    assert second.processors == 20
    second.stop()


def test_a_stall_is_an_outage_and_takes_nothing_of_a_walltime(live, hand):
    """Stopped, suspended or starved, the service makes missed starts late, and reports them."""
    live.submit(simulated(10, 5))
    command = ("sh", "-c", "exit 0")
    job, _ = live.submit(JobRequest("job", "job", 10, 4, actuator="process", command=command))
    hand.time += 1
    assert live.job(1).state == "running"
    hand.time += 30  # the process should have been started 26 s ago, and have been over for 20 s
    late = live.job(job.id)
    assert late.broken_promise == job.promise
    assert late.promise == 1_000_032
    assert live.health()["promises_broken"] == 1
    assert late.due == late.promise + 4, "all of its walltime"


@pytest.mark.thorough
def test_a_service_that_ran_and_was_slow_breaks_no_promise(live, hand):
    live._book.pulse.start()
    command = ("sleep", "60")
    late, _ = live.submit(JobRequest("job", "job", 10, 40, actuator="process", command=command))
    others = [live.submit(JobRequest("job", "job", 10, 40, actuator="process", command=command))[0] for _ in range(3)]
    promised = [job.promise for job in others]
    for _ in range(6):  # somebody holds the lock, while the process runs
        hand.time += 0.9
        live._book.pulse.beat()
    assert live.job(late.id).state == "running"
    assert [live.job(job.id).promise for job in others] == promised
    assert live.health()["promises_broken"] == 0
    live.cancel(late.id)


def test_a_store_that_was_removed_under_the_service_is_not_written_to(live, tmp_path):
    live.submit(simulated(1, 10))
    (tmp_path / "state" / "s3.sqlite").rename(tmp_path / "elsewhere")
    with pytest.raises(StoreFailed, match="is gone"):
        live.submit(simulated(1, 10))
    assert live.health()["status"] == "degraded"
    (tmp_path / "elsewhere").rename(tmp_path / "state" / "s3.sqlite")
    assert live.submit(simulated(1, 10))[0].id == 2


def test_whoever_cancels_another_s_job_is_named(live, hand):
    queued, running = live.submit(simulated(10, 100, user="alice"))[0], live.submit(simulated(10, 100, user="alice"))[0]
    hand.time += 1
    assert live.cancel(queued.id, "alice").message is None
    hand.time += 1
    assert live.job(running.id).state == "running"
    assert live.cancel(running.id, "olga").message == "cancelled by olga"


def test_an_answered_cancellation_survives_even_if_nothing_could_be_done_yet(tmp_path, monkeypatch):
    first = LiveScheduler("test", 2, tmp_path / "state")
    request = JobRequest("job", "job", 2, 60, actuator="process", command=("sleep", "30"), user="alice")
    job, _ = first.submit(request)
    until_running(first, job.id)
    with monkeypatch.context() as patch:
        patch.setattr("gas.service.processes.cancel_process", lambda directory, reach: True)  # it was not
        assert first.cancel(job.id, "olga").message == "being cancelled by olga"
        first.stop()
    second = LiveScheduler("test", 2, tmp_path / "state")
    deadline = time.monotonic() + 10
    while second.job(job.id).state == "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert second.job(job.id).state == "cancelled"
    assert second.job(job.id).message.startswith("cancelled by olga")
    second.stop()


def test_a_job_that_was_cancelled_before_its_process_was_made_is_not_planned_again(tmp_path, monkeypatch):
    first = LiveScheduler("test", 2, tmp_path / "state")
    request = JobRequest(
        "job", "job", 2, 60, actuator="process", command=("touch", str(tmp_path / "ran")), user="alice"
    )
    with monkeypatch.context() as patch:
        patch.setattr("gas.service.runner.Runner.begin", lambda runner, job: None)  # a power cut before it
        job, _ = first.submit(request)
        until_running(first, job.id)
        patch.setattr("gas.service.processes.cancel_process", lambda directory, reach: True)
        first.cancel(job.id, "olga")
        first.stop()
    second = LiveScheduler("test", 2, tmp_path / "state")
    second.start()
    time.sleep(1.5)
    assert (second.job(job.id).state, second.job(job.id).message) == ("cancelled", "cancelled by olga")
    assert not (tmp_path / "ran").exists()
    second.stop()


def test_ended_jobs_are_forgotten_with_their_output_after_their_time(tmp_path):
    first = LiveScheduler("test", 2, tmp_path / "state")
    job, _ = first.submit(JobRequest("job", "job", 2, 60, actuator="process", command=("echo", "x")))
    deadline = time.monotonic() + 10
    while first.job(job.id).active:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    first.stop()
    kept = LiveScheduler("test", 2, tmp_path / "state", keep=3600)
    kept.start()
    time.sleep(0.3)
    assert kept.job(job.id).state == "completed"
    kept.stop()
    time.sleep(1.1)
    second = LiveScheduler("test", 2, tmp_path / "state", keep=0)
    second.start()
    deadline = time.monotonic() + 10
    while second.jobs(ended=10):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert not (tmp_path / "state" / "jobs" / job.directory_name).exists()
    assert second.submit(simulated(1, 10))[0].id == job.id + 1, "numbers are not given twice"
    second.stop()


def test_an_answer_is_the_job_as_it_was_then(live, hand):
    """It is written out after the lock is released: meanwhile the job may start, or end."""
    request = simulated(1, 10, key="k")
    answers = [live.submit(request)[0], live.submit(request)[0], live.job(1), live.job_with_key("", "k")]
    hand.time += 1
    answers.append(live.job(1))
    answers.append(live.cancel(live.submit(simulated(1, 10))[0].id))
    hand.time += 10
    assert live.job(1).state == "completed"
    assert [job.state for job in answers] == ["queued"] * 4 + ["running", "cancelled"]


class Unwritable:
    """A store that refuses writes for a while."""

    def __init__(self, live, monkeypatch):
        self.live, self.monkeypatch = live, monkeypatch

    def __enter__(self):
        def fail(**_):
            raise sqlite3.OperationalError("disk full")

        self.monkeypatch.setattr(self.live._store, "write", fail)
        return self

    def __exit__(self, *_):
        self.monkeypatch.undo()

    def seen(self):
        """Return whether a write was tried and failed."""
        try:
            self.live.jobs()
        except StoreFailed:
            return True
        return False


def process(live, *command):
    return live.submit(JobRequest("job", "job", 1, 60, actuator="process", command=command))[0]


def test_a_job_whose_end_cannot_be_written_is_not_run_again(live, hand, tmp_path, monkeypatch):
    """It deletes its own directory, so that only the runner knows that it has run."""
    folder, proof = tmp_path / "state" / "jobs", tmp_path / "proof"
    up = "until [ -e $GAS_JOB_DIRECTORY/started.json ]; do sleep 0.01; done"
    job = process(live, "sh", "-c", f"cd /; {up}; rm -rf $GAS_JOB_DIRECTORY; echo x >> {proof}")
    hand.time += 1
    assert live.job(job.id).state == "running"
    until(lambda: proof.exists() and not list(folder.iterdir()) and not living(folder))
    with Unwritable(live, monkeypatch) as store:
        until(store.seen)
    until(lambda: live.job(job.id).state != "running")
    assert live.job(job.id).state == "lost"
    hand.time += 5
    live.jobs()
    assert proof.read_text() == "x\n"


def test_a_start_that_a_full_disk_delays_is_still_one_after_a_write_that_failed(live, hand, tmp_path, monkeypatch):
    job = process(live, "sh", "-c", f"echo x >> {tmp_path}/proof")

    def full(*_, **__):
        raise GasError("no room") from OSError(errno.ENOSPC, "no space left")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "start_process", full)
        hand.time += 1
        assert live.job(job.id).state == "running"
        hand.time += 5
        with Unwritable(live, monkeypatch), pytest.raises(StoreFailed):
            live.submit(simulated(1, 1))
        patch.setattr(processes, "start_process", full)
        assert (live.job(job.id).state, live.job(job.id).start) == ("running", job.promise), "it keeps its processors"
    until(lambda: live.job(job.id).state == "completed")
    assert live.health()["promises_broken"] == 0


@pytest.mark.parametrize("failures", [0, 1])
def test_a_start_that_failed_for_good_is_known_until_that_is_on_disk(live, hand, monkeypatch, failures):
    job, tried = process(live, "true"), []

    def broken(*_, **__):
        tried.append(1)
        raise GasError("no such user")

    monkeypatch.setattr("gas.service.runner.processes.start_process", broken)
    hand.time += 1
    assert live.job(job.id).state == "running"
    for _ in range(failures):
        with monkeypatch.context() as patch, Unwritable(live, patch) as store:
            until(store.seen)
    until(lambda: live.job(job.id).state == "failed")
    assert (live.job(job.id).message, len(tried)) == ("no such user", 1)


def test_what_changes_is_told_after_it_is_durable(live, hand):
    live.submit(simulated(10, 100, 10))
    live.submit(simulated(10, 100))
    position = live.feed.last
    hand.time += 20
    live.jobs()
    told = [(c.job.id, c.job.state) for c in live.feed.since(position) if c.job is not None]
    assert told == [(1, "completed"), (2, "running")]


def test_a_store_of_another_machine_is_refused(live, tmp_path, hand):
    live.submit(simulated(1, 10))
    live.stop()
    with pytest.raises(Conflict, match="10 processors, not 20"):
        LiveScheduler("test", 20, tmp_path / "state", clock=Clock(real=hand))


def test_an_unknown_job_is_not_found(live):
    for id in (1, -1, 2**70):
        with pytest.raises(NotFound):
            live.job(id)


def test_a_process_outlives_the_service_and_is_found_again(tmp_path):
    first = LiveScheduler("test", 2, tmp_path / "state")
    request = JobRequest("job", "job", 2, 60, actuator="process", command=("sh", "-c", "sleep 0.7; echo done"))
    job, _ = first.submit(request)
    until_running(first, job.id)
    first.stop()
    second = LiveScheduler("test", 2, tmp_path / "state")
    assert second.job(job.id).state == "running"
    deadline = time.monotonic() + 10
    while second.job(job.id).state == "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (second.job(job.id).state, second.output(job.id, "stdout", 100)) == ("completed", b"done\n")
    assert second.health()["promises_broken"] == 0
    second.stop()


def test_a_process_that_ended_while_the_service_was_down_is_recorded_with_its_own_end(tmp_path):
    first = LiveScheduler("test", 2, tmp_path / "state")
    job, _ = first.submit(
        JobRequest("job", "job", 2, 60, actuator="process", command=("sh", "-c", "sleep 0.3; exit 4"))
    )
    until_running(first, job.id)
    first.stop()
    time.sleep(1.0)
    second = LiveScheduler("test", 2, tmp_path / "state")
    done = second.job(job.id)
    assert (done.state, done.exit_status) == ("failed", 4)
    assert done.finished <= done.start + 1
    second.stop()


# --------------------------------------------------------------------------------------------------- long queues


def test_due_starts_are_looked_for_without_looking_at_every_job(live, hand, monkeypatch):
    first, _ = live.submit(simulated(10, 100))
    live.submit(simulated(10, 100))
    hand.time += 2
    monkeypatch.setattr(live._book, "jobs", Untouchable(live._book.jobs))
    live.machine()
    assert live.job(first.id).state == "running"
    hand.time += 50
    live.machine()


class Untouchable(dict):
    """Jobs that may be looked up, but not iterated over."""

    def values(self):
        raise AssertionError("every job is looked at")

    __iter__ = items = values


def test_what_was_answered_does_not_follow_the_job(live, hand):
    """Answers become JSON after the lock is released, while the job goes on."""
    live.submit(simulated(10, 50))
    keyed = replace(simulated(10, 50, user="ada"), key="k")
    answers = [live.submit(keyed)[0], live.submit(keyed)[0]]
    id = answers[0].id
    answers += [live.job(id), live.job_with_key("ada", "k"), live.page(Wanted(user="ada")).jobs[0]]
    answers.append(live.reshape(Reshape(id, walltime=60, user="ada")))
    answers.append(live.cancel(1))
    answered = [job.to_wire() for job in answers]
    hand.time += 10
    assert live.job(id).state == "running"
    assert [job.to_wire() for job in answers] == answered


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE jobs SET name = CAST(X'6aff62' AS TEXT)", "Could not decode"),
        ("UPDATE jobs SET name = X'6aff62'", "job 1: its request is damaged"),
        ("ALTER TABLE jobs RENAME COLUMN run_time TO run_tile", "no such column: run_time"),
    ],
)
def test_damage_that_shows_when_jobs_are_read_is_called_so_not_something_that_passes(
    tmp_path, hand, statement, problem
):
    state = tmp_path / "state"
    first = LiveScheduler("test", 10, state, clock=Clock(real=hand))
    first.submit(simulated(1, 1000))
    first.stop()
    with closing(sqlite3.connect(state / "s3.sqlite", isolation_level=None)) as database:
        database.execute(statement)
    with pytest.raises(StoreDamaged, match=rf"the store is damaged \(.*{problem}.*`gas restore` restores"):
        LiveScheduler("test", 10, state, clock=Clock(real=hand))
