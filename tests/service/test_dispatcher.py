"""Due jobs are started, promotion is finished, and the health reports when that takes too long."""

import time

from eventually import until
from hand import Hand

from gas.service.clock import Clock
from gas.service.jobs import JobRequest
from gas.service.live import LiveScheduler


def simulated(processors, walltime):
    return JobRequest("job", "job", processors, walltime, actuator="simulated", run_time=walltime)


def waits_in_the_way(live, hand):
    """Submit a job that holds everything, and thirty after it that would all move if it ended."""
    big, _ = live.submit(simulated(10, 5000))
    hand.time += 2
    assert live.job(big.id).state == "running"
    for n in range(30):
        live.submit(simulated(3 + n % 5, 50 + n))
    return big


def test_promotion_goes_on_in_slices_each_of_which_is_durable(tmp_path, hand, monkeypatch):
    monkeypatch.setattr("gas.service.book.PATIENCE", 3)
    live = LiveScheduler("test", 10, tmp_path / "sliced", clock=Clock(real=hand))
    big = waits_in_the_way(live, hand)
    promised = {job.id: job.promise for job in live.jobs()}
    live.cancel(big.id)
    schedule = live._book.machine.schedule
    assert schedule.unfinished
    slices = 0
    while schedule.unfinished:
        live._dispatcher._go_on()
        slices += 1
        schedule.check()
        stored = {job.id: (job.start, job.promise) for job in live._store.active()}
        assert stored == {job.id: (job.start, job.promise) for job in live.jobs()}
        assert all(promise <= promised[id] for id, (_, promise) in stored.items())
    assert slices > 5

    monkeypatch.setattr("gas.service.book.PATIENCE", 10**9)
    other = Hand()
    at_once = LiveScheduler("test", 10, tmp_path / "at-once", clock=Clock(real=other))
    big = waits_in_the_way(at_once, other)
    at_once.cancel(big.id)
    assert [(job.id, job.promise) for job in live.jobs()] == [(job.id, job.promise) for job in at_once.jobs()]
    for each in (live, at_once):
        each.stop()


def test_the_dispatcher_finishes_what_patience_left(tmp_path, monkeypatch):
    monkeypatch.setattr("gas.service.book.PATIENCE", 2)
    live = LiveScheduler("test", 10, tmp_path / "state")
    live.start()
    big, _ = live.submit(simulated(10, 5000))
    until(lambda: live.job(big.id).state == "running")
    for n in range(30):
        live.submit(simulated(3 + n % 5, 500 + n))
    live.cancel(big.id)
    until(lambda: not live._book.machine.schedule.unfinished and live.machine()["running"])
    live.stop()


def test_the_health_says_in_what_the_service_is_slow_and_waits_for_nothing(tmp_path, monkeypatch):
    live = LiveScheduler("test", 10, tmp_path / "state")
    live.start()
    assert live.health()["status"] == "ok"
    monkeypatch.setattr("gas.service.dispatcher.SLOW_SECONDS", 0.01)
    with live._lock:
        time.sleep(0.05)
        health = live.health()  # asked by the thread that holds the lock, which changes nothing
        assert (health["status"], health["durable"]) == ("degraded", True)
        assert "an operation has taken" in health["problem"]
    monkeypatch.setattr("gas.service.dispatcher.SLOW_SECONDS", 1.0)
    live._dispatcher._sleeps_until = time.monotonic() - 5
    assert "the dispatcher is 5 s late" in live.health()["problem"]
    live._dispatcher._sleeps_until = time.monotonic() + 60
    live._dispatcher._unfinished_since = time.monotonic() - 100
    assert "to earlier starts" in live.health()["problem"]
    live.stop()
