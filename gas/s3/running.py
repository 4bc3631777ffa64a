"""Running entries: their processors, and the first instant at which processors are due back."""

from __future__ import annotations

from gas.s3.entries import Entry

__all__ = ["Running"]


class Running:
    """The entries of a schedule that have started.

    Attributes
    ----------
    entries
        By id, in the order in which they started.
    in_use
        The processors that they hold, including overdue ones.
    """

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.in_use = 0
        self._first: int | None = None  # the first end; None: to be computed
        self._late_since: dict[int, int] = {}  # jobs whose processors were not due earlier

    def first_end(self) -> int | None:
        """Return the first instant at which processors are due back; None if none are held."""
        if self._first is None:
            self._first = min((e.end for e in self.entries.values()), default=None)
        return self._first

    def add(self, entry: Entry) -> None:
        """Add an entry that starts."""
        self.entries[entry.id] = entry
        self.in_use += entry.processors
        if self._first is not None:
            self._first = min(self._first, entry.end)

    def pop(self, id: int) -> Entry:
        """Remove and return an entry that has ended."""
        entry = self.entries.pop(id)
        self._late_since.pop(id, None)
        self.in_use -= entry.processors
        if entry.end == self._first:
            self._first = None
        return entry

    def outlast(self, now: int, *, after_outage: bool = False) -> set[int]:
        """Expect jobs that exceeded their walltime to need the same excess again, at least a second; return their ids.

        After an outage, or if the clock was set, all jobs are late, which does not mean that they cannot be ended: the
        excess is then counted from now.
        """
        late = [e for e in self.entries.values() if e.end < now]
        for e in late:
            if after_outage:
                self._late_since[e.id] = now
            e.end = now + max(1, now - self._late_since.get(e.id, e.start + e.walltime))
        if late:
            self._first = None
        return {e.id for e in late}

    def copy(self, entries: dict[int, Entry]) -> Running:
        """Return an independent copy that holds the entries given by id."""
        other = Running()
        other.entries = {id: entries[id] for id in self.entries}
        other.in_use, other._first = self.in_use, self._first
        other._late_since = dict(self._late_since)
        return other

    def check(self) -> None:
        """Raise `AssertionError` if the sums are not those of the entries."""
        held = sum(e.processors for e in self.entries.values())
        assert self.in_use == held, f"{held} processors are held, not {self.in_use}"
        first = min((e.end for e in self.entries.values()), default=None)
        assert self._first in (None, first), f"the first end is {first}, not {self._first}"
