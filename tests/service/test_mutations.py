"""Thousands of broken requests, with slow clients meanwhile: the service goes on answering.

Each request is a valid one that was cut, blown up, mistyped, wrongly encoded or wrongly framed, sent over a raw socket.
GAS_MUTATIONS is their number (1,000 by default, 10,000 in the long run).
"""

import contextlib
import copy
import json
import os
import random
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from service_process import TRACEBACK, Place, Service, simulated
from thorough import rounds

MUTATIONS = int(os.environ.get("GAS_MUTATIONS", "0"))
BATCHES = 10
CONNECTIONS = 12
PATIENCE = 0.3
"""Seconds after which a client without an answer closes its side: even a busy machine answers sooner."""

SEED = 20

GROWTH = 64 * 2**20
"""Bytes by which memory may grow: several times what a batch holds at once, far less than all that was sent."""

BODIES = [
    (
        "POST",
        "/v1/jobs",
        {"name": "lu", "processors": 2, "walltime": 60, "actuator": {"kind": "simulated", "run_time": 5}},
    ),
    (
        "POST",
        "/v1/jobs",
        {
            "processors": 1,
            "walltime": 5,
            "not_before": 4_000_000_000,
            "start_by": 4_000_000_000,
            "key": "k",
            "actuator": {"kind": "process", "command": ["true"], "environment": {"A": "b"}, "directory": "/tmp"},
        },
    ),
    ("POST", "/v1/reservations", {"processors": 2, "start": 4_000_000_000, "walltime": 60, "start_by": 4_000_000_100}),
    (
        "POST",
        "/v1/plan",
        {"application": {"speedup": {"model": "amdahl", "sequential_time": 100.0, "serial_fraction": 0.1}}},
    ),
    ("PUT", "/v1/machine", {"accepting": True}),
]
PLAIN = [
    ("GET", path)
    for path in (
        "/v1/availability",
        "/v1/jobs?ended=3",
        "/v1/jobs/1",
        "/v1/jobs/1/output?limit=10",
        "/healthz",
        "/metrics",
    )
]


# ----------------------------------------------------------------------------------------------------------- requests


def request(method, path, body=b"", headers=()):
    """Return a valid request as bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += [f"Content-Type: application/json\r\nContent-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, *headers]).encode() + b"\r\n\r\n" + body


def proper(chance):
    if chance.random() < 0.3:
        return request(*chance.choice(PLAIN))
    method, path, body = chance.choice(BODIES)
    return request(method, path, json.dumps(body).encode())


ODD = [
    None, True, -1, 0, 1.5, 1e308, 10**30, -(2**63), 2**31, 2**63, "", "1", "\0", "\ud800", "x" * 5000, "é" * 300, [],
    {},
    [[]], {"kind": "process"}, {"kind": "simulated"}, {"kind": "process", "command": ["\0"]},
    {"kind": "process", "command": []},
    ["true"] * 3000, float("nan"), float("inf"), {"a": {"b": {"c": {}}}}, "../../../etc/passwd", "%00", "9" * 400,
]  # fmt: skip


def wrong_types(chance):
    """A value somewhere in the body has another type, is missing, or is surplus."""
    method, path, body = chance.choice(BODIES)
    body = json.loads(json.dumps(body))
    for _ in range(chance.randint(1, 3)):
        target = body
        while isinstance(target, dict) and target and chance.random() < 0.4:
            inner = [v for v in target.values() if isinstance(v, dict)]
            if not inner:
                break
            target = chance.choice(inner)
        key = chance.choice([*target, "unknown", "", "processors", "__class__"])
        if chance.random() < 0.2:
            target.pop(key, None)
        else:
            target[key] = copy.deepcopy(chance.choice(ODD))
    return request(method, path, json.dumps(body).encode("utf-8", "surrogatepass"))


def truncated(chance):
    whole = proper(chance)
    return whole[: chance.randrange(len(whole))]


def bytes_changed(chance):
    whole = bytearray(proper(chance))
    for _ in range(chance.choice([1, 1, 2, 10, 50])):
        at = chance.randrange(len(whole))
        action = chance.random()
        if action < 0.5:
            whole[at] = chance.randrange(256)
        elif action < 0.75:
            del whole[at]
        else:
            whole[at:at] = chance.randbytes(chance.randint(1, 5))
    return bytes(whole)


def wrong_encodings(chance):
    method, path, body = chance.choice(BODIES)
    text = json.dumps({**body, "name": "naïve – ü"}, ensure_ascii=False)
    encoded = chance.choice(
        [
            text.encode("utf-16"), text.encode("utf-32"), text.encode("cp1252", "replace"),
            b"\xef\xbb\xbf" + text.encode(),
            text.encode().replace(b"na", b"\xff\xfe"), b"\x1f\x8b\x08" + text.encode(), b"\0" * 100, b"\xed\xa0\x80",
            b'{"a": "\xc3\x28"}', b"[" * 3000, b'{"a":' * 3000, b"1" * 5000, b"NaN", b"-Infinity", b'"\\ud800"',
            b"1e999999",
        ]
    )  # fmt: skip
    kinds = [
        "application/json; charset=utf-16",
        "text/plain",
        "application/x-www-form-urlencoded",
        "",
        "a" * 3000,
        "\x80",
    ]
    headers = [f"Content-Type: {chance.choice(kinds)}", f"Content-Encoding: {chance.choice(['gzip', 'br', 'x', ''])}"]
    return request(method, path, encoded, headers)


def bad_headers(chance):
    lines = [
        "Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 5, 6", "Content-Length: x",
        "Content-Length: 10\r\nContent-Length: 20", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3", "Expect: 100-continue", "Expect: something",
        "Upgrade: websocket",
        "Origin: https://[::1", "Origin: null",
        "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA", ": no name", "No colon", "Two words: x",
        " folded",
        "X: " + "y" * 70_000, "X: \x01\x02", "Authorization: Bearer \xff", "Authorization: " + "B" * 9000,
        "Authorization:",
        'If-None-Match: "', "If-None-Match: " + ",".join(['"1"'] * 2000), "Last-Event-ID: " + "9" * 500,
        "Range: bytes=0-1",
        "Accept: \x00", "Host: other", "Cookie: " + "a=b;" * 500, "X-Forwarded-For: \r\n\r\nGET / HTTP/1.1",
        "Content-Type: \x7f",
    ]  # fmt: skip
    headers = [chance.choice(lines) for _ in range(chance.randint(1, 3))]
    method, path, body = chance.choice(BODIES)
    whole = request(method, path, b"", headers).decode("utf-8") + json.dumps(body)
    if chance.random() < 0.3:
        hosts = [
            "[",
            "[::1",
            "]",
            "a:b:c",
            "localhost:99999999",
            "",
            "1.2.3.4",
            "[::ffff:127.0.0.1%lo]",
            "é",
            "//",
            "@",
        ]
        whole = whole.replace("Host: localhost", f"Host: {chance.choice(hosts)}")
    return whole.encode("latin-1", "replace")


def bad_lines(chance):
    line = chance.choice(
        [
            "GET /", "GET", "", " ", "GET / HTTP/9.9", "GET / HTTP/1.1 extra", "get / http/1.1", "PRI * HTTP/2.0",
            "GET  / HTTP/1.1",
            "TRACE /v1/jobs HTTP/1.1", "CONNECT a:1 HTTP/1.1", "OPTIONS * HTTP/1.1", "PATCH /v1/jobs/1 HTTP/1.1",
            "\x00 / HTTP/1.1",
            "GET " + "/a" * 40_000 + " HTTP/1.1", "GET /v1/jobs/" + "9" * 5000 + " HTTP/1.1",
            "GET /v1/jobs/%ff%00 HTTP/1.1",
            "GET /v1/jobs/-1 HTTP/1.1", "GET /v1/jobs/1e3 HTTP/1.1", "DELETE /v1/jobs/99999999999999999999 HTTP/1.1",
            "GET /v1/jobs?ended=-1 HTTP/1.1", "GET /v1/jobs?ended=10001&ended=x HTTP/1.1",
            "GET /v1/jobs?key=%00 HTTP/1.1",
            "GET /v1/jobs/1/output?limit=999999999999&stream=%F0 HTTP/1.1", "GET http://[::1/ HTTP/1.1",
            "GET //x HTTP/1.1",
            "GET /../../etc/passwd HTTP/1.1", "GET /v1/jobs/%2e%2e%2f HTTP/1.1", "GET /?\xff HTTP/1.1",
            "HEAD /v1/events HTTP/1.1",
        ]
    )  # fmt: skip
    return f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode("latin-1")


def bad_chunks(chance):
    method, path, body = chance.choice(BODIES)
    data = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", "Content-Type: application/json", ""]
    head = "\r\n".join(lines).encode()
    chunks = chance.choice(
        [
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data), b"%x\r\n%s" % (len(data) + 5, data), b"zz\r\n" + data,
            b"-5\r\n" + data,
            b"ffffffffffffffffffff\r\n" + data, b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(data), b"x" * 20_000, data),
            b"0\r\n\r\n",
            b"1\r\n{\r\n" * 500, b"%x\n%s\n0\n\n" % (len(data), data), b"5\r\n" + data[:3],
            b"0\r\nTrailer: x\r\n\r\n" + data,
        ]
    )  # fmt: skip
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks


def oversized(chance):
    """More bytes than the service accepts: as announced, or more than announced."""
    size = chance.choice([5 * 2**20, 50 * 2**20, 2**40])
    head = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    if chance.random() < 0.5:
        return f"{head}Content-Length: {size}\r\n\r\n".encode() + b'{"name": "' + b"x" * 100_000
    return (
        f"{head}Transfer-Encoding: chunked\r\n\r\n".encode()
        + b"10000\r\n"
        + b"x" * 65536
        + b"\r\n"
        + b"10000\r\n"
        + b"y" * 30_000
    )


def pipelined(chance):
    parts = [
        proper(chance).replace(b"Connection: close", b"Connection: keep-alive") for _ in range(chance.randint(2, 6))
    ]
    parts.insert(
        chance.randrange(len(parts) + 1),
        chance.choice([b"garbage\r\n\r\n", b"\0\0\0", b"\r\n\r\n", b"GET / HTTP/1.1\r\n"]),
    )
    return b"".join(parts)


MUTATE = [
    wrong_types,
    wrong_types,
    truncated,
    bytes_changed,
    bytes_changed,
    wrong_encodings,
    bad_headers,
    bad_lines,
    bad_chunks,
    pipelined,
]


def mutated(number):
    """Return the request of a number, always the same."""
    chance = random.Random(f"{SEED}-{number}")
    if number % 50 == 0:
        return oversized(chance), chance
    return chance.choice(MUTATE)(chance), chance


# -------------------------------------------------------------------------------------------------------------- tests


def send(address, number):
    """Send a mutated request, in pieces or at once; return the statuses of the answers."""
    data, chance = mutated(number)
    answer = b""
    with contextlib.suppress(OSError), socket.create_connection(address, timeout=20) as connection:
        with contextlib.suppress(OSError):
            if chance.random() < 0.1 and len(data) < 5000:
                cut = chance.randrange(len(data) + 1)
                connection.sendall(data[:cut])
                time.sleep(0.002)
                connection.sendall(data[cut:])
            else:
                connection.sendall(data)
            if chance.random() < 0.05:
                return []  # gone, without waiting for the answer
            connection.settimeout(PATIENCE)
            with contextlib.suppress(TimeoutError):
                while part := connection.recv(65536):
                    answer += part
            connection.settimeout(20)
            connection.shutdown(socket.SHUT_WR)  # half-closed: no more data follows
        while part := connection.recv(65536):
            answer += part
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d\d\d) ", answer)]


class Slow(threading.Thread):
    """Clients that send a byte at times without ever finishing, or that do not read their answers."""

    def __init__(self, address, count=20):
        super().__init__(daemon=True)
        self.address, self.count = address, count
        self.halt = threading.Event()
        self.sent = 0

    def run(self):
        body = json.dumps(BODIES[0][2]).encode()
        texts = [request("POST", "/v1/jobs", body)[:-40], b"GET /v1/jobs HTTP/1.1\r\nX: " + b"y" * 10_000]
        with contextlib.ExitStack() as stack:
            connections = []
            for n in range(self.count):
                connection = stack.enter_context(socket.create_connection(self.address, timeout=20))
                connections.append((connection, texts[n % 2]))
            deaf = [stack.enter_context(socket.create_connection(self.address, timeout=20)) for _ in range(5)]
            for connection in deaf:
                connection.sendall(request("GET", "/v1/jobs?ended=10000") * 20)
            at = 0
            while not self.halt.wait(0.1):
                for connection, text in connections:
                    with contextlib.suppress(OSError):
                        connection.sendall(text[at % len(text) : at % len(text) + 1])
                        self.sent += 1
                at += 1


def memory(pid):
    """Return the bytes of memory that a process holds."""
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


@pytest.fixture
def service(tmp_path):
    service = Service(Place(tmp_path), log=tmp_path / "log", processors=8).ready()
    yield service
    service.kill()


@pytest.mark.parametrize(
    "count", [MUTATIONS or rounds(1000), pytest.param(MUTATIONS or 10_000, marks=pytest.mark.long)]
)
def test_thousands_of_mutated_requests_leave_the_service_answering(service, count):
    host, _, port = service.url.removeprefix("http://").rpartition(":")
    address = (host, int(port))
    for _ in range(8):
        service.simulated(8, 10_000)  # jobs that mutated requests submit by accident have to wait
    slow = Slow(address)
    slow.start()
    statuses = []
    held = []
    try:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for batch in range(BATCHES):
                numbers = range(batch, count, BATCHES)
                statuses += [s for found in pool.map(lambda n: send(address, n), numbers) for s in found]
                health = service.request("GET", "/healthz", timeout=5)
                assert (health.status_code, health.json()["status"]) == (200, "ok")
                answer = service.request("POST", "/v1/jobs", simulated(1, 60), timeout=5)
                assert answer.status_code == 201
                for job in service.jobs(ended=0)[8:]:
                    service.request("DELETE", f"/v1/jobs/{job['id']}")
                held.append(memory(service.pid))
    finally:
        slow.halt.set()
        slow.join()
    unforeseen = {s for s in statuses if s >= 500}
    assert unforeseen == set()
    assert {200, 201, 400, 404, 405, 413, 422} <= set(statuses)
    assert len(statuses) > count / 3, "they were answered"
    assert slow.sent > 0
    assert held[-1] - held[0] < GROWTH, held
    assert TRACEBACK not in service.said()
