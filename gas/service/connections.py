"""One HTTP connection, with an end to patience: slow and deaf clients keep neither a connection nor a file open.

uvicorn waits for ever for a request's head and for a client that does not read its answer. A thousand such connections
and the process has no file left to open: nobody else is let in, and no job can be started.
"""

from __future__ import annotations

import asyncio
import resource

from uvicorn.protocols.http.h11_impl import H11Protocol

from gas.service.refusals import refuse

__all__ = ["BACKLOG", "PATIENCE", "Connection", "most_connections"]

BACKLOG = 128
"""How many connections asyncio accepts at a time, before it asks any of them whether it is one too many."""

PATIENCE = 15.0
"""Seconds in which a client must have sent the whole head of a request, or read at least something of an answer."""


class Connection(H11Protocol):
    """What uvicorn makes for each connection (``uvicorn.Config(http=Connection)``)."""

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0  # from when on it waits for a request
    _unread = 0
    _read_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or turn away who is one too many."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.write(_too_many())
            transport.close()
            return
        self._since = self.loop.time()
        self._look_again_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._since = self.loop.time()
        super().on_response_complete()

    def _look_again_later(self) -> None:
        self._timer = self.loop.call_later(PATIENCE / 3, self._look)

    def _look(self) -> None:
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        if unread != self._unread or not unread:
            self._unread, self._read_at = unread, now
        answering = self.cycle is not None and not self.cycle.response_complete
        if now - self._read_at > PATIENCE:
            self.transport.abort()
        elif now - self._since > PATIENCE and not answering and not unread:
            self.transport.close()
        else:
            self._look_again_later()


def most_connections() -> int:
    """Return how many connections are let in: half of the files that the process may open; the rest is for jobs."""
    return max(8, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


def _too_many() -> bytes:
    answer = refuse(503, "TooManyConnections", "too many connections are open; try again in some seconds")
    lines = [
        "HTTP/1.1 503 Service Unavailable",
        "Content-Type: application/json",
        f"Content-Length: {len(answer.body)}",
        "Retry-After: 5",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + bytes(answer.body)
