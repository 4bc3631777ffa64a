"""A model like Feitelson's of 1996: harmonic sizes, hyper-exponential run times, jobs that run repeatedly.

D. G. Feitelson, "Packing schemes for gang scheduling", Job Scheduling Strategies for Parallel Processing, 1996, based
on six logs. Its form is known: sizes harmonic of order 1.5, then adjusted by hand to emphasise small ones and powers of
two; run times with a coefficient of variation above 1, weakly longer for larger jobs; repeated executions. Most of its
numbers are not known: the program of the Parallel Workloads Archive was not available. Hence "like": every number is a
field of `FeitelsonModel` with its origin: *sourced* (stated in print), *recalled* (believed to be the published one,
not confirmed) or *ours* (chosen here). Do not quote results as those of the published model.

Mu'alem and Feitelson (2001, section 3.3) modified the model to resemble the CTC log: more small jobs (Fs), longer jobs
(Fl), both (Fsl). They give no numbers; those of `VARIANTS` are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workloads.arrivals import ArrivalKind, arrival_law
from workloads.generated import check_request, constants_text, generated_log
from workloads.log import Log

__all__ = ["VARIANTS", "FeitelsonModel", "generate", "repeat_shares", "size_shares"]


@dataclass(frozen=True)
class FeitelsonModel:
    """All constants of the model; N is the machine's size, n a job's."""

    size_order: float = 1.5
    """Sizes have weights n ** -size_order. Sourced."""
    power_of_two_factor: float = 4.0
    """Factor on the weights of powers of two above 1. Ours: about 85% of the jobs then have 1 or a power of two."""
    small_size: int = 1
    """Largest small size. Ours."""
    small_factor: float = 1.0
    """Factor on the weights of small sizes. Ours."""
    short_share: float = 0.95
    """Share of short jobs among the smallest; others are long. Recalled."""
    short_slope: float = 0.2
    """The share of short jobs is short_share - short_slope · n/N, within [0, 1]. Recalled."""
    short_mean: float = 1.0
    """Mean of the exponential run times of short jobs, in time units. Recalled."""
    long_mean: float = 7.0
    """Mean of the exponential run times of long jobs, in time units. Recalled."""
    time_unit: float = 1800.0
    """Seconds. Ours."""
    repeat_order: float = 2.5
    """A job has r runs in total with weight r ** -repeat_order. Recalled."""
    most_repeats: int = 1000
    """The largest r. Ours."""
    think_time: float = 0.0
    """Seconds from the end of a run, if it had started at once, to the submission of the next. Ours, like this rule and
    the equal run times of all runs of a job."""
    default_load: float = 0.688
    """The load that the mean interarrival time gives. Ours, after an example of Mu'alem and Feitelson."""

    def __post_init__(self) -> None:
        for name in ("power_of_two_factor", "small_factor", "short_mean", "long_mean", "time_unit", "default_load"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} {getattr(self, name)} must be a number above 0")
        for name in ("size_order", "repeat_order", "short_slope", "think_time"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} {getattr(self, name)} must be a number of at least 0")
        if not 0 <= self.short_share <= 1:
            raise ValueError(f"short_share {self.short_share} is not a share; give a number from 0 to 1")
        for name in ("small_size", "most_repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} must be 1 or more")

    def run_time_mean(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean run time in seconds of jobs with this share n/N of the machine."""
        short = self.short_shares(share)
        return self.time_unit * (short * self.short_mean + (1 - short) * self.long_mean)

    def short_shares(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of short jobs among jobs with this share n/N of the machine."""
        return np.clip(self.short_share - self.short_slope * share, 0, 1)

    def mean_interarrival(self, machine: int) -> float:
        """Return the mean seconds between first runs of jobs that give the default load on a machine."""
        sizes = np.arange(1, machine + 1)
        work = float((size_shares(self, machine) * sizes * self.run_time_mean(sizes / machine)).sum())
        runs = float((repeat_shares(self) * np.arange(1, self.most_repeats + 1)).sum())
        return work * runs / (self.default_load * machine)


# 42% of the jobs are serial, as in the CTC log; and its run times as two exponentials with the greatest likelihood.
_SMALL: Final[dict[str, Any]] = {"small_size": 1, "small_factor": 2.2}
_LONG: Final[dict[str, Any]] = {"short_share": 0.47, "short_slope": 0.0, "short_mean": 0.11, "long_mean": 11.7}

VARIANTS: Final = {
    "F": FeitelsonModel(),
    "Fs": FeitelsonModel(**_SMALL),
    "Fl": FeitelsonModel(**_LONG),
    "Fsl": FeitelsonModel(**_SMALL, **_LONG),
}
"""The model and its modifications to resemble the CTC log: more small jobs (s), longer jobs (l)."""


def generate(
    jobs: int,
    processors: int,
    *,
    generator: np.random.Generator,
    model: FeitelsonModel | None = None,
    load: float | None = None,
    arrivals: ArrivalKind = "poisson",
) -> Log:
    """Return a log of jobs drawn from the model.

    The executable field identifies the runs of one job, the preceding-job field the run that it repeats. There are no
    estimates; see `workloads.estimates`.

    Parameters
    ----------
    jobs
        Number of jobs, counting each run.
    processors
        Processors of the machine.
    load
        The offered load to reach by scaling interarrival times; by default that of the model.
    arrivals
        The law of the first runs' interarrival times (`workloads.arrivals`).

    Raises
    ------
    ValueError
        There are no jobs or no machine, or the load cannot be reached.
    """
    model = model or FeitelsonModel()
    check_request(jobs, processors)
    law = arrival_law(arrivals, model.mean_interarrival(processors))
    shares = np.cumsum(size_shares(model, processors))[:-1]
    runs_below = np.cumsum(repeat_shares(model))[:-1]

    parts: list[tuple[NDArray[np.float64], ...]] = []
    last, complete, count = 0.0, 0, math.ceil(0.6 * jobs) + 10
    while complete < jobs:
        first = law.draw(count, generator)
        first[0] += last
        np.cumsum(first, out=first)
        last = float(first[-1])
        sizes = 1 + np.searchsorted(shares, generator.random(count), side="right")
        seconds = np.maximum(np.rint(_run_times(model, sizes / processors, generator)), 1)
        repeats = 1 + np.searchsorted(runs_below, generator.random(count), side="right")
        parts.append((first, sizes.astype(np.int32), seconds, repeats.astype(np.int32)))
        # Later jobs arrive after `last`; submissions until then are complete.
        complete = sum(_submitted_by(last, part, model.think_time) for part in parts)
        count = math.ceil(0.1 * jobs) + 10
    first, sizes, seconds, repeats = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    del parts

    origin = np.repeat(np.arange(first.size, dtype=np.int32), repeats)
    run = np.arange(origin.size, dtype=np.int64) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    submit = first[origin] + run * (seconds[origin] + model.think_time)
    # At the same instant in the order of runs, so that no run precedes the one that it repeats.
    order = np.argsort(submit, kind="stable")[:jobs]
    submit, origin = submit[order], origin[order]
    return generated_log(
        "feitelson",
        submit=submit,
        sizes=sizes[origin].astype(np.int64),
        run_times=seconds[origin],
        machine=processors,
        load=load,
        computer="Feitelson-96-like model",
        thanks=["Dror Feitelson, for the form of the model"],
        notes=[f"like Feitelson's model of 1996, not it; {arrivals} first runs, {constants_text(model)}"],
        columns={"executable": origin + 1, "preceding_job": _preceding(origin)},
    )


def size_shares(model: FeitelsonModel, machine: int) -> NDArray[np.float64]:
    """Return the probability of each size from 1 to the machine's."""
    sizes = np.arange(1, machine + 1)
    weights = sizes.astype(np.float64) ** -model.size_order
    weights[(sizes > 1) & (sizes & (sizes - 1) == 0)] *= model.power_of_two_factor
    weights[sizes <= model.small_size] *= model.small_factor
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def repeat_shares(model: FeitelsonModel) -> NDArray[np.float64]:
    """Return the probability of each number of runs from 1 to the most."""
    weights = np.arange(1, model.most_repeats + 1, dtype=np.float64) ** -model.repeat_order
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def _run_times(
    model: FeitelsonModel, share: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.float64]:
    short = generator.random(share.size) < model.short_shares(share)
    seconds = generator.standard_exponential(share.size)
    seconds *= np.where(short, model.short_mean, model.long_mean)
    seconds *= model.time_unit
    return seconds


def _submitted_by(instant: float, part: tuple[NDArray[np.float64], ...], think_time: float) -> int:
    """Return the number of runs of these jobs that are submitted by an instant."""
    first, _, seconds, repeats = part
    return int(np.minimum(repeats, 1 + (instant - first) // (seconds + think_time)).sum())


def _preceding(origin: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for each run the number (from 1) of the job's previous run, -1 for the first."""
    by_job = np.argsort(origin, kind="stable").astype(np.int32)
    before = np.full(origin.size, -1, dtype=np.int32)
    again = origin[by_job[1:]] == origin[by_job[:-1]]
    before[by_job[1:][again]] = by_job[:-1][again] + 1
    return before
