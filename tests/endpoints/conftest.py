"""A server with answers given by the test, in place of a real service."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hostile_server import hostile_server

from gas.endpoints.exchange import new_session


class Scripted:
    """A real HTTP server with answers given by the test, which records its requests."""

    def __init__(self):
        self.answers = []
        self.asked = []
        self.headers = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.asked.append((self.command, self.path, json.loads(body) if body else None))
                outer.headers.append(self.headers)
                status, content, *more = outer.answers.pop(0) if outer.answers else (200, b"{}")
                if status == "cut":  # the connection is lost after the request was received
                    self.close_connection = True
                    self.connection.close()
                    return
                if status == "silence":
                    outer.released.wait(20)
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                for name, value in more[0].items() if more else ():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.released = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def stop(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def start_scripted():
    """Start any number of them."""
    servers = []

    def start():
        servers.append(Scripted())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def scripted(start_scripted):
    return start_scripted()


@pytest.fixture(scope="module")
def hostile():
    with hostile_server() as server:
        yield server


@pytest.fixture
def session():
    with new_session() as made:
        yield made
