"""The study of estimates: the list of runs and their results (Mu'alem & Feitelson 2001, section 4).

A run is a log under some estimates with a seed; both schemes schedule the same jobs. As in the paper, all logs and
factors use the same seeds. A seed draws the same relative position in [r, f·r] for every f, so that two factors are
compared seed by seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from experiments.estimates.easy import EASY_READINGS
from experiments.estimates.history import knows_programs
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found, load_log
from experiments.framework.results import LogResults
from experiments.framework.verdicts import LEVEL, Part, of_sums, scaled, sign
from experiments.published import FACTORS, Measure
from gas.intervals import Interval, interval

__all__ = ["DOUBLED", "EXACT", "FULL_SEEDS", "MODELS", "TRACES", "USERS", "Change", "LogRun", "Options"]
__all__ += ["Results", "Terms", "study_runs", "uniform"]

TRACES = ("CTC", "KTH", "SDSC")
"""Logs with users' estimates, in the order of Table 3."""

FULL_SEEDS = 10
"""As in the paper."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    """The first seed."""
    seeds: int = FULL_SEEDS
    others: bool = True
    """Whether other rules and models of estimates are also run."""

    @property
    def all_seeds(self) -> range:
        """Seeds of everything that is drawn."""
        return range(self.seed, self.seed + self.seeds)


@dataclass(frozen=True)
class Terms:
    """Estimates, and the rules under which a log is simulated with them."""

    estimates: str = "users"
    """See `experiments.estimates.run.estimates_run`."""
    factor: int | None = None
    """Factor of "uniform"."""
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
    """Return estimates that are uniform between the run time and `factor` times the run time; no job exceeds them."""
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
"""Rules that may change a figure."""

MODELS = (
    Terms("users", overrun="extend"),
    EXACT,
    Terms("doubled", overrun="extend"),
    Terms("mualem-feitelson", overrun="extend"),
    Terms("tsafrir", overrun="extend"),
    Terms("history", overrun="extend"),
    Terms("last-two", overrun="extend"),
)
"""Comparisons beyond the paper; no job is killed, so that the work is the same."""


@dataclass(frozen=True)
class LogRun:
    """A log, and what is computed from it."""

    log: Found
    kind: Literal["use", "history", "simulation", "easy"]
    terms: Terms = USERS
    seed: int = 0
    reading: str = ""
    """Reading for "easy", by its name in `experiments.estimates.easy`."""

    @property
    def configuration(self) -> Configuration:
        """What determines its result, see `experiments.estimates.run.estimates_run`."""
        if self.kind in ("use", "history"):
            return {"kind": self.kind, "log": self.log.sha256}
        if self.kind == "easy":
            asked = {"log": self.log.sha256, "processors": self.log.source.processors}
            return {"kind": self.kind, **asked, "reading": self.reading, "seed": self.seed}
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
    """Return all runs with the available logs; rules that may explain the paper's figures only on its logs."""
    found = []
    for log in logs:
        found.append(LogRun(log, "use"))
        if knows_programs(load_log(log.path, log.sha256)):
            found.append(LogRun(log, "history"))
        wanted = [USERS, DOUBLED, *map(uniform, FACTORS)]
        wanted += [*(() if log.own else OTHER_RULES), *MODELS] if options.others else []
        for terms in dict.fromkeys(wanted):
            seeds = options.all_seeds if terms.drawn else options.all_seeds[:1]
            found += [LogRun(log, "simulation", terms, seed) for seed in seeds]
        for reading in EASY_READINGS if options.others and not log.own else ():
            found += [LogRun(log, "easy", seed=seed, reading=reading.name) for seed in options.all_seeds]
    return found


@dataclass(frozen=True)
class Change:
    """Change of a mean over all jobs of a log, in per cent of another mean."""

    percent: Interval
    """Over seeds, paired by seed."""
    part: Part
    """Over months, from the means over seeds."""

    @cached_property
    def sign(self) -> int:
        """-1 if the mean is lower, 1 if it is higher, 0 if the months of the log do not resolve it."""
        return sign(self.part)

    @cached_property
    def of_months(self) -> Interval | None:
        """The change with its interval over months."""
        return self.part(LEVEL)


class Results(LogResults[Options, LogRun]):
    """All runs and their results, in the same order."""

    def log(self, trace: str) -> Found | None:
        """Return the log of a trace; None if it is not available."""
        return next((log for log in self.logs if log.source.trace == trace and not log.own), None)

    @property
    def published_logs(self) -> list[Found]:
        """Logs with figures in the paper."""
        return [log for log in self.logs if not log.own]

    @property
    def own_logs(self) -> list[Found]:
        """Logs without figures in the paper."""
        return [log for log in self.logs if log.own]

    @cached_property
    def _simulations(self) -> dict[tuple[Found, Terms], list[Result]]:
        found: dict[tuple[Found, Terms], list[Result]] = {}
        for run, result in self.pairs:
            if run.kind == "simulation":
                found.setdefault((run.log, run.terms), []).append(result)
        return found

    def asked(self, log: Found, kind: Literal["use", "history"]) -> Result | None:
        """Return a result about a log's estimates; None if it was not computed."""
        return next((result for run, result in self.pairs if run.log == log and run.kind == kind), None)

    def simulations(self, log: Found, terms: Terms) -> list[Result]:
        """Return the results of a log on some terms, one per seed; empty if it was not run or has no jobs."""
        return [result for result in self._simulations.get((log, terms), []) if result["jobs"]]

    def easy(self, log: Found, reading: str) -> list[Result]:
        """Return the results of EASY in a reading, one per seed; empty if not run or the log has no jobs."""
        of = (result for run, result in self.pairs if (run.kind, run.log, run.reading) == ("easy", log, reading))
        return [result for result in of if result["jobs"]]

    @property
    def not_modelled(self) -> list[str]:
        """Models that do not apply to a log, with reasons."""
        named = [(f"{run.log.source.trace}, {run.terms.estimates}", result) for run, result in self.pairs]
        texts = [(name, result.get("left_out")) for name, result in named]
        return list(dict.fromkeys(f"{of}: {why}" for of, why in texts if why))

    def mean(self, log: Found | None, policy: str, measure: Measure, terms: Terms) -> Interval | None:
        """Return a mean over all jobs of a log; None if it was not run."""
        found = self.simulations(log, terms) if log else []
        return interval([result[policy][measure] for result in found]) if found else None

    def change(self, log: Found, policy: str, measure: Measure, before: Terms, after: Terms) -> Change | None:
        """Return the change from some terms to others; None if not both were run or the mean was 0."""
        first, then = ([result[policy] for result in self.simulations(log, terms)] for terms in (before, after))
        if not first or not then or not all(one[measure] for one in first):
            return None
        pairs = [(first[i % len(first)], then[i % len(then)]) for i in range(max(len(first), len(then)))]
        percent = [100 * (two[measure] / one[measure] - 1) for one, two in pairs]
        return Change(interval(percent), scaled(of_sums(_sums(then, measure), _sums(first, measure)), 100, -100))

    def run_time_lost(self, log: Found) -> float:
        """Return the share of a log's run time that is lost by killing jobs at their users' estimates."""
        return max((float(result["run_time_lost"]) for result in self.simulations(log, USERS)), default=0.0)

    def above_drawn(self, log: Found, policy: str, measure: Measure) -> Part | None:
        """Return by how many per cent a mean with users' estimates exceeds that with drawn ones, over all f above 1."""
        own = [result[policy] for result in self.simulations(log, USERS)]
        drawn = [result[policy] for f in FACTORS if f > 1 for result in self.simulations(log, uniform(f))]
        if not own or not drawn:
            return None
        return scaled(of_sums(_sums(own, measure), _sums(drawn, measure)), 100, -100)


def _sums(figures: Sequence[Result], measure: Measure) -> NDArray[np.float64]:
    """Return the sum of a measure over the jobs of each month, averaged over several simulations."""
    return np.asarray(np.mean([one["sums"][measure] for one in figures], axis=0), np.float64)
