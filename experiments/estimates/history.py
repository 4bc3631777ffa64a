"""Estimates from history for the jobs of a log, as in the paper for CTC, in every reading of its text.

Mu'alem & Feitelson (2001, section 4.4) use the mean of earlier runs of the same program by the same user on as many
nodes, plus one and a half standard deviations. The fields of `Reading` are what they leave open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.estimates.use import Given, given
from workloads import Log
from workloads.history import Forget, MeanAndDeviation
from workloads.replay import ends, knowledge

__all__ = ["READINGS", "Reading", "SystemGenerated", "knows_programs", "system_generated"]


@dataclass(frozen=True)
class Reading:
    """A reading of the paper's text."""

    name: str
    killed: bool = True
    """Whether killed jobs are part of the history; they get no estimate themselves."""
    at_once: bool = False
    """Whether a job is known from its submission on, as when one goes through a log line by line; otherwise from its
    end on. The first needs look-ahead, which no scheduler has.
    """
    forget: Forget = "idle"
    """See `workloads.history.MeanAndDeviation`, also for `sample`, `least` and `deviations`."""
    sample: bool = False
    least: int = 1
    deviations: float = 1.5


READINGS: Final = (
    Reading("all ended jobs, killed ones included; a program that did not run for a week is old"),
    Reading("each run that ended more than a week ago is old", forget="window"),
    Reading("a history begun more than a week ago is old", forget="begun"),
    Reading("standard deviation with n - 1", sample=True),
    Reading("a history needs two runs", least=2),
    Reading("without killed jobs", killed=False),
    Reading("without killed jobs; each run that ended more than a week ago is old", killed=False, forget="window"),
    Reading("line by line: a job counts from its submission (look-ahead)", at_once=True),
    Reading("line by line; each run more than a week ago is old", at_once=True, forget="window"),
    Reading("line by line; a history begun more than a week ago is old", at_once=True, forget="begun"),
    Reading("line by line; without killed jobs", at_once=True, killed=False),
    Reading("three deviations", deviations=3.0),
)
"""The study's own first, which a scheduler could use; then one or two changes at a time."""


@dataclass(frozen=True, eq=False)
class SystemGenerated:
    """Estimates for the jobs of a log that were not killed."""

    given: Given
    """An estimate is 0 if nothing was known yet."""
    known: NDArray[np.bool_]
    """Whether there were earlier runs of the same program, user and size; otherwise the estimate is that of all
    jobs.
    """
    twice: NDArray[np.bool_]
    """Whether there were at least two such runs: a single run has no deviation, and its run time is the estimate."""

    def __len__(self) -> int:
        return len(self.given)

    @property
    def short(self) -> NDArray[np.bool_]:
        """Which jobs ran longer than estimated, and would have been killed."""
        found: NDArray[np.bool_] = (self.given.estimate > 0) & (self.given.run_time > self.given.estimate)
        return found

    @property
    def mean_used(self) -> float | None:
        """Mean used share of the estimate, over jobs that did not exceed it."""
        jobs = self.given
        fits = (jobs.estimate > 0) & ~self.short
        return float(np.mean(jobs.run_time[fits] / jobs.estimate[fits])) if fits.any() else None


def knows_programs(log: Log) -> bool:
    """Return whether a log has the users and programs that such estimates need."""
    return bool((log.executable >= 0).any() and (log.user >= 0).any())


def system_generated(log: Log, reading: Reading) -> SystemGenerated:
    """Return the estimates of the jobs that ran and were not killed, in the order of the log."""
    jobs, rows = given(log)
    predictor = MeanAndDeviation(reading.deviations, forget=reading.forget, sample=reading.sample, least=reading.least)
    of_two = MeanAndDeviation(forget=reading.forget, least=2)
    taken = ~jobs.killed | reading.killed
    submit = log.submit[rows].astype(np.int64)
    end = submit if reading.at_once else ends(log)[rows]
    size = np.where(log.requested_processors > 0, log.requested_processors, log.allocated_processors)[rows]
    who = zip(log.executable[rows].tolist(), log.user[rows].tolist(), size.tolist(), strict=True)
    keys = [key if min(key) >= 0 else None for key in who]  # an unknown program matches no other job
    estimate = np.zeros(len(rows), np.int64)
    known, twice = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    run_time = jobs.run_time.tolist()
    for ended, row in _by_line(len(rows)) if reading.at_once else knowledge(submit, end):
        if ended and taken[row]:
            for one in (predictor, of_two):
                one.ended(keys[row], run_time[row], int(end[row]))
        elif not ended and not jobs.killed[row]:
            seconds, known[row] = predictor.estimate(keys[row], int(submit[row]))
            estimate[row] = seconds or 0
            twice[row] = of_two.estimate(keys[row], int(submit[row]))[1]
    rest = ~jobs.killed
    return SystemGenerated(Given(estimate[rest], jobs.run_time[rest], jobs.killed[rest]), known[rest], twice[rest])


def _by_line(count: int) -> Iterator[tuple[bool, int]]:
    """Yield for each job its estimation and then its end, before the next job."""
    return ((ended, row) for row in range(count) for ended in (False, True))
