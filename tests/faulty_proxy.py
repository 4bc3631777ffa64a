"""A proxy on a real socket that loses, cuts, delays and keeps the messages that pass through it.

Fault          what happens to one request to submit something
Proxy          passes everything on; the n-th POST meets the n-th fault of `faults`
CUTS           places to cut a message of a head and a body
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

CUTS: dict[str, Callable[[int, int], int]] = {
    "at its first byte": lambda head, total: 0,
    "within its head": lambda head, total: head // 2,
    "after its head": lambda head, total: head,
    "within its body": lambda head, total: (head + total) // 2,
    "before its last byte": lambda head, total: total - 1,
}
"""How many bytes of a message get through, by the lengths of its head and of the whole message."""


def page(status: str) -> bytes:
    """Return the answer of an intermediary instead of the service."""
    body = b"<html><body>Something in between has a problem</body></html>"
    return b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (
        status.encode(),
        len(body),
        body,
    )


@dataclass(frozen=True)
class Fault:
    """What happens to one request.

    Attributes
    ----------
    request
        Where the request is cut (a name of `CUTS`); for the service, the connection ends there.
    kept
        The service gets the request only when `Proxy.deliver` is called; the client gets nothing.
    before, during, after
        Called before the service is asked, when it has the whole request, and when its answer is here.
    page
        What the client gets instead of the service's answer; with `request` "at its first byte", without asking it.
    delay
        Seconds by which the answer comes later.
    answer
        Where the answer is cut.
    """

    request: str | None = None
    kept: bool = False
    before: Callable[[], Any] | None = None
    during: Callable[[], Any] | None = None
    after: Callable[[], Any] | None = None
    page: bytes | None = None
    delay: float = 0.0
    answer: str | None = None


NO_FAULT = Fault()


def any_fault(chance: random.Random, *, slow: float, kill: Callable[[], Any] | None = None) -> Fault:
    """Return a fault of any kind; `slow` is longer than the client waits, `kill` ends the service."""
    kinds = [
        lambda: Fault(request=chance.choice(list(CUTS))),
        lambda: Fault(answer=chance.choice(list(CUTS))),
        lambda: Fault(request="at its first byte", page=page("502 Bad Gateway")),
        lambda: Fault(page=page(chance.choice(["502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"]))),
        lambda: Fault(delay=slow),
        lambda: Fault(kept=True),
    ]
    if kill is not None:
        kinds += [lambda: Fault(**{chance.choice(["before", "during", "after"]): kill})] * 2
    return chance.choice(kinds)()


class Proxy:
    """Use as a context manager.

    Attributes
    ----------
    upstream
        The address of the service; may be changed at any time.
    faults
        The faults for the next POSTs, in order; later POSTs meet none, or `for_ever`.
    posts
        The bodies of the POSTs that arrived completely.
    answered
        Set once an answer was passed on.
    """

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.faults: list[Fault] = []
        self.for_ever = NO_FAULT
        self.posts: list[dict[str, Any]] = []
        self._kept: list[bytes] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.answered = threading.Event()
        self._closing = threading.Event()
        self._cut = 0
        self._relays = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Proxy:
        self._listener.settimeout(0.05)
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        for thread in list(self._threads):
            thread.join(30)
        self._listener.close()

    def deliver(self) -> list[int]:
        """Send the kept requests to the service, in order; return the statuses of its answers."""
        statuses = []
        with self._lock:
            kept, self._kept = self._kept, []
        for request in kept:
            with self._dial() as service:
                service.sendall(request)
                statuses.append(int(_read_all(service).split(b" ", 2)[1]))
        return statuses

    def cut_streams(self) -> None:
        """End the answers that are being passed on; return when that is done."""
        self._cut += 1
        wait_until(lambda: not self._relays)

    @property
    def keys(self) -> set[str]:
        return {body["key"] for body in self.posts}

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                client, _ = self._listener.accept()
                self._start(self._serve, client)

    def _dial(self) -> socket.socket:
        parts = urlsplit(self.upstream)
        return socket.create_connection((parts.hostname, parts.port), timeout=30)

    def _serve(self, client: socket.socket) -> None:
        """Pass one request on, with its fault, and close; an error at either end closes both."""
        with client, contextlib.suppress(OSError):
            client.settimeout(30)
            head, body = _read_request(client)
            if not head:
                return
            fault = NO_FAULT
            if head.startswith(b"POST"):
                with self._lock:
                    self.posts.append(json.loads(body))
                    fault = self.faults.pop(0) if self.faults else self.for_ever
            # one request per connection, so that the answer ends with the connection
            head = head[:-2] + b"Connection: close\r\n\r\n"
            self._pass(client, head, head + body, fault)

    def _pass(self, client: socket.socket, head: bytes, request: bytes, fault: Fault) -> None:
        _call(fault.before)
        if fault.kept:
            with self._lock:
                self._kept.append(request)
            return
        if fault.request is not None:
            passing = request[: CUTS[fault.request](len(head), len(request))]
            if passing:
                with self._dial() as service:
                    service.sendall(passing)
            if fault.page is not None:
                client.sendall(fault.page)
            return
        with self._dial() as service:
            service.sendall(request)
            _call(fault.during)
            if fault == NO_FAULT:
                self._relays += 1
                try:
                    self._relay(service, client, self._cut)
                    self.answered.set()
                finally:
                    self._relays -= 1
                return
            answer = _read_all(service)
        _call(fault.after)
        self._closing.wait(fault.delay)
        if fault.page is not None:
            answer = fault.page
        elif fault.answer is not None:
            answer = answer[: CUTS[fault.answer](answer.find(b"\r\n\r\n") + 4, len(answer))]
        client.sendall(answer)

    def _relay(self, service: socket.socket, client: socket.socket, cut: int) -> None:
        """Pass on data as it arrives: it may be an endless stream."""
        service.settimeout(0.1)
        while not self._closing.is_set() and cut == self._cut:
            try:
                piece = service.recv(65536)
            except TimeoutError:
                continue
            if not piece:
                return
            client.sendall(piece)


def _call(action: Callable[[], Any] | None) -> None:
    if action is not None:
        action()


def _read_request(client: socket.socket) -> tuple[bytes, bytes]:
    """Return the head and the body of one request; nothing if the client has left."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = client.recv(65536)
        if not piece:
            return b"", b""
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while len(body) < (int(lengths[0]) if lengths else 0):
        piece = client.recv(65536)
        if not piece:
            return b"", b""
        body += piece
    return head + b"\r\n\r\n", body


def _read_all(service: socket.socket) -> bytes:
    read = b""
    while piece := service.recv(65536):
        read += piece
    return read


def wait_until(what: Callable[[], Any], seconds: float = 20) -> Any:
    """Return the first true result of a condition."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)
    return found
