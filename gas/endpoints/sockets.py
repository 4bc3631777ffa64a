"""Connections with one deadline for the whole exchange, including head and body of an answer.

The timeout of a socket restarts with every byte, so a server that sends a byte now and then could delay forever. Here
each read gets the time left until the deadline.
"""

from __future__ import annotations

import io
import math
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

__all__ = ["DeadlineAdapter", "DeadlineConnection", "Patience", "within"]


class Patience:
    """The time limits of an exchange.

    Attributes
    ----------
    until
        Instant of the monotonic clock at which it ends.
    silence
        Seconds without a byte after which it ends, even before the deadline.
    """

    def __init__(self, until: float = math.inf, silence: float = math.inf) -> None:
        self.until, self.silence = until, silence

    def left(self) -> float | None:
        """Return the seconds left for the next byte, None without a limit.

        Raises
        ------
        TimeoutError
            No time is left.
        """
        left = min(self.until - time.monotonic(), self.silence)
        if left <= 0:
            raise TimeoutError("timed out")
        return None if math.isinf(left) else left


_PATIENCE: ContextVar[Patience] = ContextVar("patience", default=Patience())  # noqa: B039  # it is never changed


@contextmanager
def within(patience: Patience) -> Iterator[None]:
    """Limit the exchanges that begin inside the block."""
    token = _PATIENCE.set(patience)
    try:
        yield
    finally:
        _PATIENCE.reset(token)


class _Incoming(io.RawIOBase):
    """The incoming stream of a socket; like `socket.makefile`, it keeps the socket open until it is closed itself."""

    def __init__(self, made: socket.socket, patience: Patience) -> None:
        self._socket, self._patience = made, patience
        self._raw = socket.SocketIO(made, "r")
        made._io_refs += 1  # type: ignore[attr-defined]  # as `socket.makefile` does, which cannot return this class

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(self._patience.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Socket:
    """A socket whose reads and writes end at the deadline of their exchange."""

    def __init__(self, made: socket.socket) -> None:
        self._made = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        """Return the incoming stream; clients use no other kind of file."""
        return io.BufferedReader(_Incoming(self._made, _PATIENCE.get()))

    def sendall(self, data: Any) -> None:
        """Send all data."""
        patience, rest = _PATIENCE.get(), memoryview(data)
        while rest:
            self._made.settimeout(patience.left())
            rest = rest[self._made.send(rest) :]


class _Deadline:
    """Methods of both kinds of connections beyond urllib3's."""

    sock: Any
    timeout: Any

    def connect(self) -> None:
        """Connect before the deadline."""
        left = _PATIENCE.get().left()
        if left is not None:
            given = self.timeout if isinstance(self.timeout, int | float) else math.inf
            self.timeout = min(left, given)
        super().connect()  # type: ignore[misc]
        self.sock = _Socket(self.sock)


class DeadlineConnection(_Deadline, HTTPConnection):
    """A connection without encryption."""


class _SecureConnection(_Deadline, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = DeadlineConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


_POOLS = {"http": _Pool, "https": _SecurePool}


class DeadlineAdapter(HTTPAdapter):
    """The transport adapter of a session."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Make connections with deadlines."""
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = dict(_POOLS)

    def proxy_manager_for(self, *args: Any, **options: Any) -> Any:
        """Make connections with deadlines through a proxy, too."""
        manager = super().proxy_manager_for(*args, **options)
        manager.pool_classes_by_scheme = dict(_POOLS)
        return manager
