"""Estimates that a system derives from ended jobs.

Each predictor learns ends in their order, and is queried at submissions in between; see `workloads.replay`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable
from typing import Literal, get_args

__all__ = ["WEEK", "Forget", "LastTwo", "MeanAndDeviation"]

WEEK = 7 * 86400

Forget = Literal["idle", "begun", "window"]
"""When information is too old: see `MeanAndDeviation`."""


_MOST_DEVIATIONS = 1000
"""Larger values would be meaningless, and soon exceed any number of seconds."""


class MeanAndDeviation:
    """The mean of earlier run times plus some standard deviations (Mu'alem & Feitelson 2001, section 4.4).

    For jobs with the same key, in the paper (executable, user, size), it keeps three numbers: how many ended, and the
    sums of their run times and of the squares. The paper adds that if nothing specific is known "data for the whole
    workload is used", and that it discards "historical information if it is more than a week old" to "start from
    scratch". It does not say how the age is measured, which deviation is meant, or how many jobs make a history.

    With the defaults, 72.0% of the completed jobs of CTC's log (3.1-cln) have a history and 18.7% get less than their
    run time; published are 72.1% and 19.2%. But 16.7% get less in spite of a history, published 10.0%; at that coverage
    no reading below yields less than 15.9%.

    Parameters
    ----------
    deviations
        Number of standard deviations that are added.
    age
        Seconds after which information is too old.
    forget
        What is too old. "idle" (our reading, as three numbers suffice for it): everything about a key whose last job
        ended longer than `age` ago. "begun": everything about a key whose record began longer than `age` ago. "window":
        each job that ended longer than `age` ago. The same holds for the whole workload.
    sample
        True divides by n - 1, which needs two jobs; a single job has deviation 0, as with n.
    least
        Number of jobs that make a key known.
    """

    def __init__(
        self,
        deviations: float = 1.5,
        age: float = WEEK,
        *,
        forget: Forget = "idle",
        sample: bool = False,
        least: int = 1,
    ) -> None:
        if not 0 <= deviations <= _MOST_DEVIATIONS:
            raise ValueError(
                f"{deviations} standard deviations cannot be added; give a number from 0 to {_MOST_DEVIATIONS}"
            )
        if not age > 0:
            raise ValueError(f"an age of {age} s leaves nothing to know; give a number above 0")
        if forget not in get_args(Forget):
            raise ValueError(f'forget "{forget}" is not known; known: {", ".join(get_args(Forget))}')
        if least < 1:
            raise ValueError(f"at least {least} jobs is not a history; give 1 or more")
        self.deviations, self.age, self.forget, self.sample, self.least = deviations, age, forget, sample, least
        self._of: dict[Hashable, _Record] = {}
        self._all = _Record()
        self._last_end: int | None = None

    def ended(self, key: Hashable, run_time: int, end: int) -> None:
        """Record a job that has ended; a job with the key None is similar to no other and counts only for all jobs.

        Raises
        ------
        ValueError
            Ends are not in order.
        """
        self._last_end = _in_order(end, self._last_end)
        records = [self._all]
        if key is not None:
            records.append(self._of.setdefault(key, _Record()))
        for record in records:
            self._discard(record, end)
            record.add(run_time, end, remember=self.forget == "window")

    def estimate(self, key: Hashable, now: int) -> tuple[int | None, bool]:
        """Return the estimate in whole seconds, rounded up, at least 1, and whether jobs of this key were known.

        Otherwise the estimate is that of all jobs; None if no job at all is known.
        """
        _not_past(now, self._last_end)
        own = self._of.get(key) if key is not None else None
        if own is not None:
            self._discard(own, now)
            if own.jobs >= self.least:
                return own.estimate(self.deviations, self.sample), True
            if not own.jobs:
                del self._of[key]
        self._discard(self._all, now)
        return (self._all.estimate(self.deviations, self.sample) if self._all.jobs else None), False

    def _discard(self, record: _Record, now: int) -> None:
        if self.forget == "window":
            record.drop(now - self.age)
        elif record.jobs and now - (record.last if self.forget == "idle" else record.first) > self.age:
            record.clear()


class LastTwo:
    """The mean of the run times of the two jobs of the same user that ended last.

    The predictor of D. Tsafrir, Y. Etsion and D. G. Feitelson, "Backfilling using system-generated predictions rather
    than user runtime estimates", IEEE Transactions on Parallel and Distributed Systems 18(6), 2007.
    """

    def __init__(self) -> None:
        self._of: dict[int, tuple[int | None, int]] = {}
        self._last_end: int | None = None

    def ended(self, user: int, run_time: int, end: int) -> None:
        """Record a job that has ended; the user -1 is unknown and has no other job.

        Raises
        ------
        ValueError
            Ends are not in order.
        """
        self._last_end = _in_order(end, self._last_end)
        if user >= 0:
            before = self._of.get(user)
            self._of[user] = (None if before is None else before[1], run_time)

    def estimate(self, user: int, now: int) -> int | None:
        """Return the estimate in whole seconds, rounded up, at least 1; None before two jobs of the user have ended."""
        _not_past(now, self._last_end)
        earlier, last = self._of.get(user, (None, 0))
        return None if earlier is None else max((earlier + last + 1) // 2, 1)


class _Record:
    """Number, sum and sum of squares of run times. Whole numbers, so that additions can be undone exactly."""

    __slots__ = ("_each", "first", "jobs", "last", "squares", "total")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.jobs = self.total = self.squares = self.first = self.last = 0
        self._each: deque[tuple[int, int]] = deque()

    def add(self, run_time: int, end: int, *, remember: bool) -> None:
        self.first = self.first if self.jobs else end
        self.last = end
        self.jobs += 1
        self.total += run_time
        self.squares += run_time * run_time
        if remember:
            self._each.append((end, run_time))

    def drop(self, until: float) -> None:
        """Remove the jobs that ended before a given second."""
        while self._each and self._each[0][0] < until:
            _, run_time = self._each.popleft()
            self.jobs -= 1
            self.total -= run_time
            self.squares -= run_time * run_time

    def estimate(self, deviations: float, sample: bool) -> int:
        spread = self.jobs * self.squares - self.total * self.total  # jobs² times the variance, never negative
        deviation = math.sqrt(spread / (self.jobs * max(self.jobs - sample, 1)))
        return max(math.ceil(round(self.total / self.jobs + deviations * deviation, 6)), 1)


def _in_order(end: int, last: int | None) -> int:
    if last is not None and end < last:
        raise ValueError(f"a job that ended in second {end} comes after one that ended in {last}; sort them")
    return end


def _not_past(now: int, last: int | None) -> None:
    if last is not None and now < last:
        raise ValueError(f"second {now} is past: what happened up to second {last} is known already")
