"""Tables of results of the study, and the meaning of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.framework.records import Field, Records
from experiments.malleate.fairness import CLASSES
from experiments.malleate.results import Results

__all__ = ["TABLES"]


def _strategies(study: Results) -> Iterable[tuple[dict[str, object], Mapping[str, Any], Mapping[str, Any]]]:
    """Return for each strategy of each run its identifying columns, its figures, and the result of the run."""
    for run, result in study.pairs:
        for name, figures in result.get("strategies", {}).items():
            about = {"log": run.log.name, "terms": run.setting.name, "percent": run.percent, "seed": run.seed}
            yield {**about, "strategy": name}, figures, result


def _months(study: Results) -> Iterable[dict[str, object]]:
    for about, figures, result in _strategies(study):
        for at, month in enumerate(result["months"]):
            for group in ("all", "adopters", "others", *CLASSES):
                sums = {("log_sum" if key == "log" else key): values[at] for key, values in figures[group].items()}
                if sums["jobs"]:
                    yield {**about, "month": month, "group": group, **sums}


def _even(study: Results) -> Iterable[dict[str, object]]:
    for about, figures, result in _strategies(study):
        even = figures["even"]
        yield {**about, "without": "", "jain": even["whole"]}
        for month, value in zip(result["months"], even["without"] or (), strict=False):
            yield {**about, "without": month, "jain": value}


_RUN = (
    Field("log", "log"),
    Field("terms", "what is different from the base"),
    Field("percent", "share of jobs that adopt", "%"),
    Field("seed", "random seed"),
    Field("strategy", "strategy"),
)

TABLES = {
    "malleate-fairness": Records[Results](
        "a row for each strategy and run, and for each month without its jobs",
        _even,
        {
            "run": _RUN,
            "users": (
                Field("without", "month whose jobs are left out; empty for none"),
                Field("jain", "Jain's index of the mean bounded slowdowns of users with ten jobs or more"),
            ),
        },
    ),
    "malleate-months": Records[Results](
        "a row for each strategy, month of a log and group of jobs; sums are over the jobs submitted in the month",
        _months,
        {
            "run": (
                *_RUN,
                Field("month", "month of submission"),
                Field("group", "all, adopters, others, or a class of jobs by the log"),
            ),
            "sums": (
                Field("jobs", "number of jobs"),
                Field("turnaround", "sum of turn-around times", "s"),
                Field("wait", "sum of waits", "s"),
                Field("log_sum", "sum of natural logarithms of turn-around times in seconds"),
                Field("slowdown", "sum of bounded slowdowns"),
                Field("later", "jobs that end more than a minute later than as rigid jobs"),
                Field("sooner", "jobs that end more than a minute sooner"),
            ),
        },
    ),
}
"""By the names of their files."""
