"""Results of the study of backfilling as rows of tables, with all their digits."""

from __future__ import annotations

from typing import Any

from experiments.backfilling.comparison import reasons
from experiments.backfilling.results import Results
from experiments.published import POLICIES

__all__ = ["cell_rows", "result_rows"]


def cell_rows(study: Results) -> list[dict[str, Any]]:
    """Return every cell of Table 1 as a row of a table."""
    rows = []
    for cell in study.cells:
        ours = cell.ours
        rows.append(
            {
                "trace": cell.trace,
                "month": cell.month,
                "measure": cell.measure,
                "jobs": cell.jobs if ours else None,
                "paper_jobs": cell.paper_jobs,
                "load": cell.load if ours else None,
                "paper_load": cell.paper_load,
                "easy": ours.easy if ours else None,
                "paper_easy": cell.paper.easy,
                "conservative": ours.conservative if ours else None,
                "paper_conservative": cell.paper.conservative,
                "difference_percent": ours.percent if ours else None,
                "half_width_percent": cell.error if ours else None,
                "paper_difference_percent": cell.paper.percent,
                "agrees": cell.agrees,
                "reasons": "; ".join(reasons(cell)),
            }
        )
    return rows


def result_rows(study: Results) -> list[dict[str, Any]]:
    """Return all results as rows of one table; month is empty for a whole log."""
    rows: list[dict[str, Any]] = []
    for run, result in zip(study.log_runs, study.log_results, strict=True):
        variant = run.variant
        rules = {
            "workload": run.log.source.trace,
            "log": run.log.name,
            "processors": variant.processors,
            "estimates": variant.estimates,
            "order": variant.order,
            "overrun": variant.overrun,
            "months_by": "end" if variant.by_end else "submission",
        }
        whole = [{"month": None, "jobs": result["jobs"], "load": result["load"], **result["overall"]}]
        for month in [*(whole if result["overall"] else []), *result["by_end" if variant.by_end else "months"]]:
            rows += [
                {**rules, "month": month["month"], "load": month["load"], "jobs": month["jobs"], "policy": policy}
                | month[policy]
                for policy in POLICIES
            ]
    for model, figures in zip(study.model_runs, study.model_results, strict=True):
        rules = {
            "workload": f"model {model.model}",
            "estimates": "perfect",
            "order": model.configuration["order"],
            "overrun": model.configuration["overrun"],
            "load": model.load,
            "jobs": model.jobs,
        }
        for policy in POLICIES:
            own = dict(figures[policy])
            shared = {f"together_{measure}": value for measure, value in own.pop("together").items()}
            rows.append({**rules, "policy": policy, **own, **shared})
    for changed, means in zip(study.change_runs, study.change_results, strict=True):
        about = {"workload": "model F", "change": changed.change.name, "load": changed.load, "jobs": changed.jobs}
        rows += [{**about, "policy": policy, **means[policy]} for policy in POLICIES]
    return rows
