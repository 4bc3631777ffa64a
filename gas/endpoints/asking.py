"""Asking several endpoints at once for their lists; one that does not answer is reported, not fatal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from gas.availability import AvailabilityList
from gas.endpoints.endpoint import Endpoint
from gas.errors import outcome_of

__all__ = ["Answer", "ask"]


@dataclass(frozen=True)
class Answer:
    """What one endpoint answered: a list, or the error in its place, and how long it took."""

    endpoint: Endpoint
    availability: AvailabilityList | None
    error: Exception | None
    seconds: float

    @property
    def name(self) -> str:
        """What plans call this scheduler."""
        return self.endpoint.name if self.availability is None else self.availability.scheduler

    def to_wire(self) -> dict[str, Any]:
        """Return the entry of ``endpoints`` in a plan."""
        error = None if self.error is None else str(self.error)
        return {"name": self.name, "ok": self.error is None, "error": error}


def ask(endpoints: Sequence[Endpoint]) -> list[Answer]:
    """Ask all endpoints at the same time, and return their answers in the given order.

    A list bears its endpoint's name. An endpoint that was named by its address alone bears the name that the
    scheduler gives itself, unless another one has that name too.
    """
    if not endpoints:
        return []
    with ThreadPoolExecutor(len(endpoints)) as pool:
        answers = list(pool.map(_ask_one, endpoints))
    own = Counter(a.availability.scheduler for a in answers if a.availability is not None)
    given = {e.name for e in endpoints if e.name != e.address}
    named = []
    for answer in answers:
        if answer.availability is not None:
            name = answer.endpoint.name
            itself = answer.availability.scheduler
            if name == answer.endpoint.address and own[itself] == 1 and itself not in given:
                name = itself
            answer = replace(answer, availability=replace(answer.availability, scheduler=name))
        named.append(answer)
    return named


def _ask_one(endpoint: Endpoint) -> Answer:
    began = time.perf_counter()
    try:
        availability, problem = endpoint.availability(), None
    except Exception as error:
        if outcome_of(error) is None and not _from_plug_in(endpoint):
            raise
        availability, problem = None, error
    return Answer(endpoint, availability, problem, time.perf_counter() - began)


def _from_plug_in(endpoint: Endpoint) -> bool:
    """Whether somebody else wrote this endpoint: what it does wrong must not disturb the others."""
    return not type(endpoint).__module__.startswith("gas.")
