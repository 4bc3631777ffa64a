"""A schedule as a file states it, ours or anybody's: what is known of each job, before anything is checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.simulation.schedule import NEVER_STARTED, Schedule

__all__ = ["UNKNOWN", "Recorded", "recorded"]

UNKNOWN = -1
"""Processors, estimate or run time that the file does not state."""

_COLUMNS = ("id", "submit", "processors", "estimate", "run_time", "start", "end", "withdrawn", "promise")


@dataclass(frozen=True, eq=False)
class Recorded:
    """Jobs and when they ran; arrays have one value a row of the file, in its order.

    Attributes
    ----------
    label
        What the file calls each job, if these are not all whole numbers; `id` then counts the rows.
    processors, estimate, run_time
        `UNKNOWN` where the file does not state them; `run_time` is stated beside `start` and `end` and may differ.
    start
        `NEVER_STARTED` for a job that left the queue without starting, and where no start is stated.
    end
        When the job gave its processors back or left the queue; without meaning where no start is stated.
    withdrawn
        Cancelled: while it waited if it never started, else while it ran.
    promise
        The promised start, `NEVER_STARTED` where none is stated; None if the file has no such column.
    machine
        Processors of the machine, if the file says.
    epoch
        Second 0 in seconds since 1970-01-01 00:00 UTC, if the file says.
    resolution
        Units of time in a second: 1, or 1,000,000 if the file has fractions of seconds.
    remarks
        What a reader of the audit should know of the file.
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
    label: tuple[str, ...] | None = None
    machine: int | None = None
    epoch: int | None = None
    resolution: int = 1
    name: str = "schedule"
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in _COLUMNS:
            array = getattr(self, column)
            kind = np.bool_ if column == "withdrawn" else np.int64
            if array is not None and (array.dtype != kind or array.shape != self.id.shape):
                raise ValueError(f"{column} has {array.dtype}{array.shape}, expected {kind.__name__}{self.id.shape}")

    def __len__(self) -> int:
        return len(self.id)

    def taken(self, rows: NDArray[np.int64]) -> Recorded:
        """Return these rows, in this order."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        columns = {name: None if column is None else column[rows] for name, column in columns.items()}
        label = None if self.label is None else tuple(self.label[row] for row in rows.tolist())
        return replace(self, **columns, label=label)

    @property
    def started(self) -> NDArray[np.bool_]:
        """Which jobs started."""
        started: NDArray[np.bool_] = self.start != NEVER_STARTED
        return started

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which jobs neither started nor were withdrawn."""
        return ~self.started & ~self.withdrawn

    def name_of(self, row: int) -> str:
        """Return what the file calls the job in a row."""
        return str(self.id[row]) if self.label is None else self.label[row]


def recorded(schedule: Schedule) -> Recorded:
    """Return a simulated schedule as a file of it would state it; reservations stand at the end, as jobs below 0.

    A reservation has no estimate: with one, the guarantee of EASY cannot be told from starts and ends alone.
    """
    jobs, held = schedule.jobs, schedule.reservations
    count = len(held)
    start, length = schedule.reserved, _column([one.walltime for one in held])
    cut = schedule.end - schedule.start < jobs.run_time
    promise = schedule.promise
    return Recorded(
        id=np.concatenate([jobs.id, -1 - np.arange(count, dtype=np.int64)]),
        submit=np.concatenate([jobs.submit, _column([one.submit for one in held])]),
        processors=np.concatenate([jobs.processors, _column([one.processors for one in held])]),
        estimate=np.concatenate([jobs.estimate, np.full(count, UNKNOWN, np.int64)]),
        run_time=np.concatenate([np.where(cut, UNKNOWN, jobs.run_time), length]),
        start=np.concatenate([schedule.start, start]),
        end=np.concatenate([schedule.end, start + length]),
        withdrawn=np.concatenate([cut | ~schedule.started, np.zeros(count, np.bool_)]),
        promise=None if promise is None else np.concatenate([promise, start]),
        machine=jobs.machine,
        name=schedule.policy or "schedule",
    )


def _column(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
