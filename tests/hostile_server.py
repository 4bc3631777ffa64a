"""A test server that sends given bytes as its answer, for as long as its client listens."""

import socket
import threading
import time
from contextlib import contextmanager, suppress

from gas.endpoints.exchange import exchange

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

PATIENCE = 60.0
"""Seconds after which an endless answer ends, lest a client that reads it to the end hang for ever."""


class HostileServer:
    """The server; `answer` is called with method and path, and returns bytes, or pieces to send one by one."""

    def __init__(self, listener):
        self._listener = listener
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.answer = lambda method, path: plain(b"")

    def serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection):
        with suppress(OSError), connection:
            connection.settimeout(PATIENCE)
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            method, path = head.split(b" ", 2)[:2]
            answer = self.answer(method.decode(), path.decode())
            for piece in [answer] if isinstance(answer, bytes) else answer:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(0.2)
            connection.recv(65536)


@contextmanager
def hostile_server():
    with socket.create_server(("127.0.0.1", 0), backlog=50) as listener:
        server = HostileServer(listener)
        threading.Thread(target=server.serve, daemon=True).start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)


def plain(body, status=200, kind="application/json", head=""):
    """Return a whole answer."""
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{head}\r\n"
    ).encode() + body


def for_ever(piece, pause=0.0):
    """Yield a piece again and again."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        yield piece
        if pause:
            time.sleep(pause)


def answered(server, session, answer, *, timeout=5.0, **options):
    """Return what a client makes of an answer."""
    server.answer = lambda method, path: answer
    return exchange(session, "GET", server.url, timeout=timeout, **options)
