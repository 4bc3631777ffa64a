"""The service's clock: integer seconds that never go back, optionally faster than real time.

The service reads three clocks, each of which may be wrong. The *wall clock* is what people mean by "tomorrow at nine",
but it can be set: by NTP, by an operator, by a flat battery. *Elapsed time* (CLOCK_BOOTTIME) is never set and counts
the sleep of a suspended machine, but restarts with each boot. The *stored clock* is the last time shown before the
service was restarted. Walltimes are elapsed time (`gas.service.wrapper`); reservations and promises are wall clock
time. So the scheduler's clock runs by elapsed time and follows the wall clock if they differ:

    the wall clock is set ahead   After a minute, the clock jumps, which is an outage as any other: starts that fell
                                  into it are planned again. Running jobs have lost nothing of their walltime: their
                                  starts and ends move along (`gas.service.book`).
    the wall clock is set back    After a minute, the clock runs at a tenth of its pace until both agree. It never goes
                                  back, so no promise breaks. Jobs end by elapsed time, hence early by a slow clock, and
                                  the jobs behind them are started then. (A stopped clock would keep reservations to the
                                  second, but also keep an idle machine idle.)
    suspended, or SIGSTOP         The clock continues.
    restarted in the same boot    Elapsed time gives the length of the outage, independently of the wall clock. Within
                                  this limit the clock comes as near to the wall clock as it can.
    restarted after a boot        Only the wall clock gives the length. If it is behind the stored clock, it is not
                                  believed: the clock continues slowly from the stored one until the wall clock has
                                  caught up.
    a speed other than 1          Scheduler time is independent of the wall clock from then on, and follows no steps.
    ``gas serve --reset-clock``   The wall clock's time, even if it is earlier: only if nothing is scheduled.

A step that has not lasted for a minute is often a mistake about to be corrected; a jump cannot be undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from gas.errors import StoreDamaged
from gas.service import wrapper
from gas.times import duration_text

__all__ = ["RECORD_SECONDS", "STEP_SECONDS", "Clock"]

STEP_SECONDS = 5.0
"""Largest ignored difference of wall clock and scheduler's clock: the second of a start is not worth a jump."""

SETTLE_SECONDS = 60.0
"""Seconds that a step of the wall clock must last before it is followed."""

SLOW = 0.1
"""Pace of a clock that is ahead of the wall clock, as a share of the usual one."""

RECORD_SECONDS = 60.0
"""Longest interval in real seconds between two records of the clock: after a crash it resumes at or after them."""

_PIECES = 64


class _Piece(NamedTuple):
    """A period from a real instant on: the clock shows `shown` and runs at `rate` scheduler seconds per real second."""

    real: float
    shown: float
    rate: float


class _Record(NamedTuple):
    """A clock as stored: the time shown, with real and elapsed time, and the boot."""

    shown: float
    real: float
    speed: float
    elapsed: float = 0.0
    boot: str = "-"
    apart: bool = False

    @classmethod
    def read(cls, text: str) -> _Record:
        """Read the text of `Clock.record`, also of an earlier version of Gas."""
        fields = text.split()
        try:
            shown, real, speed = map(float, fields[:3])
            record = cls(shown, real, speed)
            if len(fields) > 3:
                elapsed, boot, apart = fields[3:]
                record = record._replace(elapsed=float(elapsed), boot=boot, apart=apart == "apart")
            if not 0 < record.speed < float("inf") or not all(abs(each) < 1e15 for each in (*record[:2], record[3])):
                raise ValueError
        except (TypeError, ValueError):
            raise StoreDamaged(
                f"clock {text[:80]!r}: is not a record of S³; restore a backup with gas restore"
            ) from None
        return record


class Clock:
    """Scheduler time.

    *Real time* here is elapsed time since the first look at the wall clock, in epoch seconds: it has no steps.

    Parameters
    ----------
    speed
        Scheduler seconds per real second.
    origin, real_origin
        An instant of the scheduler's clock and the real one (both epoch seconds) that belong together; by default, now.
    real, wall
        Sources of elapsed seconds and of the wall clock's epoch seconds; `real` alone serves as both.
    boot
        Identifies this boot of the machine; elapsed times of different boots are not comparable.

    Attributes
    ----------
    apart
        Whether scheduler time is independent of the wall clock.
    turns
        Number of jumps and changes of pace; each one invalidates waits that were computed before.
    """

    _pieces: tuple[_Piece, ...]  # replaced, never changed: other threads read it
    _latest: int
    _known: float  # wall clock minus real time at the latest look
    _stepped: float | None  # the real instant of a step that is not followed yet

    def __init__(
        self,
        speed: float = 1.0,
        *,
        origin: float | None = None,
        real_origin: float | None = None,
        real: Callable[[], float] | None = None,
        wall: Callable[[], float] | None = None,
        boot: str | None = None,
    ) -> None:
        self.speed = speed
        self.apart = speed != 1 or origin is not None
        self.turns = 0
        self._elapsed = real or wrapper.clock
        self._wall = wall or real or time.time
        self._boot = (boot if boot is not None else "" if real else _boot_identity()) or "-"
        self._shift = self._difference(0.0)
        real_now = self.real_now()
        real_origin = real_now if real_origin is None else real_origin
        self._begin(real_origin, real_origin if origin is None else origin)

    # ------------------------------------------------------------------------------------------------------- read

    def leeway(self, start_by: int) -> int:
        """Return the latest start that may be planned for a job that must not start after an instant.

        On a fast clock, many seconds pass while a request is in transit: one real second is granted.
        """
        return start_by + max(0, int(self.speed) - 1)

    def now(self) -> int:
        """Return the scheduler's present second."""
        self._latest = max(self._latest, int(self._shown(self.real_now())))
        return self._latest

    def real_now(self) -> float:
        """Return the present real time, epoch seconds."""
        return self._elapsed() + self._shift

    def real_time(self, instant: float) -> float:
        """Return the real epoch second at which the scheduler's clock shows an instant, or jumps over it."""
        pieces = self._pieces
        if instant < pieces[0].shown:
            return pieces[0].real + (instant - pieces[0].shown) / self.speed
        limit = float("inf")
        for piece in reversed(pieces):
            if piece.shown <= instant:
                return min(limit, piece.real + (instant - piece.shown) / piece.rate)
            limit = piece.real
        return limit

    def deadline(self, instant: int) -> float:
        """Return the real epoch second at which the clock would show an instant at its usual pace, without steps.

        So walltimes keep their real length while the clock is slow.
        """
        real = self.real_now()
        return real + (instant - self._shown(real)) / self.speed

    def instant(self, real_time: float) -> int:
        """Return the scheduler's second at a real instant."""
        return int(self._shown(real_time))

    def seconds_until(self, instant: int) -> float:
        """Return the real seconds left until an instant; 0 if it has passed."""
        return max(0.0, self.real_time(instant) - self.real_now())

    def offset(self) -> float | None:
        """Return the seconds by which the clock is ahead of the wall clock; None if it is independent of it."""
        return None if self.apart else self._shown(self.real_now()) - self.real_now() - self._difference(self._shift)

    def remark(self) -> str | None:
        """Return a sentence on the difference of scheduler's and wall clock; None if they agree."""
        offset = self.offset()
        if offset is None or abs(offset) <= STEP_SECONDS:
            return None
        if offset < 0:
            return (
                f"the machine's clock is {duration_text(round(-offset))} ahead of the scheduler's, which follows "
                "after a minute; starts due in between will be planned again"
            )
        return (
            f"the scheduler's clock is {duration_text(round(offset))} ahead of the machine's, which was set back: it "
            f"runs slowly until they agree, for another {duration_text(round(offset / (1 - SLOW)))}; with an empty "
            "schedule, gas serve --reset-clock corrects it"
        )

    # ----------------------------------------------------------------------------------------------------- change

    def accelerate(self, speed: float) -> None:
        """Continue from the present instant at another speed."""
        self.speed, self.apart = speed, True
        self._go_on(speed)

    def notice(self) -> float:
        """Return the seconds by which the wall clock was set, forward or (negative) back, since the last call.

        0 means no step, or one too small to follow; small ones add up.
        """
        difference = self._difference(self._shift)
        step = difference - self._known
        if self.apart or abs(step) <= STEP_SECONDS:
            return 0.0
        self._known, self._stepped = difference, self.real_now()
        if self._pieces[-1].real > self._stepped:  # it has been slow since, which changes the remaining time
            self._set_pace()
        return step

    def follow(self) -> int:
        """Follow a step that has lasted long enough; return the seconds to `jump`, 0 for none.

        A clock that is ahead becomes slow from now on; no jump is needed.
        """
        offset = self.offset()
        if offset is None or self._stepped is None or self.real_now() - self._stepped < SETTLE_SECONDS:
            return 0
        if offset < -STEP_SECONDS:
            return round(-offset)
        self._stepped = None
        self._set_pace()
        return 0

    def jump(self, seconds: int) -> None:
        """Continue from an instant later than the present one."""
        self._stepped = None
        self._go_on(self.speed, seconds)

    # --------------------------------------------------------------------------------------------------- outlive

    def record(self, ahead: int = 0) -> str:
        """Return the clock, as it will be after a jump, as text for `resume`."""
        real = self.real_now()
        shown = max(self._shown(real), self._latest) + ahead
        apart = "apart" if self.apart else "wall"
        return f"{shown!r} {real!r} {self.speed!r} {real - self._shift!r} {self._boot} {apart}"

    def resume(self, text: str) -> int:
        """Resume a stored clock; return the seconds by which this one shows more.

        Raises
        ------
        StoreDamaged
            The text is not a stored clock.
        """
        record = _Record.read(text)
        elapsed = self._elapsed()
        wall = elapsed + self._difference(0.0)
        same_boot = record.boot == self._boot != "-" and record.elapsed <= elapsed
        away = elapsed - record.elapsed if same_boot else max(0.0, wall - record.real)
        self.apart = self.apart or record.apart or record.speed != 1
        if self.apart:
            shown = record.shown + away * record.speed
        elif same_boot:
            shown = min(max(wall, record.shown + min(away, RECORD_SECONDS)), record.shown + away)
        else:
            shown = max(wall, record.shown)
        self._shift = record.real + away - elapsed
        self._begin(record.real + away, shown)
        return int(shown) - int(record.shown)

    def reset(self, instant: int) -> int:
        """Show an instant, also an earlier one; return the seconds gained. No schedule may depend on the clock yet."""
        before, self.apart = self.now(), self.speed != 1
        self._begin(self.real_now(), instant)
        return instant - before

    # --------------------------------------------------------------------------------------------------- inside

    def _begin(self, real: float, shown: float) -> None:
        self._pieces = (_Piece(real, shown, self.speed),)
        self._latest = int(shown)
        self._known = self._difference(self._shift)
        offset = self.offset()
        self._stepped = self.real_now() if offset is not None and abs(offset) > STEP_SECONDS else None

    def _set_pace(self) -> None:
        """Run slowly while ahead of the wall clock, and at the usual pace from then on."""
        ahead = self.offset() or 0.0
        self._go_on(self.speed * SLOW if ahead > STEP_SECONDS else self.speed)
        if ahead > STEP_SECONDS:
            slow, lasts = self._pieces[-1], ahead / (1 - SLOW)
            agreed = _Piece(slow.real + lasts, slow.shown + lasts * slow.rate, self.speed)
            self._pieces = (*self._pieces, agreed)

    def _go_on(self, rate: float, ahead: float = 0.0) -> None:
        self.turns += 1
        real = self.real_now()
        past = tuple(piece for piece in self._pieces if piece.real <= real)[-_PIECES:]
        self._pieces = (*past, _Piece(real, self._shown(real) + ahead, rate))

    def _shown(self, real: float) -> float:
        for piece in reversed(self._pieces):
            if piece.real <= real:
                return piece.shown + (real - piece.real) * piece.rate
        return piece.shown + (real - piece.real) * self.speed

    def _difference(self, shift: float) -> float:
        """Return wall clock minus shifted elapsed time; both are read at one instant."""
        while True:
            before, wall, after = self._elapsed(), self._wall(), self._elapsed()
            if after - before < STEP_SECONDS / 2:  # else this process was stopped in between
                return wall - after - shift


def _boot_identity() -> str:
    try:
        return wrapper.boot_identity()
    except OSError:
        return ""
