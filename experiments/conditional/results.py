"""Which months are simulated with which shares and notices, and what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.conditional.run import GROUPS
from experiments.framework.ledger import Configuration
from experiments.framework.logs import Found
from experiments.framework.results import SiteResults
from experiments.framework.sites import Site, at_sites
from experiments.framework.verdicts import Part, of_sums, scaled
from gas.errors import BadInput
from gas.intervals import Interval

__all__ = ["FEWEST", "NOTICES", "PERCENTS", "Asking", "MonthRun", "Options", "Results", "month_runs"]

PERCENTS: Final = (25, 50, 100)
"""Of the jobs that have a notice; those without any are what others are compared with."""

NOTICES: Final = {600: "10 minutes", 3600: "an hour"}
"""In seconds, and in words."""

FEWEST: Final = 100
"""Jobs of a month that takes part."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    seeds: int = 1
    others: bool = True
    """Whether larger shares than the smallest are simulated, too."""


@dataclass(frozen=True)
class Asking:
    """How many jobs have a notice, and which."""

    percent: int
    notice: int

    def __str__(self) -> str:
        return f"{self.percent}%, {NOTICES[self.notice]}"


@dataclass(frozen=True)
class MonthRun:
    """A month of a log, with a seed."""

    log: Found
    site: Site
    month: str
    seed: int
    settings: tuple[Asking, ...]

    @property
    def configuration(self) -> Configuration:
        """What determines its result, see `experiments.conditional.run.conditional_run`."""
        return {
            "log": self.log.sha256,
            "processors": self.site.processors,
            "month": self.month,
            "seed": self.seed,
            "settings": [[one.percent, one.notice] for one in self.settings],
        }


def month_runs(options: Options, logs: Sequence[Found]) -> tuple[list[MonthRun], list[str]]:
    """Return all runs of the study with the logs at hand, and which months are left out and why.

    Raises
    ------
    BadInput
        There is none.
    """
    percents = PERCENTS if options.others else PERCENTS[:1]
    settings = tuple(Asking(percent, notice) for percent in percents for notice in NOTICES)
    found, left_out = [], []
    for site, log, jobs in at_sites(logs):
        for month in filter(log.takes, jobs):
            if jobs[month] < FEWEST:
                left_out.append(f"{log.name}: {month} has {jobs[month]} jobs, fewer than {FEWEST}")
                continue
            seeds = range(options.seed, options.seed + options.seeds)
            found += [MonthRun(log, site, month, seed, settings) for seed in seeds]
    if not found:
        raise BadInput(f"no month has {FEWEST} jobs; name another log or other months")
    return found, left_out


@dataclass(frozen=True, eq=False)
class Results(SiteResults[Options, MonthRun]):
    """All runs and their results, in the same order."""

    @property
    def settings(self) -> tuple[Asking, ...]:
        """All shares and notices."""
        return self.runs[0].settings

    @property
    def done(self) -> list[tuple[str, Configuration, Any]]:
        """Everything that was computed; every job is followed once for each setting."""
        return [(run.log.name, run.configuration, {"jobs": one["jobs"], "moldable": 0}) for run, one in self.pairs]

    def broken(self) -> tuple[int, int]:
        """Return how many jobs were promised a start in all simulations, and how many of them started later."""
        promised = sum(one["jobs"] * (1 + len(one["settings"])) for one in self.results)
        return promised, sum(one["broken"] + sum(of["broken"] for of in one["settings"]) for one in self.results)

    def sums(self, log: Found, asking: Asking, group: str, what: str) -> NDArray[np.float64]:
        """Return sums over a group of jobs, "all" or one of `GROUPS`, a value for each month, seeds together."""
        names = GROUPS if group == "all" else (group,)
        months: dict[str, float] = {}
        for run, result in self.pairs:
            if run.log == log:
                of = result["settings"][run.settings.index(asking)]
                months[run.month] = months.get(run.month, 0.0) + sum(of[name][what] for name in names)
        return np.array(list(months.values()))

    def change(self, log: Found, asking: Asking, group: str, what: str = "turnaround") -> Part:
        """Return by how many per cent a mean of these jobs is above that of the same jobs when none is asked."""
        return scaled(
            of_sums(self.sums(log, asking, group, what), self.sums(log, asking, group, f"{what}_before")), 100, -100
        )

    def geometric_change(self, log: Found, asking: Asking, group: str) -> Part:
        """Return the same of the geometric mean of turn-around times."""
        apart = self.sums(log, asking, group, "log") - self.sums(log, asking, group, "log_before")
        part = of_sums(apart, self.sums(log, asking, group, "jobs"))

        def factor(level: float) -> Interval | None:
            found = part(level)
            if found is None:
                return None
            mean = float(np.exp(found.mean))
            return Interval(100 * (mean - 1), None if found.half_width is None else 100 * mean * found.half_width)

        return factor

    def against(self, log: Found, asking: Asking, other: Asking, group: str) -> Part:
        """Return by how many per cent a mean turn-around time is above that with another share or notice."""
        sums = [self.sums(log, one, group, "turnaround") for one in (asking, other)]
        return scaled(of_sums(*sums), 100, -100)

    def part(self, log: Found, asking: Asking, group: str, what: str) -> Part:
        """Return a share of these jobs in per cent, as of those that end "later"."""
        return scaled(of_sums(self.sums(log, asking, group, what), self.sums(log, asking, group, "jobs")), 100)
