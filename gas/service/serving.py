"""The parts of one service, as an argument of the routes, which all services of a process share.

Routes are built once, when they are imported: reading their signatures takes longer than all else in a service's start.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial, wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from fastapi import Depends, Request

from gas.service.lanes import Lane, Lanes
from gas.service.limits import Limits
from gas.service.live import LiveScheduler
from gas.service.planners import Planners
from gas.service.rights import Principal
from gas.service.stream import Followers
from gas.service.tokens import Tokens

__all__ = ["Here", "Serving", "in_lane"]

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True)
class Serving:
    """The parts of one service that its routes use."""

    scheduler: LiveScheduler
    planners: Planners
    lanes: Lanes
    tokens: Tokens | None
    limits: Limits
    followers: Followers

    def machine_for(self, machine: dict[str, Any], caller: Principal) -> dict[str, Any]:
        """Return the state of the machine with the caller's user, role and limits."""
        known: dict[str, Any] = {"user": caller.user, "role": caller.role, "access": self.tokens is not None}
        known["predicted_coverage"] = self.scheduler.coverage
        known["classes"] = self.scheduler.classes.to_wire(caller.user)
        return {**machine, **known, "limits": vars(self.limits)}


async def _here(request: Request) -> Serving:
    serving = request.app.state.serving
    assert isinstance(serving, Serving), "create_app sets it"
    return serving


Here = Annotated[Serving, Depends(_here)]
"""The service of a request, as an argument of a route."""


def in_lane(
    name: Literal["changes", "reads", "lists", "output"],
) -> Callable[[Callable[P, T]], Callable[P, Coroutine[Any, Any, T]]]:
    """Return a decorator that runs a route in a lane of its service, by the user of its argument ``caller``."""

    def decorate(route: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(route)
        async def in_turn(*args: P.args, **options: P.kwargs) -> T:
            here, caller = options["here"], options["caller"]
            assert isinstance(here, Serving)
            assert isinstance(caller, Principal)
            lane: Lane = getattr(here.lanes, name)
            return await lane.run(caller.user, partial(route, *args, **options))

        return in_turn

    return decorate
