"""The effect of arbitrary changes of the machine's clocks on schedule, promises, processes and outputs."""

import logging
import random
import sqlite3
import time
from dataclasses import replace

import pytest

from gas.errors import Conflict
from gas.service.jobs import JobRequest
from gas.service.live import LiveScheduler
from tests.world_time import START, World

HOUR, DAY = 3600, 86400


@pytest.fixture
def world():
    return World()


@pytest.fixture
def begin(tmp_path, world):
    """Begin a life of the service on the same store, after ending the last one."""
    lives = []

    def begin(*, clean=True, **options):
        if lives and clean:
            lives[-1].stop()
        lives.append(LiveScheduler("test", 10, tmp_path / "state", clock=world.clock(), **options))
        return lives[-1]

    yield begin
    for job in lives[-1].jobs():
        lives[-1].cancel(job.id)
    lives[-1].stop()


def simulated(processors, walltime, run_time=None, **more):
    lasts = walltime if run_time is None else run_time
    return JobRequest("job", "job", processors, walltime, actuator="simulated", run_time=lasts, **more)


def process(processors, walltime):
    return JobRequest("job", "job", processors, walltime, actuator="process", command=("sleep", "600"))


def reservation(processors, start, walltime):
    return JobRequest("reservation", "r", processors, walltime, actuator="none", start=start)


def running(live, request, world):
    """Return a started job."""
    job, _ = live.submit(request)
    world.elapsed += 1
    assert live.job(job.id).state == "running"
    return replace(live.job(job.id))


def queued(live, request):
    """Return an accepted job."""
    return replace(live.submit(request)[0])


def settle(live, world):
    """Let a step persist for a minute while the service looks at times; return the scheduler's clock."""
    for _ in range(13):
        live.machine()
        world.elapsed += 5
    live.machine()
    return live.clock.now()


def sound(live):
    with live.frozen() as machine:
        machine.schedule.check()


def until_ended(live, id):
    deadline = time.monotonic() + 60
    while live.job(id).active:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return live.job(id)


def cancelled(live, id):
    live.cancel(id)
    return until_ended(live, id)


@pytest.mark.parametrize("rebooted", [False, True])
def test_a_wall_clock_set_back_before_a_restart_gives_no_processor_away_and_breaks_no_promise(begin, world, rebooted):
    live = begin()
    first = running(live, simulated(8, 5000), world)
    second = queued(live, simulated(10, 100))
    last = live.clock.now()
    for _ in range(4):
        if rebooted:
            live.stop()
            world.reboot(10)
        world.set_by -= DAY
        world.elapsed += 10
        live = begin(clean=not rebooted)
        assert last <= live.clock.now() <= last + 10
        last = live.clock.now()
        assert live.availability().to_wire()["frames"][0] == {"start": last + 1, "end": first.due, "free": 2}
        assert live.job(first.id).due == first.due
        assert live.job(second.id).promise == second.promise
        assert live.health()["promises_broken"] == 0
        assert live.health()["status"] == "degraded"
        sound(live)


def test_the_clock_is_written_down_every_minute_for_lives_that_end_without_warning(begin, world, tmp_path):
    live = begin()
    world.elapsed += 10 * HOUR
    live.machine()
    shown = live.clock.now()
    world.set_by -= DAY
    assert begin(clean=False).clock.now() >= shown
    live.stop()


def test_an_output_is_not_deleted_at_once_because_the_wall_clock_was_set_ahead(begin, world, tmp_path, caplog):
    live = begin()
    job, _ = live.submit(JobRequest("job", "job", 10, 60, actuator="process", command=("echo", "x")))
    world.elapsed += 1
    until_ended(live, job.id)
    live.stop()
    world.reboot(100 * DAY)
    for _ in range(3):
        kept = begin(clean=False, keep=30 * DAY)
        kept.start()
        time.sleep(0.3)
        assert kept.output(job.id, "stdout", 10) == b"x\n"
        kept.stop()
    assert [r.getMessage() for r in caplog.records if "ended jobs that became too old by this" in r.getMessage()]
    kept = begin(clean=False, keep=30 * DAY)
    for _ in range(8):
        world.elapsed += DAY  # of service
        kept.machine()
    kept.stop()
    after = begin(clean=False, keep=30 * DAY)
    after.start()
    deadline = time.monotonic() + 10
    while after.jobs(ended=10):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_wall_clock_set_ahead_while_running_is_followed_as_an_outage(begin, world, caplog):
    live = begin()
    first = running(live, process(8, 1000), world)
    behind = queued(live, simulated(10, 100))
    soon = queued(live, simulated(2, 500, start=START + 600))
    nine = queued(live, reservation(10, START + 6 * HOUR, 600))
    world.set_by += HOUR
    assert live.machine()["clock_offset"] == -HOUR
    assert live.health()["status"] == "degraded"
    assert "1h00m ahead" in live.health()["problem"]
    assert b"gas_clock_offset_seconds -36" in live.metrics_text()
    now = settle(live, world)
    assert abs(now - world.wall) < 1
    assert live.machine()["clock_offset"] == 0
    assert live.health()["problem"] is None
    moved = live.job(first.id)
    assert moved.state == "running"
    assert (moved.start, moved.due) == (first.start + HOUR, first.due + HOUR), "all of its walltime"
    assert live.job(behind.id).broken_promise == behind.promise
    assert live.job(behind.id).start == moved.due
    assert live.job(soon.id).state == "running", "it fell due in the jump"
    assert live.job(nine.id).start == nine.start, "by the wall clock"
    assert live.health()["promises_broken"] == 2
    assert {record.event for record in caplog.records} >= {"clock_step", "clock_jump", "promise_broken"}
    sound(live)
    again = begin()
    assert again.job(first.id).due == first.due + HOUR
    world.elapsed += 200
    assert cancelled(again, first.id).finished == again.clock.now()


def test_a_wall_clock_set_back_while_running_breaks_nothing_and_reservations_come_right(begin, world):
    live = begin()
    first = running(live, process(8, 1000), world)
    behind = queued(live, simulated(10, 100))
    nine = queued(live, reservation(10, START + 6 * HOUR, 600))
    world.set_by -= HOUR
    before = settle(live, world)
    assert live.job(behind.id).promise == behind.promise
    assert live.job(first.id).due == first.due
    assert "1h00m ahead of the machine's" in live.health()["problem"] or "59m" in live.health()["problem"]
    world.elapsed += 100
    assert live.clock.now() == before + 10
    ended = cancelled(live, first.id)
    assert ended.finished == live.clock.now(), "early, by a slow clock"
    assert live.job(behind.id).start == live.clock.now() + 1, "and who waits for it gains"
    world.elapsed += 11
    assert live.job(behind.id).state == "running"
    world.elapsed += 5 * HOUR
    assert live.job(nine.id).state == "reserved"
    assert abs(live.clock.now() - world.wall) < 1
    world.elapsed += START + 6 * HOUR - world.wall
    assert live.job(nine.id).state == "running"
    assert live.job(nine.id).start == nine.start
    assert live.health()["promises_broken"] == 0
    assert live.health()["status"] == "ok"
    sound(live)


def test_a_jump_that_cannot_be_written_down_is_made_once_it_can(begin, world, monkeypatch):
    live = begin()
    first = running(live, process(8, 1000), world)
    world.set_by += HOUR
    write = live._store.write

    def fail(**changes):
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(live._store, "write", fail)
    now = settle(live, world)
    assert now < START + 200
    assert live.job(first.id).due == first.due
    assert "disk full" in live.health()["problem"]
    monkeypatch.setattr(live._store, "write", write)
    live.submit(simulated(1, 10))
    assert live.machine()["clock_offset"] == 0
    assert live.job(first.id).due == first.due + HOUR


def test_a_machine_that_slept_has_had_an_outage_and_no_step(begin, world, caplog):
    live = begin()
    live.start()
    running(live, simulated(10, 100), world)
    behind = queued(live, process(10, 100))
    world.elapsed += HOUR
    assert live.clock.now() == int(world.wall)
    late = live.job(behind.id)
    assert (late.broken_promise, late.start) == (behind.promise, live.clock.now() + 1)
    assert live.machine()["clock_offset"] == 0
    assert {record.event for record in caplog.records if record.levelno == logging.WARNING} == {
        "paused",
        "stalled",
        "promise_broken",
    }
    assert b"gas_paused_seconds_total 3599" in live.metrics_text()


def test_a_process_in_a_reservation_that_a_machine_slept_through_is_planned_again_and_said(begin, world, caplog):
    live = begin()
    live.start()
    start = START + HOUR // 2
    held = queued(live, JobRequest("reservation", "r", 10, 100, actuator="none", run_time=0, start=start))
    job = queued(live, replace(process(10, 100), start=start, reservation=held.id))
    assert (job.state, job.promise) == ("reserved", start)
    world.elapsed += HOUR
    late = live.job(job.id)
    assert (late.broken_promise, late.start) == (start, live.clock.now() + 1)
    assert "stalled" in {record.event for record in caplog.records}


def test_a_walltime_is_elapsed_time_whatever_the_clock_does(begin, world):
    """On a slow clock 4 s of scheduler time would take 40."""
    live = begin()
    world.set_by -= DAY
    settle(live, world)
    world.elapsed += 100
    job, _ = live.submit(process(10, 4))
    world.elapsed += 10
    assert live.job(job.id).state == "running"
    ended = until_ended(live, job.id)  # by the machine's own elapsed time; the world's stands still
    assert ended.state == "timeout"
    assert ended.finished <= ended.due


def test_an_end_while_the_service_was_away_keeps_its_instant_over_a_step(begin, world):
    """The wrapper writes it by the service's real time, which continues through steps."""
    live = begin()
    world.set_by += HOUR  # noticed, but not yet followed
    job, _ = live.submit(JobRequest("job", "job", 10, 60, actuator="process", command=("true",)))
    world.elapsed += 1
    live.job(job.id)
    time.sleep(1.0)
    world.elapsed += 50
    live = begin()
    done = until_ended(live, job.id)
    assert done.start <= done.finished <= done.start + 40


def test_only_an_empty_schedule_s_clock_can_be_set_back(begin, world):
    live = begin()
    job = running(live, simulated(8, 5000), world)
    live.stop()
    world.set_by -= DAY
    with pytest.raises(Conflict, match="--reset-clock: the schedule contains 1 job; drain it"):
        begin(clean=False, reset_clock=True)
    live = begin(clean=False)
    live.cancel(job.id)
    live.stop()
    live = begin(clean=False, reset_clock=True)
    assert live.clock.now() == int(world.wall)
    assert live.health()["status"] == "ok"
    assert live.submit(simulated(1, 10))[0].start == int(world.wall) + 1


class Fate:
    """A machine with jobs, and clocks that follow a seed."""

    def __init__(self, seed, world, begin):
        self.random, self.world, self.begin = random.Random(seed), world, begin
        self.live = begin()
        self.excused = False  # whether a jump or a restart may break promises
        self.broken = 0
        self.shown = 0

    def step(self):
        world, size = self.world, self.random.choice([7, 600, HOUR, DAY])
        kind = self.random.choice(["submit", "submit", "reserve", "set back", "set ahead", "work", "restart", "sleep"])
        if kind == "submit":
            walltime = self.random.randrange(10, 2000)
            self.live.submit(simulated(self.random.randint(1, 10), walltime, self.random.randint(1, walltime)))
        elif kind == "reserve":
            start = self.live.clock.now() + self.random.randrange(2, 5000)
            self.live.submit(
                reservation(self.random.randint(1, 10), start, 300) if self.free(start) else simulated(1, 9)
            )
        elif kind == "set back":
            world.set_by -= size
        elif kind == "set ahead":
            world.set_by += size
            self.excused = True
        elif kind == "work":
            for _ in range(20):
                world.elapsed += 5
                self.live.machine()
        elif kind == "restart":
            world.elapsed += self.random.randrange(20)
            self.excused = True  # starts may have been missed
            self.live = self.begin()
        else:  # simulated jobs go on by themselves
            world.elapsed += size
        self.look()

    def free(self, start):
        frames = self.live.availability().to_wire()["frames"]
        return all(frame["free"] == 10 for frame in frames if frame["end"] is None or frame["end"] > start)

    def look(self):
        now = self.live.machine()["now"]
        assert now >= self.shown, "it went back"
        self.shown = now
        sound(self.live)
        broken = self.live.health()["promises_broken"]
        assert broken == self.broken or self.excused
        self.broken = broken
        self.excused = self.live.clock.offset() < -5  # a jump is still to come


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_clocks_do_the_schedule_is_sound_and_only_outages_break_promises(seed, world, begin):
    fate = Fate(seed, world, begin)
    for _ in range(40):
        fate.step()
    world.elapsed += 400 * DAY
    fate.live.machine()
    world.elapsed += 1
    fate.live.machine()
    assert not fate.live.jobs(), "all have run"
