"""The event stream: what a `Feed` records, told to one client as server-sent events.

id       life and number of the change, to come back with as Last-Event-ID
event    machine (first of all, and after the jobs of each change), job, or reset: something was missed, read anew
data     the object of GET /v1/machine, or one of GET /v1/jobs as this client may see it
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from fastapi.sse import ServerSentEvent

from gas.service.feed import Feed
from gas.service.jobs import Job

__all__ = ["events"]

WELCOME_SECONDS = 5.0
"""How often it is asked whether a client is still welcome while nothing happens."""


async def events(
    feed: Feed,
    last_event_id: str | None,
    machine: Callable[[], dict[str, Any]],
    tell_job: Callable[[Job], dict[str, Any]],
    tell_machine: Callable[[dict[str, Any]], dict[str, Any]],
    still_welcome: Callable[[], bool],
) -> AsyncIterator[ServerSentEvent]:
    """Yield the events that one client gets, until the service stops or the client is no longer welcome.

    Parameters
    ----------
    last_event_id
        Where the client left off, as it says.
    machine
        Returns how the machine stands now; may take its time.
    tell_job, tell_machine
        Return what this client may see.
    """
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(news.set)

    def event(kind: str, number: int, data: dict[str, Any]) -> ServerSentEvent:
        return ServerSentEvent(event=kind, id=f"{feed.life}-{number}", raw_data=json.dumps(data))

    feed.follow(wake)
    try:
        position = feed.last if last_event_id is None else _position(feed, last_event_id)
        yield event("machine", max(0, position), tell_machine(await asyncio.to_thread(machine)))
        while not feed.closed:
            news.clear()
            changes = feed.since(position)
            if changes is None:
                position = feed.last
                yield event("reset", position, {})
                yield event("machine", position, tell_machine(await asyncio.to_thread(machine)))
                continue
            if not still_welcome():
                return
            for change in changes:
                if change.job is not None:
                    yield event("job", change.number, tell_job(change.job))
                else:
                    yield event("machine", change.number, tell_machine(change.machine or {}))
                position = change.number
            if not changes:
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), WELCOME_SECONDS)
    finally:
        feed.unfollow(wake)


def _position(feed: Feed, given: str) -> int:
    """Return the number that a client left off at; -1, which was never given, if it is of another life or none."""
    life, _, number = given.partition("-")
    return int(number) if life == feed.life and number.isascii() and number.isdigit() and len(number) < 19 else -1
