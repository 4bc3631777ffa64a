"""Checks of requests in place of an arriving job: the request takes part, or the reason why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.errors import BadInput
from gas.simulation.branching import plain_answers
from gas.simulation.inputs import Reach, whole
from gas.simulation.schedule import POLICIES, Adjustment
from workloads import Overrun

__all__ = ["Asked", "checked_adjusted", "checked_answer", "checked_answers", "checked_reserved"]


class Asked(NamedTuple):
    """The job that waits for an answer, and the limits of the answer.

    Attributes
    ----------
    known
        Processors, estimate and run time of the job in the log; None if no job waits for an answer.
    reach
        How far from second 0 the simulation may extend at present.
    """

    known: tuple[int, int, int] | None
    machine: int
    overrun: Overrun
    reach: Reach


def checked_answers(asked: Asked, given: Sequence[ArrayLike]) -> NDArray[np.int64]:
    """Return valid answers, in columns; checked together, or one by one to name an error."""
    rows: list[NDArray[Any]] = [np.atleast_1d(each) for each in given]
    if len({len(row) for row in rows}) > 1:
        counts = ", ".join(str(len(row)) for row in rows)
        raise BadInput(f"answers: {counts} processors, estimates and run times; give one of each for every answer")
    if asked.known is not None:
        answers = plain_answers(rows, asked.machine, asked.reach.left + asked.known[1], asked.overrun)
        if answers is not None:
            return answers
    checked = [checked_answer(asked, *one)[:3] for one in zip(*rows, strict=True)]
    return np.array(checked, np.int64).reshape(-1, 3).T.copy()


def checked_answer(
    asked: Asked, processors: int | None, estimate: int | None, run_time: int | None
) -> tuple[int, int, int, Reach]:
    """Return a valid answer, and how far from second 0 the simulation can extend with it."""
    if asked.known is None:
        raise BadInput("no job waits for an answer; run() returns the next one that does")
    size, before, lasts = asked.known
    size = size if processors is None else whole(processors, "processors")
    limit = before if estimate is None else whole(estimate, "estimate")
    lasts = lasts if run_time is None else whole(run_time, "run_time")
    if not 1 <= size <= asked.machine:
        raise BadInput(f"processors {size}: the machine has {asked.machine}; answer 1 to {asked.machine}")
    if limit < 1 or lasts < 0:
        raise BadInput(f"estimate {limit} and run time {lasts}: must be at least 1 and 0 seconds")
    if lasts > limit:
        lasts, limit = (limit, limit) if asked.overrun == "kill" else (lasts, lasts)
    reach = asked.reach._replace(walltimes=asked.reach.walltimes + limit - before)
    return size, limit, lasts, reach.checked()


def checked_reserved(instant: int, policy: str, submit: int, reach: Reach) -> Reach:
    """Return how far the simulation can extend with a job that is reserved from an instant on."""
    at = whole(instant, "reserved_from")
    if policy in ("fcfs", "easy"):
        others = ", ".join(one for one in POLICIES if one not in ("fcfs", "easy"))
        raise BadInput(f'reserved_from {at}: policy "{policy}" does not plan every job; choose one of {others}')
    if at < submit:
        raise BadInput(f"reserved_from {at}: is before the job's submission at {submit}; give that or a later instant")
    if abs(at) > abs(reach.furthest):
        reach = reach._replace(furthest=at, name="a reservation from")
    return reach.checked()


def checked_adjusted(adjusted: int | None, limit: int, adjustment: Adjustment | None) -> int:
    """Return the walltime by which a job with this estimate is planned while it waits."""
    if adjusted is None:
        return limit
    seconds = whole(adjusted, "adjusted")
    if adjustment is None:
        raise BadInput(
            f'adjusted {seconds}: the adjustment does not use it; choose adjustment "regular" or "selective"'
        )
    if not 1 <= seconds <= limit:
        raise BadInput(
            f"adjusted {seconds}: must be 1 to {limit} s, the estimate; a scheduler can assume a shorter run time "
            "than requested, but never a longer one"
        )
    return seconds
