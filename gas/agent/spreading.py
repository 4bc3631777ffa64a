"""Plans over several machines: selects the machines that can start together, and plans with their lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gas.agent.choice import Task, why_nothing
from gas.agent.options import PlanOptions
from gas.agent.schedulers import identity_of, lists_of
from gas.application import Application
from gas.coallocation import COST, MOST_MACHINES, CoallocatedPlan, Coallocation, coallocate
from gas.endpoints import Answer, Endpoint, S3Endpoint
from gas.errors import BadInput, Infeasible
from gas.planner import Candidate
from gas.times import duration_text

__all__ = ["LEAD_SECONDS", "MOST_APART", "PlannedTogether", "Spread", "named_twice", "other_clocks", "planned_together"]

MOST_APART = 5
"""Seconds between the clocks of two machines that are to start together."""

LEAD_SECONDS = 10
"""Least seconds before its start at which a coallocation is planned: its parts are reserved, their jobs submitted."""


@dataclass(frozen=True)
class Spread:
    """How many machines an application may use at once; `gas.coallocation.coallocate` explains the attributes."""

    most: int = MOST_MACHINES
    cost: float = COST
    lead: int = LEAD_SECONDS


@dataclass(frozen=True, repr=False)
class PlannedTogether:
    """A plan for one machine or several, and the schedulers' answers on which it is based; see `Planned`."""

    plan: CoallocatedPlan
    answers: Sequence[Answer]
    not_before: int | None = None
    deadline: int | None = None

    def __repr__(self) -> str:
        found = self.plan
        best = "no request is possible" if found.best is None else found.best.size_text
        return f"<{type(self).__name__} of {found.single.application}: {best} ({found.why})>"

    @property
    def best(self) -> Coallocation:
        """The request that finishes first; raises `Infeasible` if there is none."""
        if self.plan.best is None:
            raise Infeasible(f"{why_nothing(self.plan.single)}; {self.plan.why}")
        return self.plan.best

    def endpoint(self, part: Candidate) -> Endpoint:
        """Return the scheduler of a part."""
        return next(a.endpoint for a in self.answers if a.name == part.scheduler and a.availability is not None)

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object of schema gas.coallocation/1."""
        return self.plan.to_wire([answer.to_wire() for answer in self.answers])


def planned_together(
    application: Application,
    answers: Sequence[Answer],
    options: PlanOptions,
    spread: Spread,
    remark: Callable[[str], object],
    without: Mapping[str, str] | None = None,
) -> PlannedTogether:
    """Find the request that finishes first on one machine or several.

    Parameters
    ----------
    without
        The reason why a machine gets no part, by its name.

    Raises
    ------
    BadInput
        As for `coallocate`; also for predictions, probes and the walk, which support one machine only.
    """
    for what, given in (
        ("--predict", options.forecasting is not None),
        ("--probe", options.probes > 0),
        ("--algorithm walk", options.algorithm != "exact"),
    ):
        if given:
            raise BadInput(f"{what}: applies to one machine only; leave it out, or --coallocate")
    not_here = dict(without or {})
    others = other_clocks([answer for answer in answers if answer.name not in not_here])
    task = Task.of(application, [a for a in answers if a.name not in others], options, None, remark, remark)
    found = coallocate(
        application,
        lists_of(answers),
        most=spread.most,
        cost=spread.cost,
        lead=spread.lead,
        not_before=task.not_before,
        deadline=task.deadline,
        max_processor_hours=options.max_processor_hours,
        tolerance=options.tolerance,
        limits={a.name: a.limits for a in answers if a.availability is not None},
        without={**others, **not_here},
    )
    silent = [answer.name for answer in answers if answer.availability is None]
    return PlannedTogether(replace(found, silent=silent), list(answers), task.not_before, task.deadline)


def named_twice(answers: Sequence[Answer]) -> dict[str, str]:
    """Return the schedulers that were named before by another address, with the reason."""
    first: dict[str, Answer] = {}
    found = {}
    several = [(a, a.endpoint) for a in answers if a.availability is not None and isinstance(a.endpoint, S3Endpoint)]
    for answer, endpoint in several if len(several) > 1 else ():
        identity = identity_of(endpoint)
        if identity is not None and (other := first.setdefault(identity, answer)) is not answer:
            found[answer.name] = f"it is {other.name} ({other.endpoint.address}) under another address"
    return found


def other_clocks(answers: Sequence[Answer]) -> dict[str, str]:
    """Return the machines whose clocks differ too much for a common start, with the reason.

    The largest group of machines whose clocks agree stays; of equal groups, the one with the machine named first.
    """
    # By the arrival of each list: a list that took seconds to arrive does not mean a slow clock.
    clocks = {
        a.name: a.availability.now - a.at for a in answers if a.availability is not None and a.endpoint.keeps_own_clock
    }
    groups = [[n for n, clock in clocks.items() if 0 <= clock - first <= MOST_APART] for first in clocks.values()]
    agreeing = min(groups, key=lambda group: (-len(group), list(clocks).index(group[0])), default=[])
    fastest, slowest = (most((clocks[name] for name in agreeing), default=0.0) for most in (max, min))
    of = f"that of {agreeing[0]}" if len(agreeing) == 1 else f"those of {len(agreeing)} others"
    found = {}
    for name, clock in clocks.items():
        if name not in agreeing:
            apart = clock - slowest if clock > fastest else fastest - clock
            side = "ahead of" if clock > fastest else "behind"
            found[name] = (
                f"its clock is {duration_text(round(apart))} {side} {of}; parts start together within {MOST_APART} s"
            )
    return found
