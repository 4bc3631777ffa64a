"""The parts of the report of backfilling that tell of the models: Fig. 4, Fig. 5, and why model F differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.backfilling import Study
from experiments.claims import ALIKE, SAME_SHARE, alike, as_much_backfilled, more_backfilled, percent
from experiments.ledger import Result
from experiments.models import MOST_REPEATS, PROCESSORS, Model
from experiments.pictures import draw_backfilling, draw_models
from experiments.published import MEASURES, POLICIES, TRACES
from experiments.report import Block, Column, Picture, Section, Table, Text
from experiments.report import Cell as TableCell
from workloads.jann import ctc_model

__all__ = ["amounts_section", "changes_section", "figure", "models_section"]


def models_section(study: Study) -> Section:
    """Return Fig. 4: both schemes over load."""
    models = _points_of_models(study)
    if not models:
        return Section("Fig. 4: models", (Text("No model was run."),))
    caption = (
        "Mean response time and bounded slowdown of both schemes over load, with 90% intervals by batch means. "
        f"Seed {study.options.seed}. The paper's Fig. 4 shows curves without figures; its statements are tested above. "
        "Hollow marks: stopped because the mean response was beyond 30,000 s (dotted), so it is only a mean so far. "
        "Scales are logarithmic; intervals that reach below a picture reach far down, some to nothing."
    )
    blocks: list[Block] = [Picture("backfilling-models", draw_models(models), caption)]
    columns = (
        Column("load"), Column("EASY", "mean response (s)"), Column("conservative", "mean response (s)"),
        Column("difference", "mean response (s)"), Column("same batches", "mean response (s)"),
        Column("EASY", "bounded slowdown"), Column("conservative", "bounded slowdown"),
        Column("difference", "bounded slowdown"), Column("same batches", "bounded slowdown"),
        Column("EASY", "batches and why it stopped", left=True),
        Column("conservative", "batches and why it stopped", left=True),
    )  # fmt: skip
    for model, points in models.items():
        rows = tuple(_point_row(load, point) for load, point in points)
        blocks.append(Table(columns, rows, _model_caption(study, model)))
    return Section("Fig. 4: models", tuple(blocks))


def _points_of_models(study: Study) -> dict[Model, list[tuple[float, Result]]]:
    return {model: study.points(model) for model in PROCESSORS if study.points(model)}


def _model_caption(study: Study, model: Model) -> str:
    jobs = study.options.model_jobs(model)
    if model == "F":
        return (
            f"Model F: like Feitelson's of 1996 (most of its constants are not known; jobs are repeated at most "
            f"{MOST_REPEATS} times), {jobs:,} jobs generated, {PROCESSORS['F']} processors."
        )
    fitted = ctc_model()
    thanks = f"; acknowledged: {', '.join(fitted.acknowledgements)}" if fitted.acknowledgements else ""
    return (
        f"Model J: Jann's, fitted to {fitted.source}{thanks} (the published table of its constants is not at hand), "
        f"{jobs:,} jobs generated, {PROCESSORS['J']} processors."
    )


def _point_row(load: float, point: Mapping[str, Any]) -> tuple[TableCell | str, ...]:
    cells: list[TableCell | str] = [f"{load:g}"]
    for measure in MEASURES:
        for policy in POLICIES:
            mean, half = point[policy][measure], point[policy][f"{measure}_half_width"]
            cells.append(figure(mean, measure) + (f" ± {figure(half, measure)}" if half else ""))
        cells += [f"{percent(point, measure):+.1f}%", f"{percent(point, measure, shared=True):+.1f}%"]
    return (*cells, *(f"{point[policy]['batches']}, {point[policy]['reason']}" for policy in POLICIES))


def changes_section(study: Study) -> Section | None:
    """Return on which of its constants it depends how the schemes compare in model F."""
    changes = study.changes()
    if not changes:
        return None
    loads = study.options.change_loads
    rows = []
    for name, points in changes.items():
        row = [name]
        for measure in MEASURES:
            row += [f"{percent(point, measure):+.1f}%" for _, point in points]
        rows.append((*row, *(f"{more_backfilled(point):+.1f}" for _, point in points)))
    columns = [Column("model F with", left=True)]
    for group in ("response, conservative against EASY", "bounded slowdown, the same", "EASY backfills more, points"):
        columns += [Column(f"load {load:g}", group) for load in loads]
    jobs = study.change_runs[0].jobs
    text = (
        "In the paper both schemes are practically identical under Feitelson's model and backfill as much; here "
        "conservative has the longer response. The program of the model is not at hand, so that most constants of "
        "model F are choices. The table changes them one at a time "
        f"({jobs:,} jobs at each load, both schemes over the same jobs, no stopping rule; seed {study.options.seed}). "
        f"Mean responses come within {ALIKE:g}% of each other at all of these loads {_with(alike(study))}, shares "
        f"backfilled within {SAME_SHARE:g} points {_with(as_much_backfilled(study))}. That is as far as it goes: which "
        "of the changes, if any, is the cause is not established. Estimates above the run times would contradict the "
        "paper, which says that it took run times; it also is where its own Table 3 has the schemes draw together: "
        "from 7.3% to 1.5% on KTH, from 3.3% to 1.9% on CTC and from 5.7% to -1.2% on SDSC when estimates go from the "
        "run times to between once and twice those."
    )
    return Section("Why model F differs", (Text(text), Table(tuple(columns), tuple(rows))))


def _with(changes: list[str]) -> str:
    return f"with {' or '.join(f'“{name}”' for name in changes)}" if changes else "with no change"


def amounts_section(study: Study) -> Section:
    """Return Fig. 5: how much both schemes backfill."""
    models = _points_of_models(study)
    traces: dict[str, dict[str, float]] = {}
    for trace in TRACES:
        shares = {policy: study.backfilled(trace, policy) for policy in POLICIES}
        known = {policy: share for policy, share in shares.items() if share is not None}
        if len(known) == len(POLICIES):
            traces[trace] = known
    if not models and not traces:
        return Section("Fig. 5: amount of backfilling", (Text("Nothing was run."),))
    caption = (
        "Share of jobs that were backfilled: started while a job submitted earlier waited. The paper's Fig. 5 shows no "
        "figures; its statements are tested above."
    )
    rows = [(trace, *(f"{shares[p]:.1%}" for p in POLICIES), _points(shares), "") for trace, shares in traces.items()]
    for model, points in models.items():
        for load, point in points:
            of_point = {policy: float(point[policy]["backfilled"]) for policy in POLICIES}
            shown = (f"{of_point[policy]:.1%}" for policy in POLICIES)
            same = f"{-more_backfilled(point, shared=True):+.1f}"
            rows.append((f"model {model}, load {load:g}", *shown, _points(of_point), same))
    titles = ("jobs", "EASY", "conservative", "difference, points", "over the same batches")
    columns = tuple(Column(title, left=title == "jobs") for title in titles)
    picture = Picture("backfilling-amount", draw_backfilling(models, traces), caption)
    return Section("Fig. 5: amount of backfilling", (picture, Table(columns, tuple(rows))))


def _points(shares: Mapping[str, float]) -> str:
    return f"{(shares['conservative'] - shares['easy']) * 100:+.1f}"


def figure(value: float | None, measure: str) -> str:
    """Return a mean as it is shown, as precisely as the paper does."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if measure == "response" else f"{value:,.1f}"
