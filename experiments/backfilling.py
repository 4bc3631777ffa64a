"""The study of backfilling: EASY against conservative on the logs and models of Mu'alem & Feitelson (2001, section 3).

`plan` says which runs there are, `Study` holds what came out, cell by cell beside the paper's Table 1, and `claims`
which of the paper's statements hold here. Nothing here reads or writes anything.

Every log is simulated once as the paper did, as far as that is known, and under other rules (`Variant`), so that it
shows on what a disagreement depends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from experiments.comparison import Cell, cells_of, count
from experiments.ledger import Configuration, Result
from experiments.logs import Estimates, Found, Source
from experiments.models import Model
from experiments.published import POLICIES, Measure, Month, overall, table1

__all__ = ["BASE", "LOADS", "Claim", "LogRun", "ModelRun", "Options", "Study", "Variant", "log_runs", "model_runs"]

LOADS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
"""Offered loads of the models."""

HIGH_LOAD = 0.75
"""From here on a load is called high."""

BATCHES = 105
"""Batches that the jobs of a model would fill: the warm-up, the 100 at which a run stops, and a few for the jobs that
have not ended when the last one is submitted."""

PAPER_JOBS: dict[Model, int] = {"F": 350_000, "J": 100_000}
"""Jobs of a model; a 105th is the paper's batch: 3,333 and "just under 1,000"."""

ALIKE = 10.0
"""Per cent within which both schemes are called practically identical; the paper's own intervals are 6 to 9% wide."""

WITHIN = 5.0
"""Per cent by which overall means may be off."""

CELLS_WANTED = 0.8
"""Share of the cells of KTH and CTC whose sign should agree."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    loads: tuple[float, ...] = LOADS
    jobs: int | None = None
    """Of a model at each load; None for the paper's numbers."""

    def model_jobs(self, model: Model) -> int:
        """Return how many jobs of a model are generated."""
        return self.jobs or PAPER_JOBS[model]


@dataclass(frozen=True)
class Variant:
    """Rules under which a log is simulated."""

    name: str
    """What is different from the paper's; "" for nothing."""
    estimates: Estimates
    order: Literal["instant", "event"] = "instant"
    overrun: Literal["kill", "extend"] = "kill"
    processors: int = 0
    by_end: bool = False
    """Months by the end of each job in each simulation; else by submission."""


BASE = ""


def variants(log: Found) -> list[Variant]:
    """Return the rules under which a log is simulated, the paper's first."""
    source = log.source
    own, size = source.estimates, source.processors
    found = [
        Variant(BASE, own, processors=size),
        Variant("order event", own, order="event", processors=size),
        Variant("months by end", own, processors=size, by_end=True),
    ]
    if own == "users":
        found += [
            Variant("overrun extend", own, overrun="extend", processors=size),
            Variant("overrun extend, months by end", own, overrun="extend", processors=size, by_end=True),
        ]
    elif source.trace == "CM5":  # the only other one in which users gave estimates
        found += [
            Variant("users' estimates", "users", processors=size),
            Variant("users' estimates, overrun extend", "users", overrun="extend", processors=size),
        ]
    header = log.header.max_procs
    if header is not None and 0 < header != size:
        found.append(Variant(f"{header} processors", own, processors=header))
    return found


@dataclass(frozen=True)
class LogRun:
    """A log under some rules; those that differ only in how months are told apart share a run."""

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
            "batch": max(self.jobs // BATCHES, 1),
            "seed": self.seed,
            "order": "instant",
            "overrun": "kill",
        }


def log_runs(logs: Sequence[Found]) -> list[LogRun]:
    """Return all runs of logs."""
    return [LogRun(log, variant) for log in logs for variant in variants(log)]


def model_runs(options: Options) -> list[ModelRun]:
    """Return all runs of models."""
    models: tuple[Model, ...] = get_args(Model)
    return [
        ModelRun(model, load, options.model_jobs(model), options.seed) for model in models for load in options.loads
    ]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or a mark set for this study, and what came out here."""

    where: str
    """Place in the paper."""
    text: str
    here: str
    holds: bool | None
    """None where it cannot be told from what is at hand."""
    why: str = ""
    """What may be the cause if it does not hold."""


@dataclass(frozen=True, eq=False)
class Study:
    """All runs and their results, in the same order."""

    options: Options
    missing: Sequence[Source]
    log_runs: Sequence[LogRun]
    log_results: Sequence[Result]
    model_runs: Sequence[ModelRun]
    model_results: Sequence[Result]

    @cached_property
    def logs(self) -> list[Found]:
        """The logs that were simulated."""
        return list(dict.fromkeys(run.log for run in self.log_runs))

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
        """Return a month of a run, None if it has none."""
        found = self.result(log, variant.name)["by_end" if variant.by_end else "months"]
        return next((one for one in found if one["month"] == month), None)

    def points(self, model: str) -> list[tuple[float, Result]]:
        """Return the loads of a model and what came out."""
        runs = zip(self.model_runs, self.model_results, strict=True)
        return [(run.load, result) for run, result in runs if run.model == model]

    @cached_property
    def cells(self) -> list[Cell]:
        """Every cell of Table 1."""
        return [cell for row in table1() for cell in self.cells_under(row)]

    def cells_under(self, row: Month, base: str = BASE) -> list[Cell]:
        """Return the cells of a row of Table 1 with the figures of one variant."""
        log = next((log for log in self.logs if log.source.covers(row.trace, row.month)), None)
        if log is None:
            return cells_of(row, None, {})
        months = {variant: self.month(log, variant, row.month) for variant in self.variants(log)}
        own = next(variant for variant in months if variant.name == base)
        others = {
            variant.name: month
            for variant, month in months.items()
            if variant != own and variant.processors == own.processors and month is not None
        }
        return cells_of(row, months[own], others)

    def cells_of_log(self, log: Found, variant: str) -> list[Cell]:
        """Return the cells that a log covers, under some rules."""
        rows = (row for row in table1() if log.source.covers(row.trace, row.month))
        return [cell for row in rows for cell in self.cells_under(row, variant)]

    def overall(self, trace: str, measure: Measure, policy: str) -> float | None:
        """Return a mean over all jobs of a log, None if it is not at hand."""
        log = next((log for log in self.logs if log.source.trace == trace), None)
        value: float | None = None if log is None else self.result(log)["overall"].get(policy, {}).get(measure)
        return value

    def backfilled(self, trace: str, policy: str) -> float | None:
        """Return the share of jobs that were backfilled, over all logs of a trace."""
        results = [self.result(log) for log in self.logs if log.source.trace == trace]
        results = [result for result in results if result["jobs"]]
        jobs = sum(result["jobs"] for result in results)
        if not jobs:
            return None
        return float(sum(result["overall"][policy]["backfilled"] * result["jobs"] for result in results) / jobs)

    @cached_property
    def claims(self) -> list[Claim]:
        """What the paper says, and what came out here."""
        return [*self._overall_means(), self._signs(), *self._of_models(), *self._of_backfilling()]

    def _overall_means(self) -> list[Claim]:
        found = []
        for row in overall():
            if row.measure != "response" or row.trace not in ("KTH", "CTC"):
                continue
            ours = self.overall(row.trace, "response", row.policy)
            off = None if ours is None else (ours / row.mean - 1) * 100
            here = "no log at hand" if ours is None else f"{ours:,.0f} s, {off:+.1f}%"
            text = f"mean response of {row.trace} under {row.policy} is {row.mean:,.0f} s (within {WITHIN:g}%)"
            found.append(Claim("Table 4", text, here, None if off is None else abs(off) <= WITHIN))
        return found

    def _signs(self) -> Claim:
        counts = count(self.cells, ("KTH", "CTC"))
        all_cells = sum(cell.trace in ("KTH", "CTC") for cell in self.cells)
        text = (
            f"the sign of the difference agrees in {CELLS_WANTED:.0%} of the {all_cells} cells of KTH and CTC, or more"
        )
        here = f"{counts.agree} of {counts.cells}" + (f", {counts.share:.1%}" if counts.cells else "")
        return Claim("Table 1", text, here, counts.share >= CELLS_WANTED if counts.cells == all_cells else None)

    def _of_models(self) -> list[Claim]:
        f = [_change(point, "response") for _, point in self.points("F")]
        high = [point for load, point in self.points("J") if load >= HIGH_LOAD]
        response, slowdown = ([_change(point, measure) for point in high] for measure in ("response", "slowdown"))
        at_high = f"at {{}} of {len(high)} loads from {HIGH_LOAD:g} on: conservative {{:+.1f}}% to {{:+.1f}}%"
        return [
            Claim(
                "Fig. 4",
                f"model F: both schemes are practically identical (mean response within {ALIKE:g}%)",
                f"at {sum(abs(change) <= ALIKE for change in f)} of {len(f)} loads: conservative {min(f):+.1f}% to "
                f"{max(f):+.1f}%"
                if f
                else "model F was not run",
                all(abs(change) <= ALIKE for change in f) if f else None,
                _LIKE_F,
            ),
            Claim(
                "Fig. 4",
                "model J: under high loads EASY has the lower mean response",
                at_high.format(sum(change > 0 for change in response), min(response), max(response))
                if high
                else "not run at high loads",
                all(change > 0 for change in response) if high else None,
            ),
            Claim(
                "Fig. 4",
                "model J: there EASY has the slightly higher bounded slowdown",
                at_high.format(sum(change < 0 for change in slowdown), min(slowdown), max(slowdown))
                if high
                else "not run at high loads",
                all(change < 0 for change in slowdown) if high else None,
            ),
        ]

    def _of_backfilling(self) -> list[Claim]:
        f = [_gap(point) for _, point in self.points("F")]
        j = [_gap(point) for _, point in self.points("J")]
        shares = {policy: self.backfilled("SDSC", policy) for policy in POLICIES}
        easy, conservative = shares["easy"], shares["conservative"]
        known = easy is not None and conservative is not None
        return [
            Claim(
                "Fig. 5",
                "model F: both schemes backfill the same share of jobs (within 2 points)",
                f"{max(map(abs, f)):.1f} points apart at most" if f else "model F was not run",
                max(map(abs, f)) <= 2 if f else None,
                _LIKE_F,
            ),
            Claim(
                "Fig. 5",
                "model J: EASY backfills slightly more",
                f"by {min(j):+.1f} to {max(j):+.1f} points" if j else "model J was not run",
                min(j) > 0 if j else None,
            ),
            Claim(
                "Fig. 5",
                "SDSC: conservative backfills more",
                f"EASY {easy:.1%}, conservative {conservative:.1%}" if known else "no log at hand",
                conservative > easy if easy is not None and conservative is not None else None,
            ),
        ]


_LIKE_F = "model F is only like Feitelson's: most of its constants are not known (`workloads/feitelson.py`)"


def _change(point: Mapping[str, Any], measure: Measure) -> float:
    """Return by how many per cent conservative is above EASY, over the jobs that both schemes ended."""
    easy, conservative = (point[policy]["together"][measure] for policy in POLICIES)
    return float((conservative / easy - 1) * 100)


def _gap(point: Mapping[str, Any]) -> float:
    """Return by how many percentage points EASY backfills more."""
    easy, conservative = (point[policy]["together"]["backfilled"] for policy in POLICIES)
    return float((easy - conservative) * 100)
