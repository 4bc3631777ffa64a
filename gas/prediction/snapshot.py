"""A machine at an instant: running jobs, waiting jobs and their planned starts.

Predictions need nothing else of a scheduler; live endpoints and simulations can both provide it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.times import LATEST, LONGEST

__all__ = ["UNPLANNED", "Snapshot"]

UNPLANNED = 2**62
"""The start of a waiting job without a plan."""

_COLUMNS = ("processors", "walltime", "start", "user")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Running and waiting jobs in the order of the queue (that of submission, under S³); columns are int64.

    Raises
    ------
    BadInput
        Jobs need more processors than the machine has, have no walltime, or start in an impossible order.
    """

    now: int
    """In epoch seconds, or those of a log."""
    machine: int
    """Processors of the machine."""
    processors: NDArray[np.int64]
    walltime: NDArray[np.int64]
    """Requested seconds."""
    start: NDArray[np.int64]
    """Actual start of a running job, planned start of a waiting one; or `UNPLANNED`."""
    running: NDArray[np.bool_]
    user: NDArray[np.int64]
    """A number for each user; -1 if unknown."""
    fixed: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    """Which of the waiting ones never move, like reservations; None for none."""
    not_before: NDArray[np.int64] | None = field(default=None, kw_only=True)
    """The instant before which a waiting job may not start; None if all may start at once."""
    submit: NDArray[np.int64] | None = field(default=None, kw_only=True)
    """Submission of each; None if unknown."""
    name: NDArray[np.int64] | None = field(default=None, kw_only=True)
    """A number for each name (of a script or program), -1 for a job without one; None if no names are known."""
    queue: NDArray[np.int64] | None = field(default=None, kw_only=True)
    """A number for each queue or partition, -1 if unknown; None if no queues are known."""

    def __post_init__(self) -> None:
        shape = self.running.shape
        for name in _COLUMNS:
            column = getattr(self, name)
            if column.dtype != np.int64 or column.shape != shape or column.ndim != 1:
                raise ValueError(f"{name} has {column.dtype}{column.shape}, expected int64{shape}")
        for name in ("submit", "name", "queue"):
            column = getattr(self, name)
            if column is not None and (column.dtype != np.int64 or column.shape != shape):
                raise ValueError(f"{name} has {column.dtype}{column.shape}, expected int64{shape}")
        if self.fixed is not None:
            if self.fixed.shape != shape:
                raise ValueError(f"fixed has shape {self.fixed.shape}, expected {shape}")
            self._check("start", self.start, self.fixed & (self.start == UNPLANNED))
        self._check("processors", self.processors, (self.processors < 1) | (self.processors > self.machine))
        if self.not_before is not None:
            if self.not_before.dtype != np.int64 or self.not_before.shape != shape:
                found = f"{self.not_before.dtype}{self.not_before.shape}"
                raise ValueError(f"not_before has {found}, expected int64{shape}")
            self._check("start", self.start, ~self.settled & (self.start < self.not_before))
        self._check("walltime", self.walltime, (self.walltime < 1) | (self.walltime > LONGEST))
        early = -LATEST + LONGEST
        self._check("start", self.start, (self.start < early) | ((self.start > LATEST) & (self.start != UNPLANNED)))
        if abs(self.now) > LATEST:
            raise BadInput(f"now {self.now}: is outside -{LATEST} to {LATEST} seconds")
        self._check("start", self.start, self.running & (self.start > self.now))
        self._check("start", self.start, ~self.running & (self.start < self.now))
        used = int(self.processors[self.running].sum())
        if used > self.machine:
            raise BadInput(f"the running jobs hold {used} processors, but the machine has {self.machine}")

    def _check(self, name: str, column: NDArray[np.int64], wrong: NDArray[np.bool_]) -> None:
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            what = "running" if self.running[at] else "waiting"
            raise BadInput(
                f"{what} job in place {at}: {name} {column[at]} cannot be, at {self.now} on {self.machine} processors"
            )

    def __len__(self) -> int:
        return len(self.running)

    def without(self, at: int) -> Snapshot:
        """Return the snapshot without the job at this index."""

        def kept(column: NDArray[Any] | None) -> Any:
            return None if column is None else np.delete(column, at)

        columns = ("fixed", "not_before", "submit", "name", "queue")
        return Snapshot(
            self.now,
            self.machine,
            *(kept(getattr(self, name)) for name in ("processors", "walltime", "start", "running", "user")),
            **{name: kept(getattr(self, name)) for name in columns},
        )

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Which jobs have a start that cannot change any more: running and fixed ones."""
        return self.running if self.fixed is None else self.running | self.fixed

    @property
    def waiting(self) -> int:
        """Number of jobs that wait in the queue."""
        return int(np.count_nonzero(~self.settled))

    @property
    def elapsed(self) -> NDArray[np.int64]:
        """Seconds that each job has run; 0 for a waiting one."""
        return np.where(self.running, self.now - self.start, 0)
