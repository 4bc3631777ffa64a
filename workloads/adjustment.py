"""Walltime adjustment: corrects requests by the share of their requests that similar jobs used recently.

W. Tang, N. Desai, D. Buettner and Z. Lan, "Job scheduling with adjusted runtime estimates on production
supercomputers", Journal of Parallel and Distributed Computing 73(7), 2013, section 4. An `Adjuster` learns from each
job as it ends, and adjusts each job as it arrives.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from sortedcontainers import SortedList

__all__ = ["MONTH", "Adjuster", "Key", "Scheme"]

Key = Literal["all", "user", "group", "user+group", "user+group+walltime"]
"""The common properties of similar jobs. The paper's project is the group of the Standard Workload Format."""

MONTH = 30 * 86400
"""Seconds of a month, as windows count them."""


@dataclass(frozen=True)
class Scheme:
    """The rule of an adjustment: which ended jobs count, and which percentile of their ratios of run time to request.

    The defaults are the paper's recommendations in section 4.2.5.
    """

    key: Key = "user+group+walltime"
    months: int | None = 1
    """Window of ends, in months of 30 days; None for no limit."""
    percentile: float = 85
    """Above 0, at most 100; smaller ones are bolder."""
    floor: float = 0.5
    """The smallest factor on a request; 0 for none."""
    least: int = 10
    """Required number of similar jobs."""

    def __post_init__(self) -> None:
        if self.key not in get_args(Key):
            raise ValueError(f'key "{self.key}" is not known; known: {", ".join(get_args(Key))}')
        if self.months is not None and self.months < 1:
            raise ValueError(f"a window of {self.months} months is empty; give 1 or more, or None for all")
        _check_percentile(self.percentile)
        if not 0 <= self.floor <= 1:
            raise ValueError(f"floor {self.floor} is not a factor on a request; give a number from 0 to 1")
        if self.least < 1:
            raise ValueError(f"at least {self.least} similar jobs is not a condition; give 1 or more")

    @property
    def window(self) -> int | None:
        """Only jobs that ended less than this number of seconds ago count; None for all."""
        return None if self.months is None else self.months * MONTH


class Adjuster:
    """The jobs that have ended, grouped by similarity.

    Ends and queries are in order of time, so an answer cannot use later events. Each takes O(log n) for n jobs within
    the window, amortised: jobs that leave the window are dropped once, at the next event. A user or group of -1 is
    unknown: a job that lacks a value of the key is similar to none.
    """

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme
        self._similar: dict[Hashable, SortedList[float]] = {}
        self._recent: deque[tuple[int, Hashable, float]] = deque()  # in order of ends; empty if all jobs count
        self._last_end: int | None = None
        self._now: int | None = None

    def ended(self, user: int, group: int, request: int, run_time: int, end: int) -> None:
        """Learn of a job that has ended.

        Parameters
        ----------
        request
            The user's requested walltime, in seconds.
        run_time
            Seconds; more than the request counts as all of it.
        end
            Second in which it ended; never below that of the previous job.

        Raises
        ------
        ValueError
            Ends are not in order, the request is below 1 s, or the run time is negative.
        """
        if self._last_end is not None and end < self._last_end:
            raise ValueError(f"a job that ended in second {end} comes after one that ended in {self._last_end}; sort")
        if request < 1 or run_time < 0:
            raise ValueError(f"run time {run_time} s of {request} s requested has no ratio; leave such jobs out")
        self._last_end = end
        self._now = max(end, end if self._now is None else self._now)
        self._forget(self._now)
        key = self._key(user, group, request)
        window = self.scheme.window
        if key is None or (window is not None and end <= self._now - window):
            return
        used = min(run_time / request, 1.0)
        if key not in self._similar:
            self._similar[key] = SortedList()
        self._similar[key].add(used)
        if window is not None:
            self._recent.append((end, key, used))

    def factor(self, user: int, group: int, request: int, now: int) -> float | None:
        """Return the factor for the request of an arriving job; None if too few jobs are similar.

        From the scheme's floor to 1.

        Raises
        ------
        ValueError
            `now` is before an earlier end or query.
        """
        found = self.factors(user, group, request, now, (self.scheme.percentile,))
        return None if found is None else found[0]

    def factors(
        self, user: int, group: int, request: int, now: int, percentiles: Sequence[float]
    ) -> list[float] | None:
        """Return the factors for several percentiles at once, in place of the scheme's; see `factor`.

        A percentile is the nearest rank: the smallest ratio that at least this percentage of the similar jobs do not
        exceed. (The paper gives no rule.)
        """
        if self._now is not None and now < self._now:
            raise ValueError(f"second {now} is past: what happened up to second {self._now} is known already")
        self._now = now
        self._forget(now)
        similar = self._similar.get(self._key(user, group, request), ())
        if len(similar) < self.scheme.least:
            return None
        return [max(similar[_rank(each, len(similar)) - 1], self.scheme.floor) for each in percentiles]

    def adjusted(self, user: int, group: int, request: int, now: int) -> int:
        """Return the request of an arriving job corrected by its factor: whole seconds, rounded up, at least 1.

        Unchanged if too few jobs are similar. A scheduler plans with it, but does not kill jobs at it.
        """
        factor = self.factor(user, group, request, now)
        # Rounding first keeps 100 · 0.55 at 55; in floating point it is 55.00000000000001.
        return request if factor is None else max(math.ceil(round(request * factor, 6)), 1)

    def check(self) -> None:
        """Raise `AssertionError` if the records by similarity differ from those by time."""
        for key, similar in self._similar.items():
            assert similar, f"{key} is kept for no job"
            assert list(similar) == sorted(similar), f"the ratios of {key} are not in order"
        ends = [end for end, _, _ in self._recent]
        assert ends == sorted(ends), "ends are not in order"
        if self.scheme.window is None:
            assert not ends, "ends are kept that are never needed"
            return
        if ends and self._now is not None:
            assert ends[0] > self._now - self.scheme.window, f"an end in second {ends[0]} is out of the window"
        kept = Counter((key, used) for key, similar in self._similar.items() for used in similar)
        assert kept == Counter((key, used) for _, key, used in self._recent), "ratios and ends are of different jobs"

    def _key(self, user: int, group: int, request: int) -> Hashable:
        """Return the common properties of similar jobs; None for a job that is similar to none."""
        key = self.scheme.key
        if key == "all":
            return ()
        if ("user" in key and user < 0) or ("group" in key and group < 0):
            return None
        if key == "user":
            return user
        if key == "group":
            return group
        return (user, group) if key == "user+group" else (user, group, request)

    def _forget(self, now: int) -> None:
        window = self.scheme.window
        if window is None:
            return
        while self._recent and self._recent[0][0] <= now - window:
            _, key, used = self._recent.popleft()
            similar = self._similar[key]
            similar.remove(used)
            if not similar:
                del self._similar[key]


def _check_percentile(percentile: float) -> None:
    if not 0 < percentile <= 100:
        raise ValueError(f"{percentile} is not a percentile; give a number above 0, up to 100")


def _rank(percentile: float, jobs: int) -> int:
    """Return the smallest rank from 1 such that at least this percentage of the jobs have it or a smaller one."""
    numerator, denominator = _share(percentile)
    return -(-numerator * jobs // denominator)


@lru_cache(maxsize=64)
def _share(percentile: float) -> tuple[int, int]:
    """Return the percentile as the fraction of its decimals: floating point puts 99.9% of 1000 above 999."""
    _check_percentile(percentile)
    return (Fraction(str(percentile)) / 100).as_integer_ratio()
