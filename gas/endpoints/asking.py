"""Asking several endpoints at once for what they have free; one that does not answer is reported, not fatal.

Each is asked in a thread that is not waited for longer than its patience lasts, nor at the end of the program: a
scheduler that hangs neither holds up the others nor Ctrl-C.
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
"""For how long an endpoint is waited for that does not say how long it takes."""

MOST_MARGIN_SECONDS = 60.0
"""An endpoint that says so is waited for twice as long, as it may ask more than once, but no more than this longer."""

AT_A_STRETCH_SECONDS = 0.2


@dataclass(frozen=True)
class Answer:
    """What one endpoint answered: what it has free, or the error in its place, and how long it took.

    Attributes
    ----------
    limits, remarks
        Of the endpoint, after it was asked.
    at
        When that was, by `time.monotonic`.
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
        """What plans call this scheduler."""
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
    """Ask all endpoints at the same time, and return their answers in the given order.

    What they answer bears its endpoint's name. An endpoint that was named by its address alone bears the name that the
    scheduler gives itself, unless another one has that name too.
    """
    questions = [_Question(endpoint) for endpoint in endpoints]
    for question in questions:
        if not isinstance(question.endpoint, FileEndpoint):
            question.start()
    for question in questions:
        # A thread left reading standard input would have Python abort at exit; and who types takes their time.
        if isinstance(question.endpoint, FileEndpoint):
            question.ask()
    answers = [question.answer() for question in questions]
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
    """Ask those again that are live and have answered; their lists keep the names that they had.

    A list in a file stays as it is: standard input can be read only once.
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


class _Question(threading.Thread):
    """An endpoint that is being asked."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(name=f"asking {endpoint.name}", daemon=True)
        self.endpoint = endpoint
        self._patience = _patience(endpoint)
        self._began = time.monotonic()
        self._answer: Answer | None = None
        self._unforeseen: BaseException | None = None

    def run(self) -> None:
        """Ask in a thread, where not even an endpoint's sys.exit() is more than their own error."""
        try:
            self.ask()
        except BaseException as problem:
            error = Unreachable(f"{self.endpoint.name}: {problem!r}")
            self._answer = Answer(self.endpoint, None, error, time.monotonic() - self._began)

    def ask(self) -> None:
        """Ask."""
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
            # Of an interruption in the last moment before it waits, Python learns when it has waited.
            self.join(min(left, AT_A_STRETCH_SECONDS))
        if self._unforeseen is not None:
            raise self._unforeseen
        if self._answer is not None:
            return self._answer
        problem = Unreachable(f"{self.endpoint.name}: has not answered within {self._patience:.3g} s; gave up")
        return Answer(self.endpoint, None, problem, time.monotonic() - self._began)


def _patience(endpoint: Endpoint) -> float:
    """Return for how many seconds an endpoint is waited for."""
    timeout = endpoint.timeout
    if not isinstance(timeout, int | float) or not 0 < timeout < threading.TIMEOUT_MAX - MOST_MARGIN_SECONDS:
        return PATIENCE_SECONDS
    return timeout + min(timeout, MOST_MARGIN_SECONDS)


def _checked(endpoint: Endpoint, answered: object) -> Availability:
    if not isinstance(answered, AvailabilityList | NodeAvailability):
        raise Unreachable(f"{endpoint.name}: answered {type(answered).__name__} instead of an availability list")
    return answered


def _from_plug_in(endpoint: Endpoint) -> bool:
    """Whether this endpoint comes from another package: what it does wrong must not disturb the others."""
    return not type(endpoint).__module__.startswith("gas.")
