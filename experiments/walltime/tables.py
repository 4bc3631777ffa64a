"""Tables of results of the study of walltime adjustment, with all digits, and the meaning of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from experiments.framework.records import Field, Records
from experiments.walltime.accuracy import KEYS
from experiments.walltime.cells import gain_cells, text_cells
from experiments.walltime.results import MEASURES, Results
from gas.intervals import Interval

__all__ = ["TABLES"]

_TRACE = Field("trace", "short name of the log")
_ADJUSTED = {
    "key": Field("key", "what similar jobs have in common"),
    "months": Field("months", "window of history, in months of 30 days; empty: any time"),
    "percentile": Field("percentile", "percentile of similar jobs' R (run time / request); empty: the true run time"),
    "floor": Field("floor", "lowest adjusted walltime as a share of the request; 0: none"),
}
_TERMS = (
    _TRACE,
    Field("queue", "order of the queue: wfp or fcfs"),
    Field("adjustment", "regular (waiting and running jobs) or selective (waiting jobs only); empty: none"),
    *(_ADJUSTED[name] for name in ("percentile", "key", "months", "floor")),
    Field("least", "similar jobs required"),
    Field("apart", "whether each month is simulated alone"),
)
_CATEGORIES = (
    Field("NA", "jobs that are not adjusted"),
    Field("OE", "jobs whose walltime is adjusted and long enough"),
    Field("UE", "jobs whose adjusted walltime is too short by less than 30 minutes"),
    Field("BE", "jobs whose adjusted walltime is too short by 30 minutes or more"),
)


def _accuracy(study: Results) -> Iterable[SimpleNamespace]:
    for log in study.logs:
        for key in KEYS:
            for months in study.options.windows:
                found = study.replay(log, key, months)
                for cell in found["cells"] if found else ():
                    about = {"trace": log.source.trace, "key": key, "months": months, "by_month": cell["months"]}
                    yield SimpleNamespace(**cell | about, of=found)


def _accuracy_months(study: Results) -> Iterable[Mapping[str, Any]]:
    for log in study.logs:
        use = study.use(log)
        for month, of in use["months"].items() if use else ():
            yield {"trace": log.source.trace, "month": month} | of
    for cell in _accuracy(study):
        about = {name: getattr(cell, name) for name in ("trace", "key", "percentile", "floor")}
        for month, of in vars(cell)["by_month"].items():
            yield about | {"months": cell.months, "month": month} | of


def _spread(study: Results) -> Iterable[Mapping[str, Any]]:
    for log in study.logs:
        use = study.use(log)
        for row in use["spread"] if use else ():
            about = {"trace": log.source.trace, "key": row["key"]}
            yield about | {"deviation": row["mean"]}
            for month, mean in zip(use["months"] if use else (), row["without"], strict=True):
                yield about | {"without": month, "deviation": mean}


def _gains(study: Results) -> Iterable[Mapping[str, Any]]:
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
        yield row


def _interval(name: str, found: Interval | None) -> dict[str, float | None]:
    return {name: found.mean if found else None, f"{name}_half_width": found.half_width if found else None}


def _months(study: Results) -> Iterable[Mapping[str, Any]]:
    for run in study.runs:
        found = study.simulation(run.log, run.terms) if run.kind == "simulation" else None
        averaged = study.averaged(run.log) if found else ()
        for month in found["months"] if found else ():
            figures = {name: value for name, value in month.items() if name != "after"}
            averages = {"averaged": month["month"] in averaged}
            yield {"trace": run.log.source.trace, **vars(run.terms), **figures, **averages}


def _published(study: Results) -> Iterable[SimpleNamespace]:
    for cell in text_cells(study):
        yield SimpleNamespace(**vars(cell), section=cell.paper.where, inside=cell.inside)
    for gain in gain_cells(study):
        paper, half = gain.paper, gain.ours.half_width or 0
        yield SimpleNamespace(
            section="6.2",
            of=f"{paper.queue} {paper.adjustment} p{paper.percentile} {paper.measure}: gain in per cent",
            trace=gain.trace,
            paper=SimpleNamespace(low=paper.percent, high=paper.percent),
            low=gain.ours.mean - half,
            high=gain.ours.mean + half,
            inside=False if gain.above else None,
            why=gain.why,
        )


TABLES = {
    "walltime-accuracy": Records[Results](
        "a row for each scheme of adjustment and log, without simulation",
        _accuracy,
        {
            "scheme": (_TRACE, *(_ADJUSTED[name] for name in ("key", "months", "percentile", "floor"))),
            "adjusted walltimes": (
                Field("jobs", "jobs that ran and requested a walltime", value="of.jobs"),
                Field("no_history", "jobs with too few similar ones", value="of.no_history"),
                Field("mean_accuracy", "run time over adjusted walltime or the inverse, at most 1", value="accuracy"),
                Field("median_accuracy", "median of the same", value="median"),
                *_CATEGORIES,
            ),
        },
    ),
    "walltime-accuracy-months": Records[Results](
        "a row for each month of each scheme of adjustment; without a key, of users' own requests",
        _accuracy_months,
        {
            "scheme": (_TRACE, *(_ADJUSTED[name] for name in ("key", "months", "percentile", "floor"))),
            "jobs of the month": (
                Field("month", "month of submission"),
                Field("jobs", "jobs that ran and requested a walltime"),
                Field("accuracy", "mean of run time over adjusted walltime or the inverse, at most 1"),
                Field("median", "median of the same"),
                Field("short", "share of the jobs whose adjusted walltime is too short (UE and BE)"),
            ),
        },
    ),
    "walltime-spread": Records[Results](
        "a row for each way in which jobs are similar, with all months and without each",
        _spread,
        {
            "": (
                _TRACE,
                _ADJUSTED["key"],
                Field("without", "month that is left out; empty: none"),
                Field("deviation", "standard deviation of R in a group of similar jobs, mean over groups of ten jobs"),
            )
        },
    ),
    "walltime-gains": Records[Results](
        "a row for each simulation with adjusted walltimes",
        _gains,
        {
            "terms": _TERMS,
            "improvement": (
                Field("{measure}_gain_percent_half_width", "half of the gain's 90% interval over months", "%"),
                Field(
                    "{measure}_gain_percent_all_jobs", "improvement of the mean {measure} over all jobs of the log", "%"
                ),
                Field(
                    "{measure}_gain_percent",
                    "improvement of the mean {measure} over no adjustment, averaged over months",
                    "%",
                ),
            ),
            "advantage": (
                Field("{measure}_points_above_regular_half_width", "half of the advantage's 90% interval", "points"),
                Field(
                    "{measure}_points_above_regular",
                    "gain of selective minus gain of regular adjustment, paired by month",
                    "points",
                ),
            ),
        },
    ),
    "walltime-months": Records[Results](
        "a row for each month of each simulation",
        _months,
        {
            "terms": _TERMS,
            "jobs of the month": (
                Field("month", "month of submission"),
                Field("jobs", "jobs simulated"),
                Field("wait", "mean wait", "s"),
                Field("slowdown", "mean slowdown of jobs of any length"),
                Field("slowdown_60", "mean slowdown of jobs of a minute and more"),
                Field("top", "share of the sum of slowdowns that is due to the largest 1%"),
                Field("bounded", "mean bounded slowdown"),
                Field("weighted", "mean wait, weighted by the queue's priority", "s"),
                Field("alike", "number of equally weighted jobs whose mean would be as uncertain"),
                Field("backfilled", "share of jobs that were backfilled"),
                Field("zero_length", "jobs with run time 0, which have no slowdown"),
                Field("averaged", "whether the month counts in averages over months"),
            ),
            "their adjusted walltimes": (
                Field("accuracy", "mean of run time over adjusted walltime or the inverse, at most 1"),
                Field("beyond", "share of the jobs' work done after their adjusted walltimes"),
                *_CATEGORIES,
            ),
        },
    ),
    "walltime-published": Records[Results](
        "a row for each figure of the paper and log",
        _published,
        {
            "figure": (
                Field("section", "section of the paper"),
                Field("figure", "name of the figure; a share, or per cent where named", value="of"),
                _TRACE,
                Field("paper_low", "lowest value in the paper", value="paper.low"),
                Field("paper_high", "highest value in the paper", value="paper.high"),
                Field("low", "lowest value here, or start of the 90% interval"),
                Field("high", "highest value here, or end of the 90% interval"),
                Field(
                    "inside",
                    'whether ours lies within the paper\'s; of a gain "no" if our 98% interval excludes it, else empty',
                ),
                Field("reason", "possible cause of a difference, or what ours measures", value="why"),
            )
        },
    ),
}
"""By the names of their files."""
