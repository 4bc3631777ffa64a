"""A slurmrestd of a test: it answers what it is told to, in good or in evil, and remembers what it was asked."""

import json
import socket
import threading
import traceback
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens
from gas.endpoints.slurm.transport import Batch, Shape

SECRET = "a.very-secret-token.x"
JOB = Batch("ocean.gas-1", "#!/bin/sh\nocean\n", Shape(16, None, 30), {"account": "sea"}, "/home/ann")
SUBMIT, JOB_7, JOB_0 = "/slurm/v0.0.38/job/submit", "/slurm/v0.0.38/job/7", "/slurm/v0.0.38/job/0?signal=CONT"


class Answer:
    """What is answered to a request.

    Parameters
    ----------
    content
        Text, bytes, or an object that becomes JSON.
    missing
        So many bytes are promised and not sent.
    """

    def __init__(self, content, status=200, kind="application/json", missing=0):
        content = content if isinstance(content, str | bytes) else json.dumps(content)
        self.content = content.encode() if isinstance(content, str) else content
        self.status, self.kind, self.missing = status, kind, missing


CUT = "cut"
"""The request is read, and the connection closed."""

SILENCE = "silence"
"""The request is read, and nothing is answered until the test is over."""


class Slurmrestd:
    """The server; `answers` are by method and path, with a * for all others."""

    def __init__(self, server, url):
        self.server, self.url = server, url
        self.answers = {}
        self.requests = []
        self.over = threading.Event()

    def offers(self, *versions):
        paths = {f"/slurm/{version}/jobs": {} for version in versions}
        self.answers["GET", "/openapi/v3"] = Answer({"openapi": "3.0.2", "paths": paths})

    def publishes(self, version, answers):
        self.offers(version)
        for endpoint, text in answers.items():
            self.answers["GET", f"/slurm/{version}/{endpoint}"] = Answer(text)

    def asked(self, method):
        return [(path, body) for one, path, _, body in self.requests if one == method]

    def headers(self, number=-1):
        return self.requests[number][2]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "test"

    def log_message(self, *_):
        pass

    def do_GET(self):
        own = self.server.own
        text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        own.requests.append((self.command, self.path, dict(self.headers), json.loads(text) if text else None))
        known = own.answers.get((self.command, self.path), own.answers.get("*"))
        answer = known or Answer("Unable find requested URL.", 404, "text/plain")
        self.close_connection = True
        if answer is SILENCE:
            own.over.wait(30)
        if answer in (SILENCE, CUT):
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content) + answer.missing))
        self.end_headers()
        self.wfile.write(answer.content)

    do_POST = do_DELETE = do_GET


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that gives up is what some tests are about."""


class _SocketServer(_Server):
    address_family = socket.AF_UNIX

    def server_bind(self):
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "localhost", 0


@contextmanager
def slurmrestd(path=None):
    """Run one on a port, or on a unix socket."""
    server = _Server(("127.0.0.1", 0), Handler) if path is None else _SocketServer(str(path), Handler)
    url = f"http://127.0.0.1:{server.server_port}" if path is None else f"unix:{path}"
    server.own = Slurmrestd(server, url)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.own
    finally:
        server.own.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def refused(*words, **more):
    return Answer({"errors": [{"error": text, "error_number": -1} for text in words], **more}, 500)


def transport(server, *, secret=SECRET, timeout=5.0, **more):
    tokens = Tokens(server.url, environment={"SLURM_JWT": secret} if secret else {})
    return RestTransport("deep", server.url, user="ann", tokens=tokens, timeout=timeout, **more)


def error_of(action):
    """What an action fails with; it never shows the token, and always says where."""
    with pytest.raises(Exception) as caught:
        action()
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value
