"""The result of a simulation: starts and ends of jobs, and the rules of the simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.printable import Shown, many
from workloads import Overrun, RigidJobs

__all__ = [
    "ADJUSTMENTS",
    "NEVER_STARTED",
    "NOT_CANCELLED",
    "ORDERS",
    "POLICIES",
    "QUEUES",
    "Adjustment",
    "Order",
    "Policy",
    "QueueOrder",
    "Reservation",
    "Schedule",
    "checked_overrun",
    "checked_rules",
]

Policy = Literal["fcfs", "easy", "conservative", "s3", "s3-1999", "conservative-replan", "conservative-static"]
"""The policies, which decide the jobs to start (`gas guide rules`, 5 and 6).

=====================  ================================================================================================
fcfs                   in submission order, no backfilling
easy                   the head of the queue cannot be delayed, all others can (Mu'alem & Feitelson 2001, 2.2)
conservative           every job has a planned start; after an early end, one pass that moves jobs earlier (2.1)
s3                     conservative, that pass repeated until nothing moves
s3-1999                conservative, after each move beginning again at the head (Cirne & Berman 1999, 4.3)
conservative-replan    conservative, but the whole plan is made anew after an early end: starts can slip
conservative-static    conservative without any revision
=====================  ================================================================================================
"""

POLICIES: tuple[Policy, ...] = get_args(Policy)

Order = Literal["instant", "event"]
"""How the events of one second are handled: in rounds, or one at a time as in the simulator pyss."""

ORDERS: tuple[Order, ...] = get_args(Order)

QueueOrder = Literal["fcfs", "wfp"]
"""The order of the queue: by submission, or by present priority (`gas.simulation.ranking`)."""

QUEUES: tuple[QueueOrder, ...] = get_args(QueueOrder)

Adjustment = Literal["regular", "selective"]
"""The jobs that the scheduler plans with adjusted walltimes: waiting and running jobs, or only waiting ones
(Tang et al. 2013, 5.2).
"""

ADJUSTMENTS: tuple[Adjustment, ...] = get_args(Adjustment)

NEVER_STARTED = -(2**62)
"""The start of a job that was cancelled while it waited; a start or an end that a simulation has not yet reached."""

NOT_CANCELLED = 2**62
"""The cancellation of a job that is not cancelled."""


class Reservation(NamedTuple):
    """Processors requested from an instant on; once granted, they are never moved."""

    submit: int
    """The second in which they are requested."""
    processors: int
    """From 1 to the machine's."""
    start: int
    """The second from which they are requested."""
    walltime: int
    """Seconds, at least 1."""


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Shown):
    """Jobs with their starts and ends, in seconds of the log; arrays have one value per job, in the order of `jobs`.

    Attributes
    ----------
    jobs
        As simulated: no run time exceeds its estimate.
    start
        `NEVER_STARTED` for a job that was cancelled while it waited.
    end
        When it released its processors, or was cancelled without having started. `NEVER_STARTED` for a job that has
        not ended, in a simulation that has stopped before its end.
    promise
        The start promised to each job at its submission; None under policies that promise nothing.
    policy
        The name of the policy: a `Policy`, or that of one written in Python (`gas.policies.deciding`).
    reserved
        The start of each reservation; `NEVER_STARTED` for one that has not been requested yet.
    priority
        The priority of each job; None if all were the same.
    queue, adjustment
        The order of the queue, and the jobs that were planned with adjusted walltimes; None: none.
    engine_seconds
        Duration of the event loop.
    """

    jobs: RigidJobs
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    promise: NDArray[np.int64] | None = None
    policy: str | None = None
    order: Order = "instant"
    overrun: Overrun = "kill"
    reservations: tuple[Reservation, ...] = ()
    reserved: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    engine_seconds: float = 0.0
    queue: QueueOrder = "fcfs"
    adjustment: Adjustment | None = None
    priority: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end", "promise", "priority"):
            column = getattr(self, name)
            if column is not None and (column.dtype != np.int64 or column.shape != self.jobs.id.shape):
                raise ValueError(f"{name} has {column.dtype}{column.shape}, expected int64{self.jobs.id.shape}")

    def __repr__(self) -> str:
        policy = "unknown policy" if self.policy is None else self.policy
        standing = f", {self.unfinished:,} unfinished" if self.unfinished else ""
        return f"<Schedule of {many(len(self), 'job')} on {many(self.jobs.machine, 'processor')}: {policy}{standing}>"

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def started(self) -> NDArray[np.bool_]:
        """Which jobs started."""
        started: NDArray[np.bool_] = self.start != NEVER_STARTED
        return started

    @property
    def unfinished(self) -> int:
        """Number of jobs without an end, and of reservations without a start; 0 for a finished simulation."""
        return int(np.count_nonzero(self.end == NEVER_STARTED) + np.count_nonzero(self.reserved == NEVER_STARTED))

    def finished(self) -> Schedule:
        """Return this schedule if the simulation is finished.

        Raises
        ------
        BadInput
            The simulation has not reached its end, so it has no figures, files or pictures.
        """
        if self.unfinished == 0:
            return self
        jobs = int(np.count_nonzero(self.end == NEVER_STARTED))
        parts = [(jobs, "job", "not ended"), (self.unfinished - jobs, "reservation", "no start yet")]
        standing = " and ".join(
            f"{count:,} {thing}{'s have' if count > 1 else ' has'} {what}" for count, thing, what in parts if count
        )
        raise BadInput(f"the simulation stands before its end: {standing}; run it to the end (run() without a limit)")


def checked_overrun(overrun: str) -> None:
    """Raise `BadInput` for an unknown rule."""
    _known("overrun rule", overrun, get_args(Overrun))


def _known(name: str, value: str | None, known: Sequence[str | None]) -> None:
    if value not in known:
        raise BadInput(f'{name} "{value}" is not known; known: {", ".join(map(str, known))}')


def checked_rules(
    policy: str, order: str, overrun: str, queue: str, adjustment: str | None, reservations: Sequence[Reservation]
) -> None:
    """Raise `BadInput` for an unknown rule, or for rules that exclude each other.

    Adjusted walltimes and queues in another order than submission are defined only where Tang et al. (2013) use them:
    under EASY backfilling without reservations.
    """
    checked_overrun(overrun)
    for name, value, known in (
        ("policy", policy, POLICIES),
        ("order", order, ORDERS),
        ("queue", queue, QUEUES),
        ("adjustment", adjustment, (None, *ADJUSTMENTS)),
    ):
        _known(name, value, known)
    asked = [f'queue "{queue}"'] * (queue != "fcfs") + [f'adjustment "{adjustment}"'] * (adjustment is not None)
    if asked and policy != "easy":
        raise BadInput(f'{asked[0]}: applies to policy "easy", not to "{policy}"; leave it out, or simulate "easy"')
    if asked and order != "instant":
        raise BadInput(f'{asked[0]}: applies to order "instant", not to "{order}"; leave it out, or use that order')
    if asked and reservations:
        raise BadInput(
            f"{asked[0]}: excludes reservations, of which there are {len(reservations)}; leave one of the two out"
        )
