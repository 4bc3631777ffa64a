"""OAR's Gantt chart: the spans in which jobs have resources, and the holes that are not used (GanttHoleStorage.pm).

- A job has its resources from its start until the end of its walltime, waiting jobs from their planned start on; the
  next one starts SCHEDULER_JOB_SECURITY_TIME and a second later. A job before a planned one must have ended this time
  before it begins.
- A hole between two jobs of at most SCHEDULER_GANTT_HOLE_MINIMUM_TIME is not used.
- Waiting besteffort jobs are planned with five minutes, whatever they request (``$besteffort_duration`` in the source
  of the schedulers).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gas.endpoints.oar.machine import HOLDING, Job

__all__ = ["BESTEFFORT_SECONDS", "DELIVERED", "SECURITY_TIME", "SHORTEST_HOLE", "Chart", "Span"]

SECURITY_TIME = 60
"""SCHEDULER_JOB_SECURITY_TIME if the site has not changed it (oar.conf)."""

SHORTEST_HOLE = 300
"""Default of SCHEDULER_GANTT_HOLE_MINIMUM_TIME (oar.conf)."""

BESTEFFORT_SECONDS = 300
"""Seconds for which OAR plans a besteffort job (``$besteffort_duration``), at least its security time."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Chart:
    """The rules of a site's chart, in seconds."""

    security_time: int = SECURITY_TIME
    shortest_hole: int = SHORTEST_HOLE

    @property
    def besteffort_seconds(self) -> int:
        """Seconds for which waiting besteffort jobs are planned."""
        return max(BESTEFFORT_SECONDS, self.security_time)

    def span(self, job: Job, now: int) -> Span | None:
        """Return the span in which a job has its resources, until the next one can start; None if it has none.

        A job that should already have ended gets a moment more.
        """
        start = job.expected if job.waiting or job.start is None else job.start
        if not job.active or start is None or job.walltime is None:
            return None
        if job.waiting and job.besteffort:
            return start, start + self.besteffort_seconds + 1
        end = start + job.walltime + self.security_time + 1
        if job.state in HOLDING and end <= now:
            end = now + self.security_time + 1
        return start, end

    def joined(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Return spans in order, merged if there is no hole between them or one that is too short to be used."""
        merged: list[Span] = []
        for start, end in sorted(spans):
            if merged and start - merged[-1][1] <= self.shortest_hole:
                merged[-1] = merged[-1][0], max(merged[-1][1], end)
            else:
                merged.append((start, end))
        return tuple(merged)


DELIVERED = Chart()
"""OAR's default rules."""
