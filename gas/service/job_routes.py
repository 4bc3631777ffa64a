"""The routes of jobs and reservations: submitting, listing, changing and cancelling them, and their output."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import JSONResponse

from documents.fields import shown
from gas.errors import BadInput, Conflict, NotFound, StalePlan
from gas.service.answers import JOB_FIELDS, JobAnswer, JobsAnswer, OneJobAnswer
from gas.service.bodies import BodyRoute
from gas.service.gate import Caller
from gas.service.jobs import Job, JobState
from gas.service.listing import MOST_A_PAGE, Page, Wanted
from gas.service.live import LiveScheduler
from gas.service.refusals import REFUSALS, refusal, refused_with
from gas.service.requests import AnswerBody, Key, ReserveBody, ReshapeBody, SubmitBody
from gas.service.rights import Action, Principal, hidden_keys, require
from gas.service.serving import Here, Serving, in_lane

__all__ = ["JobId", "job_routes", "seen_by"]

JobId = Annotated[int, Path(ge=1, le=2**63 - 1, description="The job's number, from the answer to its submission")]


_GONE: dict[int | str, dict[str, Any]] = {404: refused_with("There is no such job")}


def seen_by(principal: Principal, job: Job) -> dict[str, Any]:
    """Return a job as JSON, without the fields that are hidden from this principal."""
    owner = job.request.user
    return job.to_wire(mine=owner == principal.user, hidden=hidden_keys(principal, owner))


def _fields(text: str | None) -> list[str] | None:
    """Return the fields of jobs that a query names; None for all."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in JOB_FIELDS:
            raise BadInput(f"fields: there is no {shown(name)}; the fields are {', '.join(sorted(JOB_FIELDS))}")
    return list(dict.fromkeys(["id", *names]))


job_routes = APIRouter(route_class=BodyRoute, responses=REFUSALS)
"""The routes below ``/v1/jobs``, and ``POST /v1/reservations``."""

_REFUSED: dict[int | str, dict[str, Any]] = {
    200: {"model": JobAnswer, "description": "The key was used before; this is the job that it created"},
    404: refused_with("There is no such reservation of the caller's (any more)"),
    409: refused_with("The key was used for a different request, or no new jobs are accepted"),
    412: refused_with("Later than `start_by`; nothing was queued"),
}


def _accept(body: SubmitBody | ReserveBody, caller: Principal, here: Serving) -> Any:
    job, new = here.scheduler.submit(body.request(caller.user))
    return JSONResponse(seen_by(caller, job.snapshot()), 201 if new else 200, {"Location": f"/v1/jobs/{job.id}"})


@job_routes.post("/v1/jobs", status_code=201, response_model=JobAnswer, responses=_REFUSED)
@in_lane("changes")
def submit(body: SubmitBody, caller: Caller, here: Here) -> Any:
    """Submit a job; the answer contains its promised start."""
    return _accept(body, caller, here)


@job_routes.post("/v1/reservations", status_code=201, response_model=JobAnswer, responses=_REFUSED)
@in_lane("changes")
def reserve(body: ReserveBody, caller: Caller, here: Here) -> Any:
    """Reserve processors for a fixed span. Cancel a reservation like a job."""
    return _accept(body, caller, here)


@job_routes.get("/v1/jobs", response_model=JobsAnswer)
@in_lane("lists")
def jobs(
    caller: Caller,
    here: Here,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="Only jobs with higher numbers")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_A_PAGE, description="Jobs per page")] = MOST_A_PAGE,
    state: Annotated[list[JobState] | None, Query(description="Only jobs in this state; may be repeated")] = None,
    user: Annotated[str | None, Query(max_length=1000, description="Only the jobs of this user")] = None,
    fields: Annotated[
        str | None, Query(max_length=1000, description="Only these fields of each job: id,state,promise")
    ] = None,
    ended: Annotated[int, Query(ge=0, le=10_000, description="Add this many of the latest ended jobs")] = 0,
    key: Annotated[Key | None, Query(description="Only the caller's job that was created with this key")] = None,
) -> Any:
    """Return a page of the jobs in the schedule and the latest that have ended, in submission order.

    `next` is the value of `after` for the next page; null on the last page.
    """
    chosen = _fields(fields)
    if key is not None:
        found = here.scheduler.job_with_key(caller.user, key)
        page = Page([] if found is None else [found.snapshot()], None)
    else:
        page = here.scheduler.page(Wanted(after, limit, ended, frozenset(state or ()), user))
    listed = [seen_by(caller, job) for job in page.jobs]
    if chosen is not None:
        listed = [{name: job[name] for name in chosen} for job in listed]
    return JSONResponse({"jobs": listed, "next": page.next})


@job_routes.get("/v1/jobs/{id}", response_model=OneJobAnswer, responses=_GONE)
async def job(id: JobId, caller: Caller, here: Here) -> Any:
    """Return one job: state, promise, predicted start and, once it has ended, exit status."""
    look = partial(here.scheduler.job, id)
    found, predicted = await here.lanes.reads.run(caller.user, look), None
    if found.state == "queued":
        # Waits here and not in the lane, whose place others need.
        predicted = (await asyncio.shield(asyncio.wrap_future(here.scheduler.predictions(id)))).get(id)
        found = await here.lanes.reads.run(caller.user, look)
    predictions = found.predicted_to_wire(predicted, here.scheduler.clock.now())
    predictions["predicted_coverage"] = None if predictions["predicted_start"] is None else here.scheduler.coverage
    # Not in the event loop: a command may be long.
    return await here.lanes.reads.run(caller.user, lambda: JSONResponse({**seen_by(caller, found), **predictions}))


@job_routes.get(
    "/v1/jobs/{id}/output",
    response_class=Response,
    responses={
        **_GONE,
        200: {"content": {"application/octet-stream": {}}},
        409: refused_with("Not a process"),
    },
)
@in_lane("output")
def output(
    id: JobId,
    caller: Caller,
    here: Here,
    stream: Literal["stdout", "stderr"] = "stdout",
    limit: Annotated[int, Query(ge=1, le=2**24, description="Bytes, from the end")] = 2**20,
    after: Annotated[
        int | None, Query(ge=0, le=2**62, description="Return the bytes after this position instead")
    ] = None,
) -> Any:
    """Return the last bytes of the output of a job, or the first ones after an offset."""
    require(Action.OUTPUT, caller, here.scheduler.job(id).request.user, f"job {id}")
    return Response(here.scheduler.output(id, stream, limit, after), media_type="application/octet-stream")


@job_routes.delete("/v1/jobs/{id}", response_model=JobAnswer, responses=_GONE)
@in_lane("changes")
def cancel(id: JobId, caller: Caller, here: Here) -> Any:
    """Cancel a job or a reservation; a running job is terminated, an ended one stays as it is."""
    require(Action.CANCEL, caller, here.scheduler.job(id).request.user, f"job {id}")
    return JSONResponse(seen_by(caller, here.scheduler.cancel(id, caller.user).snapshot()))


@job_routes.patch(
    "/v1/jobs/{id}",
    response_model=JobAnswer,
    responses={
        **_GONE,
        409: refused_with("It is not waiting, or the key was used for another change"),
        412: refused_with("It would start later than `start_by`; nothing was changed"),
    },
)
@in_lane("changes")
def reshape(id: JobId, body: ReshapeBody, caller: Caller, here: Here) -> Any:
    """Change size and walltime of a waiting job; it gets the first slot that delays no other job."""
    require(Action.RESHAPE, caller, here.scheduler.job(id).request.user, f"job {id}")
    try:
        job = here.scheduler.reshape(body.request(id, caller.user))
    except StalePlan as error:
        return refusal(error, _left_without(here.scheduler, id))
    return JSONResponse(seen_by(caller, job.snapshot()))


@job_routes.post(
    "/v1/jobs/{id}/offer",
    response_model=JobAnswer,
    responses={
        **_GONE,
        409: refused_with("It is not offered this start (any more), or the key was used for another change"),
    },
)
@in_lane("changes")
def answer(id: JobId, body: AnswerBody, caller: Caller, here: Here) -> Any:
    """Accept or decline the earlier start that a waiting job with a notice is offered."""
    require(Action.ANSWER, caller, here.scheduler.job(id).request.user, f"job {id}")
    return JSONResponse(seen_by(caller, here.scheduler.answer(body.request(id, caller.user)).snapshot()))


def _left_without(scheduler: LiveScheduler, id: int) -> Any:
    """Return the availability for reshaping a waiting job; None if it has just started."""
    try:
        return scheduler.availability(without=id).to_wire()
    except (NotFound, Conflict):
        return None
