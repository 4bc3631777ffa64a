"""Makes every job of a log moldable without changing its load.

The survey of Cirne and Berman ("A model for moldable supercomputer jobs", IPDPS 2001) describes how moldable the jobs
of supercomputers are: the smallest useful number of processors, average parallelism and its variance (Downey's A and
sigma), the number of alternative requests that users can name, and the accepted sizes. The numbers here are those of
the authors' simulator; they were not compared with the papers.

As in that simulator:

- the smallest size, the number of requests, and A for a given smallest size are uniform in the logarithm, sigma is
  normal and cut at 0;
- the largest size is the smallest one with the maximal speed, at most the machine; the smallest size is cut to it,
  after A was drawn for the uncut one;
- the accepted sizes from the smallest to the largest are shuffled and as many kept as the user names. The job's own
  size replaces one of them, so a job whose own size is not an accepted one and that has only one accepted size keeps
  only its own.

Differences from that simulator:

- the total work is not rounded up to whole seconds (there, L = ceil(S t) and T = ceil(L / S) make a job longer on its
  own size than it was): the own request is that of the log, to the second, and so the load is that of the log;
- if the shuffle kept the own size, it is that one that the own size replaces (there, it replaces the first one, and one
  size may occur twice);
- if no size is accepted, no size above the largest is used instead;
- requested times are rounded up, after rounding to microseconds (see `speedup_models.execution_times`);
- a job of run time 0 stays rigid: it has no work to be shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.planner import Requests
from gas.times import LONGEST
from speedup_models import Constraint, Downey
from speedup_models.downey import speedup
from workloads import RigidJobs

__all__ = ["MOST_REQUESTS", "SURVEY", "Moldability", "MoldableJobs", "average_parallelism", "moldable_jobs"]
__all__ += ["number_of_requests", "smallest_size", "variance_of_parallelism"]

Sizes = Literal["own", "survey", "none"]

SURVEY: Final = (
    (Constraint("any"), 0.70),
    (Constraint("power-of-two"), 0.10),
    (Constraint("perfect-square"), 0.02),
    (Constraint("multiple", multiple=2), 0.08),
    (Constraint("multiple", multiple=4), 0.08),
    (None, 0.02),
)
"""Constraints on the size and their shares of the jobs; None is a rigid job."""

_ANY, _POWER_OF_TWO, _RIGID = 0, 1, len(SURVEY) - 1

MOST_REQUESTS: Final = 19
"""No user names more requests, the job's own included: the end of the distribution."""

_DECIMALS: Final = 6
_BLOCK: Final = 2**18  # requests whose times are computed at once; their arrays fit about into a cache


@dataclass(frozen=True)
class Moldability:
    """How jobs become moldable.

    Attributes
    ----------
    constraint
        On sizes. "own": powers of two if the job's own size is one, otherwise none (the authors' later model);
        "survey": drawn from `SURVEY`; "none".
    limited
        Whether only as many requests are kept as the user names, the job's own included, or all possible ones.
    variability
        The k of sigma = k max(0, N(1.209, 1.132)), from 0 to 1000.
    accuracy
        Execution time divided by requested time, from 0.001 to 1, the same for every request; None: each job has its
        own accuracy of the log.
    """

    constraint: Sizes = "own"
    limited: bool = True
    variability: float = 1.0
    accuracy: float | None = None

    def __post_init__(self) -> None:
        if self.constraint not in get_args(Sizes):
            raise BadInput(f'constraint on sizes "{self.constraint}" is not known; known: {", ".join(get_args(Sizes))}')
        if not 0 <= self.variability <= 1000:
            raise BadInput(f"variability {self.variability}: must be from 0 to 1000 (1 is the model's)")
        if self.accuracy is not None and not 0.001 <= self.accuracy <= 1:
            raise BadInput(f"accuracy {self.accuracy}: must be from 0.001 to 1 (run time over requested time)")


@dataclass(frozen=True, eq=False)
class MoldableJobs:
    """Jobs and the requests that each of them could make, its own among them."""

    jobs: RigidJobs
    """As submitted if they do not choose; a constant accuracy is included in their estimates."""
    first: NDArray[np.int64]
    """Requests of the job at place i are first[i]:first[i+1] of the following, by ascending size."""
    sizes: NDArray[np.int64]
    """Processors."""
    times: NDArray[np.int64]
    """Execution times in seconds."""
    walltimes: NDArray[np.int64]
    """Seconds requested."""
    A: NDArray[np.float64]
    """Each job's average parallelism; NaN for those that stay rigid."""
    sigma: NDArray[np.float64]
    """Each job's variance of parallelism; NaN for those that stay rigid."""

    def requests(self, place: int) -> Requests:
        """Return the possible requests of the job at an index, in submission order."""
        those = slice(self.first[place], self.first[place + 1])
        return Requests(self.sizes[those], self.times[those], self.walltimes[those])


def moldable_jobs(jobs: RigidJobs, options: Moldability, generator: np.random.Generator) -> MoldableJobs:
    """Return the jobs with alternatives to their own requests.

    The options do not change how many random numbers are drawn nor what each is used for: with the same seed, a job
    has the same A under every constraint.

    Sizes for which the job would request more than `gas.times.LONGEST` (136 years) are left out, since no scheduler
    accepts that; no job of a real log has such a size.

    Raises
    ------
    ValueError
        A run time is above its estimate: what such a job is allowed to do must be decided first.
    """
    late = np.flatnonzero(jobs.run_time > jobs.estimate)
    if late.size:
        at = int(late[0])
        raise ValueError(
            f"job {jobs.id[at]}: run time {jobs.run_time[at]} s is above its estimate of {jobs.estimate[at]} s; "
            "decide with workloads.apply_overrun what becomes of it, then make it moldable"
        )
    uniform = generator.random((len(jobs), 4 + MOST_REQUESTS - 1))
    normal = generator.standard_normal(len(jobs))

    smallest = smallest_size(uniform[:, 0])
    parallelism = average_parallelism(uniform[:, 1], smallest)
    sigma = variance_of_parallelism(normal, options.variability)
    useful = (Downey(1.0, a, s).largest_useful_size for a, s in zip(parallelism.tolist(), sigma.tolist(), strict=True))
    largest = np.minimum(np.fromiter(useful, np.int64, len(jobs)), jobs.machine)
    kind = _kinds(jobs, options.constraint, uniform[:, 3])
    listed = _Listed.of(jobs, kind, np.minimum(smallest, largest), largest)

    if options.limited:
        owner, sizes = listed.some(number_of_requests(uniform[:, 2]), uniform[:, 4:])
    else:
        owner, sizes = listed.every()
    owner, sizes = _with_own(jobs, owner, sizes)
    if options.accuracy is not None:
        asked = _rounded_up(jobs.run_time / options.accuracy)
        jobs = replace(jobs, estimate=np.clip(asked, 1, np.maximum(jobs.run_time, LONGEST)).astype(np.int64))
    times, walltimes = _times(jobs, owner, sizes, parallelism, sigma, options.accuracy)

    kept = (walltimes <= LONGEST) | (sizes == jobs.processors[owner])
    if not kept.all():
        owner, sizes, times, walltimes = owner[kept], sizes[kept], times[kept], walltimes[kept]
    rigid = kind == _RIGID
    return MoldableJobs(
        jobs=jobs,
        first=np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(jobs)))]).astype(np.int64),
        sizes=sizes,
        times=times.astype(np.int64),
        walltimes=walltimes.astype(np.int64),
        A=np.where(rigid, np.nan, parallelism),
        sigma=np.where(rigid, np.nan, sigma),
    )


def smallest_size(uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the smallest useful sizes of jobs, from 1 to 42, for numbers uniform in [0, 1)."""
    return np.maximum(1, np.ceil(_uniform_log(uniform, 0.0692, 0.6279))).astype(np.int64)


def average_parallelism(uniform: NDArray[np.float64], smallest: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return A of jobs with known smallest sizes, for numbers uniform in [0, 1); it often exceeds any machine."""
    doublings = np.log2(smallest)
    return np.maximum(1.0, _uniform_log(uniform, 0.009548 * doublings + 0.07468, -0.01877 * doublings - 0.009198))


def variance_of_parallelism(normal: NDArray[np.float64], variability: float = 1.0) -> NDArray[np.float64]:
    """Return sigma for numbers with the standard normal distribution."""
    return variability * np.maximum(0.0, 1.209 + 1.132 * normal)


def number_of_requests(uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many requests users name, from 2 to `MOST_REQUESTS`, for numbers uniform in [0, 1).

    The survey also has a share of 0.0306 who name only one; the authors' simulator does not use it.
    """
    return np.maximum(2, np.ceil(_uniform_log(uniform, 0.1918, 0.1876))).astype(np.int64)


def _uniform_log(
    uniform: NDArray[np.float64], slope: float | NDArray[np.float64], intercept: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return numbers with the distribution P(v) = slope · log2 v + intercept."""
    return np.exp2((uniform - intercept) / slope)


def _kinds(jobs: RigidJobs, constraint: Sizes, uniform: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return for each job the index of its constraint in `SURVEY`."""
    if constraint == "survey":
        kind = np.searchsorted(np.cumsum([share for _, share in SURVEY[:-1]]), uniform, side="right")
    elif constraint == "own":
        kind = np.where(jobs.processors & (jobs.processors - 1) == 0, _POWER_OF_TWO, _ANY)
    else:
        kind = np.full(len(jobs), _ANY)
    return np.where(jobs.run_time == 0, _RIGID, kind)


@dataclass(frozen=True)
class _Listed:
    """The accepted sizes of each job within its bounds: a slice of a table of all lists, one after the other."""

    table: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    own: NDArray[np.int64]
    """Index of the job's own size; -1 if not between `begin` and `end`."""

    @classmethod
    def of(
        cls, jobs: RigidJobs, kind: NDArray[np.intp], smallest: NDArray[np.int64], largest: NDArray[np.int64]
    ) -> _Listed:
        table = np.empty(0, np.int64)
        begin, end, own = np.zeros_like(smallest), np.zeros_like(smallest), np.full_like(smallest, -1)
        for number, (constraint, _) in enumerate(SURVEY):
            those = np.flatnonzero(kind == number)
            if constraint is None or not those.size:
                continue
            sizes = constraint.allowed(jobs.machine)
            begin[those] = len(table) + np.searchsorted(sizes, smallest[those])
            end[those] = len(table) + np.searchsorted(sizes, largest[those], side="right")
            own[those] = len(table) + np.searchsorted(sizes, jobs.processors[those])
            table = np.concatenate([table, sizes])
        there = (begin <= own) & (own < end)
        there[there] = table[own[there]] == jobs.processors[there]
        return cls(table, begin, end, np.where(there, own, -1))

    def every(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pairs of a job and an accepted size other than its own, sizes ascending."""
        length = self.end - self.begin
        owner = np.repeat(np.arange(len(length)), length)
        at = np.arange(len(owner)) + np.repeat(self.begin - (np.cumsum(length) - length), length)
        others = at != self.own[owner]
        return owner[others], self.table[at[others]]

    def some(
        self, requests: NDArray[np.int64], uniform: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return such pairs, as many per job as its user names besides the own size: the first of a shuffled list.

        The numbers `uniform` select the next one among those not yet taken. Counting also each one taken below it gives
        its rank among all.
        """
        others = self.end - self.begin - (self.own >= 0)
        wanted = np.minimum(requests, self.end - self.begin) - 1
        none = np.iinfo(np.int64).max
        taken = np.full((len(others), MOST_REQUESTS - 1), none)
        for turn in range(MOST_REQUESTS - 1):
            rank = (uniform[:, turn] * (others - turn)).astype(np.int64)
            for before in range(turn):
                rank += taken[:, before] <= rank
            taken[:, turn] = np.where(turn < wanted, rank, none)
            taken[:, : turn + 1].sort(axis=1)
        owner, column = np.nonzero(taken < none)
        at = self.begin[owner] + taken[owner, column]
        at += (self.own[owner] >= 0) & (self.own[owner] <= at)
        return owner, self.table[at]


def _with_own(
    jobs: RigidJobs, owner: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return jobs and sizes with each job's own size inserted in its place."""
    before = np.bincount(owner, minlength=len(jobs))
    smaller = np.bincount(owner[sizes < jobs.processors[owner]], minlength=len(jobs))
    at = np.cumsum(before) - before + smaller
    return np.insert(owner, at, np.arange(len(jobs))), np.insert(sizes, at, jobs.processors)


def _times(
    jobs: RigidJobs,
    owner: NDArray[np.int64],
    sizes: NDArray[np.int64],
    parallelism: NDArray[np.float64],
    sigma: NDArray[np.float64],
    accuracy: float | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return execution times and walltimes in whole seconds, still as floating-point numbers: some may be huge."""
    times, walltimes = np.empty(len(sizes)), np.empty(len(sizes))
    own_speedup = speedup(jobs.processors, parallelism, sigma)
    for begin in range(0, len(sizes), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        job, size = owner[block], sizes[block]
        ran, asked = jobs.run_time[job], jobs.estimate[job]
        # By the ratio of speed-ups, which is exactly 1 on the own size: the run time there is that of the log.
        time = _rounded_up(ran * (own_speedup[job] / speedup(size, parallelism[job], sigma[job])))
        time = np.where(ran > 0, np.maximum(time, 1), 0)
        request = time / accuracy if accuracy is not None else time * asked / np.maximum(ran, 1)
        times[block] = time
        own = size == jobs.processors[job]
        walltimes[block] = np.where(own, asked, np.maximum(time, _rounded_up(request)))
    return times, walltimes


def _rounded_up(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the seconds rounded up after rounding to microseconds, which removes floating-point noise."""
    rounded: NDArray[np.float64] = np.ceil(np.round(seconds, _DECIMALS))
    return rounded
