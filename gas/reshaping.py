"""Decides whether a waiting job should get another shape after a change of the queue.

Pure: takes the availability list for the job's place in the queue, returns a `Reshaping`. Small gains are ignored:
plans are estimates, and each change of a job costs the scheduler time.

The scheduler has a plan for the job as it is; for other shapes there are only predictions. If the scheduler plans a
shape later than predicted, trusting predictions would change the job for a start that it never gets, and back again. So
each shape is expected to be as late as the most similar shape that the scheduler is known to have planned for this job;
that is mostly the current one, so that predictions are compared with predictions. A shape that was planned sooner than
predicted does not affect others.
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
    """A shape with a sufficient predicted gain that is not trusted.

    Attributes
    ----------
    gain
        Seconds by which it would finish sooner.
    size, late
        A processor count for which the scheduler planned the job later than predicted, and by how many seconds.
    """

    candidate: Candidate
    gain: int
    size: int
    late: int


@dataclass(frozen=True)
class Reshaping:
    """A waiting job as it is, and its best shape.

    Attributes
    ----------
    current
        The job with its present request, if it runs to its end; None if it can never start.
    best
        The shape that finishes first; None if none is possible.
    least
        Gain in seconds below which nothing is changed.
    plan
        All possible shapes, with the expected delay.
    late
        Seconds by which the scheduler plans the job with its present request later than predicted, negative if sooner;
        None if either is unknown.
    doubted
        The shape that would be worth a change if predictions were trusted.
    blocked
        Why the job cannot start in any shape.
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
        """Whether the job with its present request would be killed at its walltime."""
        return self.current is not None and self.current.walltime < self.current.execution_time

    @property
    def gain(self) -> int | None:
        """Seconds by which the best shape would finish sooner; None unless both finishes are known."""
        if self.current is None or self.best is None or self.killed:
            return None
        return self.current.finish - self.best.finish

    word = "planned"
    """Label of the starts of `start_of`."""

    def start_of(self, candidate: Candidate) -> int:
        """Return the start of a candidate by the criterion that decides."""
        return candidate.start

    def finish_of(self, candidate: Candidate) -> int:
        """Return the finish of a candidate by the criterion that decides."""
        return self.start_of(candidate) + candidate.execution_time

    @property
    def worth_it(self) -> bool:
        """Whether the job should be changed."""
        if self.best is None or self.blocked is not None:
            return False
        return self.gain is None or self.gain >= max(self.least, 1)

    def why(self) -> str:
        """Return in words why the job should be changed, or not."""
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
            if one.candidate.processors == self.current.processors:
                return "no other size finishes sooner, and where it waits is up to the scheduler"
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
    """Return the best shape of a waiting job.

    Parameters
    ----------
    availability
        Free processors without the job itself and without the jobs behind it in the queue.
    processors, walltime
        Its present request; None if its walltime has no limit.
    nodes
        Number of its nodes, if known.
    expected
        Epoch second at which its scheduler expects it to start, if known.
    not_before
        Epoch second before which it cannot start in any shape.
    max_processor_hours
        Upper limit on the expected cost of the run in another shape.
    threshold
        Minimum gain, as a share of the time from now to the job's finish.
    least
        Minimum gain in seconds; the larger of the two counts.
    late
        By processor count, the seconds by which the scheduler planned the job later than predicted. Other counts take
        the value of the nearest one, by ratio.
    refused
        Processor counts that are excluded; a job that has one of them starts only if `expected` is known.
    blocked
        Why the job cannot start in any shape, in words; then no change is worth while.

    Raises
    ------
    BadInput
        The application cannot run on its processor count, so the job belongs to another application.
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
            f"the job requests {many(processors, 'processor')}, which {application.name} does not allow "
            f"({refusal or 'its model has no time for this size'}); give the application file of this job"
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
    """Return the start of a job with its present request; None if never: it may exceed a limit."""
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
    """Return the layout of a job of this size by the rules of its application; None if it has none."""
    if not application.is_laid_out or not isinstance(availability, LaidOut):
        return None
    largest = {device: availability.largest_node(device) for device in application.devices}
    found = application.layouts(size, {device: most for device, most in largest.items() if most > 0})
    return next((one for one in found if one.nodes == nodes), found[0] if found else None)


def _lateness(processors: int, seen: Mapping[int, int]) -> tuple[int, int]:
    """Return the most similar processor count with a known delay, and the delay."""
    if processors in seen or not seen:
        return processors, seen.get(processors, 0)
    near = min(seen, key=lambda size: (max(size, processors) / max(1, min(size, processors)), -seen[size]))
    return near, max(0, seen[near])
