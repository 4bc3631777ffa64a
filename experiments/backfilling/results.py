"""The study of backfilling: EASY against conservative on the logs and models of Mu'alem & Feitelson (2001, section 3).

`log_runs`, `model_runs` and `change_runs` list the runs, and `Results` holds their results, cell by cell next to the
paper's Table 1. Nothing here reads or writes files.

Every log is simulated as in the paper, as far as its rules are known, and under other rules (`Variant`), to show what
causes a disagreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.backfilling.comparison import Cell, cells_of
from experiments.backfilling.models import CHANGES, MODELS, MODIFIED, Change, Model
from experiments.backfilling.run_times import JOBS, WORKLOADS, Workload
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Estimates, Found, Source
from experiments.framework.study import Computed
from experiments.framework.verdicts import Part, of_sums, scaled
from experiments.published import Measure, Month, table1

__all__ = ["BASE", "DOUBLED", "LOADS", "PAPER_JOBS", "ChangeRun", "LogRun", "ModelRun", "Options", "Results"]
__all__ += ["RunTimesRun", "Variant", "batch_jobs", "change_runs", "log_runs", "model_runs", "planned"]
__all__ += ["run_times_runs", "summarised"]

LOADS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
"""Offered loads of the models."""

CHANGE_LOADS = (0.6, 0.75, 0.9)
"""The loads at which model F is changed."""

CHANGE_JOBS = 100_000
"""Number of jobs of model F with a change, at each load."""

BATCHES = 105
"""Batches that the jobs of a model would fill: the warm-up, the 100 at which a run stops, and a few for jobs that have
not ended at the last submission.
"""

PAPER_JOBS: dict[Model, int] = {"F": 350_000, "J": 100_000}
"""Number of jobs of a model, 105 times the paper's batch: 3,333 and "just under 1,000". Modified models as F."""


def batch_jobs(jobs: int) -> int:
    """Return the number of jobs in a batch for this number of jobs."""
    return max(jobs // BATCHES, 1)


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    loads: tuple[float, ...] = LOADS
    jobs: int | None = None
    """Number of jobs of a model at each load; None for the paper's numbers."""

    def model_jobs(self, model: Model) -> int:
        """Return the number of jobs that a model generates."""
        return self.jobs or PAPER_JOBS["J" if model == "J" else "F"]

    @property
    def full(self) -> bool:
        """Whether the models run as in the paper: at all loads, with as many jobs."""
        return self.loads == LOADS and all(self.model_jobs(model) == jobs for model, jobs in PAPER_JOBS.items())

    @property
    def change_loads(self) -> tuple[float, ...]:
        """Loads at which model F is changed."""
        return tuple(load for load in self.loads if load in CHANGE_LOADS) or self.loads


@dataclass(frozen=True)
class Variant:
    """Rules under which a log is simulated."""

    name: str
    """The difference from the paper's rules; empty for none."""
    estimates: Estimates
    order: Literal["instant", "event"] = "instant"
    overrun: Literal["kill", "extend"] = "kill"
    processors: int = 0
    by_end: bool = False
    """Whether months count jobs by their end in each simulation; otherwise by submission."""


BASE = ""
DOUBLED = "estimates doubled"


def variants(log: Found) -> list[Variant]:
    """Return the rules under which a log is simulated, the paper's first."""
    source = log.source
    own, size = source.estimates, source.processors
    if log.own:
        return [
            Variant(BASE, own, processors=size),
            Variant("order event", own, order="event", processors=size),
            Variant("overrun extend", own, overrun="extend", processors=size),
            Variant(DOUBLED, "doubled", processors=size),
        ]
    found = [
        Variant(BASE, own, processors=size),
        Variant("order event", own, order="event", processors=size),
        Variant("months by end", own, processors=size, by_end=True),
    ]
    if own == "users":
        found += [
            Variant("overrun extend", own, overrun="extend", processors=size),
            Variant("overrun extend and months by end", own, overrun="extend", processors=size, by_end=True),
            Variant(DOUBLED, "doubled", processors=size),
        ]
    elif source.trace == "CM5":  # the only other one with users' estimates
        found += [
            Variant("users' estimates", "users", processors=size),
            Variant("users' estimates and overrun extend", "users", overrun="extend", processors=size),
        ]
    header = log.header.max_procs
    if header is not None and 0 < header != size:
        found.append(Variant(f"{header} processors", own, processors=header))
    return found


@dataclass(frozen=True)
class LogRun:
    """A log under some rules; variants that differ only in the assignment of jobs to months share a run."""

    log: Found
    variant: Variant

    @property
    def configuration(self) -> Configuration:
        """What determines its result."""
        return {
            "log": self.log.name,
            "sha256": self.log.sha256,
            "processors": self.variant.processors,
            "estimates": self.variant.estimates,
            "order": self.variant.order,
            "overrun": self.variant.overrun,
        }


@dataclass(frozen=True)
class ModelRun:
    """A model at a load."""

    model: Model
    load: float
    jobs: int
    seed: int

    @property
    def configuration(self) -> Configuration:
        """What determines its result."""
        return {
            "model": self.model,
            "load": self.load,
            "jobs": self.jobs,
            "batch": batch_jobs(self.jobs),
            "seed": self.seed,
            "order": "instant",
            "overrun": "kill",
        }


@dataclass(frozen=True)
class ChangeRun:
    """Model F with a change, at a load."""

    change: Change
    load: float
    jobs: int
    seed: int

    @property
    def configuration(self) -> Configuration:
        """What determines its result."""
        return {"change": self.change.name, "load": self.load, "jobs": self.jobs, "seed": self.seed}


@dataclass(frozen=True)
class RunTimesRun:
    """The distributions of run times of a workload: of a log, or of a model instead of it."""

    workload: Workload
    log: Found | None
    jobs: int
    seed: int

    @property
    def configuration(self) -> Configuration:
        """What determines its result."""
        if self.log is None:
            return {"run_times": self.workload, "jobs": self.jobs, "seed": self.seed}
        processors = self.log.source.processors
        return {
            "run_times": self.workload,
            "log": self.log.name,
            "sha256": self.log.sha256,
            "processors": processors,
        }


Run = LogRun | ModelRun | ChangeRun | RunTimesRun


def log_runs(logs: Sequence[Found]) -> list[LogRun]:
    """Return all runs of logs."""
    return [LogRun(log, variant) for log in logs for variant in variants(log)]


def model_runs(options: Options) -> list[ModelRun]:
    """Return all runs of models."""
    return [
        ModelRun(model, load, options.model_jobs(model), options.seed)
        for model in (*MODELS, *MODIFIED)
        for load in options.loads
    ]


def change_runs(options: Options) -> list[ChangeRun]:
    """Return all runs of model F with changes."""
    jobs = min(options.jobs or CHANGE_JOBS, CHANGE_JOBS)
    return [ChangeRun(change, load, jobs, options.seed) for change in CHANGES for load in options.change_loads]


def run_times_runs(options: Options, logs: Sequence[Found]) -> list[RunTimesRun]:
    """Return the workloads whose run times are counted; the log if it is available."""
    by_trace: dict[str, Found | None] = {log.source.trace: log for log in logs if not log.own}
    jobs = min(options.jobs or JOBS, JOBS)
    return [
        RunTimesRun(workload, by_trace.get(workload), jobs, options.seed)
        for workload in WORKLOADS
        if workload in (*MODELS, *MODIFIED, *by_trace)
    ]


@dataclass(frozen=True, eq=False)
class Results:
    """All runs and their results, in the same order."""

    options: Options
    missing: Sequence[Source]
    log_runs: Sequence[LogRun]
    log_results: Sequence[Result]
    model_runs: Sequence[ModelRun]
    model_results: Sequence[Result]
    change_runs: Sequence[ChangeRun] = ()
    change_results: Sequence[Result] = ()
    left_out: Sequence[str] = ()
    """Files that look like one of the logs but are not used, with reasons."""
    run_times: Mapping[RunTimesRun, Result] = field(default_factory=dict)

    @property
    def done(self) -> list[tuple[str, Configuration, Result]]:
        """Everything that was computed: a log or a model, a configuration, and its number of jobs."""
        of_logs = zip(self.log_runs, self.log_results, strict=True)
        none = {"moldable": 0}
        return [
            *((run.log.name, run.configuration, {"jobs": result["jobs"], **none}) for run, result in of_logs),
            *((f"model {run.model}", run.configuration, {"jobs": run.jobs, **none}) for run in self.model_runs),
            *(("model F, changed", run.configuration, {"jobs": run.jobs, **none}) for run in self.change_runs),
            *(
                (f"run times of {run.workload}", run.configuration, {"jobs": result["jobs"], **none})
                for run, result in self.run_times.items()
            ),
        ]

    @cached_property
    def logs(self) -> list[Found]:
        """The logs that were simulated."""
        return list(dict.fromkeys(run.log for run in self.log_runs))

    @property
    def own_logs(self) -> list[Found]:
        """Logs without figures in the paper."""
        return [log for log in self.logs if log.own]

    def logs_of(self, trace: str) -> list[Found]:
        """Return the available logs of one of the paper's traces."""
        return [log for log in self.logs if log.source.trace == trace and not log.own]

    def result(self, log: Found, variant: str = BASE) -> Result:
        """Return the result of a log under some rules."""
        return next(
            result
            for run, result in zip(self.log_runs, self.log_results, strict=True)
            if run.log == log and run.variant.name == variant
        )

    def variants(self, log: Found) -> list[Variant]:
        """Return the rules under which a log was simulated."""
        return [run.variant for run in self.log_runs if run.log == log]

    def month(self, log: Found, variant: Variant, month: str) -> Mapping[str, Any] | None:
        """Return a month of a run; None if the run does not have it."""
        found = self.result(log, variant.name)["by_end" if variant.by_end else "months"]
        return next((one for one in found if one["month"] == month), None)

    def points(self, model: str) -> list[tuple[float, Result]]:
        """Return the loads of a model with their results."""
        runs = zip(self.model_runs, self.model_results, strict=True)
        return [(run.load, result) for run, result in runs if run.model == model]

    @cached_property
    def cells(self) -> list[Cell]:
        """Every cell of Table 1."""
        return [cell for row in table1() for cell in self.cells_under(row)]

    def cells_under(self, row: Month, base: str = BASE) -> list[Cell]:
        """Return the cells of a row of Table 1 with the figures of one variant."""
        log = next((log for log in self.logs_of(row.trace) if log.source.covers(row.trace, row.month)), None)
        if log is None:
            return cells_of(row, None, {})
        months = {variant: self.month(log, variant, row.month) for variant in self.variants(log)}
        own = next(variant for variant in months if variant.name == base)
        others = {
            variant.name: month
            for variant, month in months.items()
            if variant != own and variant.processors == own.processors and month is not None
            if variant.name != DOUBLED  # a different experiment, not a different reading of this one
        }
        return cells_of(row, months[own], others)

    def cells_of_log(self, log: Found, variant: str) -> list[Cell]:
        """Return the cells that a log covers, under some rules."""
        rows = (row for row in table1() if log.source.covers(row.trace, row.month))
        return [cell for row in rows for cell in self.cells_under(row, variant)]

    def overall(self, trace: str, measure: Measure, policy: str, variant: str = BASE) -> float | None:
        """Return a mean over all jobs of a log; None if it is not available."""
        log = next(iter(self.logs_of(trace)), None)
        if log is None or all(known.name != variant for known in self.variants(log)):
            return None
        value: float | None = self.result(log, variant)["overall"].get(policy, {}).get(measure)
        return value

    def sums(self, trace: str, policy: str, what: str, variant: str = BASE) -> NDArray[np.float64] | None:
        """Return sums by month of submission over all logs of a trace; None if no log is available.

        "jobs" counts jobs, "backfilled" the backfilled ones; all other names are measures.
        """
        return self.sums_of(self.logs_of(trace), policy, what, variant)

    def sums_of(self, logs: Sequence[Found], policy: str, what: str, variant: str = BASE) -> NDArray[np.float64] | None:
        """Return these sums for some logs."""
        logs = [log for log in logs if any(known.name == variant for known in self.variants(log))]
        months = [month for log in logs for month in self.result(log, variant)["months"] if month["jobs"]]
        found = [month["jobs"] * (1.0 if what == "jobs" else month[policy][what]) for month in months]
        return np.array(found, np.float64) if found else None

    def off(self, trace: str, measure: Measure, policy: str) -> Part | None:
        """Return by how many per cent our means exceed the paper's, over the months of Table 1.

        On both sides, months are weighted by our numbers of jobs, so that a different number of jobs in the log does
        not look like a different mean. None if no log is available.
        """
        cells = [cell for cell in self.cells if (cell.trace, cell.measure) == (trace, measure) and cell.ours]
        ours = [getattr(cell.ours, policy) * cell.jobs for cell in cells]
        paper = [getattr(cell.paper, policy) * cell.jobs for cell in cells]
        return scaled(of_sums(ours, paper), 100, -100) if cells else None

    def changes(self) -> dict[str, list[tuple[float, Result]]]:
        """Return the loads of each change of model F, with results."""
        found: dict[str, list[tuple[float, Result]]] = {}
        for run, result in zip(self.change_runs, self.change_results, strict=True):
            found.setdefault(run.change.name, []).append((run.load, result))
        return found

    def backfilled(self, trace: str, policy: str) -> float | None:
        """Return the share of jobs that were backfilled, over all logs of a trace."""
        results = [self.result(log) for log in self.logs_of(trace)]
        results = [result for result in results if result["jobs"]]
        jobs = sum(result["jobs"] for result in results)
        if not jobs:
            return None
        return float(sum(result["overall"][policy]["backfilled"] * result["jobs"] for result in results) / jobs)


def planned(options: Options, logs: Sequence[Found]) -> tuple[list[Run], list[str]]:
    """Return all runs; no part of a log is left out."""
    return [*log_runs(logs), *model_runs(options), *change_runs(options), *run_times_runs(options, logs)], []


def summarised(computed: Computed[Options, Run]) -> Results:
    """Return the results."""
    of_logs = [(run, result) for run, result in computed.pairs if isinstance(run, LogRun)]
    of_models = [(run, result) for run, result in computed.pairs if isinstance(run, ModelRun)]
    of_changes = [(run, result) for run, result in computed.pairs if isinstance(run, ChangeRun)]
    return Results(
        computed.options,
        [*computed.at_hand.missing, *computed.at_hand.not_chosen],
        *([run for run, _ in of_logs], [result for _, result in of_logs]),
        *([run for run, _ in of_models], [result for _, result in of_models]),
        *([run for run, _ in of_changes], [result for _, result in of_changes]),
        computed.at_hand.left_out,
        {run: result for run, result in computed.pairs if isinstance(run, RunTimesRun)},
    )
