"""Plans, lists, predictions and schedules as HTML for notebooks: a sentence, a picture and a table."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import singledispatch
from html import escape

from gas.availability import AvailabilityList, NodeAvailability
from gas.errors import GasError, Missing
from gas.notebook.plots import png_of
from gas.planner import Plan
from gas.prediction.choice import PredictedPlan, Prediction
from gas.prediction.forecast import Forecast
from gas.printable import as_line
from gas.simulation.metrics import metrics
from gas.simulation.schedule import Schedule
from gas.times import duration_text, iso_time, relative_text

__all__ = ["card_of"]

MOST_ROWS = 10
"""Number of rows that a table shows; it says how many more there are."""

Table = tuple[Sequence[str], Sequence[Sequence[str]], int]
"""Titles, rows, and the total number of rows."""


def card_of(shown: object) -> str:
    """Return an object's HTML; without a picture if matplotlib is missing or nothing can be drawn."""
    titles, rows, count = _table(shown)
    try:
        coded = b64encode(png_of(shown)).decode()
        picture = f'<img alt="{_text(repr(shown))}" style="max-width: 100%" src="data:image/png;base64,{coded}">'
    except Missing:
        picture = ""
    except GasError as error:
        picture = f"<div>{_text(str(error))}</div>"
    head = "".join(f'<th style="text-align: left">{_text(one)}</th>' for one in titles)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align: left">{_text(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    more = f"<div>{count - len(rows):,} more: to_frame() has all</div>" if count > len(rows) else ""
    return (
        f"<div><div><strong>{_text(repr(shown).strip('<>'))}</strong></div>{picture}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )


def _text(text: str) -> str:
    """Return untrusted text escaped for a page, also inside quotes."""
    return escape(as_line(text))


@singledispatch
def _table(shown: object) -> Table:
    raise TypeError(f"{type(shown).__name__} has no table")


@_table.register
def _of_plan(plan: Plan) -> Table:
    """Show the candidates that no other beats in both finish and processor-hours; or why there are none."""
    if not plan.candidates:
        rows = [(one.scheduler, str(one.processors), one.reason) for one in plan.rejected[:MOST_ROWS]]
        return ("scheduler", "size", "impossible because"), rows, len(plan.rejected)
    front = plan.undominated
    if plan.best is not None and plan.best not in front:
        front = [plan.best, *front]
    titles = ["", "scheduler", "size", "walltime", "starts", "finishes", "processor-hours"]
    predictions = plan.predictions if isinstance(plan, PredictedPlan) else {}
    if isinstance(plan, PredictedPlan):
        titles[5] = "predicted to finish"
        if plan.risk is not None:
            titles[5] = f"{100 * plan.risk:g}% sure to finish"
        titles.insert(5, "predicted to start")
    found = []
    for one in front[:MOST_ROWS]:
        likely = predictions.get(one)
        row = [
            "best" if one == plan.best else "",
            one.scheduler,
            one.size_text,
            duration_text(one.walltime),
            relative_text(one.start, plan.now),
            relative_text(plan.score(one), plan.now),
            f"{one.processor_seconds / 3600:.2f}",
        ]
        if isinstance(plan, PredictedPlan):
            row.insert(5, "" if likely is None else relative_text(likely.start, plan.now))
            if likely is None and plan.risk is not None:
                row[6] = ""
        found.append(row)
    return titles, found, len(plan.candidates)


@_table.register
def _of_list(availability: AvailabilityList | NodeAvailability) -> Table:
    frames = availability.counts.frames
    rows = [
        (iso_time(one.start), "" if one.end is None else iso_time(one.end), f"{one.free:,}")
        for one in frames[:MOST_ROWS]
    ]
    return ("from", "until", "free"), rows, len(frames)


@_table.register
def _of_prediction(prediction: Prediction) -> Table:
    risk = "" if prediction.finish_at_risk is None else iso_time(prediction.finish_at_risk)
    instants = (prediction.start, prediction.start_low, prediction.start_high, prediction.finish)
    return (
        ("start", "9 of 10 from", "to", "finish", "finish at risk"),
        [(*map(iso_time, instants), risk)],
        1,
    )


@_table.register
def _of_forecast(forecast: Forecast) -> Table:
    low, high = forecast.interval()
    means = forecast.expected_start.round().astype(int)
    columns = zip(low.tolist(), means.tolist(), high.tolist(), strict=True)
    rows = [(str(place), *map(iso_time, row)) for place, row in enumerate(columns)]
    return ("candidate", "9 of 10 starts from", "mean", "to"), rows[:MOST_ROWS], len(rows)


@_table.register
def _of_schedule(schedule: Schedule) -> Table:
    titles = ("jobs", "mean wait", "median wait", "mean bounded slowdown", "utilization")
    if schedule.unfinished:
        return ("jobs", "unfinished"), [(f"{len(schedule):,}", f"{schedule.unfinished:,}")], 1
    found = metrics(schedule)
    row = (
        f"{found.jobs:,}",
        "" if found.mean_wait is None else duration_text(round(found.mean_wait)),
        "" if found.median_wait is None else duration_text(round(found.median_wait)),
        "" if found.mean_bounded_slowdown is None else f"{found.mean_bounded_slowdown:.2f}",
        "" if found.utilization is None else f"{100 * found.utilization:.1f}%",
    )
    return titles, [row], 1
