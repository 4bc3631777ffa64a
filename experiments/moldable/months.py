"""Months of logs with one moldable job at a time: the list of runs and their results (the Gas paper, section 5.2).

A run is a month of a log with a seed: benchmarks replace some 200 of its jobs, one at a time, on the paper's terms or
on others (see `experiments.moldable.terms`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found
from experiments.framework.records import Field
from experiments.framework.results import SiteResults
from experiments.framework.sites import Site, at_sites
from experiments.framework.study import Computed
from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.terms import BASE, TERMS, Terms
from gas.errors import BadInput

__all__ = ["FULL_RUNS", "FULL_SEEDS", "MonthRun", "Options", "Outcomes", "Results", "cost_runs", "month_runs"]
__all__ += ["MONTH", "OUTCOME", "SEED", "SUBSTITUTE", "outcome_rows", "planned", "summarised"]


FULL_SEEDS, FULL_RUNS = 5, 210
"""Values of the full study; the paper had 207 to 214 runs a month."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    seeds: int = FULL_SEEDS
    """Seeds for the paper's terms; other terms are run with one."""
    runs: int = FULL_RUNS
    """Jobs that are replaced in a month, one at a time."""
    others: bool = True
    """Whether other terms are also run."""
    terms: Terms = BASE
    """Terms that are run with every seed."""


@dataclass(frozen=True)
class MonthRun:
    """A month of a log on certain terms, with a seed."""

    log: Found
    site: Site
    month: str
    terms: Terms
    seed: int
    runs: int
    for_cost: bool = False
    """Whether it only serves to show how the cost grows."""

    @property
    def configuration(self) -> Configuration:
        """Return what determines the result, see `experiments.power.run.power_run`."""
        return {
            "log": self.log.sha256,
            "processors": self.site.processors,
            "month": self.month,
            "runs": self.runs,
            "seed": self.seed,
            "mix": self.terms.mix,
            "opponent": self.terms.opponent,
            "form": asdict(self.terms.form),
            "policy": self.terms.policy,
            "begin": self.terms.begin,
            "load": self.terms.load,
            "estimates": "perfect" if self.terms.perfect else "users",
        }


def month_runs(
    options: Options, logs: Sequence[Found], all_terms: Sequence[Terms] = TERMS
) -> tuple[list[MonthRun], list[str]]:
    """Return all runs of the study with the available logs, and the omitted months with reasons."""
    found, left_out = [], []
    for site, log, jobs in at_sites(logs):
        for month in filter(log.takes, site.months):
            # 1.5 times as many: some jobs are larger than the machine, and some match no benchmark.
            if jobs.get(month, 0) < 1.5 * options.runs:
                left_out.append(f"{log.name}: {month} has {jobs.get(month, 0)} jobs, too few for {options.runs}")
                continue
            for terms in all_terms:
                seeds = range(options.seed, options.seed + (options.seeds if terms == options.terms else 1))
                found += [MonthRun(log, site, month, terms, seed, options.runs) for seed in seeds]
    return found, left_out


def cost_runs(runs: Sequence[MonthRun]) -> list[MonthRun]:
    """Return a run of each log with half and with a quarter as many replaced jobs, to see how the cost grows."""
    first: dict[str, MonthRun] = {}
    for run in runs:
        first.setdefault(run.log.name, run)
    return [replace(run, runs=max(run.runs // part, 1), for_cost=True) for run in first.values() for part in (2, 4)]


class Outcomes:
    """Columns of the outcomes of several runs (see `experiments.moldable.outcomes.Outcome`).

    `gas`, `static` and `best` are turn-around times in seconds; `months` has the month of each outcome, with its log.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], months: Sequence[tuple[str, str]] = ()) -> None:
        self.rows, self.months = rows, months
        self.gas, self.static, self.best, self.promised, self.user = (
            self._column(name) for name in ("gas", "static", "best", "promised", "user")
        )
        self.gas_size, self.best_size = self._column("gas_size"), self._column("best_size")
        self.load_ratio = np.array([row["load_ratio"] for row in rows], np.float64)

    def _column(self, name: str) -> NDArray[np.int64]:
        return np.array([row[name] for row in self.rows], np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def regret(self) -> NDArray[np.int64]:
        """Seconds by which Gas's choices end later than the best ones in hindsight."""
        return self.gas - self.best

    @property
    def loses(self) -> NDArray[np.bool_]:
        """Where the static request ended sooner."""
        return self.gas > self.static

    @property
    def factor(self) -> NDArray[np.float64]:
        """Turn-around time of the static request divided by that of Gas's; below 1 where Gas lost."""
        return np.maximum(self.static, 1) / np.maximum(self.gas, 1)


@dataclass(frozen=True, eq=False)
class Results(SiteResults[Options, MonthRun]):
    """All runs and their results, in the same order."""

    for_cost: Sequence[tuple[MonthRun, Result]] = ()
    """Runs, with results, that only serve to show how the cost grows."""

    @property
    def done(self) -> list[tuple[str, Configuration, Result]]:
        """Everything that was computed: log, configuration and result."""
        return super().done + [(run.log.name, run.configuration, result) for run, result in self.for_cost]

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds for the study's own terms."""
        return sorted({run.seed for run in self.runs if run.terms == self.options.terms})

    @cached_property
    def terms(self) -> list[Terms]:
        """All terms that were run."""
        return list(dict.fromkeys(run.terms for run in self.runs))

    def outcomes(
        self, terms: Terms | None = None, *, trace: str = "", group: str = "", seed: int | None = None, month: str = ""
    ) -> Outcomes:
        """Return the outcomes on some terms (default: the study's own), of a log, a constraint class or a seed."""
        found = self._chosen(terms, trace, group, seed, month)
        return Outcomes([row for _, row in found], [(run.site.trace, run.month) for run, _ in found])

    def rows(
        self, terms: Terms | None = None, *, trace: str = "", group: str = "", seed: int | None = None, month: str = ""
    ) -> list[Mapping[str, Any]]:
        """Return the same outcomes as rows, as in the results of runs."""
        return [row for _, row in self._chosen(terms, trace, group, seed, month)]

    def _chosen(
        self, terms: Terms | None, trace: str, group: str, seed: int | None, month: str
    ) -> list[tuple[MonthRun, Mapping[str, Any]]]:
        chosen = GROUPS[group] if group else ()
        terms = self.options.terms if terms is None else terms
        return [
            (run, row)
            for run, result in self.pairs
            if run.terms == terms and trace in ("", run.site.trace) and seed in (None, run.seed)
            if month in ("", run.month)
            for row in result["outcomes"]
            if not chosen or row["benchmark"] in chosen
        ]


def outcome_rows(runs: Iterable[MonthRun], results: Iterable[Result]) -> list[SimpleNamespace]:
    """Return a row for each outcome; its fields below name the columns."""
    pairs = zip(runs, results, strict=True)
    return [SimpleNamespace(of=run, **outcome) for run, result in pairs for outcome in result["outcomes"]]


MONTH = (
    Field("log", "log (the paper's name)", value="of.site.trace"),
    Field("month", "month of submission", value="of.month"),
)
SEED = Field("seed", "random seed of the jobs replaced and their substitutes", value="of.seed")
SUBSTITUTE = (
    Field("benchmark", "NAS benchmark in place of a job of the log"),
    Field("problem_class", "class of the benchmark"),
    Field("submit", "submission, from the first second of the log", "s"),
)
OUTCOME = (
    Field("gas", "turn-around time of Gas's request", "s"),
    Field("static", "turn-around time of the static request", "s"),
    Field("best", "turn-around time of the best request in hindsight", "s"),
    Field("gas_size", "size of Gas's request", "processors"),
    Field("static_size", "size of the static request", "processors"),
    Field("best_size", "smallest size of the best requests in hindsight", "processors"),
    Field("promised", "turn-around time promised to Gas's request", "s"),
    Field("load_ratio", "processor time of the month with the static request / without it"),
    Field("user", "user of the replaced job; -1: unknown"),
    Field(
        "still_loses",
        "if Gas lost: the cases with fewer unknown events in which it still loses",
        value=lambda row: ", ".join(row.still_loses),
    ),
)


def planned(
    options: Options, logs: Sequence[Found], all_terms: Sequence[Terms] = (BASE,)
) -> tuple[list[MonthRun], list[str]]:
    """Return all runs of a study, including those for its cost, and the omitted months with reasons.

    Raises
    ------
    BadInput
        There are no runs.
    """
    of_months, left_out = month_runs(options, logs, all_terms)
    if not of_months:
        raise BadInput(f"no month has enough jobs for {options.runs} runs; give fewer by --runs, or other months")
    return [*of_months, *cost_runs(of_months)], left_out


def summarised(computed: Computed[Options, MonthRun]) -> Results:
    """Return the results.

    Raises
    ------
    BadInput
        No run on the study's own terms has a result.
    """
    options = computed.options
    of_months = [(run, result) for run, result in computed.pairs if not run.for_cost]
    left_out = list(computed.left_out) + [
        f"{run.log.name} {run.month}, {run.terms.name}: {result['too_few']}"
        for run, result in of_months
        if "too_few" in result
    ]
    if not any(result["outcomes"] for run, result in of_months if run.terms == options.terms):
        raise BadInput(f"--runs {options.runs}: no month has so many jobs that can be replaced; {left_out[-1]}")
    return Results(
        options,
        *([run for run, _ in of_months], [result for _, result in of_months]),
        computed.at_hand.absent,
        left_out,
        [(run, result) for run, result in computed.pairs if run.for_cost],
    )
