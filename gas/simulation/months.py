"""Metrics by month, from one simulation of the whole log.

A job belongs to the month of its submission in the log's own time zone. Mu'alem & Feitelson (2001, Table 1) do not say
how they divide their logs; the published numbers of jobs and loads show it. Months by the *end in the EASY simulation*
reproduce the ten numbers of KTH with errors that add up to 13 of 26,443 jobs, months by submission with 130; so both
ways are available. The *load* column is the used share of the machine within the calendar month, by jobs of any
submission: under EASY our values deviate by 0.004 on average, on KTH (100 processors) and CTC (512) alike, and by 0.002
if jobs are not killed at their estimates (overrun rule "extend"); the load submitted in a month deviates by 0.016 and
0.010.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np

from gas.simulation.metrics import Means, job_figures, means, span
from gas.simulation.schedule import Schedule
from workloads.header import Epoch
from workloads.selection import months_of

__all__ = ["By", "Month", "month_documents", "months"]

By = Literal["submission", "end"]
"""The instant that assigns a job to a month."""


@dataclass(frozen=True)
class Month(Means):
    """Figures of the jobs of one month."""

    month: str
    """For example "1996-10"."""
    jobs: int
    """Number of jobs of the month, including those cancelled while they waited."""
    cancelled: int
    load: float
    """Share of the machine that jobs of any month held within this one. The first month of the log begins at the first
    submission, the last one ends at the last finish. 0 if that leaves nothing."""
    offered_load: float
    """Processor-seconds of the month's own jobs / those of the machine in the part of the month between the first and
    the last submission of the log. 0 if that leaves nothing.
    """


def months(schedule: Schedule, epoch: Epoch, by: By = "submission") -> list[Month]:
    """Return the figures of each month that has jobs, in order.

    Parameters
    ----------
    epoch
        Calendar time of second 0 of the schedule (`workloads.Log.epoch`).
    by
        "end" assigns a job to the month in which it ended, as the published tables seem to do.
    """
    if len(schedule.finished()) == 0:
        return []
    jobs, ran = schedule.jobs, schedule.started
    instants = jobs.submit if by == "submission" else np.where(ran, schedule.end, jobs.submit)
    labels, index = months_of(instants, epoch)
    figures = job_figures(schedule)
    begin, finish = span(schedule)
    used_span = (begin, finish)
    submit_span = (int(jobs.submit[0]), int(jobs.submit[-1]))
    start, end, processors = schedule.start[ran], schedule.end[ran], jobs.processors[ran].astype(np.float64)
    work = processors * (end - start)
    month_of_work = index[ran]
    found = []
    for number, label in enumerate(labels):
        chosen = index == number
        if not chosen.any():
            continue
        first, behind = month_bounds(label, epoch)
        within = np.minimum(end, behind) - np.maximum(start, first)
        held = float(np.sum(processors * np.maximum(within, 0)))
        of_month = figures.of(chosen)
        found.append(
            Month(
                **vars(means(of_month)),
                month=label,
                jobs=int(np.count_nonzero(chosen)),
                cancelled=int(np.count_nonzero(chosen)) - len(of_month),
                load=_share(held, jobs.machine, first, behind, used_span),
                offered_load=_share(
                    float(np.sum(work[month_of_work == number])), jobs.machine, first, behind, submit_span
                ),
            )
        )
    return found


def month_bounds(label: str, epoch: Epoch) -> tuple[int, int]:
    """Return the first second of a month like "1996-10", and of the next, in seconds of the log."""
    year, month = (int(part) for part in label.split("-"))
    after = (year + month // 12, month % 12 + 1)
    first, behind = (int(datetime(y, m, 1, tzinfo=epoch.zone).timestamp()) for y, m in ((year, month), after))
    return first - epoch.start, behind - epoch.start


def month_documents(schedule: Schedule, epoch: Epoch, by: By = "submission") -> list[dict[str, Any]]:
    """Return the months in the form of a ``gas.simulation/1`` document."""
    return [
        {
            "month": one.month,
            "jobs": one.jobs,
            "load": one.load,
            "offered_load": one.offered_load,
            "zero_length": one.zero_length,
            "mean_wait": one.mean_wait,
            "median_wait": one.median_wait,
            "wait_95": one.wait_95,
            "longest_wait": one.longest_wait,
            "mean_response": one.mean_response,
            "mean_slowdown": one.mean_slowdown,
            "mean_bounded_slowdown": one.mean_bounded_slowdown,
            "mean_bounded_slowdown_unclamped": one.mean_bounded_slowdown_unclamped,
            "backfilled": one.backfilled,
        }
        for one in months(schedule, epoch, by)
    ]


def _share(work: float, machine: int, first: int, behind: int, limits: tuple[int, int]) -> float:
    """Return processor-seconds as a share of the machine's in the part of a month within the limits."""
    seconds = min(behind, limits[1]) - max(first, limits[0])
    return work / (machine * seconds) if seconds > 0 else 0.0
