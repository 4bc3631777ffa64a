import sqlite3
import time

import pytest

from gas.errors import Conflict, NotFound, StoreFailed
from gas.service.clock import Clock
from gas.service.jobs import Wish
from gas.service.live import LiveScheduler


class Hand:
    """A clock's source of time, moved by the test."""

    def __init__(self):
        self.time = 1_000_000.0

    def __call__(self):
        return self.time


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
def live(tmp_path, hand):
    scheduler = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))
    yield scheduler
    scheduler.stop()


def simulated(processors, walltime, run_time=None, **more):
    lasts = walltime if run_time is None else run_time
    return Wish("job", "job", processors, walltime, actuator="simulated", run_time=lasts, **more)


def until_running(live, id):
    deadline = time.monotonic() + 10
    while live.job(id).state != "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def again(live, tmp_path, hand):
    """The next life of the service, over the same store."""
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
    live.submit(Wish("reservation", "r", 5, 100, actuator="none", start=1_000_400))
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


def test_a_store_of_another_machine_is_refused(live, tmp_path, hand):
    live.stop()
    with pytest.raises(Conflict, match="10 processors, not 20"):
        LiveScheduler("test", 20, tmp_path / "state", clock=Clock(real=hand))


def test_an_unknown_job_is_not_found(live):
    for id in (1, -1, 2**70):
        with pytest.raises(NotFound):
            live.job(id)


def test_a_process_outlives_the_service_and_is_found_again(tmp_path):
    first = LiveScheduler("test", 2, tmp_path / "state")
    wish = Wish("job", "job", 2, 60, actuator="process", command=("sh", "-c", "sleep 0.7; echo done"))
    job, _ = first.submit(wish)
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
    job, _ = first.submit(Wish("job", "job", 2, 60, actuator="process", command=("sh", "-c", "sleep 0.3; exit 4")))
    until_running(first, job.id)
    first.stop()
    time.sleep(1.0)
    second = LiveScheduler("test", 2, tmp_path / "state")
    done = second.job(job.id)
    assert (done.state, done.exit_status) == ("failed", 4)
    assert done.finished <= done.start + 1
    second.stop()
