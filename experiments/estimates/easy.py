"""EASY backfilling in several readings of the paper's algorithm (section 2.2), each simulated in the simplest way.

The paper finds the shadow time of the first pending job and the extra processors in step 1, and one job to backfill in
step 2, "executed repeatedly". It leaves open how both numbers change from one job to the next, and from one instant to
the next. `gas.simulation` uses the strict reading: no backfilled job ever delays the first one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import available, compiled, kernel
from workloads import RigidJobs

__all__ = ["EASY_READINGS", "EasyReading", "means_of", "shaken"]


class EasyReading(NamedTuple):
    """A reading of the algorithm.

    Attributes
    ----------
    name
        Name in tables.
    keeps_extra
        Whether all jobs that are backfilled at one instant find the same extra processors.
    keeps_shadow
        Whether the shadow time of a job does not change when others end before their estimates.
    one_job
        Whether at most one job is backfilled at an instant.
    first
        Which pending jobs are tried first.
    """

    name: str
    keeps_extra: bool = False
    keeps_shadow: bool = False
    one_job: bool = False
    first: str = "submission"


EASY_READINGS = (
    EasyReading("strict, as elsewhere in this report"),
    EasyReading("extra processors found once an instant", keeps_extra=True),
    EasyReading("shadow time never brought forward", keeps_shadow=True),
    EasyReading("both", keeps_extra=True, keeps_shadow=True),
    EasyReading("one job an instant", one_job=True),
    EasyReading("shortest estimate first", first="estimate"),
    EasyReading("fewest processors first", first="processors"),
)
"""The strict one first."""


def shaken(jobs: RigidJobs, seed: int) -> RigidJobs:
    """Return the jobs, each submitted up to a minute later at random: a single schedule is one random draw."""
    later = np.random.default_rng(seed).integers(0, _MINUTE, len(jobs))
    return replace(jobs, submit=np.maximum.accumulate(jobs.submit + later))


def means_of(jobs: RigidJobs, reading: EasyReading) -> dict[str, float]:
    """Return the mean response time in seconds and the mean bounded slowdown (unclamped, as in the paper)."""
    lasts = np.minimum(jobs.run_time, jobs.estimate)
    response = starts_of(jobs, reading) + lasts - jobs.submit
    return {"response": float(response.mean()), "slowdown": float((response / np.maximum(lasts, 10)).mean())}


def starts_of(jobs: RigidJobs, reading: EasyReading) -> NDArray[np.int64]:
    """Return the starts of jobs in seconds; jobs that run longer than their estimates are killed.

    Parameters
    ----------
    jobs
        In order of submission.
    """
    rank = {"submission": jobs.row, "estimate": jobs.estimate, "processors": jobs.processors}[reading.first]
    lasts = np.minimum(jobs.run_time, jobs.estimate)
    columns = np.array([jobs.submit, jobs.processors, jobs.estimate, lasts, rank], np.int64)
    follow = compiled(_follow) if available() else _follow
    return follow(columns, jobs.machine, reading.keeps_extra, reading.keeps_shadow, reading.one_job)


_MINUTE = 60

_SUBMIT, _PROCESSORS, _ESTIMATE, _LASTS, _RANK = range(5)


@kernel
def _follow(
    jobs: NDArray[np.int64], machine: int, keeps_extra: bool, keeps_shadow: bool, one_job: bool
) -> NDArray[np.int64]:
    """Return the starts; at the same instant, jobs end first, then jobs arrive, then jobs start."""
    count = jobs.shape[1]
    start = np.full(count, -1, np.int64)
    runs, pends = np.empty(count, np.int64), np.empty(count, np.int64)
    running = pending = arrived = 0
    free, head, shadow = machine, -1, 0
    while arrived < count or running > 0:
        now = jobs[_SUBMIT, arrived] if arrived < count else start[runs[0]] + jobs[_LASTS, runs[0]]
        for at in range(running):
            now = min(now, start[runs[at]] + jobs[_LASTS, runs[at]])
        kept = 0
        for at in range(running):
            if start[runs[at]] + jobs[_LASTS, runs[at]] > now:
                runs[kept] = runs[at]
                kept += 1
            else:
                free += jobs[_PROCESSORS, runs[at]]
        running = kept
        while arrived < count and jobs[_SUBMIT, arrived] == now:
            pends[pending] = arrived
            pending, arrived = pending + 1, arrived + 1
        first = 0
        while first < pending and jobs[_PROCESSORS, pends[first]] <= free:
            start[pends[first]] = now
            free -= jobs[_PROCESSORS, pends[first]]
            runs[running] = pends[first]
            running, first = running + 1, first + 1
        if first < pending:
            least = shadow if keeps_shadow and head == pends[first] else now
            head = pends[first]
            shadow, extra = _shadow(jobs, start, runs[:running], free, jobs[_PROCESSORS, head], least)
            rest = pends[first + 1 : pending]
            for at in np.argsort(jobs[_RANK][rest], kind="mergesort"):
                job = rest[at]
                ends = now + jobs[_ESTIMATE, job] <= shadow
                if jobs[_PROCESSORS, job] <= free and (ends or jobs[_PROCESSORS, job] <= extra):
                    start[job] = now
                    free -= jobs[_PROCESSORS, job]
                    extra -= 0 if ends or keeps_extra else jobs[_PROCESSORS, job]
                    runs[running] = job
                    running += 1
                    if one_job:
                        break
        kept = 0
        for at in range(pending):
            if start[pends[at]] < 0:
                pends[kept] = pends[at]
                kept += 1
        pending = kept
    return start


@kernel
def _shadow(
    jobs: NDArray[np.int64],
    start: NDArray[np.int64],
    runs: NDArray[np.int64],
    free: int,
    wanted: int,
    least: int,
) -> tuple[int, int]:
    """Return the instant, at least `least`, at which enough processors are free by the estimates, and how many more."""
    ends = np.empty(len(runs), np.int64)
    for at in range(len(runs)):
        ends[at] = start[runs[at]] + jobs[_ESTIMATE, runs[at]]
    shadow = least
    for at in np.argsort(ends, kind="mergesort"):
        if free >= wanted and ends[at] > shadow:
            break
        free += jobs[_PROCESSORS, runs[at]]
        shadow = max(shadow, ends[at])
    return shadow, free - wanted
