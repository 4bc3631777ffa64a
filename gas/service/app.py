"""The routes of S³ over HTTP (`gas guide formats`), over a `LiveScheduler` that is passed in.

The core raises errors, and this layer translates them (`gas.service.refusals`). The gate identifies the user
(`gas.service.gate`); the routes check whose job a request concerns (`gas.service.rights`).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from gas.errors import ERRORS, GasError, StalePlan
from gas.service.answers import AvailabilityAnswer, HealthAnswer, MachineAnswer
from gas.service.bodies import BodyRoute
from gas.service.connections import most_connections
from gas.service.gate import Caller, Gate
from gas.service.job_routes import JobId, job_routes, seen_by
from gas.service.lanes import Lanes
from gas.service.limits import Limits
from gas.service.live import LiveScheduler
from gas.service.page import page
from gas.service.planners import Planners
from gas.service.planning import PlanAnswer, PlanBody
from gas.service.refusals import REFUSALS, ErrorAnswer, first_problem, refusal, refuse, refused_with
from gas.service.requests import MachineBody
from gas.service.rights import RIGHTS, Action, require, route_action
from gas.service.serving import Here, Serving, in_lane
from gas.service.stream import MOST_FOLLOWERS, EventStream, Followers, events
from gas.service.tokens import Tokens

__all__ = ["create_app"]

log = logging.getLogger("gas.s3")


def create_app(
    scheduler: LiveScheduler,
    planners: Planners,
    tokens: Tokens | None = None,
    limits: Limits | None = None,
    *,
    own_names_only: bool = False,
) -> FastAPI:
    """Return the web application of one scheduler.

    Parameters
    ----------
    planners
        The processes that plan for clients; the caller stops them.
    tokens
        The tokens of users; with None every client is the user who runs the service.
    limits
        Limits per user.
    own_names_only
        Whether requests must be addressed to this machine by a loopback name.
    """
    app = FastAPI(
        title="S³, the space-shared scheduler",
        version="1",
        summary="Conservative backfilling that publishes its availability list and keeps its promises.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to wherever the Host header says
    )
    limits = limits or Limits()
    followers = Followers(min(MOST_FOLLOWERS, most_connections() // 4), limits.max_streams)
    app.state.serving = Serving(scheduler, planners, Lanes(), tokens, limits, followers)
    app.router.routes += [*_routes.routes, *job_routes.routes]
    _add_error_handlers(app, scheduler)
    if tokens is not None:
        _describe_access(app)
    app.add_middleware(Gate, tokens=tokens, limits=limits, metrics=scheduler.metrics, own_names_only=own_names_only)
    return app


_routes = APIRouter(route_class=BodyRoute, responses=REFUSALS)


@_routes.get(
    "/v1/availability",
    response_model=AvailabilityAnswer,
    responses={
        304: {"description": "The schedule has not changed"},
        404: refused_with("The job left out is not in the schedule"),
        409: {"model": ErrorAnswer, "description": "The job left out is not waiting"},  # brings the schema
    },
)
@in_lane("reads")
def availability(
    caller: Caller,
    here: Here,
    if_none_match: Annotated[str | None, Header()] = None,
    without: Annotated[JobId | None, Query(description="Leave out this waiting job, to plan another shape")] = None,
) -> Any:
    """Return free processors per future time frame; the ETag changes with the schedule, not with the clock."""
    answer = here.scheduler.availability(without=without)
    etag = f'"{answer.version}"'
    if if_none_match is not None and etag in [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]:
        return Response(status_code=304, headers={"ETag": etag})
    return JSONResponse(answer.to_wire(), headers={"ETag": etag})


@_routes.post("/v1/plan", response_model=PlanAnswer)
async def plan(body: PlanBody, caller: Caller, here: Here) -> Any:
    """Return the plan of an application, as `gas plan --json` does; nothing is queued."""
    return Response(await here.planners.plan(caller.user, body), media_type="application/json")


@_routes.get("/", response_class=HTMLResponse)
async def root() -> Any:
    """Return the page that shows the schedule; it contains no data and reads them with the user's token."""
    document = page()
    return HTMLResponse(document.html, headers=document.headers)


@_routes.get(
    "/healthz",
    response_model=HealthAnswer,
    responses={503: {"model": HealthAnswer, "description": "The store cannot be written"}},
)
async def health(here: Here) -> Any:
    """Return the health of the service: its status, its load, and whether changes can be made durable."""
    answer = here.scheduler.health()
    return JSONResponse(answer, 200 if answer["durable"] else 503)


@_routes.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain; version=0.0.4; charset=utf-8": {}}}},
)
async def metrics(here: Here) -> Any:
    """Return counters and histograms in the format of Prometheus."""
    return Response(here.scheduler.metrics_text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


@_routes.get("/v1/machine", response_model=MachineAnswer)
@in_lane("reads")
def machine(caller: Caller, here: Here) -> Any:
    """Return the state of the machine, and the user and role of the caller."""
    return JSONResponse(here.machine_for(here.scheduler.machine(), caller))


@_routes.put(
    "/v1/machine",
    response_model=MachineAnswer,
    responses={409: refused_with("Jobs would have to be cancelled; nothing was changed")},
)
@in_lane("changes")
def change_machine(body: MachineBody, caller: Caller, here: Here) -> Any:
    """Change the size of the machine, or whether it accepts jobs; the answer lists broken promises."""
    require(Action.MACHINE, caller)
    broken = []
    if body.processors is not None:
        broken = here.scheduler.resize(body.processors, cancel_larger=body.cancel_larger, by=caller.user)
    if body.accepting is not None:
        here.scheduler.accept(body.accepting, caller.user)
    listed = [{"id": b.job.id, "user": b.job.request.user, "promised": b.promised, "start": b.start} for b in broken]
    return JSONResponse({**here.machine_for(here.scheduler.machine(), caller), "broken": listed})


async def _place(request: Request, caller: Caller, here: Here) -> AsyncIterator[None]:
    with here.followers.place(caller.user) as request.state.follower:
        yield


@_routes.get("/v1/events", status_code=200, response_class=EventStream, dependencies=[Depends(_place)])
async def follow(
    request: Request, caller: Caller, here: Here, last_event_id: Annotated[str | None, Header()] = None
) -> EventStream:
    """Follow the schedule: an event for each change of a job or the machine; missed events are sent again."""
    authorization = request.headers.get("authorization")

    def still_welcome() -> bool:  # a token may be revoked while the stream is open
        try:
            return here.tokens is None or here.tokens.authenticate(authorization) == caller
        except GasError:
            return False

    stream = events(
        here.scheduler.feed,
        last_event_id,
        here.scheduler.machine,
        lambda job: seen_by(caller, job),
        lambda machine: here.machine_for(machine, caller),
        still_welcome,
        request.state.follower,
    )
    return EventStream(stream)


def _add_error_handlers(app: FastAPI, scheduler: LiveScheduler) -> None:
    def on_foreseen(request: Request, error: Exception) -> JSONResponse:
        newer = scheduler.availability().to_wire() if isinstance(error, StalePlan) else None
        return refusal(error, newer)

    for kind in ERRORS:
        app.add_exception_handler(kind, on_foreseen)

    @app.exception_handler(RequestValidationError)
    def on_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return refuse(422, "BadInput", first_problem(error.errors()))

    @app.exception_handler(HTTPException)
    def on_http_error(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:  # a body that the JSON reader gives up on in some other way
            return refuse(422, "BadInput", "body: not usable JSON (invalid text, too deep, or numbers out of range)")
        if error.status_code == 422:
            return refuse(422, "BadInput", error.detail)
        message = f"{request.method} {request.url.path}: {error.detail}"
        if error.status_code == 404:
            message += "; the routes are in /openapi.json"
        response = refuse(error.status_code, "HTTP", message)
        response.headers.update(error.headers or {})
        if error.status_code == 405:  # Starlette names the methods of the first route of this path alone
            there = [r for r in app.routes if isinstance(r, Route) and r.matches(request.scope)[0] is not Match.NONE]
            response.headers["Allow"] = ", ".join(sorted({method for r in there for method in r.methods or ()}))
        return response

    @app.exception_handler(Exception)
    def on_surprise(request: Request, error: Exception) -> JSONResponse:
        log.exception("unforeseen error", exc_info=error)
        return refuse(500, "Internal", "internal error of the service; see its log")


def _describe_access(app: FastAPI) -> None:
    """Mark in the OpenAPI document which routes need a token."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            schema.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for path, operations in schema["paths"].items():
                for method, operation in operations.items():
                    if RIGHTS[route_action(method.upper(), path)].no_token != "yes":
                        operation["security"] = [{"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way to extend the document
