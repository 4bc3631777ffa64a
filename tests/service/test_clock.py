import random
import time

import pytest
from hand import Hand

from gas.errors import StoreDamaged
from gas.service.clock import Clock
from tests.world_time import START, World

HOUR, DAY = 3600, 86400


@pytest.fixture
def world():
    return World()


def test_the_clock_counts_whole_seconds_at_its_speed():
    hand = Hand(1000.0)
    clock = Clock(10, origin=500, real=hand)
    hand.time = 1002.55
    assert clock.now() == 525
    assert clock.instant(1001) == 510
    assert clock.real_time(530) == 1003.0
    assert clock.seconds_until(530) == 1003.0 - 1002.55
    assert clock.seconds_until(500) == 0


def test_it_never_goes_back():
    hand = Hand(1000.0)
    clock = Clock(real=hand)
    hand.time = 1010
    assert clock.now() == 1010
    hand.time = 990
    assert clock.now() == 1010


def test_it_goes_on_from_the_present_at_another_speed():
    hand = Hand(1000.0)
    clock = Clock(real=hand)
    hand.time = 1005
    clock.accelerate(100)
    hand.time = 1006
    assert clock.now() == 1105


def test_by_itself_it_shows_the_time_of_day():
    assert abs(Clock().now() - time.time()) < 2


def test_a_suspended_machine_s_sleep_counts(world):
    """Elapsed time is CLOCK_BOOTTIME, which continues in sleep as the wall clock does."""
    clock = world.clock()
    world.elapsed += HOUR
    assert (clock.now(), clock.notice(), clock.remark()) == (START + HOUR, 0, None)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_step_of_the_wall_clock_is_noticed_at_once_and_changes_nothing_for_a_minute(world, step):
    clock = world.clock()
    world.set_by = step
    assert clock.notice() == step
    assert clock.notice() == 0, "it is told once"
    assert clock.offset() == -step
    assert "1h00m ahead" in clock.remark()
    world.elapsed += 59
    assert (clock.follow(), clock.now()) == (0, START + 59)


def test_a_step_that_is_mended_within_a_minute_leaves_no_trace(world):
    clock = world.clock()
    world.set_by = 365 * DAY
    clock.notice()
    world.elapsed += 30
    world.set_by = 0
    assert clock.notice() == -365 * DAY
    assert world.settle(clock) == 0
    assert (clock.now(), clock.remark()) == (START + 90, None)


def test_a_wall_clock_set_ahead_is_followed_by_a_jump(world):
    clock = world.clock()
    world.set_by = HOUR
    assert world.settle(clock) == HOUR
    assert clock.follow() == HOUR, "it stays due until it was made"
    clock.jump(HOUR)
    assert clock.now() == world.wall == START + 60 + HOUR
    assert (clock.follow(), clock.notice(), clock.remark()) == (0, 0, None)
    before, after = START + 59, START + 70 + HOUR
    real = clock.real_now()
    assert clock.real_time(before) == real - 1
    assert clock.real_time(START + 60 + HOUR // 2) == real, "what the jump left out was then"
    assert clock.real_time(after) == real + 10
    assert (clock.instant(real - 1), clock.instant(real + 10)) == (before, after)


def test_a_wall_clock_set_back_is_waited_for_slowly(world):
    clock = world.clock()
    world.set_by = -HOUR
    assert world.settle(clock) == 0
    begun = clock.now()
    assert "1h00m ahead of the machine's" in clock.remark()
    world.elapsed += 100
    assert clock.now() == begun + 10
    assert clock.seconds_until(begun + 20) == pytest.approx(100)
    assert clock.deadline(begun + 20) == pytest.approx(clock.real_now() + 10), "a walltime is elapsed time"
    agreed = begun + HOUR // 9
    assert clock.seconds_until(agreed) == pytest.approx(HOUR / 0.9 - 100, abs=11)
    world.elapsed += HOUR
    assert clock.now() > world.wall
    world.elapsed += HOUR / 9
    assert (clock.now(), clock.remark()) == (int(world.wall), None)
    world.elapsed += 100
    assert clock.now() == int(world.wall), "at its usual pace again"


def test_a_wall_clock_that_is_put_right_ends_the_slow_pace(world):
    clock = world.clock()
    world.set_by = -DAY
    assert world.settle(clock) == 0
    world.elapsed += 100
    world.set_by = 0
    assert world.settle(clock) == pytest.approx(90, abs=1)  # lost at a tenth of the pace
    clock.jump(90)
    world.elapsed += 1000
    assert clock.now() == pytest.approx(world.wall, abs=2)


def test_small_steps_are_let_be_until_they_add_up(world):
    clock = world.clock()
    for _ in range(2):
        world.set_by -= 2.0
        assert world.settle(clock) == 0
    assert (clock.notice(), clock.remark()) == (0, None)
    world.set_by -= 2.0
    assert clock.notice() == -6
    assert "ahead" in clock.remark()


def test_a_fast_clock_follows_no_steps(world):
    clock = world.clock(60)
    world.set_by = HOUR
    assert (clock.notice(), world.settle(clock)) == (0, 0)
    assert (clock.offset(), clock.remark()) == (None, None)
    assert clock.now() == START + 60 * 60


@pytest.mark.parametrize("step", [0, 100 * DAY, -DAY])
def test_elapsed_time_says_how_long_the_service_was_away(world, step):
    """Whatever the wall clock shows: if it is ahead, it is followed later."""
    clock = world.clock()
    world.set_by = step
    new = world.next_life(clock, away=50)
    assert new.now() == START + 50
    assert new.offset() == -step
    assert (new.remark() is None) == (step == 0)


def test_a_step_back_that_the_time_away_makes_up_for_is_followed_in_it(world):
    clock = world.clock()
    world.set_by = -HOUR / 2
    new = world.next_life(clock, away=HOUR)
    assert (new.now(), new.remark()) == (START + HOUR // 2, None)


def test_a_step_back_over_a_restart_is_waited_for_slowly(world):
    clock = world.clock()
    world.set_by = -DAY
    new = world.next_life(clock, away=HOUR)
    assert new.now() == START + 60, "as long as the earlier life may have gone on since it wrote its clock down"
    assert world.settle(new) == 0
    now = new.now()
    world.elapsed += 100
    assert new.now() == now + 10


def test_real_time_goes_on_over_restarts_in_one_boot(world):
    """Job records use it: an end while the service was away keeps its instant."""
    clock = world.clock()
    world.elapsed += 100
    ended = clock.real_now() + 20
    world.set_by = -DAY
    new = world.next_life(clock, away=50)
    assert new.instant(ended) == START + 120
    assert new.now() == START + 150


@pytest.mark.parametrize(("step", "away"), [(0, HOUR), (100 * DAY, 100 * DAY + HOUR), (-DAY, 0)])
def test_after_a_boot_the_wall_clock_is_believed_unless_it_is_behind(world, step, away):
    clock = world.clock()
    text = clock.record()
    world.reboot(HOUR)
    world.set_by += step
    new = world.clock()
    assert new.resume(text) == away
    assert new.now() == START + away
    assert (new.remark() is None) == (step >= 0)
    assert world.settle(new) == 0
    now = new.now()
    world.elapsed += 100
    assert new.now() - now == (100 if step >= 0 else 10)


def test_elapsed_time_that_is_less_than_before_is_not_believed(world):
    """As in another time namespace, or on a machine restored from a snapshot."""
    clock = world.clock()
    text = clock.record()
    world.elapsed, world.set_by = 10.0, 4990 + HOUR
    new = world.clock()
    new.resume(text)
    assert new.now() == START + HOUR


@pytest.mark.parametrize("speed", [1.0, 60.0])
@pytest.mark.parametrize("boot", ["boot-1", "boot-2"])
def test_a_clock_that_ran_apart_goes_on_apart(world, speed, boot):
    clock = world.clock(60)
    world.elapsed += 100
    assert clock.now() == START + 6000
    world.boot = boot
    new = world.next_life(clock, speed=speed, away=10)
    assert new.now() == START + 6600
    last = world.next_life(new, speed=speed, away=10)
    assert last.now() == START + 6600 + 10 * speed
    assert last.offset() is None


def test_a_clock_of_an_earlier_version_is_understood(world):
    new = world.clock()
    assert new.resume(f"{START + 500} {START + 500.0} 1.0") == 0
    assert new.now() == START + 500
    world.elapsed += 100
    assert new.now() == START + 600


@pytest.mark.parametrize("text", ["", "1", "x y z", "1 2 0", "1 2 nan", "inf 2 1", "1 2 1 3 b", "1 2 1 x b wall"])
def test_a_damaged_clock_is_named(world, text):
    with pytest.raises(StoreDamaged, match="is not a record of S³"):
        world.clock().resume(text)


def test_a_clock_is_reset_to_an_earlier_instant_where_that_is_wanted(world):
    clock = world.clock()
    world.set_by = -DAY
    new = world.next_life(clock)
    assert new.reset(int(world.wall)) == -DAY
    assert (new.now(), new.remark()) == (START - DAY, None)


def test_a_process_that_was_stopped_between_two_clocks_takes_that_for_no_step(world):
    stops = iter([])

    def wall():
        world.elapsed += next(stops, 0)
        return world.wall

    clock = Clock(real=lambda: world.elapsed, wall=wall, boot="boot-1")
    stops = iter([HOUR])
    assert (clock.notice(), clock.now()) == (0, START + HOUR)


class Fate:
    """Events that may happen to a clock, drawn from a seed."""

    def __init__(self, seed):
        self.random, self.world = random.Random(seed), World()
        self.clock = self.world.clock()
        self.shown = self.clock.now()

    def step(self):
        world, size = self.world, self.random.choice([1, 10, HOUR, DAY, 100 * DAY])
        kind = self.random.choice(["set", "sleep", "work", "work", "work", "restart", "crash", "reboot"])
        if kind == "set":
            world.set_by += self.random.choice([-1, 1]) * size
        elif kind == "sleep":
            world.elapsed += size
        elif kind == "work":
            for _ in range(self.random.randrange(40)):
                world.elapsed += 5
                self.look()
        elif kind == "restart":
            self.clock = world.next_life(self.clock, away=size)
        elif kind == "crash":
            text = self.clock.record()
            world.elapsed += self.random.randrange(60)
            self.shown = self.clock.now()  # a jump would have been written down
            self.clock = world.clock()
            self.clock.resume(text)
        else:
            text = self.clock.record()
            world.reboot(size)
            world.boot = f"boot-{self.random.random()}"
            self.clock = world.clock()
            self.clock.resume(text)
        self.look()

    def look(self):
        before = self.clock.now()
        assert before >= self.shown, "it went back"
        self.clock.notice()
        if ahead := self.clock.follow():
            self.clock.jump(ahead)
            assert abs(self.clock.offset()) < 1
        now, real = self.clock.now(), self.clock.real_now()
        assert now >= before
        for instant in (now + 1, now + 100):
            assert self.clock.instant(self.clock.real_time(instant) + 1e-3) == instant
        assert self.clock.real_time(now) <= real + 1e-6
        self.shown = now


@pytest.mark.parametrize("seed", range(100))
def test_whatever_happens_it_never_goes_back_and_comes_to_agree_with_the_wall_clock(seed):
    fate = Fate(seed)
    for _ in range(60):
        fate.step()
    world, ahead = fate.world, max(0, fate.clock.offset())
    for _ in range(30):
        world.elapsed += 5
        fate.look()
    world.elapsed += ahead / 0.9 + 100
    fate.look()
    assert abs(fate.clock.offset()) <= 5
    assert fate.clock.remark() is None
