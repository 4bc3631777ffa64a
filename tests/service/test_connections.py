import contextlib
import http.client
import json
import socket
import time
from urllib.parse import urlsplit

import pytest

from gas.service import connections

PATIENCE = 0.6


@pytest.fixture
def address(s3, monkeypatch):
    """Where a service listens whose patience is short."""
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(connections, "HEAD_SECONDS", PATIENCE)
    return address_of(s3.url)


def address_of(url):
    host, _, port = urlsplit(url).netloc.rpartition(":")
    return host, int(port)


@contextlib.contextmanager
def connected(address, count=1):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(address, timeout=20)) for _ in range(count)]


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(2**16) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        connection.settimeout(20)


def read_all(connection):
    """Return how many bytes come until the service closes the connection."""
    size = 0
    while part := connection.recv(2**16):
        size += len(part)
    return size


def until(what):
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_who_never_comes_to_the_end_of_a_request_is_cut_off(address):
    with connected(address, 3) as (silent, slow, proper):
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
        proper.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in proper.recv(1000)

        def both_gone():
            with contextlib.suppress(OSError):
                slow.sendall(b"y")  # now and then a byte, which is no end
            return not is_open(silent) and not is_open(slow)

        until(both_gone)


def test_who_does_not_read_an_answer_is_cut_off(address, s3):
    for _ in range(300):
        s3.simulated(10, 1000)
    with connected(address, 2) as (deaf, reads):
        for connection in (deaf, reads):
            connection.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 60)
        whole = read_all(reads)
        time.sleep(2 * PATIENCE)
        assert read_all(deaf) < whole


def test_who_follows_the_events_may_be_quiet_for_as_long_as_nothing_happens(address, s3):
    connection = http.client.HTTPConnection(*address, timeout=20)
    with contextlib.closing(connection):
        connection.request("GET", "/v1/events")
        answer = connection.getresponse()
        time.sleep(3 * PATIENCE)
        s3.simulated(1, 10)
        while (line := answer.readline()) != b"event: job\n":
            assert line
        told = json.loads(answer.readline().removeprefix(b"data:"))
        assert told["id"] == 1
        answer.close()
