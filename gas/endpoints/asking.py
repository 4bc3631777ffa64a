"""Querying several endpoints at once; one that does not answer is reported, not fatal.

Each query runs in a daemon thread, which is waited for only until its patience ends: a hanging scheduler delays neither
the others, nor Ctrl-C, nor the end of the program.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gas.availability import Availability, AvailabilityList, NodeAvailability
from gas.endpoints.endpoint import Endpoint
from gas.endpoints.file import FileEndpoint
from gas.errors import Unreachable, outcome_of
from gas.planner import Limits

__all__ = ["PATIENCE_SECONDS", "Answer", "ask", "ask_again"]

PATIENCE_SECONDS = 60.0
"""Seconds to wait for an endpoint that gives no timeout of its own."""

MOST_MARGIN_SECONDS = 60.0
"""An endpoint is waited for twice as long as its timeout, as it may query more than once; at most this much longer."""

AT_A_STRETCH_SECONDS = 0.2


@dataclass(frozen=True)
class Answer:
    """The answer of one endpoint: its availability list or an error, and the time it took.

    Attributes
    ----------
    limits, remarks
        Of the endpoint, after the query.
    at
        The time of the answer, by `time.monotonic`.
    """

    endpoint: Endpoint
    availability: Availability | None
    error: Exception | None
    seconds: float
    limits: Limits = Limits()  # noqa: RUF009  # frozen
    remarks: tuple[str, ...] = ()
    at: float = field(default_factory=time.monotonic, compare=False)

    @property
    def name(self) -> str:
        """The name of this scheduler in plans."""
        return self.endpoint.name if self.availability is None else self.availability.scheduler

    def to_wire(self) -> dict[str, Any]:
        """Return the entry of ``endpoints`` in a plan."""
        return {
            "name": self.name,
            "ok": self.error is None,
            "error": None if self.error is None else str(self.error),
            "speed": self.limits.speed,
            "remarks": list(self.remarks),
        }


def ask(endpoints: Sequence[Endpoint]) -> list[Answer]:
    """Query all endpoints at the same time, and return their answers in the given order.

    Lists carry the names of their endpoints. An endpoint given by its address alone gets the name that its scheduler
    uses, unless another one has that name too.
    """
    queries = [_Query(endpoint) for endpoint in endpoints]
    for query in queries:
        if not isinstance(query.endpoint, FileEndpoint):
            query.start()
    for query in queries:
        # A thread left reading standard input would make Python abort at exit; and a user who types needs time.
        if isinstance(query.endpoint, FileEndpoint):
            query.ask()
    answers = [query.answer() for query in queries]
    own = Counter(a.availability.scheduler for a in answers if a.availability is not None)
    given = {e.name for e in endpoints if e.name != e.address}
    named = []
    for answer in answers:
        if answer.availability is not None:
            name = answer.endpoint.name
            itself = answer.availability.scheduler
            if name == answer.endpoint.address and own[itself] == 1 and itself not in given:
                name = itself
            if name != itself:
                answer = replace(answer, availability=replace(answer.availability, scheduler=name))
        named.append(answer)
    return named


def ask_again(answers: Sequence[Answer]) -> list[Answer]:
    """Query again the live endpoints that answered; their lists keep their names.

    A list in a file is kept: standard input can be read only once.
    """
    old = [a for a in answers if a.availability is not None and not isinstance(a.endpoint, FileEndpoint)]
    found = dict(zip(map(id, old), ask([a.endpoint for a in old]), strict=True))
    renewed = []
    for before in answers:
        answer = found.get(id(before), before)
        if answer.availability is not None and answer.name != before.name:
            answer = replace(answer, availability=replace(answer.availability, scheduler=before.name))
        renewed.append(answer)
    return renewed


class _Query(threading.Thread):
    """A query of an endpoint in progress."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(name=f"query of {endpoint.name}", daemon=True)
        self.endpoint = endpoint
        self._patience = _patience(endpoint)
        self._began = time.monotonic()
        self._answer: Answer | None = None
        self._unforeseen: BaseException | None = None

    def run(self) -> None:
        """Query in a thread, in which even an endpoint's sys.exit() is only an error of that endpoint."""
        try:
            self.ask()
        except BaseException as problem:
            error = Unreachable(f"{self.endpoint.name}: {problem!r}")
            self._answer = Answer(self.endpoint, None, error, time.monotonic() - self._began)

    def ask(self) -> None:
        """Query the endpoint."""
        availability: Availability | None = None
        error: Exception | None = None
        limits, remarks = Limits(), tuple[str, ...]()
        try:
            limits = self.endpoint.limits
            availability = _checked(self.endpoint, self.endpoint.availability())
            limits, remarks = self.endpoint.limits, tuple(map(str, self.endpoint.remarks))
        except Exception as problem:
            if outcome_of(problem) is None and not _from_plug_in(self.endpoint):
                self._unforeseen = problem
            availability, error = None, problem
        self._answer = Answer(self.endpoint, availability, error, time.monotonic() - self._began, limits, remarks)

    def answer(self) -> Answer:
        """Wait for the answer, as long as the patience lasts."""
        until = self._began + self._patience
        while self.is_alive() and (left := until - time.monotonic()) > 0:
            # If an interruption comes just before the wait, Python notices it only after the wait.
            self.join(min(left, AT_A_STRETCH_SECONDS))
        if self._unforeseen is not None:
            raise self._unforeseen
        if self._answer is not None:
            return self._answer
        problem = Unreachable(f"{self.endpoint.name}: has not answered within {self._patience:.3g} s; gave up")
        return Answer(self.endpoint, None, problem, time.monotonic() - self._began)


def _patience(endpoint: Endpoint) -> float:
    """Return the seconds to wait for an endpoint."""
    timeout = endpoint.timeout
    if not isinstance(timeout, int | float) or not 0 < timeout < threading.TIMEOUT_MAX - MOST_MARGIN_SECONDS:
        return PATIENCE_SECONDS
    return timeout + min(timeout, MOST_MARGIN_SECONDS)


def _checked(endpoint: Endpoint, answered: object) -> Availability:
    if not isinstance(answered, AvailabilityList | NodeAvailability):
        raise Unreachable(f"{endpoint.name}: returned {type(answered).__name__} instead of an availability list")
    return answered


def _from_plug_in(endpoint: Endpoint) -> bool:
    """Whether this endpoint comes from another package: its errors must not disturb the others."""
    return not type(endpoint).__module__.startswith("gas.")
