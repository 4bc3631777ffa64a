"""The routes of S³ over HTTP (DESIGN.md, "S³ over HTTP"), over a `LiveScheduler` that is passed in.

The core raises, this edge translates: `gas.errors.ERRORS` gives the status of every error.
"""

from __future__ import annotations

import logging
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from gas.errors import ERRORS, StalePlan, outcome_of
from gas.service.live import LiveScheduler
from gas.service.schemas import (
    AvailabilityAnswer,
    ErrorAnswer,
    HealthAnswer,
    JobAnswer,
    JobsAnswer,
    ReserveBody,
    SubmitBody,
)
from speedup_models.fields import nearest, shown

__all__ = ["create_app"]

log = logging.getLogger("gas.s3")

JobId = Annotated[int, Path(ge=1, le=2**63 - 1, description="The number that submitting answered with")]


def create_app(scheduler: LiveScheduler) -> FastAPI:
    """Return the web application of one scheduler."""
    app = FastAPI(
        title="S³, the space-shared scheduler",
        version="1",
        summary="Conservative backfilling that publishes its availability list and keeps its promises.",
        responses={
            422: {"model": ErrorAnswer, "description": "The request cannot be used; the message names the place"},
            503: {"model": ErrorAnswer, "description": "The store cannot be written; nothing was changed"},
        },
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    _add_routes(app, scheduler)
    _add_error_handlers(app, scheduler)
    return app


def _add_routes(app: FastAPI, scheduler: LiveScheduler) -> None:
    gone: dict[int | str, dict[str, Any]] = {404: {"model": ErrorAnswer, "description": "There is no such job"}}
    refused: dict[int | str, dict[str, Any]] = {
        200: {"model": JobAnswer, "description": "The key was used before; this is what it made"},
        409: {"model": ErrorAnswer, "description": "The key was used for a different request"},
        412: {"model": ErrorAnswer, "description": "Later than `start_by`; nothing was queued"},
    }

    @app.get(
        "/v1/availability",
        response_model=AvailabilityAnswer,
        responses={304: {"description": "The schedule is still of this version"}},
    )
    def availability(response: Response, if_none_match: Annotated[str | None, Header()] = None) -> Any:
        """Return free processors per future time frame; the ETag changes with the schedule, not with the clock."""
        answer = scheduler.availability()
        etag = f'"{answer.version}"'
        if if_none_match is not None and etag in [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]:
            return Response(status_code=304, headers={"ETag": etag})
        return JSONResponse(answer.to_wire(), headers={"ETag": etag})

    @app.post("/v1/jobs", status_code=201, response_model=JobAnswer, responses=refused)
    def submit(body: SubmitBody) -> Any:
        """Submit a job; the answer carries its promised start."""
        job, new = scheduler.submit(body.wish())
        return JSONResponse(job.to_wire(), 201 if new else 200, {"Location": f"/v1/jobs/{job.id}"})

    @app.post("/v1/reservations", status_code=201, response_model=JobAnswer, responses=refused)
    def reserve(body: ReserveBody) -> Any:
        """Reserve processors for a span; nothing moves a reservation. Cancel it as a job."""
        job, new = scheduler.submit(body.wish())
        return JSONResponse(job.to_wire(), 201 if new else 200, {"Location": f"/v1/jobs/{job.id}"})

    @app.get("/v1/jobs", response_model=JobsAnswer)
    def jobs(ended: Annotated[int, Query(ge=0, le=10_000, description="How many ended jobs to add")] = 0) -> Any:
        """Return the jobs in the schedule, in submission order, after the latest that have ended."""
        return JSONResponse({"jobs": [job.to_wire() for job in scheduler.jobs(ended=ended)]})

    @app.get("/v1/jobs/{id}", response_model=JobAnswer, responses=gone)
    def job(id: JobId) -> Any:
        """Return one job: its state, promise and, at the end, exit status."""
        return JSONResponse(scheduler.job(id).to_wire())

    @app.get(
        "/v1/jobs/{id}/output",
        response_class=Response,
        responses={
            **gone,
            200: {"content": {"application/octet-stream": {}}},
            409: {"model": ErrorAnswer, "description": "Not a process"},
        },
    )
    def output(
        id: JobId,
        stream: Literal["stdout", "stderr"] = "stdout",
        limit: Annotated[int, Query(ge=1, le=2**24, description="Bytes, from the end")] = 2**20,
    ) -> Any:
        """Return the end of what a process has written."""
        return Response(scheduler.output(id, stream, limit), media_type="application/octet-stream")

    @app.delete("/v1/jobs/{id}", response_model=JobAnswer, responses=gone)
    def cancel(id: JobId) -> Any:
        """Cancel a job or a reservation; one that runs is ended, one that has ended stays as it is."""
        return JSONResponse(scheduler.cancel(id).to_wire())

    @app.get("/healthz", response_model=HealthAnswer)
    def health() -> Any:
        """Return that the service lives, and how busy it is."""
        return JSONResponse(scheduler.health())


def _add_error_handlers(app: FastAPI, scheduler: LiveScheduler) -> None:
    def answer(status: int, kind: str, message: str, availability: Any = None) -> JSONResponse:
        content: dict[str, Any] = {"error": {"kind": kind, "message": message}}
        if availability is not None:
            content["availability"] = availability
        return JSONResponse(content, status)

    def on_foreseen(request: Request, error: Exception) -> JSONResponse:
        outcome = outcome_of(error)
        assert outcome is not None, "the handler is registered for the errors of the table"
        newer = scheduler.availability().to_wire() if isinstance(error, StalePlan) else None
        return answer(outcome.http_status, type(error).__name__, str(error), newer)

    for kind in ERRORS:
        app.add_exception_handler(kind, on_foreseen)

    @app.exception_handler(RequestValidationError)
    def on_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(422, "BadInput", _first_problem(error.errors()))

    @app.exception_handler(HTTPException)
    def on_http_error(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:  # a body that the JSON reader gives up on in some other way
            return answer(422, "BadInput", "body: not JSON that can be used (its text, its depth or its numbers)")
        message = f"{request.method} {request.url.path}: {error.detail}"
        if error.status_code == 404:
            message += "; the routes are in /openapi.json"
        response = answer(error.status_code, "HTTP", message)
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    def on_surprise(request: Request, error: Exception) -> JSONResponse:
        log.exception("unforeseen error", exc_info=error)
        return answer(500, "Internal", "an error in the service that nobody foresaw; it is in its log")


def _first_problem(errors: Any) -> str:
    """Return the first thing wrong with a request, its place first, with the nearest right key."""
    error = min(errors, key=lambda e: e["type"] != "extra_forbidden")  # a mistyped key before the one it meant
    place = ".".join(str(part) for part in error["loc"] if part not in ("process", "simulated"))
    kind, given = error["type"], error.get("input")
    if kind == "extra_forbidden":
        known = [*SubmitBody.model_fields, *ReserveBody.model_fields]
        if "actuator" in error["loc"]:
            known = ["kind", "command", "environment", "directory", "run_time"]
        return f"{place}: there is no such key{nearest(str(error['loc'][-1]), set(known))}"
    if kind == "missing":
        return f"{place}: is missing; add it"
    if kind == "json_invalid":
        return f"body: not JSON: {error.get('ctx', {}).get('error', 'malformed')} at byte {error['loc'][-1]}"
    if kind == "union_tag_not_found":
        return f"{place}: has no kind; write process or simulated"
    if kind == "union_tag_invalid":
        return f"{place}.kind: is neither process nor simulated"
    if kind in ("model_attributes_type", "dict_type"):
        return f"{place}: {shown(given)}: must be a JSON object, sent with Content-Type: application/json"
    text = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{place}: {shown(given)}: must be {text}" if text != error["msg"] else f"{place}: {shown(given)}: {text}"
