"""Which connections are accepted, which are closed for others, and time-outs: with real sockets, and with TLS."""

import asyncio
import contextlib
import http.client
import json
import select
import socket
import ssl
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import trustme
from eventually import until

from gas.service import connections, server
from gas.service.connections import Connection, Connections, Door
from gas.service.gate import LEAST_RATE
from gas.service.live import LiveScheduler
from gas.service.server import Embedded, Encryption
from gas.service.token_file import add_token
from gas.service.tokens import Tokens

PATIENCE = 0.6
ASK = "GET /v1/machine HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(autouse=True)
def nothing_is_deferred(monkeypatch):
    """The kernel hands over a silent connection at once, and not after seconds."""
    monkeypatch.setattr(connections, "DEFER_SECONDS", 0)


@pytest.fixture
def address(s3, monkeypatch):
    """The address of a service with short patience."""
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(connections, "HEAD_SECONDS", PATIENCE)
    return address_of(s3.url)


def address_of(url):
    host, _, port = urlsplit(url).netloc.rpartition(":")
    return host, int(port)


class Site:
    """A service with few places and two users."""

    def __init__(self, directory, encryption=None):
        file = directory / "tokens"
        self.tokens = {user: add_token(file, user)[0] for user in ("alice", "bob")}
        scheduler = LiveScheduler("site", 8, directory / "state")
        self.service = Embedded(scheduler, tokens=Tokens(file), encryption=encryption)
        self.address = address_of(self.service.url)

    def ask(self, user, connection):
        """Send one request of a user and return the whole answer."""
        connection.sendall(f"{ASK}Authorization: Bearer {self.tokens[user]}\r\n\r\n".encode())
        said = b""
        while not said.endswith(b"}}") and (part := connection.recv(2**16)):  # the limits come last
            said += part
        return said


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "most_connections", lambda: 20)
    made = Site(tmp_path)
    with made.service:
        yield made


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
    """Return how many bytes arrive before the service closes the connection."""
    size = 0
    while part := connection.recv(2**16):
        size += len(part)
    return size


def test_who_never_comes_to_the_end_of_a_request_is_cut_off(address):
    with connected(address, 3) as (silent, slow, proper):
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
        proper.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in proper.recv(1000)

        def both_gone():
            with contextlib.suppress(OSError):
                slow.sendall(b"y")  # a byte from time to time, which does not end the request
            return not is_open(silent) and not is_open(slow)

        until(both_gone)


def test_who_sends_half_a_head_is_told_how_long_it_may_take(address):
    with connected(address) as (slow,):
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        answer = slow.recv(2**16)
    assert answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"did not arrive within 0.6 s" in answer


def cut_off(*unread):
    """Return after how many looks, one a second, a client with this many unread bytes is cut off; None if never."""
    now, aborted = 0, []
    connection = object.__new__(Connection)
    connection.loop = SimpleNamespace(time=lambda: float(now), call_later=lambda *_: None)
    connection.transport = SimpleNamespace(
        get_write_buffer_size=lambda: unread[now], abort=lambda: aborted.append(now), is_closing=lambda: True
    )
    connection.cycle, connection._since, connection._unread, connection._most_unread = None, 0.0, 0, 0
    connection._moved_at, connection._clear_at = 0.0, 0.0
    for now in range(len(unread)):
        connection._look()
        if aborted:
            return now
    return None


def test_a_client_that_reads_nothing_or_too_slowly_is_cut_off_and_no_other():
    patience, much = int(connections.PATIENCE), 100 * LEAST_RATE  # at the lowest rate this takes 100 s
    assert cut_off(*[much] * 40) == patience + 1  # nothing is read
    assert cut_off(*[much - second for second in range(200)]) == patience + 101  # a byte a second
    assert cut_off(*[much - LEAST_RATE * second for second in range(101)]) is None
    assert cut_off(*[second % 2 for second in range(200)]) is None  # everything is read, again and again
    assert cut_off(*[0] * 40) is None  # nothing is there to read


@pytest.mark.thorough
def test_who_does_not_read_an_answer_is_cut_off(address, s3):
    for _ in range(300):
        s3.simulated(10, 1000)
    with connected(address, 2) as (deaf, reads):
        for connection in (deaf, reads):
            connection.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 60)
        whole = read_all(reads)
        time.sleep(2 * PATIENCE)
        assert read_all(deaf) < whole


@pytest.mark.thorough
def test_who_reads_an_answer_in_drops_is_cut_off(address, s3, monkeypatch):
    monkeypatch.setattr(connections, "LEAST_RATE", 1e9)
    for _ in range(300):
        s3.simulated(10, 1000)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(20)
        slow.connect(address)
        slow.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        there = s3.embedded._server.server_state.connections
        assert slow.recv(2**10)
        assert slow.getsockname() in [c.client for c in there]

        def gone():
            slow.recv(2**10)  # at this rate it would take an hour
            return slow.getsockname() not in [c.client for c in there]

        until(gone)


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


# --------------------------------------------------------------------------------------------------- who gives way


def test_a_crowd_that_says_nothing_keeps_no_user_out(site):
    with connected(site.address, 200):
        for user in ("alice", "bob"):
            with connected(site.address) as (connection,):
                assert b" 200 " in site.ask(user, connection)
                with connected(site.address, 50):
                    assert b" 200 " in site.ask(user, connection), "who is known stays"


def test_of_connections_without_a_token_the_oldest_is_closed_and_told_so(site):
    with connected(site.address, 11) as crowd:
        answer = crowd[0].recv(2**16)
        assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"Retry-After: 5\r\n" in answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["kind"] == "TooManyConnections"
        assert crowd[0].recv(1) == b""
        assert all(is_open(connection) for connection in crowd[1:])


def test_a_user_with_most_connections_gives_way_to_another_one_and_waits_for_a_further_one(site, monkeypatch):
    monkeypatch.setattr(connections, "CROWDED_SECONDS", 0.3)
    with connected(site.address, 10) as hers, contextlib.ExitStack() as stack:
        for connection in hers:
            assert b" 200 " in site.ask("alice", connection)
        others = stack.enter_context(connected(site.address, 2))
        assert b" 200 " in site.ask("bob", others[0])
        assert b" 503 " in hers[0].recv(2**16)
        assert all(is_open(connection) for connection in hers[1:])
        began = time.monotonic()
        assert b" 200 " in site.ask("alice", others[1])
        assert time.monotonic() >= began + 0.3
        assert is_open(others[0]), "it is her own that gives way"
        until(lambda: sum(is_open(connection) for connection in hers) == 8)


def test_connections_of_one_address_are_closed_for_others_and_an_ipv6_network_is_one_address():
    class Known:
        answering = False

        def __init__(self, peer):
            self.address, self.here = connections._party(peer), True

        def give_way(self):
            self.here = False

    all = Connections(20)
    crowd = [Known((f"2001:db8::{n:x}", 1, 0, 0)) for n in range(10)]
    others = [
        Known(("192.0.2.1", 1)),
        Known(("::ffff:192.0.2.1", 1, 0, 0)),
        Known(("fe80::1%eth0", 1, 0, 2)),
        Known(""),
    ]
    for connection in [*crowd, *others]:
        all.enter(connection)
    assert [c.here for c in crowd] == [False] * 4 + [True] * 6
    assert all.strangers.count("192.0.2.1") == 2
    assert len(all.strangers) == 10


def test_a_client_that_was_accepted_in_the_moment_of_the_end_is_closed():
    """Its task is cancelled before it has begun, and would never have closed it."""

    class Unbegun(SimpleNamespace):
        address, begun = "192.0.2.1", False

        def give_way(self):
            self.entering.cancel()

        __hash__ = object.__hash__

    async def accept_and_end():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            door = Door(listener, lambda address: Unbegun(), all, None)
            with socket.create_connection(listener.getsockname()) as client:
                until(lambda: select.select([listener], [], [], 0)[0])
                door._accept()
                assert len(all.strangers) == 1
                door.close()
                client.setblocking(False)
                assert await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), 5) == b""

    all = Connections(20)
    asyncio.run(accept_and_end())
    assert len(all.strangers) == 0


def test_a_long_body_without_a_token_is_not_read(site, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", PATIENCE)
    with connected(site.address) as (connection,):
        connection.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        assert b" 401 " in connection.recv(2**16)
        sent = 0
        with contextlib.suppress(ConnectionError):  # it is closed in time
            while sent < 10**9:
                sent += connection.send(b"x" * 2**16)
        assert sent < 10**8, "the buffers of both systems"


def test_who_connects_and_says_nothing_is_left_to_the_kernel_and_accepted_when_it_speaks(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "DEFER_SECONDS", 60)
    made = Site(tmp_path)
    with made.service, connected(made.address, 100), connected(made.address) as (late,):
        there = made.service._server.server_state.connections
        with connected(made.address) as (first,):
            assert b" 200 " in made.ask("alice", first)
            assert [c.client for c in there] == [first.getsockname()]
        assert b" 200 " in made.ask("bob", late)


# -------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture
def secure(tmp_path, monkeypatch):
    """A service with few places that speaks TLS, and the context that trusts it."""
    monkeypatch.setattr(server, "most_connections", lambda: 20)
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    made = Site(tmp_path, Encryption(str(tmp_path / "server.pem")))
    with made.service:
        yield made, trust


def test_a_crowd_that_never_finishes_the_greetings_of_tls_keeps_no_user_out(secure):
    site, trust = secure
    with connected(site.address, 50) as crowd, connected(site.address) as (plain,):
        crowd[40].sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a greeting
        with trust.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            assert b" 200 " in site.ask("bob", connection)
            with connected(site.address, 50):
                assert b" 200 " in site.ask("bob", connection)


def test_the_greetings_of_tls_are_waited_for_only_so_long(secure, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", PATIENCE)
    site, trust = secure
    with connected(site.address, 2) as (silent, plain):
        until(lambda: not is_open(silent))
        until(lambda: not is_open(plain))
    with connected(site.address) as (plain,), trust.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
        connection.sendall(b"GET /v1/machine HTTP/1.1\r\n")
        with contextlib.suppress(OSError):
            assert connection.recv(2**16) == b"", "who has greeted has as long for the head"
