"""Grace for ended jobs that only a jump of the clock made old.

After a jump (the wall clock was set, the machine was off for a month, a battery was flat), jobs seem to have ended long
ago, although their owners had no chance to read the output; and the jump may be a mistake. For some time of service,
their age is counted without the jump.
"""

from __future__ import annotations

from typing import NamedTuple

from gas.errors import StoreDamaged
from gas.times import duration_text

__all__ = ["GRACE_SECONDS", "JUMP_SECONDS", "Grace"]

JUMP_SECONDS = 86400
"""The longest advance of the clock, by a jump or while the service was away, that gives no grace."""

GRACE_SECONDS = 7 * 86400
"""Scheduler seconds that the service must run before a jump counts as time; less if `keep` is less."""


class Grace(NamedTuple):
    """A jump of the clock by `jumped` seconds at the instant `since`, which moves on while the service is off."""

    since: int = 0
    jumped: int = 0

    @classmethod
    def read(cls, text: str) -> Grace:
        """Parse the result of `text`."""
        try:
            since, jumped = map(int, text.split())
        except ValueError:
            raise StoreDamaged(
                f"grace {text[:80]!r}: is not a record of S³; restore a backup with gas restore"
            ) from None
        return cls(since, max(0, jumped))

    def text(self) -> str:
        """Return it as text, for `read`."""
        return f"{self.since} {self.jumped}"

    def after(self, advance: int, now: int) -> Grace:
        """Return the grace after the clock has advanced to `now` while the service was not running.

        Such time does not use up the grace. Jumps that follow each other within it add up.
        """
        if not self.lasts(now - advance, GRACE_SECONDS):
            return Grace(now, advance) if advance > JUMP_SECONDS else self
        if advance > JUMP_SECONDS:
            return Grace(now, self.jumped + advance)
        return self._replace(since=self.since + advance)

    def until(self, keep: int) -> int:
        """Return the instant at which it ends, if ended jobs are kept for a given time in seconds."""
        return self.since + min(GRACE_SECONDS, keep)

    def lasts(self, now: int, keep: int) -> bool:
        """Return whether a jump does not count yet."""
        return self.jumped > 0 and now < self.until(keep)

    def remarks(self, now: int) -> list[str]:
        """Return notices for the operator, as sentences."""
        if not self.lasts(now, GRACE_SECONDS):
            return []
        left = duration_text(self.until(GRACE_SECONDS) - now)
        return [
            f"the clock has jumped by {duration_text(self.jumped)}: ended jobs that became too old by this are kept "
            f"for another {left} of service, or for --keep if that is shorter"
        ]

    def oldest(self, now: int, keep: int) -> int:
        """Return the instant before which a job must have ended to be deleted."""
        return now - keep - (self.jumped if self.lasts(now, keep) else 0)
