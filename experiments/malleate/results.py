"""The list of runs and their results: changes against rigid jobs, with intervals over months."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found
from experiments.framework.results import LogResults, Seeded
from experiments.framework.sites import SITES
from experiments.framework.study import Computed
from experiments.framework.verdicts import LEVEL
from experiments.malleate.rules import STRATEGIES
from experiments.malleate.run import BASELINE, ON_S3
from gas.intervals import Interval, jackknifed, ratio_by_months, share_of_sums

__all__ = ["AMDAHL", "BASE", "FEWEST_JOBS", "FULL_SEEDS", "PERCENTS", "VARIANTS", "Case", "Options", "Results", "Run"]
__all__ += ["Setting", "malleate_runs", "strategy_names", "summarised"]

PERCENTS: Final = (20, 40, 60, 80, 100)
"""Percentages of adopters: those of Zojer, Posner and Özden, who also have 0."""

FULL_SEEDS: Final = 10

FEWEST_JOBS: Final = 50
"""Months with fewer jobs do not count."""


@dataclass(frozen=True)
class Setting:
    """The terms on which strategies are compared."""

    name: str
    recipe: str = "survey"
    cost: int = 15
    load: float = 1.0
    perfect: bool = False


BASE: Final = Setting("base")

AMDAHL: Final = Setting("Amdahl's law", recipe="amdahl")

VARIANTS: Final = (
    Setting("changing sizes costs nothing", cost=0),
    Setting("changing sizes costs 60 s", cost=60),
    Setting("changing sizes costs 300 s", cost=300),
    Setting("load × 0.8", load=0.8),
    Setting("load × 1.1", load=1.1),
    AMDAHL,
    Setting("estimates are the run times", perfect=True),
)
"""Each is run with all jobs as adopters and one seed."""


@dataclass(frozen=True)
class Options(Seeded):
    """What a user chooses."""

    seeds: int = FULL_SEEDS
    cost: int = BASE.cost
    """Seconds without progress after each change of size."""


@dataclass(frozen=True)
class Run:
    """A log with a share of adopters on some terms; or the baseline of a published figure for rigid jobs."""

    log: Found
    setting: Setting
    percent: int
    seed: int
    on_s3: bool = False
    policy: str = ""

    @property
    def processors(self) -> int:
        """Processors of the machine: for a baseline as in the paper with the figure, otherwise as in the Gas paper."""
        known = {} if self.log.own or self.policy else {site.trace: site.processors for site in SITES}
        return known.get(self.log.source.trace, self.log.source.processors)

    @property
    def configuration(self) -> Configuration:
        """Return what determines the result, see `experiments.malleate.run.malleate_run`."""
        perfect = self.setting.perfect or self.log.source.estimates == "perfect"
        common = {
            "log": self.log.sha256,
            "processors": self.processors,
            "estimates": "perfect" if perfect else "users",
        }
        if self.policy:
            return {**common, "recipe": BASELINE, "policy": self.policy}
        return {
            **common,
            "recipe": self.setting.recipe,
            "percent": self.percent,
            "seed": self.seed,
            "cost": self.setting.cost,
            "load": self.setting.load,
            "months": list(self.log.months),
            "s3": self.on_s3,
        }


def malleate_runs(options: Options, logs: Sequence[Found]) -> list[Run]:
    """Return all runs of the study with the available logs."""
    base = replace(BASE, cost=options.cost)
    found = []
    for log in logs:
        for seed in range(options.seed, options.seed + options.seeds):
            found += [Run(log, base, percent, seed, on_s3=seed == options.seed) for percent in PERCENTS]
        if options.others:
            variants = [one for one in VARIANTS if not (one.perfect and log.source.estimates == "perfect")]
            found += [Run(log, one, 100, options.seed) for one in variants]
        if log.source.trace in {site.trace for site in SITES} and not log.own:
            found += [Run(log, base, 0, 0, policy=policy) for policy in ("conservative", "easy")]
    return found


@dataclass(frozen=True)
class Case:
    """A comparison with rigid jobs: strategy, log and terms, and the figure and group of jobs that are compared."""

    log: Found
    setting: Setting
    percent: int
    """Percentage of jobs that adopt the strategy."""
    strategy: str
    what: str = "turnaround"
    group: str = "all"
    """"all", "adopters", "others", or a class of `experiments.malleate.fairness.CLASSES`."""


@dataclass(frozen=True, eq=False)
class Results(LogResults[Options, Run]):
    """All runs and their results, in the same order."""

    level: float = LEVEL
    """Level of all intervals."""

    def results_of(self, log: Found, setting: Setting, percent: int) -> list[Result]:
        """Return the results of all seeds."""
        key = (log, setting, percent)
        return [result for run, result in self.pairs if not run.policy and (run.log, run.setting, run.percent) == key]

    def processors(self, log: Found) -> int:
        """Return the processors of a log's machine."""
        return next(run.processors for run in self.runs if run.log == log and not run.policy)

    @property
    def base(self) -> Setting:
        """The terms of most runs."""
        return replace(BASE, cost=self.options.cost)

    @property
    def settings(self) -> list[Setting]:
        """All terms with runs."""
        return list(dict.fromkeys(run.setting for run in self.runs if not run.policy))

    def percents(self, setting: Setting) -> list[int]:
        """Return the shares of adopters on some terms."""
        return sorted({run.percent for run in self.runs if run.setting == setting and not run.policy})

    def sums(
        self, log: Found, setting: Setting, percent: int, strategy: str, what: str, group: str = "all"
    ) -> NDArray[np.float64] | None:
        """Return sums over the jobs of each month, of all seeds together; None if there are no results."""
        of = [
            one["strategies"][strategy][group][what]
            for one in self.results_of(log, setting, percent)
            if _has(one, strategy)
        ]
        return np.sum(np.array(of, np.float64), axis=0) if of else None

    def change(self, case: Case) -> Interval | None:
        """Return the change of a mean against rigid jobs in per cent, with its interval over months.

        For "log", the sums of logarithms, it is the change of geometric means. None if the mean of rigid jobs is 0.
        """
        sums = self._sums(case)
        if sums is None or (case.what != "log" and not sums.rigid.any()):
            return None
        if case.what == "log":
            mean = ratio_by_months(sums.strategy - sums.rigid, sums.jobs, level=self.level)
            factor = float(np.exp(mean.mean))
            found = Interval(factor, None if mean.half_width is None else factor * mean.half_width)
        else:
            found = ratio_by_months(sums.strategy, sums.rigid, level=self.level)
        return _excess(found)

    def share(self, case: Case, other: str) -> Interval | None:
        """Return the saving of turn-around time by a strategy as a share of that by another strategy.

        None if the other strategy saves nothing.
        """
        one, two = self._sums(case), self._sums(replace(case, strategy=other))
        if one is None or two is None or two.rigid.sum() <= two.strategy.sum():
            return None
        return ratio_by_months(one.rigid - one.strategy, two.rigid - two.strategy, level=self.level)

    def against(self, case: Case, other: str) -> Interval | None:
        """Return the difference in per cent of a mean with a strategy from that with another."""
        one, two = self._sums(case), self._sums(replace(case, strategy=other))
        if one is None or two is None or not two.strategy.any():
            return None
        return _excess(ratio_by_months(one.strategy, two.strategy, level=self.level))

    def evenness(self, log: Found, percent: int, strategy: str) -> Interval | None:
        """Return the difference of Jain's index of users' slowdowns from that with rigid jobs, as a mean over seeds.

        The interval is by the jackknife over months. None if no user has enough jobs with any seed.
        """
        results = [one for one in self.results_of(log, self.base, percent) if _has(one, strategy)]
        pairs = [[one["strategies"][name]["even"] for name in (strategy, "rigid")] for one in results]
        pairs = [pair for pair in pairs if all(one["whole"] is not None for one in pair)]
        if not pairs:
            return None
        whole = float(np.mean([one["whole"] - two["whole"] for one, two in pairs]))
        if any(one["without"] is None for pair in pairs for one in pair):
            return Interval(whole, None)
        without = np.mean([np.subtract(one["without"], two["without"]) for one, two in pairs], axis=0)
        return jackknifed(whole, without.tolist(), level=self.level)

    def part(self, case: Case) -> Interval | None:
        """Return a share of jobs in per cent, for example of jobs that end "later"."""
        sums = self._sums(case)
        return None if sums is None else share_of_sums(sums.strategy, sums.jobs, level=self.level)

    def mean_of(
        self, log: Found, percent: int, strategy: str, what: str, setting: Setting | None = None
    ) -> float | None:
        """Return the mean over seeds of a figure that is one number per run."""
        of = [
            one["strategies"][strategy][what]
            for one in self.results_of(log, setting or self.base, percent)
            if _has(one, strategy)
        ]
        known = [value for value in of if value is not None]
        return float(np.mean(known)) if known else None

    def baselines(self) -> Iterable[tuple[Run, Result]]:
        """Return the runs for published figures."""
        return [(run, result) for run, result in self.pairs if run.policy]

    def _sums(self, case: Case) -> _Sums | None:
        """Return sums by month over the same seeds; None if no month has enough jobs."""
        results = [one for one in self.results_of(case.log, case.setting, case.percent) if _has(one, case.strategy)]
        if not results:
            return None

        def over_seeds(strategy: str, what: str, group: str = case.group) -> NDArray[np.float64]:
            of = np.array([one["strategies"][strategy][group][what] for one in results], np.float64)
            return np.asarray(of.sum(axis=0), np.float64)

        jobs = over_seeds("rigid", "jobs")
        kept = (over_seeds("rigid", "jobs", "all") >= FEWEST_JOBS * len(results)) & (jobs > 0)
        if not kept.any():
            return None
        return _Sums(over_seeds(case.strategy, case.what)[kept], over_seeds("rigid", case.what)[kept], jobs[kept])


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the jobs of each month that counts."""

    strategy: NDArray[np.float64]
    rigid: NDArray[np.float64]
    jobs: NDArray[np.float64]


def _excess(found: Interval) -> Interval:
    """Return by how many per cent a ratio exceeds 1."""
    return Interval(100 * (found.mean - 1), None if found.half_width is None else 100 * found.half_width)


def _has(result: Mapping[str, Any], strategy: str) -> bool:
    return strategy in result.get("strategies", {})


def summarised(computed: Computed[Options, Run]) -> Results:
    """Return the results."""
    return Results.of(computed)


def strategy_names(study: Results) -> list[str]:
    """Return the names of strategies in the order of tables; rigid jobs first."""
    names = list(STRATEGIES)
    at = names.index("gas-predicted")
    return [*names[:at], ON_S3, *names[at:]] if any(run.on_s3 for run in study.runs) else names
