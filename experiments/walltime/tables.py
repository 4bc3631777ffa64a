"""Results of the study of walltime adjustment as rows of tables, with all their digits."""

from __future__ import annotations

from typing import Any

from experiments.framework.intervals import Interval
from experiments.walltime.accuracy import CATEGORIES, KEYS
from experiments.walltime.cells import gain_cells, text_cells
from experiments.walltime.results import MEASURES, Results, Terms

__all__ = ["accuracy_rows", "gain_rows", "month_rows", "published_rows"]


def accuracy_rows(study: Results) -> list[dict[str, Any]]:
    """Return how good adjusted walltimes are, a row for each scheme and log."""
    return [
        {
            "trace": log.source.trace,
            "key": key,
            "months": months,
            "percentile": cell["percentile"],
            "floor": cell["floor"],
            "jobs": found["jobs"],
            "no_history": found["no_history"],
            "mean_accuracy": cell["accuracy"],
            "median_accuracy": cell["median"],
            **{part: cell[part] for part in CATEGORIES},
        }
        for log in study.logs
        for key in KEYS
        for months in study.options.windows
        if (found := study.replay(log, key, months))
        for cell in found["cells"]
    ]


def gain_rows(study: Results) -> list[dict[str, Any]]:
    """Return average improvements under all terms."""
    rows = []
    for run in study.runs:
        terms = run.terms
        if run.kind != "simulation" or terms.adjustment is None or study.simulation(run.log, terms) is None:
            continue
        row: dict[str, Any] = {"trace": run.log.source.trace, **vars(terms)}
        for measure in MEASURES:
            row |= _interval(f"{measure}_gain_percent", study.gain(run.log, terms, measure))
            row[f"{measure}_gain_percent_all_jobs"] = study.whole_gain(run.log, terms, measure)
        if terms.adjustment == "selective":
            for measure in MEASURES:
                row |= _interval(f"{measure}_points_above_regular", study.advantage(run.log, terms, measure))
        rows.append(row)
    return rows


def month_rows(study: Results) -> list[dict[str, Any]]:
    """Return the figures of every month of every simulation."""
    rows = []
    for run in study.runs:
        found = study.simulation(run.log, run.terms) if run.kind == "simulation" else None
        averaged = set(study.averaged(run.log)) if found else set()
        for month in found["months"] if found else ():
            terms: Terms = run.terms
            rows.append(
                {
                    "trace": run.log.source.trace,
                    **vars(terms),
                    **{name: value for name, value in month.items() if name != "after"},
                    "averaged": month["month"] in averaged,
                }
            )
    return rows


def published_rows(study: Results) -> list[dict[str, Any]]:
    """Return every published figure beside ours."""
    rows: list[dict[str, Any]] = [
        {
            "section": cell.paper.where,
            "figure": cell.of,
            "trace": cell.trace,
            "paper_low": cell.paper.low,
            "paper_high": cell.paper.high,
            "low": cell.low,
            "high": cell.high,
            "inside": cell.inside,
            "reason": cell.why,
        }
        for cell in text_cells(study)
    ]
    for gain in gain_cells(study):
        paper = gain.paper
        rows.append(
            {
                "section": "6.2",
                "figure": f"{paper.queue} {paper.adjustment} p{paper.percentile} {paper.measure}: gain in per cent",
                "trace": gain.trace,
                "paper_low": paper.percent,
                "paper_high": paper.percent,
                "low": gain.ours.mean - (gain.ours.half_width or 0),
                "high": gain.ours.mean + (gain.ours.half_width or 0),
                "inside": gain.inside,
                "reason": gain.why,
            }
        )
    return rows


def _interval(name: str, found: Interval | None) -> dict[str, float | None]:
    return {name: found.mean if found else None, f"{name}_half_width": found.half_width if found else None}
