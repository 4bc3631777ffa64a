"""The report of the study of predictions: their calibration, their sharpness, and the gain from choosing by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.framework.claims import Claim, summary_section
from experiments.framework.items import Compared, items_section
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import BY_INTERVALS
from experiments.moldable.months import MONTH, OUTCOME, SEED, SUBSTITUTE, outcome_rows
from experiments.moldable.simulated import simulated_section
from experiments.prediction.bakeoff_report import WAIT_TABLE, bakeoff_claims, bakeoff_lead, bakeoff_sections
from experiments.prediction.choice import choice_sections
from experiments.prediction.claims import SHARE, claims, ratio, ratio_of_medians
from experiments.prediction.pictures import draw_ranks, draw_reliability, draw_starts
from experiments.prediction.results import FULL, POLICY, SIZES, Predictions, Results
from experiments.prediction.run import BEFORE, REVEALED, SHARES
from gas.intervals import FEWEST, by_months, share_by_months
from gas.prediction.calibration import PRIOR as EVEN
from gas.prediction.calibration import SPREAD, WINDOW
from gas.prediction.past import STREAMS
from gas.prediction.usage import LAST, PRIOR
from gas.printable import many
from gas.report.blocks import Cell, Column, Picture, Report, Section, Table, Text, fewer, heads, not_the_full

__all__ = ["TABLES", "banner", "prediction_report"]

_ITEM = "Section 6.1: execution-time predictions"
_SIMULATED = (
    "Starts are predicted in one simulation of a whole log; for the choice, each month is a simulation of its own."
)
_SURE = "± is half the width of a 90% Student interval, with months as batches."


def banner(study: Results) -> str:
    """Return the differences from the full study; empty if there are none."""
    options = study.options
    last = "" if options.months is None else f"only the last {many(options.months, 'month')} of each log"
    less = (
        fewer(options.jobs, FULL.jobs, "job", " predicted per month"),
        fewer(options.samples, FULL.samples, "sample"),
        fewer(options.runs, FULL.runs, "run", " per month"),
        fewer(options.choice_samples, FULL.choice_samples, "sample", " for each choice"),
        fewer(options.waits, FULL.waits, "wait", " a log"),
        f"only {options.only}" if options.only else "",
    )
    return not_the_full([*study.missing, *study.left_out, *less, last])


def prediction_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    starts = (_predicted, _coverage, _width, _nearness, _by_size, _by_month) if study.calibrations else ()
    sections = [
        summary_section([*bakeoff_claims(study), *claims(study)], caption=BY_INTERVALS),
        *bakeoff_sections(study),
        *(section(study) for section in starts),
        *choice_sections(study),
        *([simulated_section(study.logs, _SIMULATED)] if study.calibrations else []),
        items_section("supercomputers", "prediction", {_ITEM: Compared((), claims=_chosen(study))}, every=False),
        origin_section(study.sites, origin),
    ]
    return Report("Predicted waits and starts: accuracy and benefit", _lead(study), tuple(sections), banner(study))


def _chosen(study: Results) -> tuple[Claim, ...]:
    """Return the claims on requests chosen by predictions."""
    return tuple(claim for claim in claims(study) if "predictions" in claim.text)


def _lead(study: Results) -> str:
    found, chosen = study.predictions(), study.outcomes()
    words = [*bakeoff_lead(study)]
    if len(found):
        words.append(
            f"Of {len(found):,} starts in held-out months ({', '.join(study.traces)}), "
            f"{found.coverage(SHARE).text(1)}% lie in their 90% intervals. The median interval is "
            f"{100 * ratio(found):.0f}% as wide as the promised wait, the time from submission to the promised start. "
            "The mean absolute error of the predicted mean is "
            f"{np.abs(found.mean - found.start).mean():,.0f} s, that of the promise "
            f"{(found.promise - found.start).mean():,.0f} s."
        )
    if len(chosen):
        columns = (chosen.predicting, chosen.watched, chosen.gas, chosen.static, chosen.best)
        lost = (share_by_months(one, chosen.months) for one in (chosen.predicting_loses, chosen.loses))
        words.append(
            "Mean turn-around times in {:,} runs: {} s if Gas chooses by predictions, {} s if it also watches the job "
            "while it waits, {} s if it chooses by promises, {} s with static requests, and {} s with the best choices "
            "in hindsight. The static request ended sooner in {}% of the runs with predictions and in {}% without. "
            "± is half of a 90% interval over months.".format(
                len(chosen),
                *(chosen.mean(column) for column in columns),
                *(one.text(1) for one in lost),
            )
        )
    return " ".join(words)


def _predicted(study: Results) -> Section:
    months = []
    for trace in study.traces:
        first, last = (_span([run.month for run, _ in study.months(trace, held_out=one)]) for one in (False, True))
        others = f", not held out {first}" if first else "; no other month is used"
        months.append(f"{trace}: held out {last}{others}." if last else f"{trace}: {first}, not held out.")
    given = {"policy": POLICY, "options": study.options, "last": LAST, "prior": PRIOR, "streams": STREAMS}
    given |= {"window": WINDOW, "spread": SPREAD, "even": EVEN, "before": BEFORE}
    return method_section("experiments.prediction", "What is predicted", months, **given, fewest=FEWEST)


def _span(months: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys((months[0], months[-1]))) if months else ""


def _parts(study: Results, *, held_out: bool = True, revealed: str = "nothing") -> dict[str, Predictions]:
    """Return predictions by log and, if there are several, of all logs."""
    parts = {trace: study.predictions(trace, held_out=held_out, revealed=revealed) for trace in study.traces}
    parts |= {"all": study.predictions(held_out=held_out, revealed=revealed)} if len(parts) > 1 else {}
    return {name: found for name, found in parts.items() if len(found)}


def _logs(study: Results) -> dict[str, Predictions]:
    return {name: found for name, found in _parts(study).items() if name != "all"}


def _coverage(study: Results) -> Section:
    rows: list[tuple[Cell | str, ...]] = []
    for held_out, words in ((True, "held out"), (False, "others")):
        for name, found in _parts(study, held_out=held_out).items():
            covered = [found.coverage(share).text(1) for share in SHARES]
            outside = [f"{100 * part.mean():.1f}" for part in (found.below(SHARE), found.above(SHARE))]
            rows.append(
                (words if name == next(iter(_parts(study, held_out=held_out))) else "", name, f"{len(found):,}")
            )
            rows[-1] += (*covered, *outside)
    columns = (
        *heads("months", "", left=True),
        Column("starts"),
        *(
            Column(f"{100 * share:g}%", "% of the intervals of this probability that contain the true start")
            for share in SHARES
        ),
        *heads("before", "after", group="% that start outside the 90% interval"),
    )
    blocks: list[Any] = []
    if logs := _logs(study):
        blocks += [
            Picture(
                "prediction-reliability",
                draw_reliability(logs),
                "Share of the intervals of each probability that contain the true start, in held-out months. Dashed "
                "line: calibrated; grey bar: the range required of 90% intervals.",
            ),
            Picture(
                "prediction-ranks",
                draw_ranks(logs),
                "Share of the samples that start before the true start, in held-out months: flat (dashed line) if the "
                "samples are calibrated; high at both ends if they are too narrow.",
            ),
        ]
    text = "Verdicts use 90% intervals only; the others show the rest of the predicted distribution."
    return Section("Calibration of the intervals", (Text(text), Table(columns, tuple(rows), _SURE), *blocks))


def _width(study: Results) -> Section:
    revealed = {one: _parts(study, revealed=one) for one in REVEALED if one != "nothing"}
    parts = _parts(study)
    alike = {name: _alike(study, name, found) for name, found in parts.items()}
    some_alike = any(alike.values())
    rows = []
    for name, found in parts.items():
        known = [of[name] for of in revealed.values()]
        rows.append(
            (
                name,
                f"{np.median(found.way):,.0f}",
                f"{np.median(found.width(SHARE)):,.0f}",
                f"{100 * ratio_of_medians(found):.1f}%",
                *(f"{100 * ratio(found, share):.1f}%" for share in SHARES),
                *((alike[name] or ("-", "-")) if some_alike else ()),
                *(f"{100 * ratio(one):.1f}%" for one in known),
                f"{100 * float(np.mean(known[-1].width(SHARE) / known[-1].way)):.1f}%",
            )
        )
    group = "width / promised wait, median over intervals"
    same, known_group = (
        "the same interval for all jobs of a log",
        "width / promised wait of 90% intervals if these run times were known",
    )
    columns = (
        Column("", left=True),
        *heads("promised wait", "90% interval", group="median (s)"),
        Column("ratio of medians"),
        *(Column(f"{100 * share:g}%", group) for share in SHARES),
        *((Column("width over promised wait", same), Column("% that contain the truth", same)) if some_alike else ()),
        *(Column(whose, known_group) for one, whose in REVEALED.items() if one != "nothing"),
        Column("of both, mean", known_group),
    )
    same_for_all = (
        "For comparison: one interval for every job of a log, as shares of the promised wait: the middle 90% of the "
        "starts in months that are not held out. It uses only the promise."
    )
    if lacking := [name for name in _logs(study) if alike[name] is None]:
        same_for_all += f" There is none for {', '.join(lacking)}: no such month was simulated."
    text = (
        "Held-out months. The promised wait is the time from submission to the promised start. "
        f"{same_for_all} Intervals are wide because run times are not known. The last columns give the widths if the "
        "prediction knew the true run times of running jobs, of waiting jobs, or of both; arrivals would still be "
        "drawn from past weeks."
    )
    return Section("Width of the intervals", (Text(text), Table(columns, tuple(rows))))


def _alike(study: Results, name: str, found: Predictions) -> tuple[str, str] | None:
    """Return width and coverage of a constant interval for all jobs of a log.

    None if no month is left to derive it from, and for all logs together, which have no such interval.
    """
    others = study.predictions(name, held_out=False) if name in study.traces else None
    if others is None or not len(others):
        return None
    low, high = np.quantile((others.start - others.now) / others.way, ((1 - SHARE) / 2, (1 + SHARE) / 2))
    at = (found.start - found.now) / found.way
    return f"{100 * (high - low):.1f}%", f"{100 * float(np.mean((low <= at) & (at <= high))):.1f}"


def _nearness(study: Results) -> Section:
    rows = []
    for name, found in _parts(study).items():
        errors = [np.abs(at - found.start) for at in (found.mean, found.median, found.promise)]
        rows.append(
            (
                name,
                *(by_months(one, found.months).text() for one in errors),
                *(f"{np.median(one):,.0f}" for one in errors),
                by_months(found.mean - found.start, found.months).text(),
            )
        )
    ends = ("predicted mean", "predicted median", "promise")
    columns = (
        Column("", left=True),
        *(Column(end, "mean absolute error (s)") for end in ends),
        *(Column(end, "median absolute error (s)") for end in ends),
        Column("mean error of the predicted mean (s; negative: too early)"),
    )
    blocks: list[Any] = [Table(columns, tuple(rows), f"Held-out months. {_SURE}")]
    if logs := _logs(study):
        blocks.append(
            Picture(
                "prediction-starts",
                draw_starts(logs),
                "Predicted mean and true start of each job, as shares of the promised wait (0: submission, 1: promised "
                "start), in held-out months.",
            )
        )
    return Section("Error of the predicted start", tuple(blocks))


def _by_size(study: Results) -> Section:
    rows = []
    for name, found in _parts(study).items():
        for words, (above, most) in SIZES.items():
            of_size = found.where((found.share > above) & (found.share <= most))
            if len(of_size):
                rows.append((name if words == next(iter(SIZES)) else "", words, *_figures(of_size)))
    columns = (Column("", left=True), Column("share of the machine", left=True), *_COLUMNS)
    return Section("By size of the job", (Table(columns, tuple(rows), f"Held-out months. {_SURE}"),))


_COLUMNS = (
    *heads("starts", "in 90% intervals (%)", "median promised wait (s)", "width / promised wait, median"),
    *heads("predicted mean", "promise", group="mean absolute error (s)"),
)


def _figures(found: Predictions) -> tuple[str, ...]:
    return (
        f"{len(found):,}",
        found.coverage(SHARE).text(1),
        f"{np.median(found.way):,.0f}",
        f"{100 * ratio(found):.0f}%",
        f"{np.abs(found.mean - found.start).mean():,.0f}",
        f"{(found.promise - found.start).mean():,.0f}",
    )


def _by_month(study: Results) -> Section:
    rows = []
    for run, result in study.months():
        found = study.predictions(run.site.trace, month=run.month, held_out=None)
        count, waiting = result["jobs"], result["waiting"]
        rows.append(
            (
                run.site.trace,
                run.month,
                "held out" if run.held_out else "",
                f"{count:,}",
                f"{100 * (count - waiting) / count:.0f}%" if count else "",
                *(_figures(found) if len(found) else ("0", *[""] * (len(_COLUMNS) - 1))),
            )
        )
    columns = (*heads("log", "month", "", left=True), *heads("jobs", "promised to start at once"), *_COLUMNS)
    held_out = [result for _, result in study.months(held_out=True)]
    count = sum(result["jobs"] for result in held_out)
    at_once = count - sum(result["waiting"] for result in held_out)
    text = (
        "Jobs that were promised an immediate start are left out everywhere: their prediction is the promise, which "
        f"holds. In held-out months they are {at_once:,} of {count:,}."
    )
    return Section("By month", (Text(text), Table(columns, tuple(rows))))


def _starts(study: Results) -> list[dict[str, Any]]:
    return [
        {"log": run.site.trace, "month": run.month, "held_out": run.held_out, "told": run.revealed} | row
        for run, result in zip(study.calibrations, study.calibrated, strict=True)
        for row in result["outcomes"]
    ]


TABLES = {
    "prediction-starts": Records[Results](
        "a row for each start that was predicted",
        _starts,
        {
            "job": (
                *MONTH,
                Field("held_out", "whether the month is held out: no constant was chosen on it"),
                Field("told", f"whose true run times the prediction knows: {', '.join(REVEALED)}"),
                Field("now", "time of submission and prediction, from the first second of the log", "s"),
                Field("promise", "promised start, from the first second of the log", "s"),
                Field("start", "true start, from the first second of the log", "s"),
                Field("processors", "processors requested"),
            ),
            "predicted start": (
                Field("mean", "mean of the samples, from the first second of the log", "s"),
                Field("median", "median of the samples, from the first second of the log", "s"),
                Field("rank", "share of the samples before the true start"),
                Field("low_{share}", "start of the interval of probability {share}", "s"),
                Field("high_{share}", "end of the interval of probability {share}", "s"),
            ),
        },
    ),
    "prediction-waits": WAIT_TABLE,
    "prediction-choices": Records[Results](
        "a row for each replaced job",
        lambda study: outcome_rows((choice.of for choice in study.choices), study.chosen),
        {
            "run": (*MONTH, SEED),
            "substitute": SUBSTITUTE,
            "outcome": OUTCOME,
            "outcome of choosing by predictions": (
                Field("predicting", "turn-around time of the request chosen by predictions", "s"),
                Field("predicting_size", "size of that request", "processors"),
                Field("watched", "turn-around time of that request if it is watched by predictions", "s"),
                Field("changes", "how often the watched request is changed"),
                Field("watched_by_plans", "turn-around time of Gas's request if it is watched by plans", "s"),
            ),
        },
    ),
}
"""By the names of their files."""
