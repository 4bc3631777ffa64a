"""The sections of the report about backfilling on the models: Fig. 4 to 7, and why model F differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.backfilling.claims import ALIKE, SAME_SHARE, alike, as_much_backfilled, more_backfilled, percent
from experiments.backfilling.distances import apart
from experiments.backfilling.models import MODELS, MODIFIED, MOST_REPEATS, PROCESSORS, Model
from experiments.backfilling.pictures import draw_backfilling, draw_models, draw_run_times, unequal
from experiments.backfilling.results import Results
from experiments.backfilling.run_times import SIZES
from experiments.framework.ledger import Result
from experiments.framework.verdicts import LEVEL
from experiments.published import MEASURES, POLICIES, TITLES, TRACES
from gas.report.blocks import Block, Column, Picture, Section, Table, Text, heads
from workloads.jann import ctc_model

__all__ = ["amounts_section", "changes_section", "figure", "models_section", "modified_section", "run_times_section"]


def models_section(study: Results) -> Section:
    """Return Fig. 4: both schemes over load."""
    return _over_load(study, "Fig. 4: models", MODELS)


def modified_section(study: Results) -> Section:
    """Return Fig. 7: model F with more small jobs, with longer jobs, and with both."""
    return _over_load(study, "Fig. 7: modified models", MODIFIED)


def _over_load(study: Results, title: str, which: Sequence[Model]) -> Section:
    models = _points_of_models(study, which)
    number, _, name = title.partition(": ")
    if not models:
        return Section(title, (Text("No model was run."),))
    caption = (
        "Mean response time and bounded slowdown over load (logarithmic scales), with 90% intervals by batch means, "
        "over the batches that both schemes completed; their number stands above each load. †: one scheme's run was "
        "longer; a cross shows its mean at its own end, which includes other jobs and is therefore not comparable. "
        "Hollow marks: the run was stopped because its mean response exceeded 30,000 s (dotted line), so its mean has "
        "not converged. Curves also jump where the number of batches changes between loads. Both schemes ran the same "
        "jobs, so overlapping intervals do not show that they are equal. Some intervals extend below the picture, a "
        f"few to 0. Seed {study.options.seed}. The paper's {number} shows curves without figures; its statements are "
        "tested above."
    )
    blocks: list[Block] = [Picture(f"backfilling-{name.replace(' ', '-')}", draw_models(models), caption)]
    means = [Column(title, group) for group in TITLES.values() for title in ("EASY", "conservative", "difference")]
    stops = [Column(name, "batches, and reason to stop", left=True) for name in ("EASY", "conservative")]
    for model, points in models.items():
        rows = tuple((*_at(load, point), *_means(point, shared=True)) for load, point in points)
        about = f"{_model_caption(study, model)} Means over the batches that both schemes completed. {_DAGGER}"
        blocks.append(Table((Column("load"), Column("batches"), *means), rows, about))
        rows = tuple((_at(load, point)[0], *_means(point, shared=False), *_stops(point)) for load, point in points)
        about = (
            f"Model {model}, each run at its own end, as the paper compares them. {_DAGGER} Part of the difference is "
            "then due to the jobs, not to the schemes."
        )
        blocks.append(Table((Column("load"), *means, *stops), rows, about))
    return Section(title, tuple(blocks))


_DAGGER = "†: the two runs stopped after different numbers of batches."


def _points_of_models(study: Results, which: Sequence[Model] = MODELS) -> dict[Model, list[tuple[float, Result]]]:
    return {model: study.points(model) for model in which if study.points(model)}


def _model_caption(study: Results, model: Model) -> str:
    jobs = study.options.model_jobs(model)
    if model == "F":
        return (
            f"Model F resembles Feitelson's of 1996, most of whose constants are unknown: {jobs:,} jobs on "
            f"{PROCESSORS['F']} processors, each job repeated at most {MOST_REPEATS} times."
        )
    if model in MODIFIED:
        what = {"Fs": "more serial jobs", "Fl": "longer jobs", "Fsl": "both"}[model]
        return (
            f"Model {model} is model F with {what}: {jobs:,} jobs. The paper gives no numbers of its modifications; "
            "here the share of serial jobs and the run times are fitted to the CTC log."
        )
    fitted = ctc_model()
    thanks = f" (log by courtesy of {', '.join(fitted.acknowledgements)})" if fitted.acknowledgements else ""
    return (
        f"Model J is Jann's: {jobs:,} jobs on {PROCESSORS['J']} processors. Its published constants were not "
        f"available; they are fitted to {fitted.source}{thanks}."
    )


def _at(load: float, point: Mapping[str, Any]) -> tuple[str, str]:
    """Return a load, marked if runs stopped after different numbers of batches, and the number of batches shared."""
    return f"{load:g}{' †' if unequal(point) else ''}", f"{min(point[policy]['batches'] for policy in POLICIES)}"


def _means(point: Mapping[str, Any], *, shared: bool) -> list[str]:
    cells = []
    for measure in MEASURES:
        for policy in POLICIES:
            figures = point[policy]["together"] if shared else point[policy]
            mean, half = figures[measure], figures[f"{measure}_half_width"]
            cells.append(figure(mean, measure) + (f" ± {figure(half, measure)}" if half else ""))
        cells.append(f"{percent(point, measure, shared=shared):+.1f}%")
    return cells


def _stops(point: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{point[policy]['batches']}, {point[policy]['reason']}" for policy in POLICIES)


def changes_section(study: Results) -> Section | None:
    """Return the section on how the comparison of schemes in model F depends on the model's constants."""
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
    for group in (
        "response, conservative against EASY",
        "bounded slowdown, conservative against EASY",
        "share backfilled, EASY minus conservative (points)",
    ):
        columns += [Column(f"load {load:g}", group) for load in loads]
    jobs = study.change_runs[0].jobs
    text = (
        "In the paper, both schemes are practically identical under Feitelson's model and backfill the same share of "
        "jobs. The program of the model was not available, so most constants of model F are our choice. The table "
        f"changes one at a time ({jobs:,} jobs at each load, both schemes over the same jobs, no stopping rule, seed "
        f"{study.options.seed}). Mean responses are within {ALIKE:g}% of each other at all of these loads "
        f"{_with(alike(study))}; shares backfilled are within {SAME_SHARE:g} points "
        f"{_with(as_much_backfilled(study))}. It is not known whether one of these changes is the cause. Estimates "
        "above the run times contradict the paper, which used run times. Its own Table 3, however, shows that such "
        "estimates reduce the difference: with estimates between once and twice the run time instead of exact ones, it "
        "falls from 7.3% to 1.5% on KTH, from 3.3% to 1.9% on CTC and from 5.7% to -1.2% on SDSC."
    )
    return Section("Why model F differs", (Text(text), Table(tuple(columns), tuple(rows))))


def _with(changes: list[str]) -> str:
    return f"with {' or '.join(f'“{name}”' for name in changes)}" if changes else "with no change"


def amounts_section(study: Results) -> Section:
    """Return the section on Fig. 5: shares of jobs that both schemes backfill."""
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
        "Share of jobs that were backfilled, that is, started while a job submitted earlier waited. Models are shown "
        "over the batches that both schemes completed; a cross shows the share at the own end of a longer run. The "
        "paper's Fig. 5 shows no figures; its statements are tested above."
    )
    rows = [
        (trace, *(f"{shares[p]:.1%}" for p in POLICIES), _points(shares), "", "", "")
        for trace, shares in traces.items()
    ]
    for model, points in models.items():
        for load, point in points:
            cells: list[str] = []
            for of_point in ({p: point[p]["together"] for p in POLICIES}, point):
                shares = {policy: float(of_point[policy]["backfilled"]) for policy in POLICIES}
                cells += [*(f"{shares[policy]:.1%}" for policy in POLICIES), _points(shares)]
            rows.append((f"model {model}, load {_at(load, point)[0]}", *cells))
    columns = [Column("jobs", left=True)]
    for group in ("same jobs or batches", "models, own end"):
        columns += heads("EASY", "conservative", "difference, points", group=group)
    picture = Picture("backfilling-amount", draw_backfilling(models, traces), caption)
    table = Table(tuple(columns), tuple(rows), _DAGGER if models else "")
    return Section("Fig. 5: amount of backfilling", (picture, table))


def run_times_section(study: Results) -> Section:
    """Return Fig. 6: run times by size in models and in the CTC log."""
    title = "Fig. 6: run times by size"
    results = {run.workload: result for run, result in study.run_times.items()}
    if not results:
        return Section(title, (Text("Nothing was run."),))
    jobs = {workload: {size: _jobs(result, size) for size in SIZES} for workload, result in results.items()}
    references = [workload for workload in ("CTC", "J") if workload in results]
    rows = []
    for size in SIZES:
        shares = [f"{of[size] / max(sum(of.values()), 1):.1%}" for of in jobs.values()]
        distances = []
        for reference in references:
            for model in ("J", "F", "Fsl"):
                found = apart(results[model], results[reference], size)(LEVEL) if model != reference else None
                distances.append(found.text(1) if found else "")
        rows.append((size, *shares, *distances))
    columns = [Column("jobs", left=True), *(Column(name, "share of the jobs") for name in jobs)]
    for reference in references:
        columns += heads("J", "F", "Fsl", group=f"largest distance from {reference}, points")
    caption = (
        "Share of the jobs of a class of sizes that run no longer than a time. Model J is fitted to moments of the run "
        "times of the CTC log in each range of sizes; Fsl to its share of serial jobs, and to its run times without "
        "regard to size. The paper's classes of sizes are not known; its Fig. 6 shows no figures."
    )
    text = (
        "A distance is the largest one between cumulative shares. ± is half of a 90% interval over months of the log "
        "and twelfths of the jobs of models."
    )
    return Section(
        title,
        (Picture("backfilling-run-times", draw_run_times(results), caption), Table(tuple(columns), tuple(rows), text)),
    )


def _jobs(result: Mapping[str, Any], size: str) -> int:
    return sum(sum(block) for block in result["counts"][size])


def _points(shares: Mapping[str, Any]) -> str:
    return f"{(shares['conservative'] - shares['easy']) * 100:+.1f}"


def figure(value: float | None, measure: str) -> str:
    """Return a mean as text, with the precision of the paper."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if measure == "response" else f"{value:,.1f}"
