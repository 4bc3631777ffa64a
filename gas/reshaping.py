"""Whether a job that waits should be given another shape, now that the queue has changed.

Pure: what the job could get where it stands in the queue goes in, a `Reshaping` comes out. Small gains are left alone:
plans are estimates, and each change of a job costs all users a moment of the scheduler's.

The job as it is has a plan of its scheduler's, other shapes have predictions only. Where the scheduler plans a shape
later than is predicted of it, taking predictions at their word would have a job changed for a start that it never gets,
and back again. So every shape is expected to come as late as the most similar one that the scheduler is known to have
planned for this job: mostly the one it has, so that predictions are compared with predictions. A shape that was planned
sooner than predicted says nothing of others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gas.application import Application
from gas.availability import Availability, LaidOut
from gas.errors import BadInput
from gas.planner import Candidate, Limits, Plan, plan
from gas.printable import many
from gas.profile.flat import NEVER
from gas.times import LONGEST, duration_text
from speedup_models.model import Layout

__all__ = ["Doubted", "Reshaping", "reshaping"]


@dataclass(frozen=True)
class Doubted:
    """What is predicted to gain enough, and not believed.

    Attributes
    ----------
    gain
        By how many seconds sooner it would finish.
    size, late
        On how many processors the job was planned so many seconds later than predicted.
    """

    candidate: Candidate
    gain: int
    size: int
    late: int


@dataclass(frozen=True)
class Reshaping:
    """A job as it is, and the best that could be made of it.

    Attributes
    ----------
    current
        The job as it is, were it let run to its end; None where it can never start with what it asks for.
    best
        What would finish first; None if there is nothing possible.
    least
        Seconds of gain below which nothing is changed.
    plan
        All that is possible, as late as it is expected to come.
    late
        By how many seconds its scheduler plans the job as it is later than predicted, less than 0 if sooner; None where
        one of both is not known.
    doubted
        What would have been worth a change if the predictions had been right so far.
    blocked
        What it waits for whatever its shape.
    """

    now: int
    current: Candidate | None
    best: Candidate | None
    least: int
    plan: Plan
    late: int | None = None
    doubted: Doubted | None = None
    blocked: str | None = None

    @property
    def killed(self) -> bool:
        """Whether the job as it is would be killed at its walltime."""
        return self.current is not None and self.current.walltime < self.current.execution_time

    @property
    def gain(self) -> int | None:
        """By how many seconds sooner the best would finish; None where there are no two finishes to compare."""
        if self.current is None or self.best is None or self.killed:
            return None
        return self.current.finish - self.best.finish

    word = "planned"
    """How the starts of `start_of` are called."""

    def start_of(self, candidate: Candidate) -> int:
        """Return when a candidate is to start, by what decides."""
        return candidate.start

    def finish_of(self, candidate: Candidate) -> int:
        """Return when a candidate is to finish, by what decides."""
        return self.start_of(candidate) + candidate.execution_time

    @property
    def worth_it(self) -> bool:
        """Whether the job should be changed."""
        if self.best is None or self.blocked is not None:
            return False
        return self.gain is None or self.gain >= max(self.least, 1)

    def why(self) -> str:
        """Return in words why the job should be changed, or left as it is."""
        if self.blocked is not None:
            return self.blocked
        if self.best is None:
            return "nothing else is possible"
        if self.current is None:
            return "it can never start in its present shape"
        if self.gain is None:
            return f"it takes {duration_text(self.current.execution_time)}, and would be killed before that"
        if self.doubted is not None:
            one = self.doubted
            return (
                f"{one.candidate.size_text} are predicted to finish {duration_text(one.gain)} sooner, but "
                f"with {one.size} it was planned {duration_text(one.late)} later than predicted"
            )
        if self.gain <= 0:
            return "nothing finishes sooner"
        best = f"{self.best.size_text} would finish {duration_text(self.gain)} sooner"
        return best if self.worth_it else f"{best}; the minimum for a change is {duration_text(self.least)}"


def reshaping(
    application: Application,
    availability: Availability,
    processors: int,
    walltime: int | None,
    *,
    nodes: int | None = None,
    expected: int | None = None,
    not_before: int | None = None,
    limits: Limits | None = None,
    max_processor_hours: float | None = None,
    threshold: float = 0.05,
    least: int = 60,
    late: Mapping[int, int] | None = None,
    refused: Collection[int] = (),
    blocked: str | None = None,
) -> Reshaping:
    """Return what could be made of a waiting job.

    Parameters
    ----------
    availability
        What it could get where it stands in the queue: without itself, and without those behind it.
    processors, walltime
        What it asks for now; None where its walltime has no limit.
    nodes
        Over how many nodes it is laid out, where that is known.
    expected
        Epoch second at which its scheduler expects it to start, where that is known.
    not_before
        Epoch second before which it does not start, whatever its shape.
    max_processor_hours
        The most that the run may be expected to use up on another shape.
    threshold
        The gain, as a part of the time from now to the finish, from which on it is changed.
    least
        The same in seconds; the larger of both counts.
    late
        By number of processors, by how many seconds its scheduler was seen to plan it later than predicted. What is not
        there is taken to be as late as the nearest that is, by the ratio.
    refused
        Numbers of processors that are out of the question; with such a one a job starts only if that is expected.
    blocked
        What it waits for whatever its shape, in words; nothing is worth a change then.

    Raises
    ------
    BadInput
        The application cannot run on so many processors, so that the job is another one's.
    """
    limits, now = limits or Limits(), availability.now
    refusal = application.refusal(processors)
    layout = None if refusal else _layout(application, availability, processors, nodes)
    laid_out = application.is_laid_out and isinstance(availability, LaidOut)
    time = 0
    if not refusal and (layout is not None or not laid_out):
        sizes, layouts = np.array([processors], np.int64), None if layout is None else [layout]
        time = int(application.execution_times(sizes, limits.speed, layouts)[0])
    if time <= 0:
        raise BadInput(
            f"the job asks for {many(processors, 'processor')}, which {application.name} does not allow "
            f"({refusal or 'its model has no time for this size'}); name the application file of this job"
        )
    asked, first = min(walltime or LONGEST, LONGEST), max(now, not_before or now)
    predicted = None
    if expected is not None or processors not in refused:
        predicted = _predicted(availability, processors, asked, walltime, limits, first, layout)
    seen, own, start = dict(late or {}), None, None
    if expected is not None:
        start = max(expected, now)
        if predicted is not None:
            own = seen[processors] = start - predicted
    elif predicted is not None:
        start = max(first, predicted + _lateness(processors, seen)[1])
    current = None
    if start is not None:
        current = Candidate(
            availability.scheduler, processors, asked, time, start, availability.kind, application.unit, layout
        )
    wanted = {availability.scheduler: limits}
    found = plan(
        application, availability, limits=wanted, not_before=not_before, max_processor_hours=max_processor_hours
    )
    possible = [one for one in found.candidates if one.processors not in refused]
    candidates = [replace(one, start=max(first, one.start + _lateness(one.processors, seen)[1])) for one in possible]
    candidates.sort(key=_order)
    best = candidates[0] if candidates else None
    ends = 0 if current is None else current.finish - now
    needed = max(least, round(threshold * ends))
    found = replace(found, candidates=candidates, best=best)
    result = Reshaping(now, current, best, needed, found, own, None, blocked)
    if current is None or result.killed or result.worth_it or not possible:
        return result
    leader = min(possible, key=_order)
    size, lost = _lateness(leader.processors, seen)
    gain = current.finish - leader.finish
    return replace(result, doubted=Doubted(leader, gain, size, lost)) if lost > 0 and gain >= max(needed, 1) else result


def _order(one: Candidate) -> tuple[int, int, int]:
    return one.finish, one.processors, one.start


def _predicted(
    availability: Availability,
    processors: int,
    asked: int,
    walltime: int | None,
    limits: Limits,
    first: int,
    layout: Layout | None,
) -> int | None:
    """Return when a job would start as it is, None if never: what breaks a limit waits for ever."""
    if limits.max_processors is not None and processors > limits.max_processors:
        return None
    if limits.max_walltime is not None and walltime is not None and walltime > limits.max_walltime:
        return None
    if layout is not None and isinstance(availability, LaidOut):
        anchor = availability.anchors_of([processors], [asked], [layout], first)
    else:
        anchor = availability.anchors(np.array([processors], np.int64), np.array([asked], np.int64), first)
    return None if anchor[0] == NEVER else int(anchor[0])


def _layout(application: Application, availability: Availability, size: int, nodes: int | None) -> Layout | None:
    """Return how a job of this size is laid out, by what its application takes; None if it is not, or cannot be."""
    if not application.is_laid_out or not isinstance(availability, LaidOut):
        return None
    largest = {device: availability.largest_node(device) for device in application.devices}
    found = application.layouts(size, {device: most for device, most in largest.items() if most > 0})
    return next((one for one in found if one.nodes == nodes), found[0] if found else None)


def _lateness(processors: int, seen: Mapping[int, int]) -> tuple[int, int]:
    """Return the most similar number of processors of which it is known how late it was planned, and how late."""
    if processors in seen or not seen:
        return processors, seen.get(processors, 0)
    near = min(seen, key=lambda size: (max(size, processors) / max(1, min(size, processors)), -seen[size]))
    return near, max(0, seen[near])
