"""Options of ``gas simulate`` for some policies: refused if no policy uses them; the others are named in a note."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gas.cli.tables import note
from gas.errors import BadInput
from gas.policies.finding import OwnPolicy
from gas.simulation.schedule import Order, Policy

if TYPE_CHECKING:
    from gas.simulation.conditional import Conditional

__all__ = ["conditional_of", "knows_classes", "refuse_by_event", "tell_of_ignored"]

_WITHOUT_CLASSES = ("fcfs", "easy")


def refuse_by_event(policies: Sequence[Policy | OwnPolicy], order: Order) -> None:
    """Raise `BadInput` if a user's policy is to run in another order than by instants."""
    own = [one.named for one in policies if isinstance(one, OwnPolicy)]
    if own and order != "instant":
        raise BadInput(f"--order {order}: applies to the policies of Gas, not to {own[0]}; leave it out")


def conditional_of(text: str, policies: Sequence[Policy | OwnPolicy], order: Order, classes: object) -> Conditional:
    """Return the value of ``--notice``, or raise `BadInput` if it applies to none of the policies."""
    from gas.simulation.conditional import parse_conditional

    if "s3" not in policies or order != "instant" or classes:
        raise BadInput(f"--notice {text}: applies to policy s3 in order instant, without classes")
    return parse_conditional(text)


def knows_classes(policy: Policy | OwnPolicy) -> bool:
    """Return whether a policy prefers higher classes."""
    return not isinstance(policy, OwnPolicy) and policy not in _WITHOUT_CLASSES


def tell_of_ignored(policies: Sequence[Policy | OwnPolicy], notice: str | None, classes: Sequence[str]) -> None:
    """Name the policies on which an option has no effect."""
    ignored = [str(one) for one in policies if one != "s3"]
    if notice is not None and ignored:
        are = "is" if len(ignored) == 1 else "are"
        note(f"gas: --notice {notice}: applies to s3; {', '.join(ignored)} {are} simulated without it")
    ignored = [str(one) for one in policies if not knows_classes(one)]
    if classes and ignored:
        prefers = "prefers" if len(ignored) == 1 else "prefer"
        note(f"gas: --class: {', '.join(ignored)} {prefers} no class; the results of each class are still shown")
