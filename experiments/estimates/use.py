"""The used share of estimates: counts as in Table 2, and the data of Fig. 8 and 9 (Mu'alem & Feitelson).

The paper names its counts without defining them. `COUNTS` holds every reading that was tried; the first one reproduces
the printed numbers: those of KTH, whose available log lacks a single job of the paper's, and those of CTC as far as its
cleaning allows a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workloads import Log

__all__ = ["CELL", "COUNTS", "LAST", "LONGEST", "SHORT", "Given", "count", "given", "picture_of"]

SHORT: Final = 90
"""Seconds; shorter jobs are called very short."""

LONGEST: Final = 2 * 3600
"""Seconds; the scatter plots show jobs with estimates up to this one."""

CELL: Final = 60
"""Seconds; side of a cell of the scatter plots, which show the number of jobs per cell."""

LAST: Final = 110
"""Per cent; the last class of the histograms also holds everything beyond."""


@dataclass(frozen=True, eq=False)
class Given:
    """Jobs that ran, with estimates and run times in whole seconds.

    `estimate` is 0 for jobs without one; histograms leave them out.
    """

    estimate: NDArray[np.int64]
    run_time: NDArray[np.int64]
    killed: NDArray[np.bool_]
    """Whether the log says that the job did not complete."""

    def __len__(self) -> int:
        return len(self.run_time)

    @property
    def hundredfold(self) -> NDArray[np.int64]:
        """Hundred times the run times, for exact comparisons with whole per cents of the estimate."""
        return 100 * self.run_time

    def between(self, low: float, high: float, *, left: bool = True, right: bool = False) -> NDArray[np.bool_]:
        """Return which jobs used from `low` to `high` per cent; `left` and `right`: whether each bound is included."""
        used, asked = self.hundredfold, self.estimate
        below = used <= high * asked if right else used < high * asked
        return self.beyond(low, left=left) & below

    def beyond(self, low: float, *, left: bool = True) -> NDArray[np.bool_]:
        """Return which jobs used `low` per cent or more."""
        used, asked = self.hundredfold, self.estimate
        found: NDArray[np.bool_] = (asked > 0) & (used >= low * asked if left else used > low * asked)
        return found


def given(log: Log, estimate: NDArray[np.int64] | None = None) -> tuple[Given, NDArray[np.intp]]:
    """Return the jobs of a log that ran, with their users' estimates or the given ones, and their rows.

    Fractions of seconds are cut off. A job that was removed before its start has no run time and did not run.
    """
    rows = np.flatnonzero(log.run_time >= 0)
    asked = log.requested_time if estimate is None else estimate
    return (
        Given(
            np.maximum(np.trunc(asked[rows]), 0).astype(np.int64),
            np.trunc(log.run_time[rows]).astype(np.int64),
            np.isin(log.status[rows], (0, 5)),
        ),
        rows,
    )


Reading = Callable[[Given], NDArray[np.bool_]]


def _killed(reading: Reading) -> Reading:
    return lambda jobs: reading(jobs) & jobs.killed


_PEAKS: Final[Mapping[str, Reading]] = {
    "whole per cents, rounded down: 99, 100 and 101": lambda jobs: jobs.between(99, 102),
    "whole per cents, rounded up: 100, 101 and 102": lambda jobs: jobs.between(99, 102, left=False, right=True),
    "whole per cents, rounded: 99, 100 and 101": lambda jobs: jobs.between(98.5, 101.5),
    "whole per cents, rounded: 100 alone": lambda jobs: jobs.between(99.5, 100.5),
    "whole per cents, rounded down: 100 alone": lambda jobs: jobs.between(100, 101),
    "100% and more, rounded": lambda jobs: jobs.beyond(99.5),
    "100% and more": lambda jobs: jobs.beyond(100),
}

COUNTS: Final[Mapping[str, Mapping[str, Reading]]] = {
    "total jobs": {"that ran": lambda jobs: np.ones(len(jobs), bool)},
    "killed jobs": {
        "status 0 (failed) or 5 (cancelled)": lambda jobs: jobs.killed,
        "run time at least the estimate": lambda jobs: jobs.beyond(100),
        "run time beyond the estimate": lambda jobs: jobs.beyond(100, left=False),
    },
    "100% peak": _PEAKS,
    "killed in 100% peak": {name: _killed(peak) for name, peak in _PEAKS.items()},
    "0% peak": {
        "whole per cents, rounded down: 0": lambda jobs: jobs.between(0, 1),
        "up to 1%": lambda jobs: jobs.between(0, 1, right=True),
        "whole per cents, rounded: 0": lambda jobs: jobs.between(0, 0.5),
    },
    "under 90 s": {
        "run time below 90 s": lambda jobs: jobs.run_time < SHORT,
        "run time up to 90 s": lambda jobs: jobs.run_time <= SHORT,
    },
    "requested under 2 h": {
        "estimate up to 2 h": lambda jobs: (jobs.estimate > 0) & (jobs.estimate <= LONGEST),
        "estimate below 2 h": lambda jobs: (jobs.estimate > 0) & (jobs.estimate < LONGEST),
    },
}
"""For every parameter of Table 2 the readings that were tried, the chosen one first. ("Zero-length jobs" of KTH are
jobs whose nodes were never all allocated at once; no log in SWF says which.)
"""


def count(jobs: Given) -> dict[str, dict[str, int]]:
    """Return numbers of jobs by parameter and reading."""
    return {
        parameter: {name: int(np.count_nonzero(reading(jobs))) for name, reading in readings.items()}
        for parameter, readings in COUNTS.items()
    }


def picture_of(jobs: Given) -> dict[str, Any]:
    """Return the data of the pictures of these jobs.

    `histogram` has the number of jobs that used 0, 1, … whole per cents of the estimate, rounded down; the class `LAST`
    includes everything beyond. Jobs are classed as killed, very short, and others. `cells` has the number of jobs per
    cell for estimates up to `LONGEST`: a list by estimate of lists by run time, whose last cell includes everything
    beyond.
    """
    asked = jobs.estimate > 0
    percent = np.minimum(jobs.hundredfold[asked] // jobs.estimate[asked], LAST)
    killed, short = jobs.killed[asked], jobs.run_time[asked] < SHORT
    parts = {"killed": killed, "short": short & ~killed, "others": ~short & ~killed}
    shown = asked & (jobs.estimate <= LONGEST)
    cells = LONGEST // CELL
    # An estimate of a whole number of minutes belongs to the minute that it ends.
    across = (jobs.estimate[shown] - 1) // CELL
    up = np.minimum(jobs.run_time[shown] // CELL, cells)
    grid = np.bincount(across * (cells + 1) + up, minlength=cells * (cells + 1)).reshape(cells, cells + 1)
    return {
        "jobs": int(np.count_nonzero(asked)),
        "histogram": {name: np.bincount(percent[part], minlength=LAST + 1).tolist() for name, part in parts.items()},
        "cells": grid.tolist(),
    }
