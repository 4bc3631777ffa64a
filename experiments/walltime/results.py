"""The study of walltime adjustment: the list of runs and their results (Tang et al. 2013).

The improvement of a mean is averaged over months, each compared with itself without adjustment. Months that begin less
than a window after the first submission are shown but not averaged: most of their jobs have no history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found, Source
from experiments.framework.results import LogResults
from experiments.walltime.accuracy import KEYS, LEAST, WINDOWS
from gas.intervals import Interval, interval
from workloads.adjustment import MONTH, Key

__all__ = ["ADJUSTMENTS", "CHANGES", "INTREPID", "MEASURES", "NEIGHBOURS", "PERCENTILES", "QUEUES", "TRACES", "LogRun"]
__all__ += ["Options", "Results", "Terms", "adjusted", "study_runs"]

INTREPID: Final = Source(
    "Intrepid",
    "ANL-Intrepid-2009",
    163840,
    "users",
    275858,
    remark="The archive has nine months of 2009; the paper took thirty, and evaluated schedules on the last twelve.",
)
"""The published part of the paper's own log. Processors are cores, four per node of the paper."""

TRACES: Final = ("KTH", "SDSC")
"""Logs with users, groups and estimates that replace it."""

QUEUES: Final = ("wfp", "fcfs")

ADJUSTMENTS: Final = ("regular", "selective")

PERCENTILES: Final = (95, 85, 70)
"""Percentiles of the evaluated schedules."""

MEASURES: Final = ("wait", "slowdown", "weighted")

NEIGHBOURS: Final = (8, 9, 11, 12)
"""Other reasonable values for the required number of similar jobs, `LEAST`."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    quick: bool = False
    """Only two windows, and no changes to the paper's method."""
    intrepid: Path | None = None
    """The file of the paper's log, if it is named."""

    @property
    def windows(self) -> tuple[int | None, ...]:
        """Windows in months."""
        return (1, None) if self.quick else WINDOWS


@dataclass(frozen=True)
class Terms:
    """How a log is simulated."""

    queue: str = "wfp"
    adjustment: str | None = None
    """None: the users' own walltimes."""
    percentile: int | None = 85
    """None: adjusted to the run time itself."""
    key: Key = "user+group+walltime"
    months: int | None = 1
    floor: float = 0.5
    least: int = LEAST
    apart: bool = False
    """Whether each month is simulated separately, with walltimes adjusted by the recorded ends."""

    @property
    def baseline(self) -> Terms:
        """The same terms without adjustment."""
        return Terms(self.queue, apart=self.apart)


def adjusted(queue: str, adjustment: str, percentile: int | None = 85, **changes: Any) -> Terms:
    """Return terms with adjusted walltimes."""
    return replace(Terms(queue, adjustment, percentile), **changes)


CHANGES: Final[dict[str, dict[str, Any]]] = {
    "no floor": {"floor": 0.0},
    "all ended jobs, however long ago": {"months": None},
    "similar by user alone": {"key": "user"},
    "exact: the run time itself": {"percentile": None},
}
"""One change at a time to the paper's recommendation."""


_WORDS: Final = {
    "use": "what was asked for",
    "accuracy": "the record replayed, seven percentiles at once",
    "simulation": "a simulation",
}


@dataclass(frozen=True)
class LogRun:
    """A log, and what is computed from it."""

    log: Found
    kind: Literal["use", "accuracy", "simulation"]
    key: Key = "user+group+walltime"
    months: int | None = None
    terms: Terms = Terms()

    @property
    def configuration(self) -> Configuration:
        """What determines its result, see `experiments.walltime.run.walltime_run`."""
        found: dict[str, Any] = {"kind": self.kind, "log": self.log.sha256}
        if self.kind == "accuracy":
            found |= {"key": self.key, "months": self.months}
        if self.kind == "simulation":
            found |= {"processors": self.log.source.processors, **vars(self.terms)}
        return found


def study_runs(options: Options, logs: Sequence[Found]) -> list[LogRun]:
    """Return all runs of the study with the available logs."""
    found = []
    for log in logs:
        found.append(LogRun(log, "use"))
        found += [LogRun(log, "accuracy", key, months) for key in KEYS for months in options.windows]
        for apart in (False,) if options.quick else (False, True):
            for queue in QUEUES:
                pairs = [(adjustment, percentile) for adjustment in ADJUSTMENTS for percentile in PERCENTILES]
                wanted = [Terms(queue, apart=apart), *(adjusted(queue, *pair, apart=apart) for pair in pairs)]
                found += [LogRun(log, "simulation", terms=terms) for terms in wanted]
        if not options.quick:
            changes = [*CHANGES.values(), *({"least": least} for least in NEIGHBOURS)]
            found += [
                LogRun(log, "simulation", terms=adjusted(queue, adjustment, **change))
                for queue in QUEUES
                for adjustment in ADJUSTMENTS
                for change in changes
            ]
    return found


class Results(LogResults[Options, LogRun]):
    """All runs and their results, in the same order."""

    def label(self, run: LogRun) -> str:
        """Return the log, and in a word what was computed."""
        return f"{run.log.name}, {_WORDS[run.kind]}"

    @cached_property
    def _by_run(self) -> dict[LogRun, Result]:
        return dict(self.pairs)

    def _result(self, run: LogRun) -> Result | None:
        found = self._by_run.get(run)
        return found if found and found["jobs"] else None

    def use(self, log: Found) -> Result | None:
        """Return the used shares of requests in a log; None if it lacks the data."""
        return self._result(LogRun(log, "use"))

    def replay(self, log: Found, key: Key, months: int | None) -> Result | None:
        """Return the quality of adjusted walltimes; None if it was not computed."""
        return self._result(LogRun(log, "accuracy", key, months))

    def adjusts(self, log: Found) -> bool:
        """Return whether any job has enough similar ones by the triple key: a statement about none proves nothing."""
        found = self.replay(log, "user+group+walltime", None)
        return found is not None and found["no_history"] < found["jobs"]

    def accuracy(
        self, log: Found, key: Key, months: int | None, percentile: int, floor: float
    ) -> dict[str, Any] | None:
        """Return one cell of a replay, with ``jobs``."""
        found = self.replay(log, key, months)
        for cell in found["cells"] if found else ():
            if (cell["percentile"], cell["floor"]) == (percentile, floor):
                return {**cell, "jobs": found["jobs"] if found else 0}
        return None

    def simulation(self, log: Found, terms: Terms) -> Result | None:
        """Return the result of simulating a log; None if it was not run."""
        return self._result(LogRun(log, "simulation", terms=terms))

    def averaged(self, log: Found) -> list[str]:
        """Return the averaged months: those that begin at least a window after the first submission."""
        found = self.simulation(log, Terms())
        return [month["month"] for month in found["months"] if month["after"] >= MONTH] if found else []

    def by_month(self, log: Found, terms: Terms, measure: str) -> dict[str, float]:
        """Return each month's mean divided by that without adjustment; months in which no job waited are left out."""
        found, base = self.simulation(log, terms), self.simulation(log, terms.baseline)
        if found is None or base is None:
            return {}
        return {
            before["month"]: after[measure] / before[measure]
            for before, after in zip(base["months"], found["months"], strict=True)
            if before[measure] and after[measure] is not None
        }

    def gains(self, log: Found, terms: Terms, measure: str) -> dict[str, float]:
        """Return the improvement of a mean over no adjustment in per cent, for each averaged month."""
        ratios = self.by_month(log, terms, measure)
        return {month: 100 * (1 - ratios[month]) for month in self.averaged(log) if month in ratios}

    def gain(self, log: Found, terms: Terms, measure: str) -> Interval | None:
        """Return the mean of `gains` with its 90% interval over months; None if there are none."""
        found = list(self.gains(log, terms, measure).values())
        return interval(found) if found else None

    def advantages(self, log: Found, terms: Terms, measure: str) -> list[float]:
        """Return the gain of selective minus that of regular adjustment in points, for each month."""
        regular, selective = (
            self.gains(log, replace(terms, adjustment=adjustment), measure) for adjustment in ADJUSTMENTS
        )
        return [selective[month] - gain for month, gain in regular.items() if month in selective]

    def advantage(self, log: Found, terms: Terms, measure: str) -> Interval | None:
        """Return the mean of `advantages` with its 90% interval over months."""
        pairs = self.advantages(log, terms, measure)
        return interval(pairs) if pairs else None

    def steady(self, log: Found, queue: str, adjustment: str, measure: str) -> dict[str, float]:
        """Return `gains` at the 85th percentile, averaged over the reasonable numbers of required similar jobs.

        One simulation is one random draw: a job that starts a second later moves all jobs behind it. These are five.
        """
        terms = [adjusted(queue, adjustment, least=least) for least in (LEAST, *NEIGHBOURS)]
        found = [gains for each in terms if (gains := self.gains(log, each, measure))]
        return {month: float(np.mean([gains[month] for gains in found])) for month in found[0]} if found else {}

    def steady_advantage(self, log: Found, queue: str, measure: str) -> Interval | None:
        """Return `advantage` at the 85th percentile, from `steady` gains; None in a quick study."""
        if self.options.quick:
            return None
        regular, selective = (self.steady(log, queue, adjustment, measure) for adjustment in ADJUSTMENTS)
        pairs = [selective[month] - gain for month, gain in regular.items() if month in selective]
        return interval(pairs) if pairs else None

    def chance(self, log: Found, queue: str, adjustment: str, measure: str) -> float | None:
        """Return the standard deviation of the gain over the draws of `steady`, in points; None for a single draw."""
        terms = [adjusted(queue, adjustment, least=least) for least in (LEAST, *NEIGHBOURS)]
        found = [gain.mean for each in terms if (gain := self.gain(log, each, measure)) is not None]
        return float(np.std(found, ddof=1)) if len(found) > 1 else None

    def whole_gain(self, log: Found, terms: Terms, measure: str) -> float | None:
        """Return the improvement over no adjustment, in per cent, of the mean over all jobs of the log."""
        found, base = self.simulation(log, terms), self.simulation(log, terms.baseline)
        if found is None or base is None or terms.apart or not base["all"][measure]:
            return None
        return float(100 * (1 - found["all"][measure] / base["all"][measure]))
