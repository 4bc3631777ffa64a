"""Asking a scheduler that does not tell, again and again, and for some time also one that does not answer any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gas.errors import TooMany, Unreachable

__all__ = ["Poll"]


class Poll:
    """One that is asked until something has happened.

    Parameters
    ----------
    patience
        Seconds for which it is asked on after its last answer. One that has never answered is not asked again.
    remark
        Called with what the user should know: that it does not answer.
    again
        What is done about that, in words.
    clock
        Of which seconds are read.

    Attributes
    ----------
    pause
        Seconds before the next question.
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
        """Overlook that there is no answer within this context; say it, but not twice.

        Parameters
        ----------
        passing
            Other errors of one that has answered, which are waited for without an end.

        Raises
        ------
        Unreachable, TooMany
            Patience is over.
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
        """Take it that it has answered, whatever comes of the answer."""
        self._heard = self._clock()

    def lengthen(self, pauses: tuple[float, float], *, changed: bool) -> None:
        """Make the pause the shortest after a change, and by and by the longest without."""
        self.pause = pauses[0] if changed or not self.pause else min(pauses[1], 1.3 * self.pause)
