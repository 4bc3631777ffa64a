"""The order in which a scheduler learns of jobs, so that no decision depends on later events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workloads.log import Log

__all__ = ["NEVER", "ends", "knowledge"]

NEVER = -1
"""The end of a job whose end is unknown."""

_ENDED, _SUBMITTED, _ENDED_AT_ONCE = 0, 1, 2


def knowledge(submit: NDArray[np.int64], end: NDArray[np.int64]) -> Iterator[tuple[bool, int]]:
    """Yield (ended, row) in the order in which a scheduler learns of submissions and ends.

    At the same instant ends come before submissions, so that a decision at a submission knows of all jobs that ended at
    or before that second. The exception is a job that ends in the second of its own submission: it ends after all
    submissions of that second. Ties are in the order of rows.

    Parameters
    ----------
    submit, end
        Seconds, one of each per row; an end of -1 (`NEVER`) is never learned.

    Raises
    ------
    ValueError
        The columns differ in length, or a job ends before its submission.
    """
    if submit.ndim != 1 or submit.shape != end.shape:
        raise ValueError(f"submit has shape {submit.shape} and end {end.shape}; they need one number each per job")
    rows = np.arange(submit.size)
    ending = np.flatnonzero(end != NEVER)
    early = ending[end[ending] < submit[ending]]
    if early.size:
        row = int(early[0])
        raise ValueError(f"row {row} ends in second {end[row]}, before its submission in second {submit[row]}")
    kind = np.where(end[ending] == submit[ending], _ENDED_AT_ONCE, _ENDED)
    kinds = np.concatenate((kind, np.full(rows.size, _SUBMITTED)))
    of = np.concatenate((ending, rows))
    order = np.lexsort((of, kinds, np.concatenate((end[ending], submit))))
    return zip((kinds[order] != _SUBMITTED).tolist(), of[order].tolist(), strict=True)


def ends(log: Log) -> NDArray[np.int64]:
    """Return the ends of a log's jobs: submit + wait + run time as recorded, `NEVER` if one of these is unknown.

    In seconds since second 0 of the log, rounded up: no decision learns of an end before it.
    """
    known = (log.wait >= 0) & (log.run_time >= 0)
    return np.where(known, np.ceil(log.submit + log.wait + log.run_time), NEVER).astype(np.int64)
