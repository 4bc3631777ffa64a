"""Connections of the service: admission, replacement when it is full, and timeouts.

A client that only connects, or sends an endless request, costs the service a file, and a job needs files to start. So
there are two rooms. A *stranger* is a connection on which no request of a user has arrived yet, counted by its address;
with its first request it becomes one of that *user*. Each room has half of the places. When it is full, the party with
the most connections in it loses one, the oldest that is not being answered: connections without a token do not keep out
users, no address keeps out other addresses, and no user other users. Behind a proxy, all strangers have one address,
which does no harm: a client that sends a request at once is a stranger for only a few milliseconds.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import resource
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import h11
from fastapi.responses import JSONResponse
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from gas.service.gate import LEAST_RATE, VISITOR
from gas.service.refusals import refuse
from gas.service.rooms import Room

__all__ = ["HEAD_SECONDS", "PATIENCE", "Connection", "Connections", "Door", "most_connections"]

MOST_CONNECTIONS = 4096
"""Largest number of connections, even if the process may open more files: each may use some memory."""

HEAD_SECONDS = 10.0
"""Seconds in which a client must send the complete head of a request, from its connection (including a TLS handshake)
or from the end of the previous answer. Uvicorn closes idle connections after an answer earlier."""

DEFER_SECONDS = 5
"""Seconds for which the kernel keeps a connection without data to itself."""

PATIENCE = 15.0
"""Seconds in which a client must read at least a part of an answer; and all of it, in addition to the time that it
takes at `LEAST_RATE`."""

LOOK_SECONDS = 1.0
"""Largest interval between two checks of a connection, in seconds."""

MOST_DISCARDED = 2**18
"""Largest number of bytes that may follow a request answered before its body arrived. They are discarded, and no more
is read: the client can read the answer, and its connection is closed when the next request should have arrived."""

CROWDED_SECONDS = 2.0
"""Seconds for which a request waits if its user has the most connections and no place is left: a refused client
would return at once."""

AT_A_TIME = 64
"""Number of connections that are accepted before existing connections are served."""

log = logging.getLogger("gas.s3")


class Connections:
    """All connections of one service, in two rooms.

    Parameters
    ----------
    most
        Largest number of connections.
    """

    def __init__(self, most: int) -> None:
        self.strangers: Room[Connection] = Room(max(1, most // 2))
        self.users: Room[Connection] = Room(max(1, most - most // 2))

    def enter(self, connection: Connection) -> None:
        """Admit a connection, as a stranger."""
        _make_room(self.strangers)
        self.strangers.enter(connection, connection.address)

    def crowded(self, connection: Connection, user: str) -> bool:
        """Return whether a connection that becomes one of a user replaces another one of this user."""
        users = self.users
        return users.full and connection not in users and users.count(user) >= users.count(users.largest)

    def recognize(self, connection: Connection, user: str) -> None:
        """Record that a request of a user has arrived on a connection."""
        if self.users.party_of(connection) == user or not (connection in self.strangers or connection in self.users):
            return  # the same user again, or it is being closed
        self.leave(connection)
        _make_room(self.users)
        self.users.enter(connection, user)

    def leave(self, connection: Connection) -> None:
        """Forget a connection."""
        self.strangers.leave(connection)
        self.users.leave(connection)


def _make_room(room: Room[Connection]) -> None:
    while room.full:
        theirs = room.members(room.largest)
        given_up = next((connection for connection in theirs if not connection.answering), theirs[0])
        room.leave(given_up)
        given_up.give_way()


class Connection(H11Protocol):
    """One connection after it was accepted.

    Parameters
    ----------
    all
        All connections of the service.
    address
        Address of the client, by which shares are counted.
    config, state
        Those of uvicorn.
    """

    def __init__(self, all: Connections, address: str, config: Config, state: ServerState) -> None:
        super().__init__(config, state, {VISITOR: self})
        self.address = address
        self.entering: asyncio.Task[Any] | None = None
        self.begun = False  # it has a transport; with TLS, after the handshake
        self._all = all
        self._since = self.loop.time()  # the instant from which it waits for the head of a request
        self._timer: asyncio.TimerHandle | None = None
        self._discarded = 0
        self._unread, self._moved_at = 0, self._since
        self._most_unread, self._clear_at = 0, self._since

    @property
    def answering(self) -> bool:
        """Whether at least the head of a request has arrived and the request is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    async def recognize(self, user: str) -> None:
        """Record that a request of a user has arrived; with a delay if the user has too many connections."""
        if self._all.crowded(self, user):
            await asyncio.sleep(CROWDED_SECONDS)
        self._all.recognize(self, user)

    def give_way(self) -> None:
        """Close, to make room for another connection."""
        if not self.begun:
            if self.entering is not None:
                self.entering.cancel()
        elif self.answering:
            self.transport.abort()
        else:
            self._refuse(_FULL)

    # ------------------------------------------------------------------------------------------- what asyncio calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start."""
        super().connection_made(transport)
        self.begun = True
        self._look_again_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close."""
        self._all.leave(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Continue reading, but only a limited part of a request that was answered before its end."""
        if self.cycle is not None and self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY:
            self._discarded += len(data)
            if self._discarded > MOST_DISCARDED:
                self.flow.pause_reading()
                return
        super().data_received(data)

    def resume_writing(self) -> None:
        """Continue: the client has read nearly everything."""
        self._most_unread, self._clear_at = 0, self.loop.time()
        super().resume_writing()

    # -------------------------------------------------------------------------------------------------------- inside

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._since = self.loop.time()
        self._discarded = 0
        super().on_response_complete()

    def _look_again_later(self) -> None:
        self._timer = self.loop.call_later(min(LOOK_SECONDS, PATIENCE / 3, HEAD_SECONDS / 3), self._look)

    def _look(self) -> None:
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        if unread != self._unread or not unread:
            self._unread, self._moved_at = unread, now
        if not unread:
            self._most_unread, self._clear_at = 0, now
        self._most_unread = max(self._most_unread, unread)
        stalled = now - self._moved_at > PATIENCE
        if stalled or now - self._clear_at > PATIENCE + self._most_unread / LEAST_RATE:
            self.transport.abort()
            return
        if now - self._since > HEAD_SECONDS and not (self.answering or unread or self.transport.is_closing()):
            incomplete = self.conn.trailing_data[0] and self.conn.their_state is h11.IDLE
            text = f"the head of the request did not arrive within {HEAD_SECONDS:g} s; send it again"
            self._refuse(_on_the_wire(refuse(408, "Timeout", text)) if incomplete else b"")
        self._look_again_later()

    def _refuse(self, answer: bytes) -> None:
        """Close, with an answer to the next request of the client."""
        if self.scheme == "https":  # no TLS shutdown handshake
            self.transport.abort()
            return
        if answer:
            self.transport.write(answer)
        self.transport.close()


class Door:
    """Accepts connections, instead of asyncio's server, which cannot refuse one before its TLS handshake.

    Parameters
    ----------
    listener
        A listening socket.
    make
        Returns the connection of a client with an address.
    connections
        The set that connections join.
    encryption
        The TLS context; None for no TLS.
    """

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[str], Connection],
        connections: Connections,
        encryption: ssl.SSLContext | None,
    ) -> None:
        self._listener, self._make, self._encryption = listener, make, encryption
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._at_a_time = max(1, min(AT_A_TIME, connections.strangers.places // 2))
        self._retry: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        # Connections without data stay in the kernel, which keeps thousands of them at almost no cost.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_SECONDS)
        listener.listen(socket.SOMAXCONN)  # more can wait to be accepted than are admitted
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        """Accept no more connections, and close those that have only been accepted."""
        self._loop.remove_reader(self._listener)
        if self._retry is not None:
            self._retry.cancel()
        for connection in [c for c in self._connections.strangers if not c.begun]:
            connection.give_way()

    async def wait_closed(self) -> None:
        """Return; uvicorn waits for connections itself."""

    def _accept(self) -> None:
        for _ in range(self._at_a_time):
            try:
                client, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                log.error("no connections are accepted for a second: %s", error, extra={"event": "not_accepting"})
                self._loop.remove_reader(self._listener)
                self._retry = self._loop.call_later(1, self._loop.add_reader, self._listener, self._accept)
                return
            client.setblocking(False)
            connection = self._make(_party(address))
            self._connections.enter(connection)
            connection.entering = self._loop.create_task(self._let_in(client, connection))
            connection.entering.add_done_callback(partial(self._has_entered, client, connection))

    async def _let_in(self, client: socket.socket, connection: Connection) -> None:
        options: dict[str, Any] = {}
        if self._encryption is not None:
            options = {"ssl": self._encryption, "ssl_handshake_timeout": HEAD_SECONDS, "ssl_shutdown_timeout": 2.0}
        with suppress(OSError):  # it has left, speaks no TLS, or was too slow
            await self._loop.connect_accepted_socket(lambda: connection, client, **options)

    def _has_entered(self, client: socket.socket, connection: Connection, task: asyncio.Task[None]) -> None:
        """Close a client that was not let in, also if its task was cancelled before it began."""
        connection.entering = None
        if not connection.begun:
            self._connections.leave(connection)
            client.close()


def most_connections() -> int:
    """Return the largest number of connections: half of the files that the process may open; the rest is for jobs."""
    return max(8, min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


def _party(address: Any) -> str:
    """Return the party of an address: the address itself; for IPv6, the part that belongs to one client."""
    try:
        found = ipaddress.ip_address(str(address[0]).partition("%")[0])
    except (ValueError, IndexError, TypeError):
        return ""  # a Unix socket
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return str(ipaddress.ip_network((found, 64), strict=False))
        found = found.ipv4_mapped
    return str(found)


def _on_the_wire(answer: JSONResponse) -> bytes:
    """Return the bytes of an answer without a request."""
    reasons = {408: "Request Timeout", 503: "Service Unavailable"}
    lines = [
        f"HTTP/1.1 {answer.status_code} {reasons[answer.status_code]}",
        "Content-Type: application/json",
        f"Content-Length: {len(answer.body)}",
        "Retry-After: 5",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + bytes(answer.body)


_FULL = _on_the_wire(refuse(503, "TooManyConnections", "too many connections are open; try again in a few seconds"))
