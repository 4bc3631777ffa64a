"""The app on a socket: `serve` for a service of its own, `Embedded` for one inside another program."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

import uvicorn

from gas.errors import BadInput, Conflict, Unreachable
from gas.service.app import create_app
from gas.service.live import LiveScheduler

__all__ = ["Embedded", "hold_state", "listen", "serve"]


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket on a loopback address (port 0: any free one).

    Raises
    ------
    BadInput
        The address is not loopback: without tokens everybody who reaches the service could run commands.
    Unreachable
        The port is taken.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise BadInput(f"host {host}: is not an address of this machine ({error})") from None
    if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise BadInput(
            f"host {host}: is not a loopback address; without access control anybody could run commands, so S³ "
            "listens on 127.0.0.1, ::1 or localhost only"
        )
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise Unreachable(f"port {port} on {host}: {error.strerror}; name another with --port, 0 for any") from None
    listener.listen(1024)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the address of a listening socket as clients write it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def hold_state(directory: Path) -> IO[str]:
    """Lock a state directory for this process; the lock goes with the returned file.

    Raises
    ------
    Conflict
        Another service uses it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)  # commands and their environment are in there
        holder = (directory / "lock").open("w")
    except OSError as error:
        raise BadInput(f"--state {directory}: cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder.close()
        raise Conflict(f"{directory}: another S³ is using it; stop that one, or name another --state") from None
    return holder


def _server(scheduler: LiveScheduler) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(scheduler), log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=5
    )
    return uvicorn.Server(config)


def serve(scheduler: LiveScheduler, listener: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; jobs that run go on by themselves.

    `ready` is called with the address once jobs are accepted.
    """
    server = _server(scheduler)
    scheduler.start()
    try:
        ready(url_of(listener))
        server.run(sockets=[listener])
    finally:
        scheduler.stop()


class Embedded:
    """S³ on a free loopback port for the time of a ``with`` block, in threads of this process."""

    def __init__(self, scheduler: LiveScheduler) -> None:
        self.scheduler = scheduler
        self._listener = listen("127.0.0.1", 0)
        self.url = url_of(self._listener)
        self._server = _server(scheduler)
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
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()
        self.scheduler.stop()
