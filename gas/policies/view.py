"""The read-only view of jobs and the machine for policies written in Python.

It shows what a scheduler knows. A scheduler does not know run times, only the walltimes that jobs requested.
"""

from __future__ import annotations

from typing import Any

from documents.fields import nearest

__all__ = ["Job", "Machine", "comes", "ends", "is_waiting", "starts"]


class _Shown:
    """Read-only attributes, with a message for wrong names and for writes."""

    __slots__ = ()
    _names: tuple[str, ...] = ()
    _what = ""

    def __getattr__(self, name: str) -> Any:  # called only for missing attributes
        raise AttributeError(f'{self._what} has no attribute "{name}"{nearest(name, self._names)}')

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f'"{name}" of {self._what} cannot be set: policies only read, and return jobs from start()'
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f'"{name}" of {self._what} cannot be deleted: policies only read')


_set: Any = object.__setattr__


class Job(_Shown):
    """A job that has been submitted; `place` is its position in the log, from 0.

    Attributes
    ----------
    number
        Number in the log; a log may use a number twice.
    submit
        Submission in seconds of the log.
    processors
        Number of processors that it needs.
    walltime
        Requested seconds; the job ends by then, and mostly sooner.
    user, group
        Numbers; -1 if the log does not state them.
    start
        Start; None while the job waits.
    """

    __slots__ = ("group", "number", "place", "processors", "start", "submit", "user", "walltime")
    _names = ("number", "submit", "processors", "walltime", "user", "group", "start", "end_by")
    _what = "a job"
    number: int
    submit: int
    processors: int
    walltime: int
    user: int
    group: int
    start: int | None

    def __init__(
        self, place: int, number: int, submit: int, processors: int, walltime: int, user: int, group: int
    ) -> None:
        _set(self, "place", place)
        _set(self, "number", number)
        _set(self, "submit", submit)
        _set(self, "processors", processors)
        _set(self, "walltime", walltime)
        _set(self, "user", user)
        _set(self, "group", group)
        _set(self, "start", None)

    @property
    def end_by(self) -> int | None:
        """The end of its walltime, when it ends at the latest; None while it waits."""
        return None if self.start is None else self.start + self.walltime

    def __repr__(self) -> str:
        return f"<job {self.number}: {self.processors} processors, {self.walltime} s>"


class Machine(_Shown):
    """The machine and its queue at the present time.

    Attributes
    ----------
    now
        Present time in seconds of the log.
    processors
        Number of processors of the machine.
    free
        Number of free processors.
    """

    __slots__ = ("_lists", "_running", "_waiting", "free", "now", "processors")
    _names = ("now", "processors", "free", "waiting", "running")
    _what = "the machine"
    now: int
    processors: int
    free: int
    _waiting: dict[int, Job]
    _running: dict[int, Job]
    _lists: list[tuple[Job, ...] | None]

    def __init__(self, processors: int, now: int) -> None:
        _set(self, "processors", processors)
        _set(self, "free", processors)
        _set(self, "now", now)
        _set(self, "_waiting", {})
        _set(self, "_running", {})
        _set(self, "_lists", [None, None])

    @property
    def waiting(self) -> tuple[Job, ...]:
        """The jobs in the queue, in the order of their submission."""
        found = self._lists[0]
        if found is None:
            found = self._lists[0] = tuple(self._waiting.values())
        return found

    @property
    def running(self) -> tuple[Job, ...]:
        """The jobs that hold processors, in the order of their starts."""
        found = self._lists[1]
        if found is None:
            found = self._lists[1] = tuple(self._running.values())
        return found

    def __repr__(self) -> str:
        return (
            f"<machine at {self.now}: {self.free} of {self.processors} processors free, {len(self._waiting)} waiting, "
            f"{len(self._running)} running>"
        )


def comes(machine: Machine, job: Job, now: int) -> None:
    """Add an arriving job to the queue."""
    _set(machine, "now", now)
    machine._waiting[job.place] = job
    machine._lists[0] = None


def is_waiting(machine: Machine, job: Job) -> bool:
    """Return whether this very object is in the queue."""
    return machine._waiting.get(job.place) is job


def starts(machine: Machine, job: Job) -> None:
    """Give a waiting job its processors."""
    _set(job, "start", machine.now)
    _set(machine, "free", machine.free - job.processors)
    del machine._waiting[job.place]
    machine._running[job.place] = job
    machine._lists[:] = None, None


def ends(machine: Machine, now: int, places: list[int]) -> list[Job]:
    """Take back the processors of ended jobs, and return these jobs."""
    gone = [machine._running.pop(place) for place in places]
    _set(machine, "now", now)
    _set(machine, "free", machine.free + sum(job.processors for job in gone))
    machine._lists[1] = None
    return gone
