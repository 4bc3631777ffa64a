"""Plans, lists, predictions and schedules as pandas data frames."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from documents.extras import way_to_install
from gas.availability import AvailabilityList, NodeAvailability
from gas.errors import Missing
from gas.pictures.dates import dated
from gas.planner import Plan
from gas.prediction.choice import PredictedPlan, Prediction
from gas.prediction.forecast import Forecast
from gas.simulation.schedule import NEVER_STARTED, Schedule

__all__ = ["frame_of"]


@singledispatch
def frame_of(shown: object) -> Any:
    """Return the rows of an object as a data frame."""
    raise TypeError(f"{type(shown).__name__} has no rows")


@frame_of.register
def _of_plan(plan: Plan) -> Any:
    """One row per candidate, best first."""
    rows = plan.candidates
    columns: dict[str, Any] = {
        "scheduler": _texts([one.scheduler for one in rows]),
        "processors": np.array([one.processors for one in rows], np.int64),
        "walltime": _durations([one.walltime for one in rows]),
        "execution_time": _durations([one.execution_time for one in rows]),
        "start": _instants([one.start for one in rows]),
        "finish": _instants([one.finish for one in rows]),
        "processor_hours": np.array([one.processor_seconds / 3600 for one in rows], np.float64),
        "kind": _texts([one.kind for one in rows]),
        "unit": _texts([one.unit for one in rows]),
        "best": np.array([one == plan.best for one in rows], np.bool_),
    }
    if any(one.layout is not None for one in rows):
        columns["layout"] = [None if one.layout is None else str(one.layout) for one in rows]
    if isinstance(plan, PredictedPlan):
        found = [plan.predictions.get(one) for one in rows]
        for name in ("start", "start_low", "start_high", "finish"):
            columns[f"predicted_{name}"] = _instants([None if one is None else getattr(one, name) for one in found])
        if plan.deadline is not None:
            known = [plan.certain.get(one) for one in rows]
            columns["in_time"] = np.array([np.nan if one is None else one.share for one in known], np.float64)
    return _frame(columns)


@frame_of.register
def _of_list(availability: AvailabilityList) -> Any:
    """One row per time frame; the last one has no end."""
    frames = availability.frames
    return _frame(
        {
            "start": _instants([one.start for one in frames]),
            "end": _instants([one.end for one in frames]),
            "free": np.array([one.free for one in frames], np.int64),
        }
    )


@frame_of.register
def _of_nodes(availability: NodeAvailability) -> Any:
    """The counts over all nodes."""
    return _of_list(availability.counts)


@frame_of.register
def _of_prediction(prediction: Prediction) -> Any:
    """One row."""
    wire = prediction.to_wire()
    return _frame({name: _instants([wire[name]]) for name in wire if f"{name}_iso" in wire})


@frame_of.register
def _of_forecast(forecast: Forecast) -> Any:
    """One row per candidate, in the given order."""
    low, high = forecast.interval()
    return _frame(
        {
            "expected_start": _instants(np.round(forecast.expected_start)),
            "start_low": _instants(low),
            "start_high": _instants(high),
            "latest_start": _instants(forecast.latest),
            "expected_finish": _instants(np.round(forecast.expected_finish)),
            "execution_time": _durations(forecast.execution_time),
        }
    )


@frame_of.register
def _of_schedule(schedule: Schedule) -> Any:
    """One row per job; instants in the zone of the log, or since its second 0 if the log has no date."""
    jobs, epoch = schedule.jobs, schedule.jobs.header.epoch
    start = schedule.start

    def at(seconds: Any) -> Any:
        known = seconds != NEVER_STARTED
        if not dated(epoch):
            return _durations(seconds, known)
        return _instants(seconds + epoch.start, known, epoch.zone)

    columns: dict[str, Any] = {
        "job": jobs.id,
        "processors": jobs.processors,
        "estimate": _durations(jobs.estimate),
        "run_time": _durations(jobs.run_time),
        "submit": at(jobs.submit),
        "start": at(start),
        "end": at(schedule.end),
        "wait": _durations(start - jobs.submit, start != NEVER_STARTED),
        "user": jobs.user,
    }
    if schedule.promise is not None:
        columns["promise"] = at(schedule.promise)
    return _frame(columns)


def _frame(columns: dict[str, Any]) -> Any:
    return _pandas().DataFrame(columns)


def _instants(seconds: ArrayLike | Sequence[int | None], known: Any = None, zone: tzinfo = UTC) -> Any:
    """Return epoch seconds as instants in a zone; NaT for None and unknown values."""
    values = _datetimes(seconds, known, "datetime64[s]")
    return _pandas().Series(values).dt.tz_localize("UTC").dt.tz_convert(zone)


def _texts(texts: Sequence[str]) -> Any:
    return _pandas().Series(texts, dtype="str")


def _durations(seconds: ArrayLike, known: Any = None) -> Any:
    return _pandas().Series(_datetimes(seconds, known, "timedelta64[s]"))


def _datetimes(seconds: ArrayLike | Sequence[int | None], known: Any, kind: str) -> Any:
    """Return seconds as instants or durations of numpy; NaT for None and unknown values."""
    if not isinstance(seconds, np.ndarray):
        listed: list[Any] = list(seconds)  # type: ignore[arg-type]
        known = np.array([one is not None for one in listed], np.bool_)
        seconds = np.array([0 if one is None else one for one in listed], np.int64)
    found = seconds.astype(np.int64).astype(kind)
    if known is not None:
        found[~known] = np.array("NaT", kind)
    return found


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise Missing(f"frames need pandas: {way_to_install('data')}") from None
    return pandas
