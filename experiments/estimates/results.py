"""The study of estimates: which runs there are, and what came out (Mu'alem & Feitelson 2001, section 4).

A run is a log under some estimates with a seed, in which both schemes schedule the same jobs. The same seeds serve all
logs and factors, as in the paper, and a seed draws the same place within [r, f·r] for every f, so that two factors are
compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.estimates.history import knows_programs
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found, load_log
from experiments.framework.results import LogResults
from experiments.published import FACTORS, Measure
from gas.intervals import Interval, interval

__all__ = ["DOUBLED", "EXACT", "FULL_SEEDS", "MODELS", "RESAMPLES", "TRACES", "USERS", "Change", "LogRun", "Options"]
__all__ += ["Results", "Terms", "over_weeks", "study_runs", "uniform"]

TRACES = ("CTC", "KTH", "SDSC")
"""Whose users gave estimates, in the order of Table 3."""

FULL_SEEDS = 10
"""As in the paper."""

RESAMPLES = 2000
"""Of the weeks of a log."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    """The first one."""
    seeds: int = FULL_SEEDS
    others: bool = True
    """Whether other rules, and models of estimates, are run, too."""

    @property
    def all_seeds(self) -> range:
        """The seeds of everything that is drawn."""
        return range(self.seed, self.seed + self.seeds)


@dataclass(frozen=True)
class Terms:
    """Estimates, and the rules under which a log is simulated with them."""

    estimates: str = "users"
    """See `experiments.estimates.run.estimates_run`."""
    factor: int | None = None
    """Of "uniform"."""
    overrun: Literal["kill", "extend"] = "kill"
    order: Literal["instant", "event"] = "instant"

    @property
    def drawn(self) -> bool:
        """Whether the estimates depend on a seed."""
        return self.estimates in _RANDOM or (self.estimates == "uniform" and self.factor != 1)


_RANDOM = ("mualem-feitelson", "tsafrir")

USERS = Terms()
DOUBLED = Terms("doubled")


def uniform(factor: int) -> Terms:
    """Return estimates that are uniform between the run time and so many times that; none is exceeded."""
    return Terms("uniform", factor)


EXACT = uniform(1)

OTHER_RULES = (
    Terms("users", overrun="extend"),
    Terms("users", order="event"),
    Terms("users", overrun="extend", order="event"),
    Terms("doubled", overrun="extend"),
    Terms("doubled", order="event"),
    Terms("doubled", overrun="extend", order="event"),
    *(Terms("uniform", factor, order="event") for factor in FACTORS),
)
"""Those on which a figure may depend."""

MODELS = (
    Terms("users", overrun="extend"),
    EXACT,
    Terms("doubled", overrun="extend"),
    Terms("mualem-feitelson", overrun="extend"),
    Terms("tsafrir", overrun="extend"),
    Terms("history", overrun="extend"),
    Terms("last-two", overrun="extend"),
)
"""What is compared beyond the paper; no job is killed, so that the work is the same."""


@dataclass(frozen=True)
class LogRun:
    """Something asked of a log."""

    log: Found
    kind: Literal["use", "history", "simulation"]
    terms: Terms = USERS
    seed: int = 0

    @property
    def configuration(self) -> Configuration:
        """What determines its result, see `experiments.estimates.run.estimates_run`."""
        if self.kind != "simulation":
            return {"kind": self.kind, "log": self.log.sha256}
        return {
            "kind": self.kind,
            "log": self.log.sha256,
            "processors": self.log.source.processors,
            "estimates": self.terms.estimates,
            "factor": self.terms.factor,
            "seed": self.seed,
            "order": self.terms.order,
            "overrun": self.terms.overrun,
        }


def study_runs(options: Options, logs: Sequence[Found]) -> list[LogRun]:
    """Return all runs of the study with the logs at hand."""
    found = []
    for log in logs:
        found.append(LogRun(log, "use"))
        if knows_programs(load_log(log.path, log.sha256)):
            found.append(LogRun(log, "history"))
        wanted = [USERS, DOUBLED, *map(uniform, FACTORS)]
        wanted += [*OTHER_RULES, *MODELS] if options.others else []
        for terms in dict.fromkeys(wanted):
            seeds = options.all_seeds if terms.drawn else options.all_seeds[:1]
            found += [LogRun(log, "simulation", terms, seed) for seed in seeds]
    return found


@dataclass(frozen=True)
class Change:
    """By how many per cent a mean over all jobs of a log is above another."""

    percent: Interval
    """Over seeds, each paired with itself."""
    low: float
    """Of the 90% interval over weeks."""
    high: float

    @property
    def sign(self) -> int:
        """-1 where the mean is lower."""
        return (self.percent.mean > 0) - (self.percent.mean < 0)

    @property
    def of_seeds(self) -> bool:
        """Whether other seeds would hardly give another sign; where nothing is drawn, they cannot."""
        return self.percent.half_width is None or abs(self.percent.mean) > self.percent.half_width

    @property
    def of_weeks(self) -> bool:
        """Whether other weeks of such a log would hardly give another sign."""
        return self.low > 0 or self.high < 0


def over_weeks(before: ArrayLike, after: ArrayLike, seed: int) -> tuple[float, float]:
    """Return the 90% interval of the per cent by which a mean changes, were other weeks drawn from those of the log.

    Parameters
    ----------
    before, after
        Sums over the same jobs of each week.
    seed
        Of the weeks that are drawn, with replacement.
    """
    columns = np.array([before, after], np.float64)
    columns = columns[:, columns[0] > 0]
    weeks = columns.shape[1]
    if not weeks:
        return 0.0, 0.0
    sums = _drawn(weeks, seed) @ columns.T
    low, high = np.quantile(100 * (sums[:, 1] / sums[:, 0] - 1), (0.05, 0.95))
    return float(low), float(high)


@lru_cache(maxsize=16)
def _drawn(weeks: int, seed: int) -> NDArray[np.float64]:
    """Return how often each of so many weeks is drawn, in each resample."""
    found = np.random.default_rng(seed).multinomial(weeks, np.full(weeks, 1 / weeks), RESAMPLES)
    return found.astype(np.float64)


class Results(LogResults[Options, LogRun]):
    """All runs and their results, in the same order."""

    def log(self, trace: str) -> Found | None:
        """Return the log of a trace, None if it is not at hand."""
        return next((log for log in self.logs if log.source.trace == trace), None)

    @cached_property
    def _simulations(self) -> dict[tuple[Found, Terms], list[Result]]:
        found: dict[tuple[Found, Terms], list[Result]] = {}
        for run, result in self.pairs:
            if run.kind == "simulation":
                found.setdefault((run.log, run.terms), []).append(result)
        return found

    def asked(self, log: Found, kind: Literal["use", "history"]) -> Result | None:
        """Return what was found of a log's estimates, None if it was not asked."""
        return next((result for run, result in self.pairs if run.log == log and run.kind == kind), None)

    def simulations(self, log: Found, terms: Terms) -> list[Result]:
        """Return the results of a log on some terms, one a seed; none if it was not run or has no jobs."""
        return [result for result in self._simulations.get((log, terms), []) if result["jobs"]]

    @property
    def not_modelled(self) -> list[str]:
        """Models that could say nothing of a log, and why."""
        named = [(f"{run.log.source.trace}, {run.terms.estimates}", result) for run, result in self.pairs]
        texts = [(name, result.get("left_out")) for name, result in named]
        return list(dict.fromkeys(f"{of}: {why}" for of, why in texts if why))

    def mean(self, log: Found | None, policy: str, measure: Measure, terms: Terms) -> Interval | None:
        """Return a mean over all jobs of a log, None if it was not run."""
        found = self.simulations(log, terms) if log else []
        return interval([result[policy][measure] for result in found]) if found else None

    def change(self, log: Found, policy: str, measure: Measure, before: Terms, after: Terms) -> Change | None:
        """Return what going from some terms to others changes, None if not both were run."""
        first, then = ([result[policy] for result in self.simulations(log, terms)] for terms in (before, after))
        if not first or not then:
            return None
        pairs = [(first[i % len(first)], then[i % len(then)]) for i in range(max(len(first), len(then)))]
        percent = [100 * (two[measure] / one[measure] - 1) for one, two in pairs]
        before_sums, after_sums = (
            np.mean([figures["weeks"][measure] for figures in of_seeds], axis=0) for of_seeds in (first, then)
        )
        return Change(interval(percent), *over_weeks(before_sums, after_sums, self.options.seed))
