"""Replacing jobs of a log by benchmarks whose speed-up is known.

"We circumvent this problem by *replacing* applications in the log by applications with known speed-up behavior [...]
we search for applications whose consumed CPU time is as close as possible" (the Gas paper, section 5.1). So a
benchmark and its static request are drawn first; they replace the job with the nearest processor time. No job is
replaced twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from experiments.moldable.benchmarks import Form, Mix, application, choices
from gas.application import Requests
from gas.errors import BadInput
from workloads import RigidJobs

__all__ = ["OPPONENTS", "Match", "Opponent", "Substitute", "TooFewJobs", "load_ratio", "static_request", "substitutes"]

Opponent = Literal["uniform", "powers", "log", "own"]

OPPONENTS: Mapping[Opponent, str] = {
    "uniform": "uniform over the sizes that the benchmark accepts",
    "powers": "uniform over powers of two if the benchmark accepts any size, else over all sizes that it accepts",
    "log": "uniform in their logarithms, of the sizes that the benchmark accepts the nearest",
    "own": "the size of the job that is replaced",
}
"""How the static request is chosen. The first is probably the paper's "randomly picked". The last is the rule of the
authors' later code: only jobs of a size that the benchmark accepts are replaced. The gain of Gas depends on the rule.
"""


Match = Literal["used", "requested", "any"]
"""Which job is replaced: the one whose used, or requested, processor time is nearest to the benchmark's, or any job."""


class TooFewJobs(BadInput):
    """Fewer jobs of a log can be replaced than requested."""


@dataclass(frozen=True)
class Substitute:
    """A benchmark in place of a job.

    Attributes
    ----------
    place
        Index of the job, in submission order.
    benchmark, problem_class
        The benchmark that replaces it.
    static
        Processors of the static request.
    """

    place: int
    benchmark: str
    problem_class: str
    static: int


def substitutes(
    jobs: RigidJobs,
    count: int,
    *,
    mix: Mix,
    form: Form,
    opponent: Opponent,
    generator: np.random.Generator,
    match: Match = "used",
    first: int = 0,
) -> list[Substitute]:
    """Return `count` substitutes, all for different jobs, in the order in which they were drawn.

    Parameters
    ----------
    first
        Index of the first job that can be replaced; earlier jobs only keep the machine busy.

    Raises
    ------
    TooFewJobs
        Fewer jobs can be replaced.
    """
    if opponent not in OPPONENTS:
        raise BadInput(f'opponent "{opponent}" is not known; known: {", ".join(OPPONENTS)}')
    of_mix = choices(mix, form, jobs.machine)
    shares = np.array([share for _, _, share in of_mix])
    requests_of = {(b, c): application(b, c, form).requests(jobs.machine) for b, c, _ in of_mix}
    free = _ByWork(jobs, match, first)
    found: list[Substitute] = []
    for _ in range(count):
        benchmark, problem_class, _ = of_mix[int(generator.choice(len(of_mix), p=shares))]
        asked = requests_of[benchmark, problem_class]
        if opponent == "own":
            place = free.take_nearest_of_sizes(asked)
            static = -1 if place is None else int(jobs.processors[place])
        else:
            static = _static_size(asked.sizes, benchmark, opponent, generator)
            if match == "any":
                place = free.take_nearest(int(generator.integers(max(len(jobs) - first, 1))))
            else:
                times = asked.times if match == "used" else asked.walltimes
                place = free.take_nearest(static * int(times[np.searchsorted(asked.sizes, static)]))
        if place is None:
            raise TooFewJobs(
                f"{count} substitutes: the log has only {len(found)} jobs that can be replaced; request fewer"
            )
        found.append(Substitute(place, benchmark, problem_class, static))
    return found


def load_ratio(jobs: RigidJobs, placed: list[Substitute], form: Form, first: int = 0) -> float:
    """Return the processor time of the jobs with the substitutes (static requests) divided by that without.

    Parameters
    ----------
    first
        Index of the first job that counts.
    """
    work = jobs.processors * jobs.run_time
    before = int(work[first:].sum())
    after = before
    for one in placed:
        size, _, time = static_request(one, application(one.benchmark, one.problem_class, form).requests(jobs.machine))
        after += size * time - int(work[one.place])
    return after / max(before, 1)


def static_request(one: Substitute, asked: Requests) -> tuple[int, int, int]:
    """Return processors, walltime and execution time of a substitute's static request; `asked` has all its requests."""
    at = int(np.searchsorted(asked.sizes, one.static))
    return one.static, int(asked.walltimes[at]), int(asked.times[at])


def _static_size(sizes: NDArray[np.int64], benchmark: str, opponent: Opponent, generator: np.random.Generator) -> int:
    if opponent == "log":
        logarithms = np.log(sizes)
        drawn = generator.uniform(logarithms[0], logarithms[-1])
        return int(sizes[np.argmin(np.abs(logarithms - drawn))])
    if opponent == "powers" and benchmark == "EP":
        sizes = sizes[(sizes & (sizes - 1)) == 0]
    return int(generator.choice(sizes))


def _time(jobs: RigidJobs, match: Match) -> NDArray[np.int64]:
    return jobs.run_time if match == "used" else jobs.estimate


class _ByWork:
    """The jobs that are not yet replaced, by the matched quantity; by index if any job may be replaced."""

    def __init__(self, jobs: RigidJobs, match: Match, first: int) -> None:
        self.jobs = jobs
        count = len(jobs) - first
        work = np.arange(count) if match == "any" else (jobs.processors * _time(jobs, match))[first:]
        order = np.argsort(work, kind="stable")
        self._order = first + order
        self._work = work[order]
        self._free = np.ones(count, np.bool_)
        # For each benchmark: jobs of sizes that it accepts, the nearest last; the order never changes.
        self._nearest: dict[int, list[int]] = {}
        # For each index: the next one up or down that may be free, itself included; a bushel asks ten thousand times.
        self._up = list(range(count + 1))
        self._down = list(range(count + 1))  # shifted by one: entry 0 is before the first index

    def take_nearest(self, work: int) -> int | None:
        """Take the job nearest to a processor time; of two equally near jobs the one with less."""
        at = int(np.searchsorted(self._work, work))
        above, below = _found(self._up, at), _found(self._down, at) - 1
        if below >= 0:  # of jobs with equal work the first one
            below = _found(self._up, int(np.searchsorted(self._work, self._work[below])))
        if below < 0 and above == len(self._work):
            return None
        if below < 0:
            return self._take(above)
        nearer = above < len(self._work) and self._work[above] - work < work - self._work[below]
        return self._take(above if nearer else below)

    def take_nearest_of_sizes(self, asked: Requests) -> int | None:
        """Take the job whose processor time is nearest to that of the benchmark on the job's own size."""
        nearest = self._nearest.get(id(asked))
        if nearest is None:
            processors = self.jobs.processors[self._order]
            at = np.searchsorted(asked.sizes, processors).clip(max=len(asked.sizes) - 1)
            there = np.flatnonzero(asked.sizes[at] == processors)
            away = np.abs(self._work[there] - processors[there] * asked.times[at[there]])
            nearest = self._nearest[id(asked)] = there[np.argsort(away, kind="stable")].tolist()[::-1]
        while nearest and not self._free[nearest[-1]]:
            nearest.pop()
        return self._take(nearest.pop()) if nearest else None

    def _take(self, at: int) -> int:
        self._free[at] = False
        self._up[at], self._down[at + 1] = at + 1, at
        return int(self._order[at])


def _found(next_ones: list[int], at: int) -> int:
    """Return the end of a chain of references from an entry, and shorten the chain."""
    while next_ones[at] != at:
        next_ones[at] = next_ones[next_ones[at]]
        at = next_ones[at]
    return at
