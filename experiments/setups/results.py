"""Results of set-ups: the means of each, and the number of printed means that each meets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.items import MET, is_near
from experiments.framework.ledger import Configuration
from experiments.framework.logs import Found
from experiments.framework.results import Seeded, SiteResults
from experiments.framework.sites import SITES, Site, at_sites
from experiments.moldable.benchmarks import GROUPS
from experiments.published import one_apples
from experiments.setups.setups import SetUp, near_set_ups, settings_of
from gas.errors import BadInput

__all__ = ["WHO", "Options", "Results", "SetUpRun", "met_means", "planned", "printed"]

WHO = ("gas", "static")

_KEPT: Mapping[str, int] = {"SDSC": 4, "CTC": 9, "KTH": 9}
"""Number of months that the paper used (22 of the 26 that it names; solved from Tables 5.1 to 5.4)."""


@dataclass(frozen=True)
class Options(Seeded):
    """Options of the study."""

    runs: int = 210
    around: tuple[SetUp, ...] = ((),)
    """First set-ups."""
    changes: int = 1
    """Largest number of choices in which other set-ups differ from one of them."""


@dataclass(frozen=True)
class SetUpRun:
    """A month of a log under a set-up, with a seed."""

    log: Found
    site: Site
    month: str
    setup: SetUp
    seed: int
    runs: int

    @property
    def configuration(self) -> Configuration:
        """What determines its result, see `experiments.setups.run.setup_run`."""
        return {
            "settings": settings_of(self.setup),
            "log": self.log.sha256,
            "processors": self.site.processors,
            "month": self.month,
            "seed": self.seed,
            "runs": self.runs,
        }


def planned(options: Options, logs: Sequence[Found]) -> tuple[list[SetUpRun], list[str]]:
    """Return all runs, and the omitted months with reasons.

    Raises
    ------
    BadInput
        There are no runs.
    """
    months, left_out = [], []
    for site, log, jobs in at_sites(logs):
        for month in filter(log.takes, site.months):
            if jobs.get(month, 0) < 1.5 * options.runs:  # some jobs are larger than the machine
                left_out.append(f"{log.name}: {month} has {jobs.get(month, 0)} jobs, too few for {options.runs}")
            else:
                months.append((log, site, month))
    if not months:
        raise BadInput(f"no month has enough jobs for {options.runs} runs; give fewer by --runs, or other months")
    seeds = range(options.seed, options.seed + options.seeds)
    setups = dict.fromkeys(setup for around in options.around for setup in near_set_ups(around, options.changes))
    found = [SetUpRun(*at, setup, seed, options.runs) for setup in setups for at in months for seed in seeds]
    return found, left_out


def printed() -> dict[str, NDArray[np.float64]]:
    """Return the means of Gas and static of Tables 5.2 to 5.7, by log and class of benchmarks."""
    return {table.of: np.array([table.gas["mean"], table.static["mean"]]) for table in one_apples() if table.of}


def met_means(here: NDArray[np.float64], paper: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each mean whether it is met."""
    met: NDArray[np.bool_] = is_near(here, paper, MET)
    return met


class Results(SiteResults[Options, SetUpRun]):
    """All runs and their results, in the same order."""

    @cached_property
    def setups(self) -> list[SetUp]:
        """All set-ups with runs of every month, those that meet most means first."""
        whole = {run.setup for run in self.runs} - {run.setup for run, one in self.pairs if not one["outcomes"]}
        order = dict.fromkeys(run.setup for run in self.runs if run.setup in whole)
        return sorted(order, key=lambda one: (-self.met(one), self.error(one)))

    @cached_property
    def _months(self) -> dict[SetUp, dict[tuple[str, str], NDArray[np.float64]]]:
        """By set-up, log and month: a row per class with the sums for Gas and for static requests, and a count."""
        found: dict[SetUp, dict[tuple[str, str], NDArray[np.float64]]] = {}
        place = {benchmark: at for at, group in enumerate(GROUPS.values()) for benchmark in group}
        for run, result in self.pairs:
            of = found.setdefault(run.setup, {})
            sums = of.setdefault((run.site.trace, run.month), np.zeros((len(GROUPS), 3)))
            for row in result["outcomes"]:
                sums[place[row["benchmark"]]] += (row["gas"], row["static"], 1)
        return found

    def means(self, setup: SetUp, left_out: frozenset[tuple[str, str]] = frozenset()) -> dict[str, Any]:
        """Return the means of Gas and static by log and class, without some months."""
        months = {at: sums for at, sums in self._months[setup].items() if at not in left_out}
        logs = {log: sum(sums.sum(axis=0) for (of, _), sums in months.items() if of == log) for log, _ in months}
        classes = dict(zip(GROUPS, sum(months.values(), np.zeros((len(GROUPS), 3))), strict=True))
        return {name: sums[:2] / sums[2] for name, sums in {**logs, **classes}.items() if sums[2]}

    def _cells(self, means: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        names = [name for name in printed() if name in means]
        return np.array([means[name] for name in names]), np.array([printed()[name] for name in names])

    def met(self, setup: SetUp) -> int:
        """Return the number of met means."""
        return int(met_means(*self._cells(self.means(setup))).sum())

    def cells(self, setup: SetUp) -> int:
        """Return the number of printed means."""
        return int(self._cells(self.means(setup))[0].size)

    def error(self, setup: SetUp) -> float:
        """Return the geometric mean of the factors by which means differ from the printed ones."""
        here, paper = self._cells(self.means(setup))
        return float(np.exp(np.abs(np.log(here / paper)).mean()))

    def met_at_best(self, setup: SetUp) -> int:
        """Return the number of met means with the best choice of as many months as the paper used."""
        return max(int(met_means(*self._cells(self.means(setup, left))).sum()) for left in self._ways(setup))

    def _ways(self, setup: SetUp) -> Iterator[frozenset[tuple[str, str]]]:
        of_logs = []
        for site in SITES:
            months = [at for at in self._months[setup] if at[0] == site.trace]
            of_logs.append(list(combinations(months, max(len(months) - _KEPT[site.trace], 0))))
        for chosen in product(*of_logs):
            yield frozenset(month for of_log in chosen for month in of_log)

    def loses(self, setup: SetUp) -> float:
        """Return the percentage of runs in which Gas took longer."""
        rows = [row for run, result in self.pairs if run.setup == setup for row in result["outcomes"]]
        return float(100 * np.mean([row["gas"] > row["static"] for row in rows]))
