"""OAR's Gantt chart: from when to when jobs have resources, and which holes are none (GanttHoleStorage.pm).

- A job has its resources from its start until its walltime is over, waiting jobs from their planned start on; the next
  one starts SCHEDULER_JOB_SECURITY_TIME and a second later. What comes before a planned job must be over for that time
  when it begins.
- Between two jobs a hole of at most SCHEDULER_GANTT_HOLE_MINIMUM_TIME is no hole.
- Besteffort jobs that wait are planned at five minutes, whatever they ask for (``$besteffort_duration`` in the
  schedulers' source).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gas.endpoints.oar.machine import HOLDING, Job

__all__ = ["BESTEFFORT_SECONDS", "DELIVERED", "SECURITY_TIME", "SHORTEST_HOLE", "Chart", "Span"]

SECURITY_TIME = 60
"""SCHEDULER_JOB_SECURITY_TIME if the site has not changed it (oar.conf)."""

SHORTEST_HOLE = 300
"""SCHEDULER_GANTT_HOLE_MINIMUM_TIME, as it is delivered (oar.conf)."""

BESTEFFORT_SECONDS = 300
"""For how long OAR plans a besteffort job (``$besteffort_duration``), at least its security time."""

Span = tuple[int, int]


@dataclass(frozen=True)
class Chart:
    """The rules of a site's chart, in seconds."""

    security_time: int = SECURITY_TIME
    shortest_hole: int = SHORTEST_HOLE

    @property
    def besteffort_seconds(self) -> int:
        """For how long besteffort jobs that wait are planned."""
        return max(BESTEFFORT_SECONDS, self.security_time)

    def span(self, job: Job, now: int) -> Span | None:
        """Return from when to when a job has its resources, until the next one can start; None if it has none.

        One that should have left already gets a moment more.
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
        """Return spans in order, as one where there is no hole between them, or one that is too short to be one."""
        merged: list[Span] = []
        for start, end in sorted(spans):
            if merged and start - merged[-1][1] <= self.shortest_hole:
                merged[-1] = merged[-1][0], max(merged[-1][1], end)
            else:
                merged.append((start, end))
        return tuple(merged)


DELIVERED = Chart()
"""The rules that OAR is delivered with."""
