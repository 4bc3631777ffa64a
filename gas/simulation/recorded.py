"""A schedule as read from a file, of Gas or another program, before it is checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.simulation.allocation import Allocation
from gas.simulation.schedule import NEVER_STARTED, Schedule
from workloads import RigidJobs
from workloads.log import LARGEST

__all__ = ["LARGEST_INSTANT", "LONGEST", "NOT_ENDED", "UNKNOWN", "Recorded", "as_schedule", "recorded", "shortened"]

NOT_ENDED = "not ended, or with no run time"
"""Why a started job is left out: without an end it cannot be checked."""

UNKNOWN = -1
"""Processors, estimate or run time that the file does not state."""

LARGEST_INSTANT = 2**33
"""Seconds from second 0 within which a file may have fractions of seconds: 272 years. Beyond that, double precision
does not resolve microseconds.
"""

LONGEST = 2**60
"""Units of time: the longest estimate or run time; an instant plus two of these is still far below the limit of
int64.
"""

_WORDS = {
    "submit": "submission",
    "start": "start",
    "end": "end",
    "promise": "promised start",
    "estimate": "estimate",
    "run_time": "run time",
}
_COLUMNS = (
    "id", "submit", "processors", "estimate", "run_time", "start", "end", "withdrawn", "promise", "reservation",
    "priority",
)  # fmt: skip
_FLAGS = ("withdrawn", "reservation")


@dataclass(frozen=True, eq=False)
class Recorded:
    """Jobs and when they ran; arrays have one value per row of the file, in its order.

    Attributes
    ----------
    reservation
        Which rows are reservations: they hold processors like jobs. None if there are none.
    label
        Name of each job in the file, unless all are whole numbers; `id` then counts the rows.
    processors, estimate, run_time
        `UNKNOWN` if the file does not state them; `run_time` is stated besides `start` and `end` and may differ.
    start
        `NEVER_STARTED` for a job that left the queue without starting, and if no start is stated.
    end
        When the job released its processors or left the queue; undefined if no start is stated.
    withdrawn
        Cancelled: while it waited if it never started, else while it ran.
    promise
        The promised start, `NEVER_STARTED` if none is stated; None if the file has no such column.
    priority
        Priority of each job; None if the file states none.
    allocated
        Processors of each job; None if the file does not list them, or not in a known form.
    machine
        Processors of the machine, if stated in the file.
    epoch
        Second 0 in seconds since 1970-01-01 00:00 UTC, if stated in the file.
    resolution
        Units of time in a second: 1, or 1,000,000 if the file has fractions of seconds.
    remarks
        Remarks on the file for readers of the audit.

    Raises
    ------
    BadInput
        A time is too large for microseconds, in a file that has fractions of seconds.
    """

    id: NDArray[np.int64]
    submit: NDArray[np.int64]
    processors: NDArray[np.int64]
    estimate: NDArray[np.int64]
    run_time: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    withdrawn: NDArray[np.bool_]
    promise: NDArray[np.int64] | None = None
    reservation: NDArray[np.bool_] | None = None
    priority: NDArray[np.int64] | None = None
    label: tuple[str, ...] | None = None
    allocated: Allocation | None = None
    machine: int | None = None
    epoch: int | None = None
    resolution: int = 1
    name: str = "schedule"
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in _COLUMNS:
            array = getattr(self, column)
            kind = np.bool_ if column in _FLAGS else np.int64
            if array is not None and (array.dtype != kind or array.shape != self.id.shape):
                raise ValueError(f"{column} has {array.dtype}{array.shape}, expected {kind.__name__}{self.id.shape}")
        if self.resolution != 1:
            for column in _WORDS:
                length = column in ("estimate", "run_time")
                self._refuse_beyond(column, LONGEST - 1 if length else LARGEST_INSTANT * self.resolution)

    def _refuse_beyond(self, column: str, limit: int) -> None:
        units = getattr(self, column)
        if units is None:
            return
        beyond = (units > limit) | (units < -limit)
        if column in ("start", "promise"):
            beyond &= units != NEVER_STARTED
        if beyond.any():
            row = int(np.flatnonzero(beyond)[0])
            known = -LONGEST < units[row] < LONGEST  # larger values were cut off on reading
            value = f", {int(units[row]) / self.resolution:.0f} s," if known else ""
            raise BadInput(
                f"{self.name}, job {shortened(self.name_of(row))}: its {_WORDS[column]}{value} is beyond "
                f"{limit // self.resolution} s, the limit for exact times with fractions of seconds; "
                "write whole seconds, or count from a later second 0"
            )

    def __len__(self) -> int:
        return len(self.id)

    def taken(self, rows: NDArray[np.int64]) -> Recorded:
        """Return these rows, in this order."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        columns = {name: None if column is None else column[rows] for name, column in columns.items()}
        label = None if self.label is None else tuple(self.label[row] for row in rows.tolist())
        allocated = None if self.allocated is None else self.allocated.taken(rows)
        return replace(self, **columns, label=label, allocated=allocated)

    @property
    def started(self) -> NDArray[np.bool_]:
        """Which jobs started."""
        started: NDArray[np.bool_] = self.start != NEVER_STARTED
        return started

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which jobs neither started nor were withdrawn."""
        return ~self.started & ~self.withdrawn

    @property
    def reserved(self) -> NDArray[np.bool_]:
        """Which rows are reservations."""
        return np.zeros(len(self), np.bool_) if self.reservation is None else self.reservation

    def name_of(self, row: int) -> str:
        """Return the name of the job in a row of the file."""
        return str(self.id[row]) if self.label is None else self.label[row]


def shortened(text: str, limit: int = 80) -> str:
    """Return a piece of a file for a message: on one line, and no longer than `limit` characters."""
    flat = " ".join(text[: 4 * limit].split())
    return flat if len(flat) <= limit and len(text) <= 4 * limit else flat[: limit - 1] + "…"


def recorded(schedule: Schedule) -> Recorded:
    """Return a simulated schedule as read from its file; reservations are at the end, numbered below 0."""
    jobs, held = schedule.finished().jobs, schedule.reservations
    count = len(held)
    start, length = schedule.reserved, _column([one.walltime for one in held])
    cut = schedule.end - schedule.start < jobs.run_time
    promise = schedule.promise
    return Recorded(
        id=np.concatenate([jobs.id, -1 - np.arange(count, dtype=np.int64)]),
        submit=np.concatenate([jobs.submit, _column([one.submit for one in held])]),
        processors=np.concatenate([jobs.processors, _column([one.processors for one in held])]),
        estimate=np.concatenate([jobs.estimate, length]),
        run_time=np.concatenate([np.where(cut, UNKNOWN, jobs.run_time), length]),
        start=np.concatenate([schedule.start, start]),
        end=np.concatenate([schedule.end, start + length]),
        withdrawn=np.concatenate([cut | ~schedule.started, np.zeros(count, np.bool_)]),
        promise=None if promise is None else np.concatenate([promise, start]),
        reservation=np.arange(len(jobs) + count) >= len(jobs) if count else None,
        priority=None if schedule.priority is None else np.concatenate([schedule.priority, np.zeros(count, np.int64)]),
        machine=jobs.machine,
        name=schedule.policy or "schedule",
    )


def as_schedule(given: Recorded, machine: int) -> Schedule | None:
    """Return the jobs that started or were withdrawn as a schedule with figures, in whole seconds, rounded down.

    None if no remaining job started, or their sizes add up to more than 2**53. Left out, and counted as skipped, are
    jobs that started on an unknown number of processors or ended before they started; and reservations. The machine has
    the size of the largest job.
    """
    jobs_known = ~given.reserved & (given.started | given.withdrawn)
    unusable = jobs_known & given.started & ((given.processors < 1) | (given.end < given.start))
    rows = np.flatnonzero(jobs_known & ~unusable)
    rows = rows[np.argsort(given.submit[rows] // given.resolution, kind="stable")]
    started = given.started[rows]
    submit, start, end = (column[rows] // given.resolution for column in (given.submit, given.start, given.end))
    size = given.processors[rows]
    if not started.any() or size.sum(dtype=np.float64) > LARGEST:  # figures are sums of floats
        return None
    unknown = np.broadcast_to(np.int64(UNKNOWN), rows.shape)
    jobs = RigidJobs(
        id=given.id[rows],
        submit=submit,
        processors=np.maximum(size, 1),
        estimate=np.maximum(given.estimate[rows] // given.resolution, 1),
        run_time=np.where(started, end - start, 0),
        user=unknown,
        group=unknown,
        executable=unknown,
        row=rows.astype(np.int64),
        machine=max(machine, int(size.max())),
        skipped={"processors or end unknown": count} if (count := int(np.count_nonzero(unusable))) else {},
    )
    return Schedule(jobs=jobs, start=np.where(started, start, NEVER_STARTED), end=np.maximum(end, submit))


def _column(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
