"""Jobs as a scheduler sees them: rigid, in whole seconds and whole processors, on a machine of known size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from workloads.header import Header
from workloads.log import PARTIAL, Log, LogError, is_unknown

__all__ = ["Overrun", "RigidJobs", "apply_overrun", "machine_size", "rigid_jobs"]

Overrun = Literal["kill", "extend"]
"""What happens to a job that would exceed its estimate."""

_COLUMNS = ("id", "submit", "processors", "estimate", "run_time", "user", "group", "executable", "row")


@dataclass(frozen=True, eq=False)
class RigidJobs:
    """Jobs of fixed size, in the order of their submission; all columns are int64.

    Raises
    ------
    ValueError
        The columns differ in length, are not sorted by submission, or have a job that cannot be scheduled.
    """

    id: NDArray[np.int64]
    submit: NDArray[np.int64]
    """Seconds since second 0 of the log."""
    processors: NDArray[np.int64]
    """From 1 to `machine`."""
    estimate: NDArray[np.int64]
    """Seconds requested, at least 1."""
    run_time: NDArray[np.int64]
    """Seconds, possibly 0; it may exceed the estimate until `apply_overrun` has been applied."""
    user: NDArray[np.int64]
    """-1 if unknown, as for `group` and `executable`; read-only, and of stride 0 if unknown for all jobs (see
    `workloads.log`), so copy it (`numpy.array`) for code that requires contiguous memory."""
    group: NDArray[np.int64]
    executable: NDArray[np.int64]
    row: NDArray[np.int64]
    """Index of each job in the columns of its log."""
    machine: int
    """Processors of the machine."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Jobs of the log left out, counted by reason."""
    header: Header = field(default_factory=Header)
    """Header of the log: calendar time of second 0, and acknowledgements, for display."""

    def __post_init__(self) -> None:
        for name in _COLUMNS:
            column = getattr(self, name)
            if column.dtype != np.int64 or column.shape != self.id.shape or column.ndim != 1:
                raise ValueError(f"{name} has {column.dtype}{column.shape}, expected int64{self.id.shape}")
        self._check("submit", np.flatnonzero(self.submit[1:] < self.submit[:-1]) + 1, "is before that of the job above")
        self._check("processors", np.flatnonzero(self.processors < 1), "is below 1")
        self._check(
            "processors",
            np.flatnonzero(self.processors > self.machine),
            f"is more than the machine's {self.machine}",
        )
        self._check("estimate", np.flatnonzero(self.estimate < 1), "is below 1 second")
        self._check("run_time", np.flatnonzero(self.run_time < 0), "is negative")

    def _check(self, name: str, bad: NDArray[np.intp], problem: str) -> None:
        if bad.size:
            at = int(bad[0])
            raise ValueError(f"job {self.id[at]}: {name} {getattr(self, name)[at]} {problem}")

    def __len__(self) -> int:
        return len(self.id)


def rigid_jobs(log: Log, processors: int | None = None) -> RigidJobs:
    """Return the jobs of a log that a machine can run.

    A job's processors are the requested ones if positive, otherwise the allocated ones; its estimate is the requested
    time if positive, otherwise its run time, at least 1 s. Fractions are cut off. Left out and counted, each under the
    first of these reasons, are partial executions (status 2, 3, 4) of a job with a line of its own, which includes
    their work; jobs without a run time (negative); without processors; and with more than the machine has.

    Parameters
    ----------
    processors
        Processors of the machine; by default those of the log's header (see `machine_size`).
    """
    machine = machine_size(log, processors)
    count = _whole(np.where(log.requested_processors > 0, log.requested_processors, log.allocated_processors))
    run_time = _whole(log.run_time)
    reason = np.zeros(len(log), dtype=np.int8)
    for number, bad in enumerate((count > machine, count < 1, run_time < 0, _parts(log)), 1):
        reason[bad] = number
    names = (
        "more processors than the machine",
        "no processors",
        "no run time",
        "part of a job with its own line",
    )
    counted = list(zip(names, np.bincount(reason, minlength=5)[1:].tolist(), strict=True))

    kept = np.flatnonzero(reason == 0)
    submit = _taken(_whole(log.submit), kept)
    if (submit[1:] < submit[:-1]).any():  # a log that was read is already sorted
        order = np.argsort(submit, kind="stable")
        submit, kept = submit[order], kept[order]
    count, run_time = _taken(count, kept), _taken(run_time, kept)
    asked = _taken(log.requested_time, kept)
    estimate = np.maximum(_whole(np.where(asked > 0, asked, run_time)), 1)
    del asked
    return RigidJobs(
        id=log.job[kept],
        submit=submit,
        processors=count,
        estimate=estimate,
        run_time=run_time,
        user=_identity(log.user, kept),
        group=_identity(log.group, kept),
        executable=_identity(log.executable, kept),
        row=kept.astype(np.int64, copy=False),
        machine=machine,
        skipped={name: number for name, number in reversed(counted) if number},
        header=log.header,
    )


def machine_size(log: Log, processors: int | None = None) -> int:
    """Return the number of processors of the machine: as given, otherwise MaxProcs, otherwise MaxNodes of the header.

    Raises
    ------
    ValueError
        The given number is not positive.
    LogError
        Neither the caller nor the header gives a positive number.
    """
    if processors is not None:
        if processors < 1:
            raise ValueError(f"processors {processors}: a machine has at least 1")
        return int(processors)
    for size in (log.header.max_procs, log.header.max_nodes):
        if size is not None and size > 0:
            return size
    raise LogError(
        log.name, "its header has neither MaxProcs nor MaxNodes; give the machine's number of processors yourself"
    )


def apply_overrun(jobs: RigidJobs, rule: Overrun = "kill") -> RigidJobs:
    """Return the jobs with no run time beyond its estimate.

    Parameters
    ----------
    rule
        "kill" cuts the run time at the estimate, like a scheduler that enforces the walltime; "extend" raises the
        estimate to the run time.
    """
    if rule == "kill":
        return replace(jobs, run_time=np.minimum(jobs.run_time, jobs.estimate))
    if rule == "extend":
        return replace(jobs, estimate=np.maximum(jobs.estimate, jobs.run_time))
    raise ValueError(f'overrun rule "{rule}" is not known; known: {", ".join(get_args(Overrun))}')


def _whole(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the values with their fractions cut off (towards zero)."""
    whole: NDArray[np.int64] = np.trunc(values).astype(np.int64)
    return whole


def _parts(log: Log) -> NDArray[np.bool_]:
    """Return which lines are partial executions of a job that also has a line for the whole."""
    part = np.zeros(len(log), dtype=bool)
    if not is_unknown(log.status):
        part = np.isin(log.status, PARTIAL)
        if part.any():
            part &= np.isin(log.job, log.job[~part])
    return part


def _taken(column: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """Return a column at some rows in their order; the column itself, not a copy, if these are all rows in order."""
    if rows.size == column.size and (rows[1:] > rows[:-1]).all():
        return column
    return column[rows]


def _identity(column: NDArray[np.int64], rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return an identity at some rows, without using memory if it is unknown for all."""
    if is_unknown(column):
        return np.broadcast_to(column[:1].reshape(()), rows.shape)
    found: NDArray[np.int64] = column[rows]
    found.setflags(write=False)
    return found
