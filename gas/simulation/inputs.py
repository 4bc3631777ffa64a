"""The accepted jobs and options of a simulation: whole numbers in range, and instants whose sums stay within int64.

Machine code does not detect overflows of int64, so inputs that could lead to one are refused. No event is further from
second 0 than the furthest given instant plus the sum of all estimates and walltimes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.availability import MOST_PROCESSORS
from gas.errors import BadInput
from gas.simulation.schedule import NOT_CANCELLED, Reservation
from workloads import RigidJobs

__all__ = [
    "LIMIT",
    "Reach",
    "checked_cancellations",
    "checked_machine",
    "checked_places",
    "checked_priorities",
    "checked_reservations",
    "reach_of",
    "whole",
]

HIGHEST_PRIORITY = 2**31 - 1
"""The highest priority of a job; the lowest is its negative."""

LIMIT = 2**61
"""All instants of a simulation are less than this many seconds from second 0; differences stay below 2**62."""


def whole(value: object, name: str) -> int:
    """Return an integer of Python or numpy as an int.

    Raises
    ------
    BadInput
        Anything else: a truth value, a text, a float even if it is whole.
    """
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    raise BadInput(f"{name} {value!r}: is not an integer but {type(value).__name__}; give a whole number as an int")


def checked_machine(processors: int) -> int:
    """Return the size of a machine as an int."""
    size = whole(processors, "machine")
    if not 1 <= size <= MOST_PROCESSORS:
        raise BadInput(f"machine of {size} processors: must have 1 to {MOST_PROCESSORS}")
    return size


def checked_cancellations(cancellations: ArrayLike, jobs: RigidJobs) -> NDArray[np.int64]:
    """Return the instants of cancellation as int64, one per job."""
    given = _integers(cancellations, "cancellations", "whole seconds, NOT_CANCELLED for a job that is not cancelled")
    if given.shape != jobs.id.shape:
        raise BadInput(f"cancellations have the shape {given.shape}; one for each of the {len(jobs)} jobs is needed")
    if len(jobs) and int(given.max()) > NOT_CANCELLED:
        at = int(given.argmax())
        raise BadInput(
            f"cancellation {given[at]} of job {jobs.id[at]}: is above {NOT_CANCELLED}, which marks a job that is not "
            "cancelled"
        )
    return given.astype(np.int64, copy=False)


def checked_priorities(priorities: ArrayLike, jobs: RigidJobs, policy: str) -> NDArray[np.int64]:
    """Return priorities as int64, one per job, under a policy that supports them."""
    if policy in ("fcfs", "easy"):
        raise BadInput(f'priorities: apply to policies that plan every job, not to "{policy}"; leave them out')
    given = _integers(priorities, "priorities", "whole numbers, of which higher ones come first")
    if given.shape != jobs.id.shape:
        raise BadInput(f"priorities have the shape {given.shape}; one for each of the {len(jobs)} jobs is needed")
    wrong = np.flatnonzero((given < -HIGHEST_PRIORITY) | (given > HIGHEST_PRIORITY))
    if wrong.size:
        at = int(wrong[0])
        raise BadInput(
            f"priority {given[at]} of job {jobs.id[at]}: must be from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY}"
        )
    return given.astype(np.int64, copy=False)


def checked_places(places: ArrayLike, jobs: RigidJobs) -> NDArray[np.int64]:
    """Return indices of jobs as int64, all of them valid."""
    given = np.atleast_1d(
        _integers(places, "ask", "places in `jobs` from 0 on, as numpy.flatnonzero(jobs.id == 17) finds them")
    )
    if given.ndim > 1:
        raise BadInput(f"ask: has the shape {given.shape}; give one row of places in `jobs`")
    wrong = np.flatnonzero((given < 0) | (given >= len(jobs)))
    if wrong.size:
        known = f"0 to {len(jobs) - 1}" if len(jobs) else "none, as there are no jobs"
        raise BadInput(
            f"ask {given[wrong[0]]}: is not a place in `jobs`, which are {known}; "
            "numpy.flatnonzero(jobs.id == 17) finds that of job number 17"
        )
    return given.astype(np.int64, copy=False)


def checked_reservations(reservations: Sequence[Reservation], machine: int) -> tuple[Reservation, ...]:
    """Return the reservations with int fields, each possible on the machine."""
    checked, fields = [], Reservation._fields
    for number, given in enumerate(reservations):
        here = f"reservation {number}:"
        if not isinstance(given, Sequence) or len(given) != len(fields):
            raise BadInput(f"{here} {given!r} does not have the {len(fields)} values {', '.join(fields)}")
        one = Reservation(*(whole(value, f"{here} {name}") for name, value in zip(fields, given, strict=True)))
        if not 1 <= one.processors <= machine:
            raise BadInput(f"{here} {one.processors} processors: the machine has {machine}; request 1 to {machine}")
        if one.walltime < 1:
            raise BadInput(f"{here} walltime {one.walltime}: must be at least 1 second")
        checked.append(one)
    return tuple(checked)


class Reach(NamedTuple):
    """How far from second 0 a simulation may extend.

    Attributes
    ----------
    furthest, name
        The given instant that is furthest from second 0, and its name.
    walltimes
        The sum of all estimates and of the walltimes of reservations, in seconds.
    """

    furthest: int
    name: str
    walltimes: int

    @property
    def left(self) -> int:
        """The largest sum of all walltimes that is still within the limit, plus one."""
        return LIMIT - abs(self.furthest) - self.walltimes

    def checked(self) -> Reach:
        """Return this reach if everything stays within the limit; otherwise raise `BadInput`."""
        if self.walltimes >= LIMIT:
            raise BadInput(
                f"all estimates and walltimes together are {self.walltimes} s; their sum must stay below 2**61 "
                f"({LIMIT}), so name shorter ones"
            )
        if abs(self.furthest) + self.walltimes >= LIMIT:
            raise BadInput(
                f"{self.name} {self.furthest}, with estimates and walltimes of {self.walltimes} s in all, is too far "
                f"from second 0: together they must stay below 2**61 ({LIMIT}); count times from a second 0 closer to "
                "the jobs"
            )
        return self


def reach_of(jobs: RigidJobs, cancellations: NDArray[np.int64] | None, reservations: Sequence[Reservation]) -> Reach:
    """Return the reach of jobs (after the overrun rule), cancellations and reservations."""
    instants = [(0, "second")]
    if len(jobs):
        instants += [(int(jobs.submit[at]), f"the submission of job {jobs.id[at]} at") for at in (0, -1)]
    if cancellations is not None:
        cancelled = np.flatnonzero(cancellations != NOT_CANCELLED)
        if cancelled.size:
            those = cancellations[cancelled]
            instants += [
                (int(cancellations[at]), f"the cancellation of job {jobs.id[at]} (NOT_CANCELLED if it is not) at")
                for at in (cancelled[those.argmin()], cancelled[those.argmax()])
            ]
    for number, one in enumerate(reservations):
        instants += [
            (one.submit, f"reservation {number}: the submission at"),
            (one.start, f"reservation {number}: the start"),
        ]
    furthest, name = max(instants, key=lambda instant: abs(instant[0]))
    return Reach(furthest, name, _sum(jobs.estimate) + sum(one.walltime for one in reservations))


def _integers(values: ArrayLike, name: str, wanted: str) -> NDArray[Any]:
    try:
        given = np.asarray(values)
    except ValueError:
        raise BadInput(f"{name}: rows of different lengths; give {wanted}") from None
    if given.size == 0:
        return given.astype(np.int64)  # an empty list would become floats
    if given.dtype.kind not in "iu":
        raise BadInput(f"{name} {given.flat[0]}: is of type {given.dtype}, not an integer; give {wanted}")
    return given


def _sum(values: NDArray[np.int64]) -> int:
    """Return the exact sum of non-negative numbers of any size."""
    if not values.size or int(values.max()) < 2**62 // values.size:
        return int(values.sum())
    return sum(values.tolist())
