"""Jobs as a scheduler sees them: rigid, in whole seconds and whole processors, on a machine of known size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from workloads.log import Log, LogError

__all__ = ["Overrun", "RigidJobs", "apply_overrun", "machine_size", "rigid_jobs"]

Overrun = Literal["kill", "extend"]
"""What becomes of a job that would outlive its estimate."""

_COLUMNS = ("id", "submit", "processors", "estimate", "run_time", "user", "group", "executable", "row")


@dataclass(frozen=True, eq=False)
class RigidJobs:
    """Jobs of fixed size, in the order of their submission; all columns are int64.

    Raises
    ------
    ValueError
        If the columns differ in length, are not sorted by submission, or hold a job that cannot be scheduled.
    """

    id: NDArray[np.int64]
    submit: NDArray[np.int64]
    """Seconds since second 0 of the log."""
    processors: NDArray[np.int64]
    """From 1 to `machine`."""
    estimate: NDArray[np.int64]
    """Seconds requested, at least 1."""
    run_time: NDArray[np.int64]
    """Seconds, 0 allowed; longer than the estimate until `apply_overrun` has decided what that means."""
    user: NDArray[np.int64]
    """-1 where unknown, as for `group` and `executable`."""
    group: NDArray[np.int64]
    executable: NDArray[np.int64]
    row: NDArray[np.int64]
    """Where each job stands in the columns of its log."""
    machine: int
    """Processors of the machine."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Jobs of the log left out, counted by reason."""

    def __post_init__(self) -> None:
        for name in _COLUMNS:
            column = getattr(self, name)
            if column.dtype != np.int64 or column.shape != self.id.shape or column.ndim != 1:
                raise ValueError(f"{name} has {column.dtype}{column.shape}, expected int64{self.id.shape}")
        limits = (
            ("submit", np.diff(self.submit, prepend=self.submit[:1]) < 0, "is before that of the job above"),
            ("processors", self.processors < 1, "is below 1"),
            ("processors", self.processors > self.machine, f"is more than the machine's {self.machine}"),
            ("estimate", self.estimate < 1, "is below 1 second"),
            ("run_time", self.run_time < 0, "is negative"),
        )
        for name, bad, problem in limits:
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                raise ValueError(f"job {self.id[at]}: {name} {getattr(self, name)[at]} {problem}")

    def __len__(self) -> int:
        return len(self.id)


def rigid_jobs(log: Log, processors: int | None = None) -> RigidJobs:
    """Return the jobs of a log that a machine can run.

    A job's processors are the requested ones where positive, else the allocated ones; its estimate is the requested
    time where positive, else its run time, at least 1 s. Fractions are cut off. Jobs with a negative run time, no
    processors, or more than the machine has are left out and counted, each under the first of these reasons.

    Parameters
    ----------
    processors
        Of the machine; by default what the log's header says (see `machine_size`).
    """
    machine = machine_size(log, processors)
    count = _whole(np.where(log.requested_processors > 0, log.requested_processors, log.allocated_processors))
    run_time = _whole(log.run_time)
    estimate = np.maximum(_whole(np.where(log.requested_time > 0, log.requested_time, log.run_time)), 1)
    submit = _whole(log.submit)

    reason = np.select([run_time < 0, count < 1, count > machine], [1, 2, 3], default=0)
    names = ("negative run time", "no processors", "more processors than the machine")
    skipped = {name: int(n) for name, n in zip(names, np.bincount(reason, minlength=4)[1:], strict=True) if n}

    kept = np.flatnonzero(reason == 0)
    kept = kept[np.argsort(submit[kept], kind="stable")]  # a log that was read is sorted already
    return RigidJobs(
        id=log.job[kept],
        submit=submit[kept],
        processors=count[kept],
        estimate=estimate[kept],
        run_time=run_time[kept],
        user=log.user[kept],
        group=log.group[kept],
        executable=log.executable[kept],
        row=kept.astype(np.int64),
        machine=machine,
        skipped=skipped,
    )


def machine_size(log: Log, processors: int | None = None) -> int:
    """Return the number of processors of the machine: as given, else MaxProcs, else MaxNodes of the header.

    Raises
    ------
    ValueError
        If the given number is not positive.
    LogError
        If neither the caller nor the header names a positive number.
    """
    if processors is not None:
        if processors < 1:
            raise ValueError(f"a machine of {processors} processors can run nothing; name 1 or more")
        return int(processors)
    for size in (log.header.max_procs, log.header.max_nodes):
        if size is not None and size > 0:
            return size
    raise LogError(
        log.name, "its header has neither MaxProcs nor MaxNodes; name the machine's number of processors yourself"
    )


def apply_overrun(jobs: RigidJobs, rule: Overrun = "kill") -> RigidJobs:
    """Return the jobs with no run time beyond its estimate.

    Parameters
    ----------
    rule
        "kill" cuts the run time at the estimate, as a scheduler does that enforces the walltime; "extend" raises
        the estimate to the run time.
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
