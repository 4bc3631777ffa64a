"""Tables of results of the study of backfilling, with all digits, and the meaning of their columns."""

from __future__ import annotations

from typing import Any

from experiments.backfilling.comparison import reasons
from experiments.backfilling.results import Results
from experiments.backfilling.run_times import LIMITS
from experiments.framework.records import Field, Records
from experiments.published import POLICIES

__all__ = ["TABLES"]


def _runs(study: Results) -> list[dict[str, Any]]:
    """Return all results; month is empty for a whole log."""
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
            together = own.pop("together").items()
            shared = {f"together_{measure}": value for measure, value in together if measure != "means"}
            rows.append({**rules, "policy": policy, **own, **shared})
    for changed, means in zip(study.change_runs, study.change_results, strict=True):
        about = {"workload": "model F", "change": changed.change.name, "load": changed.load, "jobs": changed.jobs}
        rows += [{**about, "policy": policy, **means[policy]} for policy in POLICIES]
    return rows


def _batches(study: Results) -> list[dict[str, Any]]:
    return [
        {"model": run.model, "load": run.load, "policy": policy, "batch": batch}
        | {name: values[batch] for name, values in result[policy]["together"]["means"].items()}
        for run, result in zip(study.model_runs, study.model_results, strict=True)
        for policy in POLICIES
        for batch in range(len(result[policy]["together"]["means"]["response"]))
    ]


def _run_times(study: Results) -> list[dict[str, Any]]:
    return [
        {"workload": run.workload, "size": size, "block": block, "up_to": limit, "jobs": count}
        for run, result in study.run_times.items()
        for size, blocks in result["counts"].items()
        for block, counts in enumerate(blocks)
        for limit, count in zip(LIMITS.tolist(), counts, strict=True)
        if count
    ]


def _here(name: str) -> Any:
    """Return a function for a figure of a cell, if the available log has a job of its month."""
    return lambda cell: getattr(cell, name) if cell.ours else None


TABLES = {
    "results": Records[Results](
        "a row for each policy and each whole log, month of a log, or load of a model",
        _runs,
        {
            "simulation": (
                Field("workload", "log (the paper's name) or model"),
                Field("log", "file of the log"),
                Field("processors", "processors of the machine"),
                Field("estimates", "users' own, perfect (run times) or doubled"),
                Field("order", "order of events in the same second, see `gas simulate --order`"),
                Field("overrun", "whether a job that exceeds its estimate is killed or extends it"),
                Field("months_by", "whether a job counts in the month of its submission or of its end"),
                Field("month", "month; empty for a whole log"),
                Field("load", "offered load"),
                Field("jobs", "jobs submitted, in the month or in all"),
                Field("policy", "easy or conservative backfilling"),
                Field("change", "what is changed in model F"),
            ),
            "means over jobs": (
                Field("wait", "from submission to start", "s"),
                Field("response", "from submission to end", "s"),
                Field("slowdown", "bounded slowdown, not clamped to 1"),
                Field("clamped_slowdown", "bounded slowdown, at least 1"),
                Field("backfilled", "share of jobs that were backfilled"),
            ),
            "model, at the run's own end": (
                Field("response_half_width", "half of the 90% interval of the mean response", "s"),
                Field("slowdown_half_width", "half of the 90% interval of the mean slowdown"),
                Field("batches", "batches of jobs whose means give the interval"),
                Field("reason", "why the run stopped there"),
            ),
            "model, over the batches that both policies completed": (
                Field("together_response", "mean from submission to end", "s"),
                Field("together_response_half_width", "half of its 90% interval", "s"),
                Field("together_slowdown", "mean bounded slowdown, not clamped to 1"),
                Field("together_slowdown_half_width", "half of its 90% interval"),
                Field("together_batches", "batches of jobs whose means give the intervals"),
                Field("together_backfilled", "share of jobs that were backfilled"),
            ),
        },
    ),
    "batches": Records[Results](
        "a row for each policy and each batch of jobs of a model; the jobs of a batch ended one after the other",
        _batches,
        {
            "batch": (
                Field("model", "F, J, or F with more small (s) or longer (l) jobs"),
                Field("load", "offered load"),
                Field("policy", "easy or conservative backfilling"),
                Field("batch", "number of the batch; 0 is the first after the warm-up"),
            ),
            "means over its jobs": (
                Field("response", "from submission to end", "s"),
                Field("slowdown", "bounded slowdown, not clamped to 1"),
                Field("backfilled", "share of jobs that were backfilled"),
            ),
        },
    ),
    "run_times": Records[Results](
        "a row for each bin with jobs in a histogram of run times, for each workload, class of sizes and block of jobs",
        _run_times,
        {
            "jobs": (
                Field("workload", "CTC log, or model"),
                Field("size", "class of sizes"),
                Field("block", "month of the log, or twelfth of a model's jobs, counted from 0"),
                Field("up_to", "upper end of the bin; the last bin includes all longer run times", "s"),
                Field("jobs", "jobs in the bin"),
            ),
        },
    ),
    "cells": Records[Results](
        "a row for each measure and month of Table 1",
        lambda study: study.cells,
        {
            "cell": (
                Field("trace", "log (the paper's name)"),
                Field("month", "month of submission"),
                Field("measure", "response time in seconds, or bounded slowdown, not clamped to 1"),
            ),
            "month": (
                Field("jobs", "jobs submitted", value=_here("jobs")),
                Field("paper_jobs", "jobs in the paper"),
                Field("load", "offered load", value=_here("load")),
                Field("paper_load", "load in the paper"),
                Field("easy", "mean under EASY backfilling", value="ours.easy"),
                Field("paper_easy", "the paper's mean under EASY", value="paper.easy"),
                Field("conservative", "mean under conservative backfilling", value="ours.conservative"),
                Field("paper_conservative", "the paper's mean under conservative", value="paper.conservative"),
            ),
            "change from EASY to conservative": (
                Field("difference_percent", "difference of the means", "%", "ours.percent"),
                Field("standard_error_percent", "standard error of the difference, over days", "%", _here("error")),
                Field("days", "days with submissions", value=_here("days")),
                Field("paper_difference_percent", "difference in the paper", "%", "paper.percent"),
                Field("agrees", "whether both differences have the same sign; empty where ours is not resolved"),
                Field("reasons", "why the signs or the means may differ", value=lambda cell: "; ".join(reasons(cell))),
            ),
        },
    ),
}
"""By the names of their files."""
