"""The app on a socket: `serve` for a service of its own, `Embedded` for one inside another program."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import uvicorn

from gas.errors import BadInput, Conflict, Unreachable
from gas.service.app import create_app
from gas.service.connections import Connection, Connections, Door, most_connections
from gas.service.file_system import network_file_system
from gas.service.limits import Limits
from gas.service.listening import listen, url_of
from gas.service.live import LiveScheduler
from gas.service.planners import Planners
from gas.service.tokens import Tokens

__all__ = ["Embedded", "Encryption", "ask_to_drain", "hold_state", "serve"]


@dataclass(frozen=True)
class Encryption:
    """TLS, by uvicorn's own options of these names.

    Raises
    ------
    BadInput
        A file cannot be read.
    """

    ssl_certfile: str
    ssl_keyfile: str | None = None
    ssl_keyfile_password: str | None = None
    ssl_ca_certs: str | None = None

    def __post_init__(self) -> None:
        for name in ("ssl_certfile", "ssl_keyfile", "ssl_ca_certs"):
            path = getattr(self, name)
            try:
                if path is not None:
                    Path(path).read_bytes()
            except OSError as error:
                raise BadInput(f"--{name.replace('_', '-')} {path}: cannot be read: {error.strerror}") from None


class StateHolder:
    """A lock on a state directory, held until it is closed (or the process ends)."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def close(self) -> None:
        """Release the directory."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> StateHolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def hold_state(directory: Path) -> StateHolder:
    """Lock a state directory for this process, and record its pid there.

    Raises
    ------
    Conflict
        Another service uses it.
    BadInput
        It cannot be used, or is on a network file system.
    """
    if name := network_file_system(directory):
        raise BadInput(
            f"--state {directory}: is on {name}, where SQLite's locks and writes are not safe; give a local one: "
            f"--state /var/lib/{directory.name or 's3'} (gas backup can write anywhere)"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)  # commands and their environment are in there
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"--state {directory}: cannot be used: {error.strerror}") from None
    try:
        # The directory itself, not a file in it, which could be removed.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise Conflict(f"{directory}: another S³ is using it; stop it, or name another --state") from None
    with suppress(OSError):  # a full disk; only `ask_to_drain` reads it
        (directory / "lock").write_text(str(os.getpid()))
    return StateHolder(handle)


def ask_to_drain(directory: Path) -> int | None:
    """Ask the service of a state directory to drain; return its pid, None if there is none.

    Raises
    ------
    Conflict
        It belongs to another user, or has not recorded its pid.
    """
    try:
        with hold_state(directory):
            return None
    except Conflict:
        pass
    try:
        pid = int((directory / "lock").read_text())
        os.kill(pid, signal.SIGUSR1)
    except ProcessLookupError:
        return None
    except (OSError, ValueError) as error:
        raise Conflict(f"{directory}: the S³ that uses it cannot be signalled to drain ({error})") from None
    return pid


TICK = 0.1
"""Seconds between two looks whether a service is to stop, by a signal or as it has drained."""


class _Server(uvicorn.Server):
    """uvicorn, which also stops when a draining scheduler is empty, and ends event streams when it stops."""

    def __init__(
        self,
        scheduler: LiveScheduler,
        tokens: Tokens | None,
        limits: Limits | None,
        encryption: Encryption | None = None,
        *,
        insecure: bool = False,
    ) -> None:
        secure = {} if encryption is None else {k: v for k, v in vars(encryption).items() if v is not None}
        self._planners = Planners(scheduler.availability)
        config = uvicorn.Config(
            create_app(scheduler, self._planners, tokens, limits, own_names_only=tokens is None and not insecure),
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
            server_header=False,
            http="h11",
            ws="none",  # there are none, and uvicorn would bypass `Connection` for them
            **secure,
        )
        super().__init__(config)
        self._scheduler = scheduler
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Stop at the request of another thread, without waiting for the next tick."""
        self.should_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._stopping.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections by `Door` instead of asyncio's server."""
        await super().startup(sockets=[])
        connections, config = Connections(most_connections()), self.config

        def make(address: str) -> Connection:
            return Connection(connections, address, config, self.server_state)

        doors = [Door(listener, make, connections, config.ssl) for listener in sockets or []]
        self.servers = cast(Any, doors)  # closed by uvicorn when it stops

    async def main_loop(self) -> None:
        """Tick until it is time to stop."""
        self._loop = asyncio.get_running_loop()
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._stopping.wait()

    async def on_tick(self, counter: int) -> bool:
        """Return whether it is time to stop; called at each tick."""
        return await super().on_tick(counter) or self._scheduler.is_drained

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end the streams, let the other requests finish."""
        self._scheduler.feed.close()
        self._planners.stop()
        await super().shutdown(sockets)


def serve(
    scheduler: LiveScheduler,
    listener: socket.socket,
    ready: Callable[[str], None],
    *,
    tokens: Tokens | None = None,
    limits: Limits | None = None,
    encryption: Encryption | None = None,
    insecure: bool = False,
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; running jobs continue by themselves.

    `ready` is called with the address once jobs are accepted. SIGUSR1 drains: nothing new is accepted, and when the
    schedule is empty the service stops. Without tokens only requests to a loopback name are answered, unless
    `insecure`.
    """
    server = _Server(scheduler, tokens, limits, encryption, insecure=insecure)
    try:
        server.config.load()  # certificates are read here
    except OSError as error:  # ssl.SSLError is one
        raise BadInput(
            f"--ssl-certfile, --ssl-keyfile: cannot be used ({error}); the first is a PEM file with the certificate "
            "and those of its authorities, the second its private key, if that is not in the first"
        ) from None
    signal.signal(signal.SIGUSR1, lambda number, frame: scheduler.drain())
    scheduler.start()
    try:
        with _stopped_by_signals(server):
            ready(url_of(listener, "http" if encryption is None else "https"))
            server.run(sockets=[listener])
    finally:
        scheduler.stop()


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Make SIGINT and SIGTERM stop a server, also before it runs; do not raise them again afterwards.

    The same holds for SIGHUP, unless it is ignored, as under nohup.

    uvicorn handles these signals while it runs, and raises them again afterwards for the previous handlers.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, server.handle_exit) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Embedded:
    """S³ on a free loopback port for the time of a ``with`` block, in threads of this process."""

    def __init__(
        self,
        scheduler: LiveScheduler,
        *,
        tokens: Tokens | None = None,
        limits: Limits | None = None,
        encryption: Encryption | None = None,
    ) -> None:
        self.scheduler = scheduler
        self._listener = listen("127.0.0.1", 0)
        self.url = url_of(self._listener, "http" if encryption is None else "https")
        self._server = _Server(scheduler, tokens, limits, encryption)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, name="s3-http", daemon=True
        )

    def __enter__(self) -> Embedded:
        self.scheduler.start()
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise Unreachable("the embedded S³ did not start")
            time.sleep(0.005)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()
        self._thread.join()
        self._listener.close()
        self.scheduler.stop()
