"""One submission, and all that became of it: what the oracle remembers."""

from __future__ import annotations

from dataclasses import dataclass, field

from gas.service.changes import Reshape
from gas.service.jobs import JobRequest


def shape_of(wanted: Reshape) -> tuple[int, int]:
    """Return the processors and the walltime that a request names."""
    assert wanted.processors is not None
    assert wanted.walltime is not None
    return wanted.processors, wanted.walltime


@dataclass
class Asked:
    """One submission and all that became of it.

    Attributes
    ----------
    maybe
        An attempt ended without an answer, or with one that leaves it open: it may exist or not.
    refused
        The latest answer says that nothing was changed.
    lost
        A restored backup is older than it: it need not exist any more.
    shapes
        Processors and walltimes that it may have: what was answered last, and what was asked for since.
    reshaping
        A request for another shape is on its way, which may put its start off.
    reshapes
        All requests for another shape so far.
    accepting
        The starts that were accepted, or may have been.
    """

    token: str
    request: JobRequest
    user: str
    id: int | None = None
    pending: int = 0
    maybe: bool = False
    refused: str = ""
    answered_at: float | None = None
    lost: bool = False
    cancel_asked: bool = False
    never_started: bool = False  # an answer says that it was cancelled before it started
    promise: tuple[int, float] | None = None
    state: str = ""
    executions: int = 0
    began: float = 0.0
    ended: float | None = None
    status: int | None = None
    processors: int = 0
    walltime: int = 0
    disturbed_run: bool = False
    seen_at: float = -1.0
    shapes: set[tuple[int, int]] = field(default_factory=set)
    reshaping: bool = False
    reshapes: list[Reshape] = field(default_factory=list)
    accepting: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.shapes = {(self.request.processors, self.request.walltime)}
