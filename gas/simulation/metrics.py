"""Metrics of a schedule: mean wait, response and slowdown, utilization, backfilling, loss of capacity.

    metrics       all of them, of the whole schedule or of some of its jobs
    weighted_wait mean wait, weighted by the priority of jobs
    job_figures   wait, response, slowdowns and backfilling of each job that ran
    document      one result of ``gas simulate --json``

Only a finished schedule has figures: `Schedule.finished` raises for a simulation that has not reached its end.
Everything covers jobs that ran; jobs cancelled while they waited are counted. A job's run time is how long it held its
processors, which a cancellation may have shortened. A mean over no jobs is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.errors import BadInput
from gas.simulation.ranking import wfp_priority
from gas.simulation.schedule import QUEUES, QueueOrder, Schedule
from gas.simulation.timeline import change_points, free_processors, left_queue, smallest_waiting

__all__ = [
    "SHORT",
    "JobFigures",
    "Means",
    "Metrics",
    "document",
    "job_figures",
    "loss_of_capacity",
    "means",
    "metrics",
    "span",
    "utilization",
    "weighted_wait",
]

SHORT = 10
"""Seconds; the bounded slowdown treats shorter run times as this one (Mu'alem & Feitelson 2001, 3.1)."""


@dataclass(frozen=True, eq=False)
class JobFigures:
    """Figures of the jobs that ran, one value each, in the order of the schedule's jobs."""

    rows: NDArray[np.int64]
    """Indices of these jobs in the schedule."""
    wait: NDArray[np.int64]
    """Start minus submission, seconds."""
    run_time: NDArray[np.int64]
    """End minus start, seconds."""
    response: NDArray[np.int64]
    """End minus submission, seconds."""
    slowdown: NDArray[np.float64]
    """Response / run time; NaN for run time 0."""
    bounded_slowdown: NDArray[np.float64]
    """max(1, response / max(run time, 10))."""
    bounded_slowdown_unclamped: NDArray[np.float64]
    """response / max(run time, 10), as Mu'alem & Feitelson (2001, 3.1) print it."""
    backfilled: NDArray[np.bool_]
    """Whether it started while an earlier job of the log waited."""

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, chosen: NDArray[np.bool_]) -> JobFigures:
        """Return the figures of some of the schedule's jobs; `chosen` has a value for each of them."""
        wanted = chosen[self.rows]
        return JobFigures(*(getattr(self, name)[wanted] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Means:
    """Averages over jobs, in seconds or ratios; None without jobs."""

    zero_length: int
    """Jobs of run time 0, which `mean_slowdown` leaves out."""
    mean_wait: float | None
    mean_response: float | None
    mean_slowdown: float | None
    mean_bounded_slowdown: float | None
    mean_bounded_slowdown_unclamped: float | None
    backfilled: float | None
    """Share of the jobs that started while an earlier one waited."""
    median_wait: float | None
    median_response: float | None
    median_bounded_slowdown: float | None
    wait_95: float | None
    """95% of the jobs wait no longer (linear between neighbours)."""
    longest_wait: int | None


@dataclass(frozen=True)
class Metrics(Means):
    """Figures of a schedule, or of some of its jobs."""

    jobs: int
    """Number of simulated jobs, including cancelled ones."""
    skipped: int
    """Jobs of the log that the simulation left out."""
    cancelled: int
    """Jobs that left the queue without starting."""
    utilization: float | None
    """See `utilization`; None for some of the jobs only."""
    loss_of_capacity: float | None
    """See `loss_of_capacity`; None for some of the jobs only."""
    offered_load: float | None
    """Processor-seconds of all jobs that ran / those of the machine between the first and the last submission; 0 for an
    empty span, None for a selection of jobs.
    """


def metrics(schedule: Schedule, rows: ArrayLike | None = None) -> Metrics:
    """Return the figures of a schedule.

    Parameters
    ----------
    rows
        Only these of its jobs, as indices or as a mask. They remain among the others: a job is backfilled if it passed
        any job. Figures of the machine are None.
    """
    figures = job_figures(schedule)
    whole = rows is None
    jobs = len(schedule)
    if rows is not None:
        chosen = _mask(rows, jobs)
        figures, jobs = figures.of(chosen), int(np.count_nonzero(chosen))
    return Metrics(
        **vars(means(figures)),
        jobs=jobs,
        skipped=sum(schedule.jobs.skipped.values()),
        cancelled=jobs - len(figures),
        utilization=utilization(schedule) if whole else None,
        loss_of_capacity=loss_of_capacity(schedule) if whole else None,
        offered_load=_offered_load(schedule) if whole else None,
    )


def job_figures(schedule: Schedule) -> JobFigures:
    """Return wait, response, slowdowns and backfilling of each job that ran."""
    schedule = schedule.finished()
    rows = np.flatnonzero(schedule.started)
    start, end, submit = schedule.start[rows], schedule.end[rows], schedule.jobs.submit[rows]
    response, run_time = end - submit, end - start
    slowdown = np.full(len(rows), np.nan)
    np.divide(response, run_time, out=slowdown, where=run_time > 0)
    unclamped = response / np.maximum(run_time, SHORT)
    # An earlier job of the log was submitted no later, so it waited at this start if it left the queue later.
    passed = np.maximum.accumulate(left_queue(schedule))
    backfilled = np.zeros(len(schedule), dtype=bool)
    backfilled[1:] = schedule.start[1:] < passed[:-1]
    return JobFigures(
        rows=rows,
        wait=start - submit,
        run_time=run_time,
        response=response,
        slowdown=slowdown,
        bounded_slowdown=np.maximum(unclamped, 1.0),
        bounded_slowdown_unclamped=unclamped,
        backfilled=backfilled[rows],
    )


def means(figures: JobFigures) -> Means:
    """Return the means and quantiles of these jobs."""
    has_length = figures.run_time > 0
    return Means(
        zero_length=int(np.count_nonzero(~has_length)),
        mean_wait=_mean(figures.wait),
        mean_response=_mean(figures.response),
        mean_slowdown=_mean(figures.slowdown[has_length]),
        mean_bounded_slowdown=_mean(figures.bounded_slowdown),
        mean_bounded_slowdown_unclamped=_mean(figures.bounded_slowdown_unclamped),
        backfilled=_mean(figures.backfilled),
        median_wait=_quantile(figures.wait, 0.5),
        median_response=_quantile(figures.response, 0.5),
        median_bounded_slowdown=_quantile(figures.bounded_slowdown, 0.5),
        wait_95=_quantile(figures.wait, 0.95),
        longest_wait=int(figures.wait.max()) if len(figures) else None,
    )


def span(schedule: Schedule) -> tuple[int, int]:
    """Return the first submission and the last finish of the jobs that ran; (0, 0) if none did."""
    ran = schedule.finished().started
    if not ran.any():
        return 0, 0
    return int(schedule.jobs.submit[ran].min()), int(schedule.end[ran].max())


def utilization(schedule: Schedule) -> float:
    """Return the share of the machine's processor-seconds that jobs held, from first submission to last finish.

    0 for an empty span. Reservations are not jobs and do not count as use.
    """
    first, last = span(schedule)
    return _work(schedule) / (schedule.jobs.machine * (last - first)) if last > first else 0.0


def loss_of_capacity(schedule: Schedule) -> float:
    """Return the share of the machine's processor-seconds that were idle although a waiting job would have fitted.

    Σ nᵢ (tᵢ₊₁ − tᵢ) dᵢ / (N (t_last − t_first)) over the instants tᵢ at which anything changes, from the first
    submission to the last finish: nᵢ processors are idle after tᵢ, and dᵢ is 1 if some waiting job needs no more
    than nᵢ. Processors left idle to keep a promise are lost, too. Simultaneous events are taken together, and
    processors held by a reservation are not idle. 0 for an empty span.
    """
    first, last = span(schedule)
    if last <= first:
        return 0.0
    times = change_points(schedule)
    free = free_processors(schedule, times)
    lost = smallest_waiting(schedule, times) <= free
    lengths = np.diff(np.clip(times, first, last), append=last)
    idle = float(np.sum(free[lost].astype(np.float64) * lengths[lost]))
    return idle / (schedule.jobs.machine * (last - first))


def weighted_wait(schedule: Schedule, queue: QueueOrder, rows: ArrayLike | None = None) -> float | None:
    """Return Σ wᵢ pᵢ / Σ pᵢ in seconds over the jobs that ran, with wait wᵢ and priority at the start pᵢ.

    None if no job has a priority, because none waited. Tang et al. (2013), equation 4.

    Parameters
    ----------
    queue
        Its priority: "wfp", by equation 5 with the walltime requested by the user, even if the scheduler planned with
        another one; "fcfs", the wait itself.
    rows
        Only these of its jobs, as indices or as a mask.
    """
    if queue not in QUEUES:
        raise BadInput(f'queue "{queue}" is not known; known: {", ".join(QUEUES)}')
    figures = job_figures(schedule)
    if rows is not None:
        figures = figures.of(_mask(rows, len(schedule)))
    wait = figures.wait.astype(np.float64)
    jobs = schedule.jobs
    priority = wait
    if queue == "wfp":
        priority = wfp_priority(wait, jobs.estimate[figures.rows], jobs.processors[figures.rows])
    total = float(priority.sum())
    return float(wait @ priority) / total if total else None


def document(schedule: Schedule, months: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return a schedule's entry among the results of a ``gas.simulation/1`` document.

    ``load`` and ``offered_load`` are defined as for a month (`gas.simulation.months.Month`): processor-seconds held by
    jobs within the span as a share of the machine's (from the first submission to the last finish, hence the
    utilization), and the work of the jobs as a share of the machine's between the first and the last submission.

    Parameters
    ----------
    months
        The result of `gas.simulation.months.month_documents`, if requested.
    """
    figures = metrics(schedule)
    return {
        "policy": schedule.policy,
        "order": schedule.order,
        "overrun": schedule.overrun,
        "processors": int(schedule.jobs.machine),
        "jobs": figures.jobs,
        "skipped": figures.skipped,
        "zero_length": figures.zero_length,
        "mean_wait": figures.mean_wait,
        "median_wait": figures.median_wait,
        "wait_95": figures.wait_95,
        "longest_wait": figures.longest_wait,
        "mean_response": figures.mean_response,
        "mean_slowdown": figures.mean_slowdown,
        "mean_bounded_slowdown": figures.mean_bounded_slowdown,
        "mean_bounded_slowdown_unclamped": figures.mean_bounded_slowdown_unclamped,
        "load": figures.utilization,
        "offered_load": figures.offered_load,
        "utilization": figures.utilization,
        "backfilled": figures.backfilled,
        "loss_of_capacity": figures.loss_of_capacity,
        "engine_seconds": float(schedule.engine_seconds),
        "months": [dict(month) for month in months],
    }


def _mask(rows: ArrayLike, jobs: int) -> NDArray[np.bool_]:
    chosen = np.zeros(jobs, dtype=bool)
    chosen[np.asarray(rows) if np.size(rows) else slice(0)] = True  # an empty list would become floats
    return chosen


def _work(schedule: Schedule) -> float:
    """Return the processor-seconds that jobs held."""
    ran = schedule.started
    held = schedule.jobs.processors[ran].astype(np.float64) * (schedule.end[ran] - schedule.start[ran])
    return float(np.sum(held))  # whole numbers, but int64 could overflow


def _offered_load(schedule: Schedule) -> float:
    submit = schedule.jobs.submit[schedule.started]
    length = int(submit[-1] - submit[0]) if len(submit) else 0
    return _work(schedule) / (schedule.jobs.machine * length) if length else 0.0


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None


def _quantile(values: NDArray[Any], share: float) -> float | None:
    return float(np.quantile(values, share)) if len(values) else None
