"""The jobs of a scheduler that ``gas status`` lists: by user, state and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from documents.fields import nearest
from gas.agent.states import ENDED
from gas.errors import BadInput
from gas.times import parse_past_instant

__all__ = ["MOST_ENDED", "STATES", "Selection"]

STATES = ("queued", "reserved", "running", *ENDED)

MOST_ENDED = 10_000
"""Largest number of ended jobs that are requested from a scheduler."""


@dataclass(frozen=True)
class Selection:
    """Conditions for jobs to be listed; without any, all are listed.

    Attributes
    ----------
    since
        As the user wrote it; jobs that ended before are left out.
    """

    users: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    since: str | None = None

    @classmethod
    def of(cls, users: Sequence[str] | None, states: Sequence[str] | None, since: str | None) -> Selection:
        """Return the conditions from options; raise `BadInput` for an unknown state or time."""
        for state in states or ():
            if state not in STATES:
                raise BadInput(f"--state {state}: is not a state ({', '.join(STATES)}){nearest(state, STATES)}")
        if since is not None:
            parse_past_instant(since, 2**33, "--since")
        return cls(tuple(users or ()), tuple(states or ()), since)

    def ended(self, given: int) -> int:
        """Return the number of ended jobs to request if the user asks for the last `given`."""
        asks_for_ended = self.since is not None or any(state in ENDED for state in self.states)
        return MOST_ENDED if given == 0 and asks_for_ended else given

    def among(self, jobs: Sequence[dict[str, Any]], now: int) -> list[dict[str, Any]]:
        """Return the jobs that meet the conditions; `now` is the present time of their scheduler."""
        since = None if self.since is None else parse_past_instant(self.since, now, "--since")
        return [
            job
            for job in jobs
            if (not self.users or job.get("user") in self.users)
            and (not self.states or job["state"] in self.states)
            and (since is None or job["finished"] is None or job["finished"] >= since)
        ]
