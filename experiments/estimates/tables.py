"""Tables of results of the study of estimates, with all digits, and the meaning of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

from experiments.estimates.cells import counts, doublings, means
from experiments.estimates.results import Results
from experiments.framework.records import Field, Records

__all__ = ["TABLES"]

_CELL = (
    Field("trace", "log (the paper's name)"),
    Field("policy", "easy or conservative backfilling"),
    Field("measure", "response time in seconds, or bounded slowdown, not clamped to 1"),
)
_CHANGE = (
    Field("change_percent", "mean change over seeds", "%", "change.percent.mean"),
    Field("change_half_width_over_seeds", "half of its 90% interval over seeds", "%", "change.percent.half_width"),
    Field("change_half_width_over_months", "half of its 90% interval over months", "%", "change.of_months.half_width"),
)
_AGREES = (
    Field("agrees", "whether this change and the paper's have the same sign; empty where it is not resolved"),
    Field("reasons", "possible causes of differing signs or means", value=lambda cell: "; ".join(cell.why)),
)


def _simulations(study: Results) -> Iterable[SimpleNamespace]:
    for run, result in study.pairs:
        if run.kind == "simulation" and result["jobs"]:
            for policy in ("easy", "conservative"):
                yield SimpleNamespace(run=run, result=result, policy=policy, means=result[policy])


def _months(study: Results) -> Iterable[SimpleNamespace]:
    for row in _simulations(study):
        for place, month in enumerate(row.result["months"]):
            sums = {measure: of_months[place] for measure, of_months in row.means["sums"].items()}
            yield SimpleNamespace(**vars(row), month=month, here=row.result["jobs_by_month"][place], sums=sums)


def _easy(study: Results) -> Iterable[dict[str, object]]:
    for run, result in study.pairs:
        if run.kind == "easy" and result["jobs"]:
            for estimates, means in result["means"].items():
                factor = None if estimates == "users" else int(estimates)
                of = {"trace": run.log.source.trace, "reading": run.reading, "seed": run.seed, "factor": factor}
                yield {**of, "jobs": result["jobs"], **means}


def _history(study: Results) -> Iterable[dict[str, object]]:
    for log in study.logs:
        found = study.asked(log, "history")
        for reading, columns in found["by_month"].items() if found else ():
            for place, month in enumerate(found["months"] if found else ()):
                counts = {what.replace(" ", "_"): of_months[place] for what, of_months in columns.items()}
                yield {"trace": log.source.trace, "reading": reading, "month": month, **counts}


_SIMULATION = (
    Field("trace", "log (the paper's name)", value="run.log.source.trace"),
    Field("log", "file of the log", value="run.log.name"),
    Field("estimates", "kind of estimates", value="run.terms.estimates"),
    Field("factor", "f, if estimates are uniform between the run time r and f·r", value="run.terms.factor"),
    Field("overrun", "whether a job that exceeds its estimate is killed or extends it", value="run.terms.overrun"),
    Field("order", "order of events in the same second, see `gas simulate --order`", value="run.terms.order"),
    Field("seed", "seed of drawn estimates", value=lambda row: row.run.seed if row.run.terms.drawn else None),
    _CELL[1],
)

TABLES = {
    "estimates-counts": Records[Results](
        "a row for each count of Table 2 in each reading",
        lambda study: counts(study, every=True),
        {
            "count": (
                Field("trace", "log (the paper's name)", value="paper.trace"),
                Field("parameter", "what is counted, in the paper's words", value="paper.parameter"),
                Field("reading", "reading of the parameter"),
                Field("jobs", "number of jobs here", value="ours"),
                Field("percent_of", "number of jobs here that corresponds to 100%", value="of"),
                Field("paper_jobs", "number of jobs in the paper", value="paper.jobs"),
                Field("paper_percent", "per cent as printed in the paper", "%", "paper.percent"),
                Field("jobs_lacking", "jobs of the paper's version of the log that are missing here", value="lacking"),
                Field("reason", "possible cause of a difference"),
            )
        },
    ),
    "estimates-history": Records[Results](
        "a row for each month of each log and each reading of the estimates from history",
        _history,
        {
            "jobs": (
                Field("trace", "log (the paper's name)"),
                Field("reading", "reading of the paper's text"),
                Field("month", "month of submission"),
                Field("not_killed", "jobs that were not killed"),
                Field("with_data", "of them, jobs with a history"),
                Field("underestimated", "jobs not killed whose estimate is too short"),
                Field("underestimated_with_data", "of these, jobs with a history"),
                Field("underestimated_with_two_runs", "of these, jobs with two or more runs in their history"),
            )
        },
    ),
    "estimates-means": Records[Results](
        "a row for each mean of Table 3",
        means,
        {
            "mean over all jobs of a log": (
                *_CELL,
                Field(
                    "estimates", "users or uniform", value=lambda cell: "users" if cell.factor is None else "uniform"
                ),
                Field("factor", "f, if estimates are uniform between the run time r and f·r"),
                Field("mean", "mean here over seeds, in the unit of the measure", value="ours.mean"),
                Field("half_width", "half of its 90% interval over seeds", value="ours.half_width"),
                Field("paper_mean", "mean in the paper", value="paper"),
            ),
            "change from f = 1": (
                *_CHANGE,
                Field("paper_change_percent", "in the paper", "%", "paper_change"),
                *_AGREES,
            ),
        },
    ),
    "estimates-doubling": Records[Results](
        "a row for each log, policy and measure of Table 4",
        doublings,
        {
            "mean over all jobs of a log": (
                *_CELL,
                Field("mean", "here, with users' estimates", value=lambda row: row.ours and row.ours[0]),
                Field("mean_doubled", "here, with doubled estimates", value=lambda row: row.ours and row.ours[1]),
                Field("paper_mean", "in the paper, with users' estimates", value=lambda row: row.paper[0]),
                Field("paper_mean_doubled", "in the paper, with doubled estimates", value=lambda row: row.paper[1]),
            ),
            "change by doubling": (
                *_CHANGE,
                Field("paper_change_percent", "in the paper", "%", "paper_change"),
                *_AGREES,
            ),
        },
    ),
    "estimates-runs": Records[Results](
        "a row for each simulation and policy",
        _simulations,
        {
            "simulation": (
                *_SIMULATION,
                Field("jobs", "jobs simulated", value="result.jobs"),
                Field("overruns", "jobs that ran longer than their estimate", value="result.overruns"),
            ),
            "mean over all jobs": (
                Field("response", "response time", "s", "means.response"),
                Field("slowdown", "bounded slowdown, not clamped to 1", value="means.slowdown"),
            ),
        },
    ),
    "estimates-easy": Records[Results](
        "a row for each simulation of EASY in a reading of the paper's algorithm",
        _easy,
        {
            "simulation": (
                Field("trace", "log (the paper's name)"),
                Field("reading", "how the algorithm is read"),
                Field("seed", "seed of drawn estimates, and of the shift of each submission by up to a minute"),
                Field("factor", "f, if estimates are uniform between the run time r and f·r; empty for users' own"),
                Field("jobs", "jobs simulated"),
            ),
            "mean over all jobs": (
                Field("response", "response time", "s"),
                Field("slowdown", "bounded slowdown, not clamped to 1"),
            ),
        },
    ),
    "estimates-months": Records[Results](
        "a row for each month of each simulation and policy",
        _months,
        {
            "simulation": (*_SIMULATION,),
            "sums over the jobs of the month": (
                Field("month", "month of submission"),
                Field("jobs", "jobs simulated", value="here"),
                Field("response", "response times", "s", "sums.response"),
                Field("slowdown", "bounded slowdowns, not clamped to 1", value="sums.slowdown"),
            ),
        },
    ),
}
"""By the names of their files."""
