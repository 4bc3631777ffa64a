import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gas.endpoints import JobDescription, JobEndpoint, Request, S3Endpoint
from gas.errors import BadInput, Conflict, NotFound, StalePlan, Unreachable


class Scripted:
    """A real HTTP server that answers what the test tells it to, and remembers what it was asked."""

    def __init__(self):
        self.answers = []
        self.asked = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.asked.append((self.command, self.path, json.loads(body) if body else None))
                status, content = outer.answers.pop(0) if outer.answers else (200, b"{}")
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
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = answer

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
def scripted():
    server = Scripted()
    yield server
    server.stop()


JOB = json.dumps({"id": 7, "state": "queued", "processors": 1, "walltime": 2, "promise": 3}).encode()


def test_it_is_an_endpoint_that_takes_jobs():
    assert isinstance(S3Endpoint("kth", "http://127.0.0.1:1"), JobEndpoint)


def test_everything_a_job_goes_through(s3):
    endpoint = S3Endpoint("kth", s3.url)
    list_before = endpoint.availability()
    assert (list_before.kind, list_before.processors) == ("promise", 10)
    job = endpoint.submit(Request(10, 60), JobDescription("a", ("sleep", "60")))
    assert job["promise"] == list_before.now
    waiting = endpoint.submit(Request(1, 5, start_by=job["due"]), JobDescription("b", run_time=5))
    assert waiting["promise"] == job["due"]
    with pytest.raises(StalePlan, match="plan again"):
        endpoint.submit(Request(10, 5, start_by=job["promise"]), JobDescription("c", run_time=5))
    assert [j["id"] for j in endpoint.jobs(0)] == [job["id"], waiting["id"]]
    assert endpoint.output(job["id"]) == b""
    assert endpoint.cancel(waiting["id"])["state"] == "cancelled"
    assert endpoint.job(waiting["id"])["state"] == "cancelled"
    assert endpoint.reserve("r", 2, list_before.now + 5000, 10)["state"] == "reserved"
    with pytest.raises(NotFound, match="kth: there is no job 99"):
        endpoint.job(99)
    with pytest.raises(BadInput, match="the machine has 10"):
        endpoint.submit(Request(11, 5), JobDescription("d", run_time=5))
    with pytest.raises(Conflict, match="no output"):
        endpoint.output(waiting["id"])


def test_a_submission_whose_answer_is_lost_is_repeated_with_the_same_key(scripted):
    scripted.answers = [("cut", b""), (503, b"{}"), (201, JOB)]
    assert S3Endpoint("x", scripted.url).submit(Request(1, 2), JobDescription("a", run_time=1))["id"] == 7
    keys = {body["key"] for _, _, body in scripted.asked}
    assert (len(scripted.asked), len(keys)) == (3, 1)


def test_two_submissions_never_share_a_key(scripted):
    endpoint = S3Endpoint("x", scripted.url)
    scripted.answers = [(201, JOB), (201, JOB)]
    for _ in range(2):
        endpoint.submit(Request(1, 2), JobDescription("a", run_time=1))
    assert scripted.asked[0][2]["key"] != scripted.asked[1][2]["key"]


def test_retries_are_bounded(scripted):
    scripted.answers = [("cut", b"")] * 10
    with pytest.raises(Unreachable, match="cannot be reached"):
        S3Endpoint("x", scripted.url, retries=2).availability()
    assert len(scripted.asked) == 3


def test_a_service_that_never_answers_is_given_up(scripted):
    scripted.answers = [("silence", b"")] * 5
    with pytest.raises(Unreachable, match=r"did not answer within 0\.2 s|cannot be reached"):
        S3Endpoint("x", scripted.url, timeout=0.2, retries=1).availability()


def test_nobody_listening_is_said_so():
    with pytest.raises(Unreachable, match="kth: http://127.0.0.1:9 cannot be reached"):
        S3Endpoint("kth", "http://127.0.0.1:9", retries=0).availability()


@pytest.mark.parametrize(
    ("status", "content", "message"),
    [
        (200, b"<html>", "not JSON"),
        (200, b"[" * 100_000, "not JSON"),
        (200, b"\xff\xfe", "not JSON"),
        (200, b"{}", "breaks the format"),
        (200, b"null", "breaks the format"),
        (500, b"<html>oops", "HTTP 500"),
        (302, b"", "HTTP 302"),
        (404, b"nothing here", "is it an S³ service"),
        (401, b'{"error": {"message": "who are you?"}}', "who are you"),
    ],
)
def test_answers_that_cannot_be_understood(scripted, status, content, message):
    scripted.answers = [(status, content)]
    with pytest.raises(Unreachable, match=message):
        S3Endpoint("x", scripted.url, retries=0).availability()


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"id": 1}', b"7"])
def test_a_job_that_cannot_be_understood(scripted, content):
    scripted.answers = [(201, content)]
    with pytest.raises(Unreachable, match="cannot be understood"):
        S3Endpoint("x", scripted.url).submit(Request(1, 2), JobDescription("a", run_time=1))


@pytest.mark.parametrize("url", ["", "kth", "ftp://x", "http://", "http://x:99999", "http://x:port", "http://[::1"])
def test_an_address_that_is_none(url):
    with pytest.raises(BadInput, match="is not the address of a service"):
        S3Endpoint("x", url)


def test_a_proxy_is_not_asked_for_services_of_this_machine(s3, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert S3Endpoint("x", s3.url).availability().processors == 10


def test_the_command_is_told_its_size():
    job = JobDescription("a", ("mpirun", "-n", "{processors}", "--time={walltime}", "{other}"), {"X": "1"})
    sized = job.sized(16, 60)
    assert sized.command == ("mpirun", "-n", "16", "--time=60", "{other}")
    assert sized.environment == {"X": "1", "GAS_PROCESSORS": "16", "GAS_WALLTIME": "60"}
