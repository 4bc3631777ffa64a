"""The listening socket of S³: its own, or one that systemd has opened."""

from __future__ import annotations

import ipaddress
import os
import socket
from contextlib import suppress

from gas.errors import BadInput, Unreachable

__all__ = ["check_passed", "is_loopback", "listen", "passed_socket", "url_of"]

FIRST_PASSED = 3
"""The descriptor of the first socket that systemd passes (sd_listen_fds(3))."""


def listen(host: str, port: int, *, anywhere: bool = False) -> socket.socket:
    """Return a listening socket on a loopback address, or `anywhere` (port 0: any free one).

    Raises
    ------
    BadInput
        The address is not loopback: without tokens every user who can reach the service could run commands.
    Unreachable
        The port is taken.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise BadInput(f"host {host}: is not an address of this machine ({error})") from None
    if not anywhere and not _is_loopback(address[0]):
        raise _not_loopback(f"host {host}")
    # asyncio turns off Nagle's algorithm (40 ms an answer, with delayed acknowledgements) only where TCP is named
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise Unreachable(
            f"port {port} on {host}: {error.strerror}; give another with --port, or 0 for a free one"
        ) from None
    listener.listen(socket.SOMAXCONN)
    return listener


def passed_socket() -> socket.socket | None:
    """Return the listening socket that systemd has passed to this process; None if there is none.

    Programs that this process starts do not inherit it, nor the variables about it.

    Raises
    ------
    BadInput
        The passed descriptors are not one listening TCP socket.
    """
    count, pid = os.environ.pop("LISTEN_FDS", ""), os.environ.pop("LISTEN_PID", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or not count.isdecimal() or int(count) == 0:
        return None
    for number in range(FIRST_PASSED, FIRST_PASSED + min(int(count), 1024)):
        with suppress(OSError):
            os.set_inheritable(number, False)
    if int(count) > 1:
        raise BadInput(f"LISTEN_FDS {count}: S³ listens on one socket; keep only one ListenStream= in its unit")
    try:
        passed = socket.socket(fileno=FIRST_PASSED)
        listens = passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    except OSError as error:
        raise BadInput(f"LISTEN_FDS 1: descriptor {FIRST_PASSED} is not a socket ({error.strerror})") from None
    if not listens or passed.family not in (socket.AF_INET, socket.AF_INET6) or passed.type != socket.SOCK_STREAM:
        raise BadInput(
            "LISTEN_FDS 1: the socket passed by systemd is not a TCP socket; set ListenStream= of the unit to a port, "
            "or an address and a port"
        )
    return passed


def check_passed(passed: socket.socket, *, anywhere: bool) -> None:
    """Refuse a socket that others can reach, unless it may listen `anywhere`.

    Raises
    ------
    BadInput
        Its address is not loopback.
    """
    if not anywhere and not is_loopback(passed):
        raise _not_loopback(f"the socket that was passed, {passed.getsockname()[0]}")


def is_loopback(listener: socket.socket) -> bool:
    """Return whether only programs on this machine can reach a listening socket."""
    return _is_loopback(listener.getsockname()[0])


def _is_loopback(address: object) -> bool:
    return ipaddress.ip_address(str(address).partition("%")[0]).is_loopback


def _not_loopback(which: str) -> BadInput:
    return BadInput(
        f"{which}: is not a loopback address; without tokens, all who can reach it could run commands, so S³ listens "
        "on 127.0.0.1, ::1 or localhost only; create tokens with gas token add, or add --insecure"
    )


def url_of(listener: socket.socket, scheme: str = "http") -> str:
    """Return the address of a listening socket as a URL for clients."""
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
