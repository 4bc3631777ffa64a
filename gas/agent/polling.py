"""Polling of a scheduler that sends no events; if it stops answering, Gas retries for some time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gas.errors import TooMany, Unreachable

__all__ = ["Poll"]


class Poll:
    """Polling of one scheduler until something has happened.

    Parameters
    ----------
    patience
        Seconds for which it is retried after its last answer. One that has never answered is not retried.
    remark
        Called with a message for the user when it does not answer.
    again
        End of that message.
    clock
        Seconds.

    Attributes
    ----------
    pause
        Seconds before the next poll.
    """

    def __init__(
        self,
        patience: float,
        remark: Callable[[str], object],
        again: str = "asking again",
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pause = 0.0
        self._patience, self._remark, self._again, self._clock = patience, remark, again, clock
        self._heard: float | None = None
        self._silent = False

    @contextmanager
    def asking(self, *passing: type[Exception]) -> Iterator[None]:
        """Ignore a missing answer within this context, with one remark.

        Parameters
        ----------
        passing
            Other errors to ignore, for any length of time, once it has answered.

        Raises
        ------
        Unreachable, TooMany
            There was no answer for `patience` seconds.
        """
        try:
            yield
        except Exception as error:
            if self._heard is None or not isinstance(error, (Unreachable, TooMany, *passing)):
                raise
            if not isinstance(error, passing) and self._clock() > self._heard + self._patience:
                raise
            if not self._silent:
                self._remark(f"{error}; {self._again}")
            self._silent = True
        else:
            self.heard()
            self._silent = False

    def heard(self) -> None:
        """Record that an answer has arrived."""
        self._heard = self._clock()

    def lengthen(self, pauses: tuple[float, float], *, changed: bool) -> None:
        """Set the shortest pause after a change; without one, lengthen it gradually up to the longest."""
        self.pause = pauses[0] if changed or not self.pause else min(pauses[1], 1.3 * self.pause)
