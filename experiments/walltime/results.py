"""The study of walltime adjustment: which runs there are, and what came out (Tang et al. 2013).

What a mean improves by is averaged over months, each against itself without adjustment. Months that begin less than a
window after the first submission are shown but not averaged: nothing can be known of most of their jobs.
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
"""The paper's own log, in the part that was published. Processors are cores, four to each of the paper's nodes."""

TRACES: Final = ("KTH", "SDSC")
"""Logs with users, groups and estimates that stand in for it."""

QUEUES: Final = ("wfp", "fcfs")

ADJUSTMENTS: Final = ("regular", "selective")

PERCENTILES: Final = (95, 85, 70)
"""Under which schedules were evaluated."""

MEASURES: Final = ("wait", "slowdown", "weighted")

NEIGHBOURS: Final = (8, 9, 11, 12)
"""Numbers of similar jobs that could as well have been asked for as `LEAST`."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    quick: bool = False
    """Two windows only, and none of the changes to what the paper did."""
    intrepid: Path | None = None
    """The file of the paper's log, where it is named."""

    @property
    def windows(self) -> tuple[int | None, ...]:
        """Months that are tried."""
        return (1, None) if self.quick else WINDOWS


@dataclass(frozen=True)
class Terms:
    """How a log is simulated."""

    queue: str = "wfp"
    adjustment: str | None = None
    """None: the users' own walltimes."""
    percentile: int | None = 85
    """None: the run time itself."""
    key: Key = "user+group+walltime"
    months: int | None = 1
    floor: float = 0.5
    least: int = LEAST
    apart: bool = False
    """Whether each month is simulated alone, and walltimes are adjusted by what ended in the record."""

    @property
    def baseline(self) -> Terms:
        """The same without adjustment."""
        return Terms(self.queue, apart=self.apart)


def adjusted(queue: str, adjustment: str, percentile: int | None = 85, **changes: Any) -> Terms:
    """Return terms under which walltimes are adjusted."""
    return replace(Terms(queue, adjustment, percentile), **changes)


CHANGES: Final[dict[str, dict[str, Any]]] = {
    "no floor": {"floor": 0.0},
    "all ended jobs, however long ago": {"months": None},
    "similar by user alone": {"key": "user"},
    "exact: the run time itself": {"percentile": None},
}
"""One change at a time to what the paper recommends."""


_WORDS: Final = {
    "use": "what was asked for",
    "accuracy": "the record replayed, seven percentiles at once",
    "simulation": "a simulation",
}


@dataclass(frozen=True)
class LogRun:
    """Something asked of a log."""

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
    """Return all runs of the study with the logs at hand."""
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
        """Return the log, and what was computed, in a word."""
        return f"{run.log.name}, {_WORDS[run.kind]}"

    @cached_property
    def _by_run(self) -> dict[LogRun, Result]:
        return dict(self.pairs)

    def _result(self, run: LogRun) -> Result | None:
        found = self._by_run.get(run)
        return found if found and found["jobs"] else None

    def use(self, log: Found) -> Result | None:
        """Return what the jobs of a log used of their requests, None if it says nothing of that."""
        return self._result(LogRun(log, "use"))

    def replay(self, log: Found, key: Key, months: int | None) -> Result | None:
        """Return how good adjusted walltimes are, None if it was not asked."""
        return self._result(LogRun(log, "accuracy", key, months))

    def adjusts(self, log: Found) -> bool:
        """Return whether any job has enough similar ones by the triple key: what is said of nothing proves nothing."""
        found = self.replay(log, "user+group+walltime", None)
        return found is not None and found["no_history"] < found["jobs"]

    def accuracy(
        self, log: Found, key: Key, months: int | None, percentile: int, floor: float
    ) -> dict[str, Any] | None:
        """Return one cell of that, with ``jobs``."""
        found = self.replay(log, key, months)
        for cell in found["cells"] if found else ():
            if (cell["percentile"], cell["floor"]) == (percentile, floor):
                return {**cell, "jobs": found["jobs"] if found else 0}
        return None

    def simulation(self, log: Found, terms: Terms) -> Result | None:
        """Return what became of a log, None if it was not run."""
        return self._result(LogRun(log, "simulation", terms=terms))

    def averaged(self, log: Found) -> list[str]:
        """Return the months that are averaged: those that begin a window after the first submission, or later."""
        found = self.simulation(log, Terms())
        return [month["month"] for month in found["months"] if month["after"] >= MONTH] if found else []

    def by_month(self, log: Found, terms: Terms, measure: str) -> dict[str, float]:
        """Return the mean of each month over that without adjustment; empty for a month in which no job waited."""
        found, base = self.simulation(log, terms), self.simulation(log, terms.baseline)
        if found is None or base is None:
            return {}
        return {
            before["month"]: after[measure] / before[measure]
            for before, after in zip(base["months"], found["months"], strict=True)
            if before[measure] and after[measure] is not None
        }

    def gains(self, log: Found, terms: Terms, measure: str) -> dict[str, float]:
        """Return by how many per cent a mean is better than without adjustment, by the months that are averaged."""
        ratios = self.by_month(log, terms, measure)
        return {month: 100 * (1 - ratios[month]) for month in self.averaged(log) if month in ratios}

    def gain(self, log: Found, terms: Terms, measure: str) -> Interval | None:
        """Return the mean of `gains` with its 90% interval over months, None if there are none."""
        found = list(self.gains(log, terms, measure).values())
        return interval(found) if found else None

    def advantages(self, log: Found, terms: Terms, measure: str) -> list[float]:
        """Return by how many points selective adjustment gains more than regular, month by month."""
        regular, selective = (
            self.gains(log, replace(terms, adjustment=adjustment), measure) for adjustment in ADJUSTMENTS
        )
        return [selective[month] - gain for month, gain in regular.items() if month in selective]

    def advantage(self, log: Found, terms: Terms, measure: str) -> Interval | None:
        """Return the mean of `advantages` with its 90% interval over months."""
        pairs = self.advantages(log, terms, measure)
        return interval(pairs) if pairs else None

    def steady(self, log: Found, queue: str, adjustment: str, measure: str) -> dict[str, float]:
        """Return `gains` at the 85th percentile, averaged over the numbers of similar jobs that could be asked for.

        One simulation is one random draw: a job that starts a second later moves all behind it. These are five draws.
        """
        terms = [adjusted(queue, adjustment, least=least) for least in (LEAST, *NEIGHBOURS)]
        found = [gains for each in terms if (gains := self.gains(log, each, measure))]
        return {month: float(np.mean([gains[month] for gains in found])) for month in found[0]} if found else {}

    def steady_advantage(self, log: Found, queue: str, measure: str) -> Interval | None:
        """Return `advantage` at the 85th percentile, of `steady` gains; None if there is only one of them."""
        if self.options.quick:
            return None
        regular, selective = (self.steady(log, queue, adjustment, measure) for adjustment in ADJUSTMENTS)
        pairs = [selective[month] - gain for month, gain in regular.items() if month in selective]
        return interval(pairs) if pairs else None

    def chance(self, log: Found, queue: str, adjustment: str, measure: str) -> float | None:
        """Return the standard deviation of the gain over those throws, in points; None if there is only one."""
        terms = [adjusted(queue, adjustment, least=least) for least in (LEAST, *NEIGHBOURS)]
        found = [gain.mean for each in terms if (gain := self.gain(log, each, measure)) is not None]
        return float(np.std(found, ddof=1)) if len(found) > 1 else None

    def whole_gain(self, log: Found, terms: Terms, measure: str) -> float | None:
        """Return by how many per cent the mean over all jobs of the log is better than without adjustment."""
        found, base = self.simulation(log, terms), self.simulation(log, terms.baseline)
        if found is None or base is None or terms.apart or not base["all"][measure]:
            return None
        return float(100 * (1 - found["all"][measure] / base["all"][measure]))
