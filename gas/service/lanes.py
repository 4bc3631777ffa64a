"""Limits on concurrent requests by kind; waiting requests are served by user, in turn.

Each kind has its own lane and threads, so slow requests of one kind do not delay another kind, and many requests of one
user do not delay other users.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from anyio import CapacityLimiter, to_thread

from gas.errors import TooMany

__all__ = ["Lane", "Lanes", "Turns"]

T = TypeVar("T")


class Turns(Generic[T]):
    """Waiting requests by user: users take turns, and the requests of each are served in order.

    Parameters
    ----------
    places
        Number of concurrent requests.
    each
        Largest number of them per user.
    """

    def __init__(self, places: int, each: int) -> None:
        self._free, self._each = places, each
        self._going: Counter[str] = Counter()
        self._waiting: dict[str, deque[T]] = {}  # the next user comes first

    def waiting(self, user: str) -> int:
        """Return the number of waiting requests of a user."""
        return len(self._waiting.get(user, ()))

    def add(self, user: str, item: T) -> None:
        """Add a waiting request."""
        self._waiting.setdefault(user, deque()).append(item)

    def withdraw(self, user: str, item: T) -> None:
        """Remove a request that no longer waits, if it is there."""
        queue = self._waiting.get(user, deque())
        if item in queue:
            queue.remove(item)
            if not queue:
                del self._waiting[user]

    def next(self) -> tuple[str, T] | None:
        """Remove the next request to serve, and return it with its user; None if there is none."""
        if not self._free:
            return None
        user = next((user for user in self._waiting if self._going[user] < self._each), None)
        if user is None:
            return None
        queue = self._waiting[user]
        item = queue.popleft()
        del self._waiting[user]
        if queue:
            self._waiting[user] = queue  # behind all others
        self._going[user] += 1
        self._free -= 1
        return user, item

    def ended(self, user: str) -> None:
        """Release the place of a served request."""
        self._free += 1
        self._going[user] -= 1
        if not self._going[user]:
            del self._going[user]


class Lane:
    """Places for one kind of request; used from one event loop.

    Parameters
    ----------
    places
        Number of concurrent requests, each in a thread.
    each
        Largest number of them per user; by default half of them.
    waiting
        Largest number of waiting requests per user; None means no limit.
    what
        The noun for the requests in the message to a user with too many.
    """

    def __init__(self, places: int, *, each: int | None = None, waiting: int | None = None, what: str = "requests"):
        self._turns: Turns[asyncio.Future[None]] = Turns(places, each or max(1, places // 2))
        self._threads = CapacityLimiter(places)
        self._most_waiting, self._what = waiting, what
        self._seconds = 1.0  # recent durations of requests

    async def run(self, user: str, call: Callable[[], T]) -> T:
        """Return the result of a call, made in a thread when it is the user's turn.

        Raises
        ------
        TooMany
            The user has the largest allowed number of waiting requests.
        """
        async with self._place(user):
            began = asyncio.get_running_loop().time()
            try:
                return await to_thread.run_sync(call, limiter=self._threads)
            finally:
                self._seconds += (asyncio.get_running_loop().time() - began - self._seconds) / 8

    @asynccontextmanager
    async def _place(self, user: str) -> AsyncIterator[None]:
        turns = self._turns
        waiting = turns.waiting(user)
        if self._most_waiting is not None and waiting >= self._most_waiting:
            raise TooMany(
                f"{waiting} {self._what} of {user} are already waiting, which is the limit; wait for their answers",
                waiting * self._seconds,
            )
        turn = asyncio.get_running_loop().create_future()
        turns.add(user, turn)
        self._call_next()
        try:
            await turn
        except asyncio.CancelledError:
            turns.withdraw(user, turn)
            if not turn.cancelled():  # called at the same moment
                turns.ended(user)
                self._call_next()
            raise
        try:
            yield
        finally:
            turns.ended(user)
            self._call_next()

    def _call_next(self) -> None:
        while (called := self._turns.next()) is not None:
            user, turn = called
            if turn.cancelled():  # the caller has left, and will notice in a moment
                self._turns.ended(user)
            else:
                turn.set_result(None)


class Lanes:
    """The lanes of the service."""

    def __init__(self) -> None:
        self.changes = Lane(8, each=2)  # one is prepared while another is written
        self.reads = Lane(8)
        self.lists = Lane(2)  # long ones keep a processor busy
        self.output = Lane(4)  # files may be long, and on a disk that hangs
