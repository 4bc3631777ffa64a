"""Results of the study of estimates as rows of tables, with all their digits."""

from __future__ import annotations

from typing import Any

from experiments.estimates.cells import counts, doublings, means
from experiments.estimates.results import Change, Results

__all__ = ["count_rows", "doubling_rows", "mean_rows", "run_rows"]


def count_rows(study: Results) -> list[dict[str, Any]]:
    """Return the counts of Table 2 in every reading."""
    return [
        {
            "trace": row.paper.trace,
            "parameter": row.paper.parameter,
            "reading": row.reading,
            "jobs": row.ours,
            "percent_of": row.of,
            "paper_jobs": row.paper.jobs,
            "paper_percent": row.paper.percent,
            "jobs_lacking": row.lacking,
            "reason": row.reason,
        }
        for row in counts(study, every=True)
    ]


def mean_rows(study: Results) -> list[dict[str, Any]]:
    """Return the means of Table 3."""
    return [
        {
            "trace": cell.trace,
            "policy": cell.policy,
            "measure": cell.measure,
            "estimates": "users" if cell.factor is None else "uniform",
            "factor": cell.factor,
            "mean": cell.ours.mean if cell.ours else None,
            "half_width": cell.ours.half_width if cell.ours else None,
            "paper_mean": cell.paper,
            **_change(cell.change),
            "paper_change_percent": cell.paper_change,
            "agrees": cell.agrees,
            "reasons": "; ".join(cell.why),
        }
        for cell in means(study)
    ]


def doubling_rows(study: Results) -> list[dict[str, Any]]:
    """Return the changes of Table 4."""
    return [
        {
            "trace": row.trace,
            "policy": row.policy,
            "measure": row.measure,
            "mean": row.ours[0] if row.ours else None,
            "mean_doubled": row.ours[1] if row.ours else None,
            "paper_mean": row.paper[0],
            "paper_mean_doubled": row.paper[1],
            **_change(row.change),
            "paper_change_percent": row.paper_percent,
            "agrees": row.agrees,
            "reasons": "; ".join(row.why),
        }
        for row in doublings(study)
    ]


def run_rows(study: Results) -> list[dict[str, Any]]:
    """Return the means of every simulation."""
    return [
        {
            "trace": run.log.source.trace,
            "log": run.log.name,
            "estimates": run.terms.estimates,
            "factor": run.terms.factor,
            "overrun": run.terms.overrun,
            "order": run.terms.order,
            "seed": run.seed if run.terms.drawn else None,
            "policy": policy,
            "jobs": result["jobs"],
            "overruns": result["overruns"],
            "response": result[policy]["response"],
            "slowdown": result[policy]["slowdown"],
        }
        for run, result in zip(study.runs, study.results, strict=True)
        if run.kind == "simulation" and result["jobs"]
        for policy in ("easy", "conservative")
    ]


def _change(change: Change | None) -> dict[str, float | None]:
    return {
        "change_percent": change.percent.mean if change else None,
        "change_half_width_over_seeds": change.percent.half_width if change else None,
        "change_low_over_weeks": change.low if change else None,
        "change_high_over_weeks": change.high if change else None,
    }
