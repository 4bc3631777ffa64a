"""The service's clock: integer seconds, perhaps faster than the world's (`gas serve --clock-speed`)."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Clock"]


class Clock:
    """Scheduler time, ``origin + (real time - real_origin) * speed``, that never goes back.

    Parameters
    ----------
    speed
        Scheduler seconds per real second.
    origin, real_origin
        An instant of the scheduler and the real one (both epoch seconds) at which it was that late; by default, now.
    real
        Where real time comes from, epoch seconds; tests pass their own.
    """

    def __init__(
        self,
        speed: float = 1.0,
        *,
        origin: float | None = None,
        real_origin: float | None = None,
        real: Callable[[], float] | None = None,
    ) -> None:
        self.speed = speed
        # Steps of the wall clock must not move the schedule: it is read once, and the steady clock from then on.
        wall, steady = time.time(), time.monotonic()
        self._real = real or (lambda: wall + time.monotonic() - steady)
        self._real_origin = self._real() if real_origin is None else real_origin
        self._origin = self._real() if origin is None else origin
        self._latest = int(self._origin)

    def now(self) -> int:
        """Return the scheduler's present second."""
        self._latest = max(self._latest, int(self._origin + (self._real() - self._real_origin) * self.speed))
        return self._latest

    def real_now(self) -> float:
        """Return the present real time, epoch seconds, as this clock counts it: steps of the wall clock left out."""
        return self._real()

    def real_time(self, instant: float) -> float:
        """Return when, in real epoch seconds, the scheduler's clock shows an instant."""
        return self._real_origin + (instant - self._origin) / self.speed

    def instant(self, real_time: float) -> int:
        """Return the scheduler's second at a real instant."""
        return int(self._origin + (real_time - self._real_origin) * self.speed)

    def accelerate(self, speed: float) -> None:
        """Go on from the present instant at another speed."""
        real = self._real()
        self._origin += (real - self._real_origin) * self.speed
        self._real_origin, self.speed = real, speed

    def seconds_until(self, instant: int) -> float:
        """Return how many real seconds are left until an instant; 0 for one that has passed."""
        return max(0.0, self.real_time(instant) - self._real())
