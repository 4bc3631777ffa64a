"""The event stream: the changes of a `Feed`, sent to one client as server-sent events.

id       life and number of the change, to be sent as Last-Event-ID when reconnecting
event    machine (first of all, and after the jobs of each change), job, or reset: changes were missed, read all again
data     the object of GET /v1/machine, or one of GET /v1/jobs as this client may see it

New changes are sent in one piece: a moving queue changes thousands of jobs per second, and sending a piece costs far
more than its contents.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.responses import StreamingResponse

from gas.errors import TooMany
from gas.service.feed import Change, Feed
from gas.service.jobs import Job
from gas.service.rooms import Room

__all__ = ["MOST_FOLLOWERS", "EventStream", "Follower", "Followers", "events"]

MOST_FOLLOWERS = 256
"""Largest number of concurrent streams: each costs a little with every change."""

WELCOME_SECONDS = 5.0
"""Seconds without events after which a client gets a comment, and its token is checked."""

BATCH = 256
"""Number of changes that a stream takes at a time; only the feed keeps what a slow reader has not received yet."""


class EventStream(StreamingResponse):
    """Server-sent events as bytes; FastAPI's own response takes them one by one, through three tasks."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})


class Follower:
    """The place of one stream."""

    def __init__(self) -> None:
        self.gave_way = False
        self.wake: Callable[[], None] = lambda: None

    def give_way(self) -> None:
        """End the stream to free its place for another user."""
        self.gave_way = True
        self.wake()


class Followers:
    """The present streams and their users; used from one event loop.

    Parameters
    ----------
    most
        Largest number of streams.
    each
        Largest number per user; None means no limit except the demand of other users.
    """

    def __init__(self, most: int = MOST_FOLLOWERS, each: int | None = None) -> None:
        self._room: Room[Follower] = Room(most)
        self._each = most if each is None else each

    @contextmanager
    def place(self, user: str) -> Iterator[Follower]:
        """Hold a place for a stream of a user.

        If none is left, the user with the most streams loses the oldest one to a user with at least two fewer.

        Raises
        ------
        TooMany
            The user has as many streams as one may, or a fair share of all.
        """
        room = self._room
        own = room.count(user)
        if own >= self._each:
            raise TooMany(
                f"{user} has {own} open event streams, which is the limit (gas serve --max-streams); "
                "close a stream, or poll instead",
                60,
            )
        if room.full:
            if room.count(room.largest) < own + 2:
                raise TooMany(f"{room.places} clients are already connected, which is the limit; poll instead", 60)
            given_up = room.members(room.largest)[0]
            room.leave(given_up)
            given_up.give_way()
        follower = Follower()
        room.enter(follower, user)
        try:
            yield follower
        finally:
            room.leave(follower)


async def events(
    feed: Feed,
    last_event_id: str | None,
    machine: Callable[[], dict[str, Any]],
    seen_job: Callable[[Job], dict[str, Any]],
    seen_machine: Callable[[dict[str, Any]], dict[str, Any]],
    still_welcome: Callable[[], bool],
    follower: Follower,
) -> AsyncIterator[bytes]:
    """Yield the events for one client, as bytes, until the service stops or the client loses its right.

    For a client that reads too slowly, only its position is kept here; its connection is closed in time
    (`gas.service.connections`), and it gets what it has missed when it returns.

    Parameters
    ----------
    last_event_id
        The last event that the client has received, by its own statement.
    machine
        Returns the present state of the machine; may be slow.
    seen_job, seen_machine
        Return the parts that this client may see.
    follower
        The client's place.
    """
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(news.set)

    def event(kind: str, number: int, data: dict[str, Any]) -> bytes:
        return format_sse_event(event=kind, id=f"{feed.life}-{number}", data_str=json.dumps(data))

    def changed(change: Change) -> bytes:
        if change.job is not None:
            return event("job", change.number, seen_job(change.job))
        return event("machine", change.number, seen_machine(change.machine or {}))

    follower.wake = wake
    feed.follow(wake)
    try:
        position = feed.last if last_event_id is None else _position(feed, last_event_id)
        yield event("machine", max(0, position), seen_machine(await asyncio.to_thread(machine)))
        while not (feed.closed or follower.gave_way):
            news.clear()
            changes = feed.since(position, BATCH)
            if changes is None:
                position = feed.last
                yield event("reset", position, {})
                yield event("machine", position, seen_machine(await asyncio.to_thread(machine)))
                continue
            if not still_welcome():
                return
            if changes:
                position = changes[-1].number
                yield b"".join(map(changed, changes))
                await asyncio.sleep(0)  # a long backlog must not delay requests
                continue
            try:
                await asyncio.wait_for(news.wait(), WELCOME_SECONDS)
            except TimeoutError:
                yield KEEPALIVE_COMMENT
    finally:
        feed.unfollow(wake)


def _position(feed: Feed, given: str) -> int:
    """Return the number of the client's last event; -1, which is never given, if it has none or is from another run."""
    life, _, number = given.partition("-")
    return int(number) if life == feed.life and number.isascii() and number.isdigit() and len(number) < 19 else -1
