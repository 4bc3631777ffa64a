"""Downey's model of 1997: streams of moldable jobs, and the rigid jobs that they become.

A. B. Downey, "A parallel workload model and its implications for processor allocation", HPDC 1997. A job has a
sequential time L (its total work), an average parallelism A and a variance of parallelism sigma; a speed-up model gives
its time on n processors (`rigid` takes it as a function). ln L and ln A are uniform, and so is sigma; the preference
for powers of two in the logs is deliberately smoothed out.

There are sources for these forms and for the range of sigma. There is none for the numbers of L, A and the arrivals:
they are fields of `DowneyModel`, and `DowneyModel.for_machine` has values of ours. For the same reason, the day and
night rates of the archive's program are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workloads.arrivals import ArrivalKind, arrival_law, arrival_times, uniform_log
from workloads.generated import check_request, constants_text, generated_log
from workloads.log import Log

__all__ = ["SIZES", "DowneyModel", "MoldableJobs", "generate", "generate_moldable", "rigid"]

Floats = NDArray[np.float64]
Seconds = Callable[[Floats, Floats, Floats, NDArray[np.int64]], Floats]
"""Execution times of jobs with these L, A and sigma on these processors."""
Chooser = Callable[["MoldableJobs", int, np.random.Generator], NDArray[np.int64]]
"""Processors, from 1 to the machine's size, for each job."""


@dataclass(frozen=True)
class DowneyModel:
    """The constants of the model; `for_machine` supplies constants that no publication gives."""

    shortest_work: float
    """The least L in seconds, e ** t_min. Not sourced."""
    longest_work: float
    """The largest, e ** t_max. Not sourced."""
    largest_parallelism: float
    """ln A is uniform from 0 to the logarithm of this. Not sourced."""
    mean_interarrival: float
    """Seconds. Not sourced."""
    largest_sigma: float = 2.0
    """Sigma is uniform from 0 to here. Sourced."""

    def __post_init__(self) -> None:
        if not 0 < self.shortest_work < self.longest_work < math.inf:
            raise ValueError(
                f"work from shortest_work {self.shortest_work:g} to longest_work {self.longest_work:g} s needs "
                "0 < shortest_work < longest_work"
            )
        if not 0 < self.mean_interarrival < math.inf:
            raise ValueError(f"mean_interarrival {self.mean_interarrival:g} s must be a number above 0")
        if not 1 <= self.largest_parallelism < math.inf:
            raise ValueError(f"largest_parallelism {self.largest_parallelism:g} must be a number of at least 1")
        if not 0 <= self.largest_sigma < math.inf:
            raise ValueError(f"largest_sigma {self.largest_sigma:g} must be a number of at least 0")

    @classmethod
    def for_machine(
        cls,
        processors: int,
        *,
        shortest_work: float = 10.0,
        longest_work: float | None = None,
        largest_parallelism: float | None = None,
        mean_interarrival: float | None = None,
        largest_sigma: float = 2.0,
    ) -> DowneyModel:
        """Return constants for a machine: the given ones, and our choice of the others.

        L is up to an hour on the whole machine, A up to the machine's size, and the mean interarrival time is such that
        the mean L is 0.7 of the machine's capacity between two arrivals.
        """
        longest = 3600.0 * processors if longest_work is None else longest_work
        parallelism = float(processors) if largest_parallelism is None else largest_parallelism
        first = cls(shortest_work, longest, parallelism, 1.0, largest_sigma)
        mean = first.mean_work / (0.7 * processors) if mean_interarrival is None else mean_interarrival
        return replace(first, mean_interarrival=mean)

    @property
    def mean_work(self) -> float:
        """The mean of L, in seconds."""
        return (self.longest_work - self.shortest_work) / math.log(self.longest_work / self.shortest_work)


@dataclass(frozen=True, eq=False)
class MoldableJobs:
    """Jobs that can run on any number of processors, in the order of their submission."""

    submit: NDArray[np.float64]
    """Seconds and fractions after second 0."""
    L: NDArray[np.float64]
    """Seconds on one processor, which is the total work."""
    A: NDArray[np.float64]
    """Average parallelism, at least 1."""
    sigma: NDArray[np.float64]
    """Variance of parallelism, as in Downey's speed-up model, at least 0."""

    def __len__(self) -> int:
        return len(self.submit)


def generate_moldable(
    jobs: int,
    processors: int,
    *,
    generator: np.random.Generator,
    model: DowneyModel | None = None,
    arrivals: ArrivalKind = "poisson",
) -> MoldableJobs:
    """Return moldable jobs drawn from the model.

    Parameters
    ----------
    jobs
        Number of jobs.
    processors
        Processors of the machine; they only affect the default constants, those of `DowneyModel.for_machine`.
    arrivals
        The law of the interarrival times (`workloads.arrivals`); Downey's are exponential.

    Raises
    ------
    ValueError
        There are no jobs or no machine, or the constants do not define a distribution on it.
    """
    check_request(jobs, processors)
    model = model or DowneyModel.for_machine(processors)
    return MoldableJobs(
        submit=arrival_times(arrival_law(arrivals, model.mean_interarrival), jobs, generator),
        L=uniform_log(jobs, model.shortest_work, model.longest_work, generator),
        A=uniform_log(jobs, 1.0, model.largest_parallelism, generator),
        sigma=generator.uniform(0, model.largest_sigma, jobs),
    )


def average_parallelism(jobs: MoldableJobs, processors: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return A, to the nearest whole number, at most the machine: the allocation of Downey's reference strategy."""
    return np.clip(np.rint(jobs.A), 1, processors).astype(np.int64)


def power_of_two(jobs: MoldableJobs, processors: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the power of two nearest to A on a logarithmic scale, at most the machine."""
    largest = processors.bit_length() - 1
    return 2 ** np.clip(np.rint(np.log2(jobs.A)), 0, largest).astype(np.int64)


def uniform_size(jobs: MoldableJobs, processors: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return a uniform number from 1 to A (rounded up), at most the machine: the choice of users who do not know A."""
    highest = np.clip(np.ceil(jobs.A), 1, processors).astype(np.int64)
    return generator.integers(1, highest, endpoint=True)


SIZES: Final[dict[str, Chooser]] = {
    "average": average_parallelism,
    "power-of-two": power_of_two,
    "uniform": uniform_size,
}
"""How a user might choose the processors of a job, by name."""


def rigid(
    jobs: MoldableJobs,
    processors: int,
    seconds: Seconds,
    *,
    generator: np.random.Generator,
    choose: Chooser = average_parallelism,
    load: float | None = None,
    notes: tuple[str, ...] = (),
) -> Log:
    """Return the log of these jobs, each with a fixed number of processors.

    Parameters
    ----------
    processors
        Processors of the machine.
    seconds
        ``seconds(L, A, sigma, n)``: execution times, as arrays; rounded up to whole seconds, at least 1.
    choose
        Chooses the processors of each job (see `SIZES`).
    load
        The offered load to reach by scaling interarrival times; by default that of the jobs.
    notes
        Notes for the log's header.
    """
    check_request(len(jobs), processors)
    sizes = choose(jobs, processors, generator)
    if sizes.shape != jobs.A.shape or sizes.min() < 1 or sizes.max() > processors:
        raise ValueError(f"sizes must be {len(jobs)} numbers from 1 to {processors}, not {_range(sizes)}")
    run_times = np.asarray(seconds(jobs.L, jobs.A, jobs.sigma, sizes), dtype=np.float64)
    if run_times.shape != jobs.A.shape or not (np.isfinite(run_times) & (run_times >= 0)).all():
        raise ValueError(f"execution times must be {len(jobs)} finite numbers of at least 0, not {_range(run_times)}")
    return generated_log(
        "downey",
        submit=jobs.submit,
        sizes=sizes,
        run_times=np.maximum(np.ceil(run_times), 1),
        machine=processors,
        load=load,
        computer="Downey model",
        thanks=["Allen Downey, for the model"],
        notes=notes,
    )


def generate(
    jobs: int,
    processors: int,
    *,
    generator: np.random.Generator,
    seconds: Seconds,
    choose: Chooser = average_parallelism,
    model: DowneyModel | None = None,
    load: float | None = None,
    arrivals: ArrivalKind = "poisson",
) -> Log:
    """Return a log of jobs drawn from the model and made rigid; see `generate_moldable` and `rigid`.

    There are no estimates; see `workloads.estimates`.
    """
    check_request(jobs, processors)
    model = model or DowneyModel.for_machine(processors)
    moldable = generate_moldable(jobs, processors, generator=generator, model=model, arrivals=arrivals)
    how = next((name for name, known in SIZES.items() if known is choose), choose.__name__)
    note = f"{arrivals} arrivals, sizes {how}, {constants_text(model)}"
    return rigid(moldable, processors, seconds, generator=generator, choose=choose, load=load, notes=(note,))


def _range(values: NDArray[Any]) -> str:
    return f"{values.size} from {values.min():g} to {values.max():g}" if values.size else "none"
