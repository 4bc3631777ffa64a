"""The used share of walltimes, learned from jobs that have ended, and drawn for jobs that have not.

The share is run time / walltime, at most 1 (R in Tang et al. 2013, equation 1). A job is assumed to resemble the last
jobs of its own class: its user, name, processors and walltime; if few are known, those of wider classes, step by step
(`_LEVELS`): n jobs of a class count as n, knowledge of the next wider one as `PRIOR`. So a user without a past
resembles all others, and a user who always uses a tenth soon only himself. Within a class, later jobs count more, and
jobs submitted at about the same time much more.

Two outcomes are not shares: a job that ends within two minutes has failed at once, after so many seconds for any
walltime; and a job that is killed at its walltime would be killed at any. A running job resembles those that ran for
longer. Jobs of a user share their luck (`gas.prediction.luck`).

These constants, and the classes, were chosen by run times in the first halves of four logs (SP2s of KTH, CTC and SDSC,
CM-5 of LANL), the same for all. There, accounts, queues and the time of day were not informative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gas.prediction.luck import TYPICAL, Amounts, amounts_of, scores_together
from gas.prediction.snapshot import Snapshot

__all__ = ["LAST", "PRIOR", "Ended", "Usage"]

LAST = 40
"""Number of last jobs of a class whose shares count."""

_WIDE = 120
"""The same number for classes of several users."""

PRIOR = 8.0
"""Weight of the next wider class, in jobs of the own class."""

LAST_PAIRED = 3_000
"""Number of last jobs from which the correlation of luck is learned."""


class _Level(NamedTuple):
    """A class of jobs.

    Attributes
    ----------
    of
        The common properties of its jobs.
    fades
        The factor by which each earlier one counts less.
    seconds
        Whether its walltimes differ so much that run times in seconds are as informative as shares.
    last
        Number of jobs whose shares count.
    """

    of: tuple[str, ...]
    fades: float
    seconds: bool = False
    last: int = LAST


_LEVELS = (
    _Level(("user", "name", "processors", "walltime"), 0.85),
    _Level(("user", "name"), 0.9),
    _Level(("user", "processors", "walltime"), 0.85),
    _Level(("user", "step"), 0.9, seconds=True),
    _Level(("user",), 0.95, seconds=True),
    _Level(("step",), 1.0, last=_WIDE),
    _Level((), 1.0, last=_WIDE),
)
"""From the narrowest class to that of all jobs."""

_STEPS = 4
"""Classes of walltimes per doubling."""

_AT_ONCE = 120
"""Seconds; a job that ends within this time has failed."""

_BURST, _BURST_SECONDS = 2.0, 120.0
"""Factor by which a job of the same user counts more if submitted at the same instant, and approximate time limit."""

_EVENLY = 25
"""Number of uniform shares that are expected without any past."""

_KILLED = 100
"""Number of last jobs that reached their limits from which it is learned how late they end."""

_AT_A_TIME = 500
"""Number of jobs whose expected run times are computed at a time: some tens of megabytes."""

_APART = 600
"""Assumed seconds between the submissions of neighbours in a queue, if unknown."""

_MOST_GONE = 0.999
"""Largest share of its expected run times that a job has exceeded."""

_BOUND = 2.5
"""Largest luck, as a normal score: expectations are never as certain."""


class Ended(NamedTuple):
    """Jobs that have ended, or will: a column each, int64; users and names of -1 are not known."""

    submit: NDArray[np.int64]
    end: NDArray[np.int64]
    user: NDArray[np.int64]
    name: NDArray[np.int64]
    processors: NDArray[np.int64]
    walltime: NDArray[np.int64]
    run_time: NDArray[np.int64]


class _Asked(NamedTuple):
    """What tells jobs apart."""

    user: NDArray[np.int64]
    name: NDArray[np.int64]
    processors: NDArray[np.int64]
    walltime: NDArray[np.int64]
    step: NDArray[np.int64]
    submit: NDArray[np.int64] | None

    def some(self, rows: NDArray[np.intp]) -> _Asked:
        submit = None if self.submit is None else self.submit[rows]
        told = self.user[rows], self.name[rows], self.processors[rows], self.walltime[rows], self.step[rows]
        return _Asked(*told, submit)

    def classes(self, level: _Level) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return a number for each job's class, and which jobs have one: those whose user and name are known."""
        columns = {name: getattr(self, name) for name in level.of}
        found = np.zeros(len(self.user), np.uint64)
        for column in columns.values():
            found = (found ^ np.ascontiguousarray(column).view(np.uint64)) * _ODD
            found ^= found >> np.uint64(29)
        known = [columns[name] >= 0 for name in ("user", "name") if name in columns]
        return found, np.logical_and.reduce(known) if known else np.ones(len(self.user), np.bool_)


_ODD = np.uint64(0x9E3779B97F4A7C15)
_KIND = _Level(("user", "processors", "walltime"), 1.0)


class _Index:
    """Jobs in the order of their ends, by class."""

    def __init__(self, jobs: _Asked, level: _Level) -> None:
        self._level = level
        found, classed = jobs.classes(level)
        self._classes, number = np.unique(found[classed], return_inverse=True)
        self._length = max(len(found), 1)
        rows = np.flatnonzero(classed)
        self._places = np.sort(number * self._length + rows)  # of one class after those of the one before

    def last(self, jobs: _Asked, known: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the last rows of the class of each job, of the first `known` ones, and where there are such."""
        found, classed = jobs.classes(self._level)
        if not len(self._places):
            return np.zeros((len(found), 0), np.int64), np.zeros((len(found), 0), np.bool_)
        number = np.minimum(np.searchsorted(self._classes, found), len(self._classes) - 1)
        classed &= self._classes[number] == found
        first, end = (np.searchsorted(self._places, number * self._length + until) for until in (0, known))
        back = np.arange(self._level.last)
        there = classed[:, None] & (back < (end - first)[:, None])
        places = self._places[np.where(there, end[:, None] - 1 - back, 0)]
        return places % self._length, there


class _Outlook(NamedTuple):
    """What is expected of jobs.

    Attributes
    ----------
    seconds
        Run times that are possible, ascending: shape ``(jobs, values)``.
    up_to
        The probability of this one or less.
    """

    seconds: NDArray[np.float64]
    up_to: NDArray[np.float64]

    def below(self, lasted: NDArray[np.float64], *, through: bool = False) -> NDArray[np.float64]:
        """Return with which probability each lasts less than that, or (through) no longer."""
        limit = lasted[:, None]
        part = self.seconds <= limit if through else self.seconds < limit
        return np.asarray(np.where(part, self.up_to, 0).max(axis=1), np.float64)

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the seconds within which each ends with these probabilities: shape ``(samples, jobs)`` both."""
        most = self.seconds.shape[1] - 1
        columns = zip(self.up_to, self.seconds, shares.T, strict=True)
        found = [seconds[np.minimum(np.searchsorted(up_to, at), most)] for up_to, seconds, at in columns]
        return np.array(found).T.reshape(shares.shape)


class Usage:
    """Shares of their walltimes that jobs have used, as they are known at an instant.

    Parameters
    ----------
    ended
        Jobs in any order. Of one that has not ended by the instant that was learnt last nothing is used.
    """

    def __init__(self, ended: Ended) -> None:
        order = np.lexsort((*ended, ended.end))  # the order within an instant tells nothing
        self.ended = Ended(*(np.ascontiguousarray(column[order], np.int64) for column in ended))
        self._asked = _asked(self.ended)
        self._seconds = np.minimum(self.ended.run_time, self.ended.walltime).astype(np.float64)
        self._shares = self._seconds / np.maximum(self.ended.walltime, 1)
        self._indices = [_Index(self._asked, level) for level in _LEVELS]
        self._kinds, _ = self._asked.classes(_KIND)
        self._scores = np.full(len(order), np.nan)
        self._known = 0

    def __len__(self) -> int:
        """Return how many jobs have ended."""
        return self._known

    def learn(self, now: int) -> None:
        """Know of the jobs that have ended by an instant."""
        self._known = int(np.searchsorted(self.ended.end, now, side="right"))

    def draw(self, snapshot: Snapshot, samples: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return run times for the jobs of a snapshot: a row for each sample, a column for each job.

        In seconds, from 1 to the walltime; for one that runs, more than it has run so far.
        """
        asked, elapsed, walltime = _asked(snapshot), snapshot.elapsed, snapshot.walltime
        known = np.full(len(snapshot), self._known)
        gone = np.zeros(len(snapshot))
        ran = np.flatnonzero(elapsed)
        for part in _parts(ran):
            outlook = self._outlook(asked.some(part), np.zeros(len(part), np.int64), known[part])
            gone[part] = np.minimum(outlook.below((elapsed[part] + 1).astype(np.float64)), _MOST_GONE)
        kind, _ = asked.classes(_KIND)
        submit = _APART * np.arange(len(snapshot)) if asked.submit is None else asked.submit
        shares = scores_together(self.luck(), asked.user, kind, submit, gone, samples, generator)
        drawn = np.empty((samples, len(snapshot)), np.int64)
        for part in _parts(np.arange(len(snapshot))):
            outlook = self._outlook(asked.some(part), elapsed[part], known[part])
            seconds = np.ceil(outlook.at(shares[:, part])).astype(np.int64)
            drawn[:, part] = np.clip(seconds, np.minimum(elapsed[part] + 1, walltime[part]), walltime[part])
        if snapshot.fixed is not None:  # a reservation has its processors to its end
            drawn[:, snapshot.fixed] = walltime[snapshot.fixed]
        return drawn

    def ended_late(
        self,
        drawn: NDArray[np.int64],
        limit: NDArray[np.int64],
        elapsed: NDArray[np.int64],
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """Return drawn run times with the seconds that pass between a time limit and the end of a killed job.

        They are those of the last jobs that reached their limits, whatever these were: a scheduler looks for such jobs
        now and then, and lets them exit (Slurm: every 30 s, and KillWait).

        Parameters
        ----------
        drawn
            A row for each sample, a column for each job.
        limit, elapsed
            Of each job; one that still runs has been looked for in vain for a part of these seconds.
        """  # fmt: skip
        reached = np.flatnonzero(self.ended.run_time[: self._known] >= self.ended.walltime[: self._known])[-_KILLED:]
        late = np.sort(self.ended.run_time[reached] - self.ended.walltime[reached])
        found = drawn.copy()
        for column in np.flatnonzero((drawn >= limit).any(axis=0)) if late.size else ():
            possible = late[np.searchsorted(late, elapsed[column] - limit[column], side="right") :]
            rows = np.flatnonzero(drawn[:, column] >= limit[column])
            if possible.size:
                found[rows, column] = limit[column] + generator.choice(possible, len(rows))
        return found

    def luck(self) -> Amounts:
        """Return how much luck jobs of a user share, by the last jobs that have ended."""
        pairs = self._pairs()
        if not pairs.size:
            return TYPICAL
        rows = np.unique(pairs)
        for part in _parts(rows[np.isnan(self._scores[rows])]):
            known = np.searchsorted(self.ended.end, self.ended.submit[part])  # when it was submitted
            outlook = self._outlook(self._asked.some(part), np.zeros(len(part), np.int64), known)
            lasted = np.maximum(self._seconds[part], 1.0)
            shares = (outlook.below(lasted) + outlook.below(lasted, through=True)) / 2
            self._scores[part] = np.clip(ndtri(shares), -_BOUND, _BOUND)
        one, other = pairs
        alike = np.equal(*self._kinds[pairs])
        apart = np.abs(self.ended.submit[one] - self.ended.submit[other])
        return amounts_of(self._scores[pairs].T, apart, alike)

    def _pairs(self) -> NDArray[np.intp]:
        """Return which of them were submitted while another of their user had not ended: shape ``(2, pairs)``.

        Of each job it is the last one that its user submitted before, and the last one of its kind.
        """
        rows = np.arange(max(0, self._known - LAST_PAIRED), self._known)
        submit, user = self.ended.submit[rows], self.ended.user[rows]
        pairs: set[tuple[int, int]] = set()
        for classes in (user.view(np.uint64), self._kinds[rows]):
            order = np.lexsort((rows, submit, classes))
            one, other = order[:-1], order[1:]
            both = (classes[one] == classes[other]) & (user[one] >= 0) & (self.ended.end[rows[one]] > submit[other])
            pairs.update(zip(rows[one[both]].tolist(), rows[other[both]].tolist(), strict=True))
        return np.array(sorted(pairs), np.intp).reshape(-1, 2).T

    def _outlook(self, jobs: _Asked, elapsed: NDArray[np.int64], known: NDArray[np.int64]) -> _Outlook:
        """Return the outlook of jobs that have run for `elapsed`, by the first `known` of the ended jobs."""
        walltime = jobs.walltime.astype(np.float64)[:, None]
        ran = elapsed.astype(np.float64)[:, None]
        left = np.ones((len(elapsed), 1))
        values, weights = [], []
        for level, index in zip(_LEVELS, self._indices, strict=True):
            rows, there = index.last(jobs, known)
            shares, seconds = self._shares[rows], np.minimum(self._seconds[rows], walltime)
            lasted = seconds < _AT_ONCE
            if level.seconds:
                lasted |= np.arange(rows.shape[1]) % 2 == 1  # one in two
            found = np.maximum(np.where(lasted & (shares < 1), seconds, shares * walltime), 1.0)
            weight = np.broadcast_to(level.fades ** np.arange(rows.shape[1]), rows.shape)
            if jobs.submit is not None and "user" in level.of:
                apart = np.abs(self.ended.submit[rows] - jobs.submit[:, None])
                weight = weight + _BURST / np.sqrt(1 + apart / _BURST_SECONDS)
            weight = np.where(there & ((found > ran) | (ran == 0)), weight, 0.0)
            whole = weight.sum(axis=1, keepdims=True)
            values.append(found)
            weights.append(weight * (left / (whole + PRIOR)))
            left = left * (PRIOR / (whole + PRIOR))
        values.append(ran + (walltime - ran) * (np.arange(_EVENLY) + 0.5) / _EVENLY)
        weights.append(np.broadcast_to(left / _EVENLY, (len(elapsed), _EVENLY)))
        found, weight = np.concatenate(values, axis=1), np.concatenate(weights, axis=1)
        order = np.argsort(found, axis=1)
        up_to = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
        return _Outlook(np.take_along_axis(found, order, axis=1), up_to / up_to[:, -1:])


def _asked(jobs: Ended | Snapshot) -> _Asked:
    """Return what tells jobs apart."""
    step = (_STEPS * np.log2(np.maximum(jobs.walltime, 1))).astype(np.int64)
    unknown = np.full(len(jobs.walltime), -1)
    name = unknown if jobs.name is None else jobs.name
    return _Asked(jobs.user, name, jobs.processors, jobs.walltime, step, jobs.submit)


def _parts(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [rows[first : first + _AT_A_TIME] for first in range(0, len(rows), _AT_A_TIME)]
