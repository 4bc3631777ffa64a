"""A machine's clocks, set by a test: the wall clock, elapsed time, and boots."""

from gas.service.clock import Clock

START = 1_000_000
"""The wall clock's first reading."""


class World:
    """Elapsed time, and a wall clock that has been set by some seconds."""

    def __init__(self):
        self.elapsed, self.set_by, self.boot = 5000.0, 0.0, "boot-1"

    @property
    def wall(self):
        return START - 5000 + self.elapsed + self.set_by

    def clock(self, speed=1.0):
        return Clock(speed, real=lambda: self.elapsed, wall=lambda: self.wall, boot=self.boot)

    def reboot(self, off):
        """Switch the machine off for some seconds; elapsed time begins anew."""
        self.set_by += self.elapsed + off
        self.elapsed, self.boot = 0.0, "boot-2"

    def next_life(self, clock, speed=1.0, away=0):
        """Save a clock's state, let time pass, and go on with a new clock."""
        text = clock.record()
        self.elapsed += away
        new = self.clock(speed)
        new.resume(text)
        return new

    def settle(self, clock):
        """Let a step persist for a minute, looking at times as the dispatcher does; return the jump that is due."""
        for _ in range(12):
            clock.notice()
            assert clock.follow() == 0
            self.elapsed += 5
        return clock.follow()
