"""Planning for a client (``POST /v1/plan``): an application's tables as JSON in, the object of gas.plan/1 out.

The tables are read like those of an application file and planned by `gas.planner`. This module adds limits, since the
client does not pay for the computation: no plug-ins, and no request that keeps the service busy for long. The agent
(`gas.agent`) is not needed: the only list is the service's own, so no scheduler is queried and no plan gets stale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from documents.fields import shown
from gas.application import Application
from gas.availability import AvailabilityList
from gas.errors import BadInput
from gas.planner import plan
from gas.service.requests import few_keys
from gas.times import LATEST
from speedup_models.model import SizeUnit
from speedup_models.registry import BUILT_IN

__all__ = ["MOST_ENTRIES", "MOST_PAIRS", "MOST_SIZES", "PlanAnswer", "PlanBody", "plan_for"]

MOST_ENTRIES = 10_000
"""Largest number of entries of a table of times, or of a list of processor counts."""

MOST_SIZES = 2**14
"""Largest number of processor counts of one request."""

MOST_PAIRS = 2**27
"""Largest product of processor counts and frames for the paper's walk, which examines every pair."""

LONGEST_NAME = 200

_PLACE = "body.application"

Instant = Annotated[int, Field(strict=True, ge=0, le=LATEST)]


class PlanBody(BaseModel):
    """The request for a plan: application, limits and preferences."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "application": {
                        "name": "lu.C",
                        "speedup": {"model": "table", "times": {"16": 812.0, "32": 423.5}},
                        "processors": {"constraint": "list", "list": [16, 32]},
                        "walltime": {"safety": 1.2},
                    },
                    "tolerance": 0.05,
                }
            ]
        },
    )

    _few_keys = model_validator(mode="before")(few_keys)

    application: Annotated[
        dict[str, Any],
        Field(description="The tables of an application file as JSON: name, speedup, processors, walltime"),
    ]
    not_before: Annotated[Instant | None, Field(description="Epoch seconds: no start earlier than this")] = None
    deadline: Annotated[Instant | None, Field(description="Epoch seconds: no expected finish later than this")] = None
    max_processor_hours: Annotated[
        float | None,
        Field(strict=True, gt=0, allow_inf_nan=False, description="Limit of processor-hours for the run"),
    ] = None
    tolerance: Annotated[
        float,
        Field(
            strict=True,
            ge=0,
            le=1,
            description="0.05 takes the fewest processors among candidates within 5% of the best turn-around time",
        ),
    ] = 0.0
    algorithm: Literal["exact", "walk"] = "exact"


class CandidateAnswer(BaseModel):
    """A possible request; instants in epoch seconds and ISO 8601, durations in seconds."""

    scheduler: str
    processors: int
    walltime: int
    execution_time: int
    processor_seconds: int
    start: int
    start_iso: str
    finish: int
    finish_iso: str
    kind: Literal["promise", "estimate"]
    unit: SizeUnit = "processors"


class RejectedAnswer(BaseModel):
    """An impossible processor count, with the reason."""

    scheduler: str
    processors: int
    reason: str


class PlannedWithAnswer(BaseModel):
    """A scheduler that was queried."""

    name: str
    ok: bool
    error: str | None


class PlanAnswer(BaseModel):
    """The request that finishes first, null if none is possible, and all candidates, best first."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: Literal["gas.plan/1"] = Field(alias="schema")
    application: str
    algorithm: Literal["exact", "walk"]
    now: int
    now_iso: str
    best: CandidateAnswer | None
    candidates: list[CandidateAnswer]
    rejected: list[RejectedAnswer]
    endpoints: list[PlannedWithAnswer]


def plan_for(body: PlanBody, availability: AvailabilityList) -> dict[str, Any]:
    """Return the plan, as JSON of schema gas.plan/1, with the list of this scheduler.

    Raises
    ------
    BadInput, FieldError, ModelError
        The tables are invalid, or the request exceeds a limit of this module.
    """
    application = _application(body.application)
    sizes = _sizes(application, availability.processors)
    if sizes > MOST_SIZES:
        raise BadInput(
            f"{_PLACE}: {sizes} processor counts exceed the service's limit of {MOST_SIZES} per request; set a max or "
            "a narrower constraint, or plan with `gas plan`"
        )
    pairs = sizes * len(availability.starts)
    if body.algorithm == "walk" and pairs > MOST_PAIRS:
        raise BadInput(
            f"body.algorithm: the walk over {sizes} processor counts and {len(availability.starts)} frames would "
            f"examine {pairs} pairs, above the limit of {MOST_PAIRS} per request; use exact, or plan with `gas plan`"
        )
    found = plan(
        application,
        availability,
        not_before=body.not_before,
        deadline=body.deadline,
        max_processor_hours=body.max_processor_hours,
        tolerance=body.tolerance,
        algorithm=body.algorithm,
    )
    return found.to_wire([{"name": availability.scheduler, "ok": True, "error": None}])


def _application(tables: dict[str, Any]) -> Application:
    for table, key in (("speedup", "times"), ("processors", "list")):
        inner = tables.get(table)
        entries = inner.get(key) if isinstance(inner, Mapping) else None
        if isinstance(entries, (dict, list)) and len(entries) > MOST_ENTRIES:
            raise BadInput(
                f"{_PLACE} [{table}] {key}: {len(entries)} entries exceed the limit of {MOST_ENTRIES} per request; "
                "leave some out, or plan with `gas plan`"
            )
    speedup = tables.get("speedup")
    model = speedup.get("model") if isinstance(speedup, Mapping) else None
    if isinstance(model, str) and model not in BUILT_IN:
        # Plug-ins with keys from clients could read files or run for hours; a table with their times is equivalent.
        raise BadInput(
            f"{_PLACE} [speedup] model: {shown(model)} is not available in the service, which has "
            f'{", ".join(sorted(BUILT_IN))}; send the times of a plug-in as a "table", or plan with `gas plan`'
        )
    application = Application.from_tables(tables, _PLACE)
    if len(application.name) > LONGEST_NAME:
        raise BadInput(f"{_PLACE} name: {shown(application.name)}: is longer than {LONGEST_NAME} characters")
    return application


def _sizes(application: Application, machine: int) -> int:
    """Return the number of processor counts that the planner would try, without listing them."""
    if application.model.sizes is not None:
        return len(application.sizes(machine))
    constraint = application.constraint
    if constraint.kind not in ("any", "multiple"):
        return len(application.permitted(machine))  # squares are at most 46,340, lists at most MOST_ENTRIES
    upper = machine if constraint.maximum is None else min(machine, constraint.maximum)
    step = constraint.multiple or 1
    return max(0, upper // step - (constraint.minimum - 1) // step)
