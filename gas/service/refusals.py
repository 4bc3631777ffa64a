"""HTTP answers for errors: one JSON object, with the status from `gas.errors.ERRORS`."""

from __future__ import annotations

import math
from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel

from documents.fields import nearest, shown
from gas.errors import TooMany, Unauthorized, outcome_of
from gas.service.requests import IN_WORDS, AnswerBody, ReserveBody, ReshapeBody, SubmitBody

__all__ = ["REFUSALS", "ErrorAnswer", "first_problem", "refusal", "refuse", "refused_with"]


class ErrorDetail(BaseModel):
    """An error: a message for people and a kind for programs."""

    kind: str
    message: str


class ErrorAnswer(BaseModel):
    """An error; for a stale plan also the new availability list."""

    error: ErrorDetail
    availability: dict[str, Any] | None = None


def refused_with(text: str) -> dict[str, Any]:
    """Return the entry of a refusal in the OpenAPI document; one of the routes must name `ErrorAnswer` as a model.

    If all routes did, deriving this schema a hundred times would take half of a service's start.
    """
    schema = {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def refuse(status: int, kind: str, message: str, availability: Any = None) -> JSONResponse:
    """Return the answer to a refused request."""
    content: dict[str, Any] = {"error": {"kind": kind, "message": message}}
    if availability is not None:
        content["availability"] = availability
    return JSONResponse(content, status)


def refusal(error: Exception, availability: Any = None) -> JSONResponse:
    """Return the answer for an error of `gas.errors.ERRORS`."""
    outcome = outcome_of(error)
    assert outcome is not None, f"{type(error).__name__} is not in the table of errors"
    answer = refuse(outcome.http_status, type(error).__name__, str(error), availability)
    if isinstance(error, Unauthorized):
        answer.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooMany):
        answer.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    return answer


def first_problem(errors: Any) -> str:
    """Return the first error in a request: its place, the error, and the nearest known key."""
    error = min(errors, key=lambda e: e["type"] != "extra_forbidden")  # a mistyped key before the missing one
    place = ".".join(str(part) for part in error["loc"] if part not in ("process", "simulated"))
    kind, given = error["type"], error.get("input")
    if kind == "extra_forbidden":
        bodies, wrong = (SubmitBody, ReserveBody, ReshapeBody, AnswerBody), str(error["loc"][-1])
        known = {field.alias or name for body in bodies for name, field in body.model_fields.items()}
        if "actuator" in error["loc"][:-1]:
            known = {"kind", "command", "cpus_per_task", "environment", "directory", "run_time"}
        if wrong in known:
            return f"{place}: cannot be given here; leave it out"
        return f"{place}: there is no such key{nearest(wrong, known)}"
    if kind == "missing":
        return f"{place}: is missing; add it"
    if kind == "json_invalid":
        return f"body: not JSON: {error.get('ctx', {}).get('error', 'malformed')} at byte {error['loc'][-1]}"
    if kind == "union_tag_not_found":
        return f"{place}: has no kind; write process or simulated"
    if kind == "union_tag_invalid":
        return f"{place}.kind: is neither process nor simulated"
    if kind == "string_pattern_mismatch":
        return f"{place}: {shown(given)}: must be {IN_WORDS[error['ctx']['pattern']]}"
    if kind in ("model_attributes_type", "dict_type"):
        return f"{place}: {shown(given)}: must be a JSON object, sent with Content-Type: application/json"
    text = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{place}: {shown(given)}: must be {text}" if text != error["msg"] else f"{place}: {shown(given)}: {text}"


REFUSALS: dict[int | str, dict[str, Any]] = {
    401: refused_with("Missing or invalid token"),
    403: refused_with("Not permitted, or above a limit per user; the message says which"),
    408: refused_with("The body did not arrive in time"),
    413: refused_with("The request is too large"),
    422: refused_with("The request is invalid; the message names the field"),
    429: refused_with("Too many requests; see Retry-After"),
    503: refused_with("The store cannot be written; nothing was changed"),
}
"""The possible answers of every route, for the OpenAPI document."""
