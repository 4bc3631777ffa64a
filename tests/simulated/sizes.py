"""Which sizes a machine may have, by what its operators asked for and were answered."""

from __future__ import annotations

import itertools
from dataclasses import dataclass


@dataclass(eq=False)
class Resize:
    """A request for another size.

    Attributes
    ----------
    sent, ended
        Its place, and that of its answer or of the service's death, in the order of all such events; None before.
    done
        An answer says that it was carried out. What was not answered may have been.
    """

    size: int
    sent: int
    ended: int | None = None
    done: bool = False


class Sizes:
    """The sizes that a machine may have.

    Requests may be on their way together, and are then carried out in any order. One that was carried out has undone
    those that had ended before it was sent, and no others.
    """

    def __init__(self, size: int) -> None:
        self._events = itertools.count()
        first = next(self._events)
        self._asked = [Resize(size, first, first, done=True)]

    @property
    def certain(self) -> Resize | None:
        """The latest request, if it was carried out, nothing undid it and nothing can have; else None."""
        return self._asked[0] if len(self._asked) == 1 else None

    @property
    def possible(self) -> set[int]:
        """The sizes that it may have now."""
        return {each.size for each in self._asked}

    def ask(self, size: int) -> Resize:
        """Note that a size is asked for, which may be carried out from now on."""
        asked = Resize(size, next(self._events))
        self._asked.append(asked)
        return asked

    def end(self, asked: Resize, *, done: bool | None) -> None:
        """Note the answer: carried out, refused (False), or neither is known (None)."""
        asked.ended, asked.done = next(self._events), bool(done)
        if done is False:
            self._asked.remove(asked)
        latest = max(each.sent for each in self._asked if each.done)
        self._asked = [each for each in self._asked if each.ended is None or each.ended >= latest]

    def service_died(self) -> None:
        """Note that what was not answered will not be carried out any more, and may have been."""
        for each in [each for each in self._asked if each.ended is None]:
            self.end(each, done=None)
