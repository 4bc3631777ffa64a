"""Changes the shape of a waiting job if it then finishes sooner; the job keeps its number and its place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gas.agent.ledgers import note_change
from gas.agent.options import ReshapeOptions
from gas.agent.schedulers import Scheduler, why_old
from gas.agent.states import describe
from gas.agent.submission import ATTEMPTS, slack
from gas.application import Application
from gas.endpoints import JobEndpoint, ReshapingEndpoint, Standing
from gas.errors import BadInput, Conflict, StalePlan, Unreachable
from gas.planner import Candidate
from gas.reshaping import Reshaping, reshaping
from gas.times import duration_text, relative_text

if TYPE_CHECKING:  # plans need no simulation
    from gas.agent.prediction import Predictor
    from gas.prediction.reshaping import LikelyReshaping

__all__ = [
    "Reshaped",
    "changed",
    "decided",
    "expected_as_it_is",
    "likely",
    "new_shape",
    "reshape",
    "reshaping_endpoint",
    "wire_of",
]


@dataclass(frozen=True)
class Reshaped:
    """The result of `reshape`: the plans for a waiting job, and whether its shape was changed.

    Attributes
    ----------
    chosen
        The new shape of the job (with a dry run, the shape that it would get); None if the job stays unchanged.
    changed
        Whether the job now has this shape.
    why
        The reason, in words.
    job
        The present job: the object of ``GET /v1/jobs/{id}``.
    """

    id: int
    found: Reshaping
    chosen: Candidate | None
    changed: bool
    why: str
    job: dict[str, Any]

    def __str__(self) -> str:
        """Return what was done, and why."""
        if self.chosen is None:
            return f"job {self.id} stays unchanged ({self.why}): {expected_as_it_is(self.found)}"
        verb = "requests" if self.changed else "would request"
        return f"job {self.id} {verb} {new_shape(self.chosen, self.found)}; {self.why}"

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object of schema gas.reshaping/1."""
        return {
            "schema": "gas.reshaping/1",
            "changed": self.changed,
            "why": self.why,
            "gain": self.found.gain,
            "current": wire_of(self.found.current),
            "best": wire_of(self.found.best),
            "chosen": wire_of(self.chosen),
            "job": self.job,
        }


def reshape(
    application: Application,
    where: ReshapingEndpoint,
    number: int,
    options: ReshapeOptions,
    *,
    processors: int | None,
    dry_run: bool,
    predictor: Predictor | None = None,
) -> Reshaped:
    """Give a waiting job another shape if the gain suffices, or a given number of processors even without a gain.

    Parameters
    ----------
    predictor
        Decides by predictions; None decides by plans.

    Raises
    ------
    Conflict
        The job is no longer waiting.
    BadInput
        The job cannot run on this number of processors.
    StalePlan
        The schedule changed repeatedly in the meantime; the job is unchanged.
    """
    for _ in range(ATTEMPTS):
        standing = where.standing(number)
        if standing.availability is None:
            raise Conflict(f"{describe(standing.job)}; only waiting jobs can be reshaped")
        found = decided(application, where, standing, options)
        found = likely(predictor, where, standing, found, options) or found
        chosen = found.best if found.worth_it else None
        if processors is not None:
            chosen = _of_size(found, processors)
        why = found.why() if processors is None else "; ".join(["as asked", *filter(None, [found.blocked])])
        if chosen is None or dry_run:
            return Reshaped(number, found, chosen, False, why, standing.job)
        try:
            return Reshaped(number, found, chosen, True, why, changed(where, number, chosen, found))
        except StalePlan as error:
            problem = error
    raise StalePlan(f"{problem}; the schedule changed {ATTEMPTS} times in the meantime")


def changed(where: ReshapingEndpoint, number: int, chosen: Candidate, found: Reshaping) -> dict[str, Any]:
    """Give a job the chosen shape and return it; raise `StalePlan` if its promised start would be later."""
    more: dict[str, Any] = {} if chosen.layout is None else {"layout": chosen.layout}
    if chosen.kind == "promise":
        more["start_by"] = chosen.start + slack(found.plan, chosen)
    job = where.reshape(number, chosen.processors, chosen.walltime, **more)
    note_change(where, number)
    return job


def decided(
    application: Application, where: ReshapingEndpoint, standing: Standing, options: ReshapeOptions, **more: Any
) -> Reshaping:
    """Return the best shape of a waiting job by plans."""
    assert standing.availability is not None
    old = why_old(where.name, standing.availability.now, int(time.time()))
    if old is not None and not options.stale_ok:
        raise Unreachable(old)  # if it is watched further, it may be up to date again
    job = standing.job
    return reshaping(
        application,
        standing.availability,
        int(job["processors"]),
        job["walltime"],
        nodes=job.get("nodes"),
        not_before=job["not_before"],
        limits=where.limits,
        max_processor_hours=options.max_processor_hours,
        threshold=options.threshold,
        least=options.least,
        blocked=f"it {job['message'] or 'is held'}" if job.get("held") else None,
        **{"expected": job["expected"], **more},
    )


def likely(
    predictor: Predictor | None, where: ReshapingEndpoint, standing: Standing, found: Reshaping, options: ReshapeOptions
) -> LikelyReshaping | None:
    """Return the best shape of a waiting job by predictions; None if they are not requested or not available."""
    if predictor is None or found.current is None or found.blocked is not None:
        return None
    job = standing.job
    return predictor.standing(where, int(job["id"]), found, job["not_before"], options.threshold, options.least)


def reshaping_endpoint(where: Scheduler, number: int) -> ReshapingEndpoint:
    """Return the scheduler if it can change waiting jobs; else raise `BadInput`."""
    if isinstance(where, tuple):
        raise where[1]
    if isinstance(where, ReshapingEndpoint):
        return where
    raise BadInput(where.why_unchanged(number) if isinstance(where, JobEndpoint) else f"{where.name}: accepts no jobs")


def _of_size(found: Reshaping, processors: int) -> Candidate:
    """Return the candidate with this number of processors."""
    for one in found.plan.candidates:
        if one.processors == processors:
            return one
    reasons = [one.reason for one in found.plan.rejected if one.processors == processors]
    why = reasons[0] if reasons else f"{found.plan.application} cannot run on that number, or the machine is smaller"
    raise BadInput(f"--processors {processors}: is not possible ({why})")


def wire_of(one: Candidate | None) -> dict[str, Any] | None:
    """Return a candidate as JSON."""
    return None if one is None else one.to_wire()


def expected_as_it_is(found: Reshaping) -> str:
    """Return the expected start and finish of the unchanged job."""
    if found.blocked is not None:
        return "waits"
    if found.current is None:
        return "cannot start with its present request"
    start, finish = _instants(found.current, found)
    return f"waits for {found.current.size_text}, {found.word} to start {start} and to finish {finish}"


def new_shape(chosen: Candidate, found: Reshaping) -> str:
    """Return another shape in words, with its expected start and finish unless the job is held in any shape."""
    later, current = "", found.current
    before, walltime = "", duration_text(chosen.walltime)
    if current is not None and current.processors != chosen.processors:
        before = f" instead of {current.processors}"
    elif current is not None and current.walltime != chosen.walltime:
        walltime = f"{walltime} instead of {duration_text(current.walltime)}"
    if current is not None and chosen.kind == current.kind == "promise" and chosen.start > current.start:
        given, kept = (relative_text(one.start, found.now) for one in (chosen, current))
        later = f" (promised to start {given} instead of {kept} at the latest)"
    if found.blocked is not None:
        return f"{chosen.size_text}{before}, walltime {walltime}"
    start, finish = _instants(chosen, found)
    return f"{chosen.size_text}{before}, walltime {walltime}, to start {start}{later} and to finish {finish}"


def _instants(one: Candidate, found: Reshaping) -> tuple[str, str]:
    return relative_text(found.start_of(one), found.now), relative_text(found.finish_of(one), found.now)
