"""The model of users' estimates by Tsafrir, Etsion and Feitelson: a few round values are used over and over.

D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", Job Scheduling Strategies for Parallel
Processing, 2005; constants and procedure as in the authors' program est_model. Twenty *head* values have 89% of the
jobs, the longest estimate alone about a fifth; a long *tail* of values shares the rest. The values follow from the
number of jobs and the longest estimate; their assignment is random, but no estimate is below its run time.

Where the program stops, or is ambiguous:

- Up to 200 jobs have up to 20 values, so no tail: the most popular ones are kept, and their shares scaled to 100%.
- A longest estimate of few hours leaves fewer than 20 round values for the head: these keep their order of popularity.
- Remainders from rounding to whole jobs go one by one to the largest values, and are taken from them.
- Values with a known number of jobs, which the program accepts as hints, are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["TsafrirModel", "distinct_estimates", "estimate_values", "tsafrir"]

_MINUTE, _HOUR = 60, 3600
_HEAD = 20
_LONGEST = 2**53
_JOINT = (
    *(minutes * _MINUTE for minutes in (5, 10, 15, 20, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)),
)
"""Popular estimates on all four machines that the authors studied."""
_ROUND = (*(hours * _HOUR for hours in (200, 100, 50, 10, 5, 2, 1)), *(minutes * _MINUTE for minutes in (20, 10, 5)))
"""Multiples of these, from the longest estimate downwards, complete the head."""
_OFFSETS = (0, 30, -30, 20, -20, 10, -10)
"""Offsets in seconds by which a value of the tail avoids another one."""
_DISTINCT = ((0, 0), (20, 10), (200, 20), (1000, 35), (10_000, 90), (70_000, 340), (250_000, 565))
"""Numbers of jobs with their numbers of distinct values; linear in between."""

_POPULARITY = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7),
    (7, 9, 2, 2), (8, 8, 3, 18), (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11),
    (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14), (14, 14, 9, 13),
    (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip
"""Popularity ranks of the values of the head on SDSC's SP2, CTC, KTH and Blue; the longest first, then ascending."""


@dataclass(frozen=True)
class TsafrirModel:
    """The constants of the model."""

    head: float = 89
    """Percent of the jobs that have one of the 20 most popular values."""
    head_scale: float = 14.0491
    """The share of the value of popularity rank x, from 2 to 20: scale · exp(rate · x) + base percent."""
    head_rate: float = -0.177531
    head_base: float = 0.462513
    tail_exponent: float = -2.267
    """The share of the value of rank x, from 21, is proportional to x to this power."""
    bend_scale: float = 12.1039
    """Values of the tail lie at M (a - 1) x / (a - x) for x up to 1, where a = 1 + scale · K ** exponent."""
    bend_exponent: float = -0.6026

    def __post_init__(self) -> None:
        if not 0 < self.head < 100:
            raise ValueError(f"head {self.head} is not a percentage; give a number between 0 and 100")
        if not self.bend_scale > 0:
            raise ValueError(f"bend_scale {self.bend_scale} puts no value into the tail; give a number above 0")
        rest = self.head_shares(_HEAD)
        if rest.min() <= 0:
            raise ValueError(f"the constants leave the most popular value {rest[0]:.3g}% of the jobs; raise head")

    def head_shares(self, values: int) -> NDArray[np.float64]:
        """Return the percentage of jobs for each value of the head, by popularity; the sum is `head`."""
        shares: NDArray[np.float64]
        shares = self.head_scale * np.exp(self.head_rate * np.arange(1, values + 1)) + self.head_base
        shares[0] = self.head - shares[1:].sum()
        return shares


def tsafrir(
    run_times: ArrayLike, generator: np.random.Generator, *, longest: float, model: TsafrirModel | None = None
) -> NDArray[np.int64]:
    """Return an estimate for each job: at least its run time, but never above the longest.

    In whole seconds, at least 1. Run times are rounded up to whole seconds, and cut at the longest estimate: jobs that
    run longer have the longest estimate.

    Parameters
    ----------
    longest
        The longest estimate that the machine allows, in seconds, at least an hour.

    Raises
    ------
    ValueError
        The longest estimate is below an hour, a run time is negative, or so many run times are long that the model has
        too few long estimates for them.
    """
    most = _checked_longest(longest)
    seconds = np.asarray(run_times, dtype=np.float64)
    if not (seconds >= 0).all():
        raise ValueError(f"run time {seconds[~(seconds >= 0)][0]} has no estimate; leave such jobs out")
    if not seconds.size:
        return np.empty(0, dtype=np.int64)
    needed = np.minimum(np.ceil(seconds), most).astype(np.int64)
    times, jobs = estimate_values(needed.size, most, generator, model)
    values = np.repeat(times, jobs)[::-1]
    order = np.argsort(-needed, kind="stable")
    _check_possible(needed[order], values, most)
    estimates = np.empty(needed.size, dtype=np.int64)
    estimates[order] = _assigned(needed[order], values, generator)
    return estimates


def estimate_values(
    jobs: int, longest: float, generator: np.random.Generator, model: TsafrirModel | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the values of the estimates of this number of jobs, ascending, and how many jobs have each value.

    In seconds; at least one job has each value. See `tsafrir`.
    """
    model, most = model or TsafrirModel(), _checked_longest(longest)
    wanted = distinct_estimates(jobs)
    head = _head_values(most)
    popularity = _head_popularity(generator)[: head.size].argsort().argsort()  # from 0, without gaps
    kept = popularity < wanted
    head, popularity = head[kept], popularity[kept]
    tail = _tail_values(most, wanted, head, model)
    generator.shuffle(tail)
    by_rank = np.arange(_HEAD + 1, _HEAD + 1 + tail.size) ** model.tail_exponent
    shares = np.concatenate(
        (model.head_shares(head.size)[popularity], (100 - model.head) * by_rank / (by_rank.sum() or 1))
    )
    counts = _whole_jobs(shares / shares.sum(), jobs)
    times = np.concatenate((head, tail))
    order = times.argsort()
    return times[order], counts[order]


def distinct_estimates(jobs: int) -> int:
    """Return the number of distinct estimates for this number of jobs, before values of the tail are dropped."""
    if jobs < 1:
        raise ValueError(f"{jobs} jobs have no estimates; give 1 or more")
    x, y = zip(*_DISTINCT, strict=True)
    return max(int(np.floor(np.interp(jobs, x, y) + 0.5)), 1)


def _checked_longest(longest: float) -> int:
    if not _HOUR <= longest <= _LONGEST:
        raise ValueError(f"a longest estimate of {longest:g} s is outside the model; give one from 3600 s (an hour)")
    return int(longest)


def _head_values(longest: int) -> NDArray[np.int64]:
    """Return the longest estimate, then the other values of the head in ascending order."""
    chosen = {each for each in _JOINT if each < longest}
    for step in _ROUND:
        for each in range(longest // step * step, 0, -step):
            if len(chosen) == _HEAD - 1:
                break
            if each != longest:
                chosen.add(each)
    return np.array([longest, *sorted(chosen)], dtype=np.int64)


def _head_popularity(generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the rank of popularity, from 1, of each value of the head: the longest first, then ascending.

    Each row of the table adds its ranks to a pool, from which the value takes one, with a bias towards the popular. A
    rank that no later row has must be taken; the longest value is always the most popular.
    """
    last_row = {rank: row for row, ranks in enumerate(_POPULARITY) for rank in ranks}
    pool: list[int] = []
    taken: list[int] = []
    for row, ranks in enumerate(_POPULARITY):
        pool += [rank for rank in ranks if rank not in taken]
        due = [rank for rank in pool if last_row[rank] <= row]
        if row == 0:
            rank = 1
        elif due:
            rank = min(due)
        else:
            rank = min(pool[draw] for draw in generator.integers(len(pool), size=2).tolist())
        taken.append(rank)
        pool = [each for each in pool if each != rank]
    return np.array(taken)


def _tail_values(longest: int, wanted: int, head: NDArray[np.int64], model: TsafrirModel) -> NDArray[np.int64]:
    """Return the values beyond the head: on whole minutes, or a few seconds off if one is already used."""
    number = max(wanted - head.size, 0)
    bend = 1 + model.bend_scale * wanted**model.bend_exponent
    position = np.arange(1, number + 1) / max(number, 1)
    minutes = np.floor((bend - 1) * position / (bend - position) * longest / _MINUTE + 0.5)
    taken = set(head.tolist())
    found: list[int] = []
    for second in (minutes.astype(np.int64) * _MINUTE).tolist():
        free = (second + offset for offset in _OFFSETS if second + offset not in taken)
        value = next((each for each in free if 0 < each < longest), None)
        if value is not None:
            taken.add(value)
            found.append(value)
    return np.array(found, dtype=np.int64)


def _whole_jobs(shares: NDArray[np.float64], jobs: int) -> NDArray[np.int64]:
    """Return the number of jobs with each value: at least one, and all jobs in total."""
    counts = np.maximum(np.floor(shares * jobs + 0.5), 1).astype(np.int64)
    while over := int(counts.sum()) - jobs:
        largest = np.argsort(-counts, kind="stable")
        if over > 0:
            largest = largest[counts[largest] > 1]
        counts[largest[: abs(over)]] -= 1 if over > 0 else -1
    return counts


def _check_possible(needed: NDArray[np.int64], values: NDArray[np.int64], longest: int) -> None:
    """Raise if there are too few estimates, in descending order, for the run times, also descending."""
    as_long = np.searchsorted(-needed, -needed, side="right")
    enough = np.searchsorted(-values, -needed, side="right")
    worst = int(np.argmax(as_long - enough))
    if as_long[worst] > enough[worst]:
        way = "give a larger `longest`" if needed[worst] == longest else "take another model, or try a larger `longest`"
        raise ValueError(
            f"{as_long[worst]:,} jobs run for {needed[worst]} s or more (cut at the longest estimate, {longest} s), "
            f"but the model has only {enough[worst]:,} estimates that long; {way}"
        )


def _assigned(
    needed: NDArray[np.int64], values: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return one of the estimates for each run time, both in descending order, at random among those not below it."""
    left = values.tolist()
    # From position j on, the first `enough` values are all that are left and not below run time j, in some order.
    enough = np.searchsorted(-values, -needed, side="right")
    position = np.arange(needed.size)
    draws = position + np.floor(generator.random(needed.size) * (enough - position)).astype(np.int64)
    for at, drawn in enumerate(draws.tolist()):
        left[at], left[drawn] = left[drawn], left[at]
    return np.array(left, dtype=np.int64)
