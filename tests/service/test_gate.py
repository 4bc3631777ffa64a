"""Who may do what over HTTP: the table of rights of `gas.service.rights`, tested on the real service."""

import contextlib
import json
import random
import re
import select
import socket
import time

import pytest
import requests

from gas.service import gate
from gas.service.limits import Limits
from gas.service.live import LiveScheduler
from gas.service.rights import RIGHTS, ROUTES, Action
from gas.service.server import Embedded
from gas.service.token_file import add_token, revoke_tokens
from gas.service.tokens import Tokens

SECRET = "do-not-tell"
BODY = {"processors": 1, "walltime": 1000, "actuator": {"kind": "simulated", "run_time": 1000}}
PLAN = {"application": {"speedup": {"model": "table", "times": {"1": 10}}}}
RESERVATION = {"processors": 1, "walltime": 10, "start": 4_000_000_000}


class Site:
    """A service with tokens: alice and bob are users, olga an operator."""

    def __init__(self, directory, limits=None):
        self.file = directory / "tokens"
        self.tokens = {
            user: add_token(self.file, user, role)[0]
            for user, role in [("alice", "user"), ("bob", "user"), ("olga", "operator")]
        }
        scheduler = LiveScheduler("site", 8, directory / "state", limits=limits)
        self.service = Embedded(scheduler, tokens=Tokens(self.file), limits=limits)

    @property
    def address(self):
        return "127.0.0.1", int(self.service.url.rpartition(":")[2])

    def head(self, user, request, *lines):
        """The bytes of a request's head."""
        own = ["Host: x", f"Authorization: Bearer {self.tokens[user]}", "Content-Type: application/json"]
        return "\r\n".join([f"{request} HTTP/1.1", *own, *lines, "", ""]).encode()

    def ask(self, user, method, path, body=None, **more):
        headers = {} if user is None else {"Authorization": f"Bearer {self.tokens[user]}"}
        return requests.request(method, self.service.url + path, json=body, headers=headers, timeout=30, **more)

    def job_of(self, user, **more):
        answer = self.ask(user, "POST", "/v1/jobs", {**BODY, "name": f"{SECRET}-{user}", **more})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def process_of(self, user):
        return self.job_of(user, actuator={"kind": "process", "command": ["sh", "-c", f"echo {SECRET}; sleep 1000"]})


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    with made.service:
        yield made
        for job in made.service.scheduler.jobs():
            made.service.scheduler.cancel(job.id)


def whole(connection):
    """Read an error answer, head and body."""
    said = b""
    while not said.endswith(b"}}"):
        said += connection.recv(2**16)
    return said


def request_of(method, path, job):
    """A valid request of a route, as path and body."""
    bodies = {
        ("POST", "/v1/jobs"): BODY,
        ("POST", "/v1/reservations"): RESERVATION,
        ("POST", "/v1/plan"): PLAN,
        ("PUT", "/v1/machine"): {"processors": 8},
        ("PATCH", "/v1/jobs/{id}"): {"walltime": 900},
        ("POST", "/v1/jobs/{id}/offer"): {"answer": "decline"},
    }
    return path.replace("{id}", str(job)), bodies.get((method, path))


def test_every_route_of_the_service_is_in_the_table(site):
    paths = site.ask("alice", "GET", "/openapi.json").json()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert served | {("GET", "/openapi.json")} == ROUTES.keys()


def test_the_document_says_which_routes_need_a_token(site):
    paths = site.ask("alice", "GET", "/openapi.json").json()["paths"]
    free = {path for path, methods in paths.items() for operation in methods.values() if "security" not in operation}
    assert free == {"/", "/healthz"}


@pytest.mark.thorough(but=5)
@pytest.mark.parametrize(("method", "path"), sorted(ROUTES))
def test_the_table_of_rights_holds_for_everybody_on_every_route(site, method, path):
    right = RIGHTS[ROUTES[method, path]]
    if method == "PATCH" or path.endswith("/offer"):
        site.job_of("olga", processors=8)  # only waiting jobs take another shape, or answer offers
    for who in (None, "alice", "bob", "olga"):
        # alice's own, a new one each time, since one of them may cancel it
        job = site.job_of("alice", notice=60) if path.endswith("/offer") else site.process_of("alice")
        place, body = request_of(method, path, job)
        answer = site.ask(who, method, place, body, stream=True)  # the event stream never ends
        status = answer.status_code
        answer.close()
        mine = who == "alice"
        entry = {None: right.no_token, "olga": right.operator}.get(who, right.user)
        welcome = entry == "yes" or (entry == "own" and mine)
        if welcome:
            assert status < 300, (who, status)
        else:
            assert status == (401 if who is None else 403), (who, status)
            assert site.service.scheduler.job(job).active, "nothing has happened"
        site.service.scheduler.cancel(job)


def test_others_see_the_schedule_and_no_more(site):
    job = site.process_of("alice")
    site.ask("bob", "GET", f"/v1/jobs/{job}")
    for who, sees in [("bob", set()), ("olga", {"name"}), ("alice", {"name", "command"})]:
        for answer in (
            site.ask(who, "GET", f"/v1/jobs/{job}").json(),
            site.ask(who, "GET", "/v1/jobs").json()["jobs"][0],
        ):
            told = {key for key in ("name", "command") if answer[key] is not None}
            assert (told, answer["user"], answer["mine"]) == (sees, "alice", who == "alice")
            assert (SECRET in json.dumps(answer)) == bool(sees)


def test_a_key_of_somebody_else_finds_nothing(site):
    job = site.job_of("alice", key="k")
    assert [j["id"] for j in site.ask("alice", "GET", "/v1/jobs?key=k").json()["jobs"]] == [job]
    assert site.ask("bob", "GET", "/v1/jobs?key=k").json()["jobs"] == []
    assert site.job_of("bob", key="k") != job


@pytest.mark.thorough
def test_a_fuzz_of_users_routes_and_jobs_never_leaks_or_harms(site):
    """Random requests of everybody; bob and anonymous clients can only affect what is theirs."""
    chance = random.Random(7)
    hers = [site.process_of("alice") for _ in range(3)]
    his = [site.job_of("bob") for _ in range(2)]
    routes = [route for route in ROUTES if route != ("GET", "/v1/events")]
    for _ in range(400):
        method, path = chance.choice(routes)
        who = chance.choice([None, "bob"])
        place, body = request_of(method, path, chance.choice(hers + his))
        if path == "/v1/jobs/{id}/output" and chance.random() < 0.5:
            place += "?stream=stderr"
        answer = site.ask(who, method, place, body)
        assert answer.status_code < 500
        assert SECRET + "-alice" not in answer.text
        assert f"echo {SECRET}" not in answer.text
        if who is None:
            assert answer.status_code == (200 if path in ("/", "/healthz") else 401)
    for id in hers:
        assert site.service.scheduler.job(id).active
    assert site.service.scheduler.processors == 8


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer gas_00000000_" + 43 * "A", "Bearer " + 9000 * "x", "é"]
)
def test_a_token_that_is_none_is_refused_without_being_repeated(site, header):
    url = site.service.url + "/v1/jobs"
    answer = requests.get(url, headers={"Authorization": header.encode("latin-1")}, timeout=30)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert len(header) < 10 or header.partition(" ")[2] not in answer.text


def test_two_tokens_in_one_request_are_refused(site):
    with socket.create_connection(("127.0.0.1", int(site.service.url.rpartition(":")[2]))) as connection:
        lines = [f"Authorization: Bearer {site.tokens[user]}" for user in ("alice", "olga")]
        connection.sendall("\r\n".join(["GET /v1/jobs HTTP/1.1", "Host: x", *lines, "", ""]).encode())
        assert b" 401 " in connection.recv(100)


def test_a_revoked_token_is_refused_at_once_and_its_stream_ends(site):
    answer = site.ask("bob", "GET", "/v1/events", stream=True)
    lines = answer.iter_lines()
    assert next(lines) == b"event: machine"
    revoke_tokens(site.file, "bob")
    assert site.ask("bob", "GET", "/v1/jobs").status_code == 401
    site.job_of("alice")
    assert not any(b"event: job" in line for line in lines), "the stream ended before it told of the job"


def test_limits_and_the_size_of_requests(tmp_path):
    made = Site(tmp_path, Limits(max_queued=1, max_request_bytes=2000, max_processor_seconds=10_000))
    with made.service:
        large = made.ask("alice", "POST", "/v1/jobs", {**BODY, "name": 3000 * "x"})
        assert (large.status_code, large.json()["error"]["kind"]) == (413, "TooLarge")
        hours = made.ask("alice", "POST", "/v1/jobs", {**BODY, "walltime": 20_000})
        assert (hours.status_code, hours.json()["error"]["kind"]) == (403, "OverLimit")
        job = made.job_of("alice")
        queue = made.ask("alice", "POST", "/v1/jobs", BODY)
        assert (queue.status_code, queue.json()["error"]["kind"]) == (403, "OverLimit")
        made.job_of("bob")
        made.ask("alice", "DELETE", f"/v1/jobs/{job}")
        made.job_of("alice")

        def chunks():
            yield b'{"name": "'
            for _ in range(100):
                yield 1000 * b"x"

        url, headers = made.service.url + "/v1/jobs", {"Authorization": f"Bearer {made.tokens['bob']}"}
        with contextlib.suppress(requests.ConnectionError):  # answered and closed while the rest was being sent
            assert requests.post(url, data=chunks(), headers=headers, timeout=30).status_code == 413


def test_a_user_who_asks_too_often_is_told_when_to_go_on(tmp_path):
    made = Site(tmp_path, Limits(max_rate=5))
    with made.service:
        statuses = [made.ask("alice", "GET", "/v1/machine").status_code for _ in range(30)]
        assert statuses[:10] == 10 * [200], "a burst is fine"
        late = next(a for a in (made.ask("alice", "GET", "/v1/machine") for _ in range(30)) if a.status_code != 200)
        assert (late.status_code, late.json()["error"]["kind"]) == (429, "TooMany")
        assert int(late.headers["Retry-After"]) >= 1
        assert made.ask("bob", "GET", "/v1/machine").status_code == 200
        assert made.ask(None, "GET", "/healthz").status_code == 200


def test_a_body_that_does_not_come_is_waited_for_only_so_long(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.3)
    made = Site(tmp_path)
    with made.service, socket.create_connection(("127.0.0.1", int(made.service.url.rpartition(":")[2]))) as slow:
        token = made.tokens["alice"]
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n{{"
        slow.sendall(head.encode())
        slow.settimeout(10)
        assert b" 408 " in slow.recv(1000)


def test_a_body_of_a_byte_now_and_then_is_not_waited_for_as_long_as_a_large_one(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "BODY_GRACE", 0.3)
    monkeypatch.setattr(gate, "LEAST_RATE", 100_000)
    made = Site(tmp_path)
    with made.service:
        place, head = made.address, made.head("alice", "POST /v1/jobs", "Content-Length: 1000000")
        with socket.create_connection(place, timeout=10) as slow, socket.create_connection(place, timeout=10) as large:
            for connection in (slow, large):
                connection.sendall(head)
            for _ in range(10):
                large.sendall(100_000 * b" ")
                with contextlib.suppress(OSError):
                    slow.sendall(b" ")
                time.sleep(0.1)
            answer = whole(slow)
            assert b" 408 " in answer
            assert re.search(rb"\d bytes have arrived; the limits are 0.3 s and then 97 KiB a second, 60 s", answer)
            assert b" 422 " in large.recv(2**16), "it took a second, and was read"


def test_the_long_requests_of_one_user_at_the_same_time_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "MOST_ARRIVING", 350_000)
    made = Site(tmp_path)
    with made.service, contextlib.ExitStack() as stack:
        arriving = [stack.enter_context(socket.create_connection(made.address, timeout=10)) for _ in range(4)]
        for connection in arriving:
            connection.sendall(made.head("alice", "POST /v1/jobs", "Content-Length: 100001") + 100_000 * b" ")
        ready, _, _ = select.select(arriving, [], [], 10)
        (refused,) = ready
        answer = whole(refused)
        assert b" 429 " in answer
        assert b"the requests of alice together exceed the limit of 350000 bytes" in answer
        made.job_of("bob")
        for connection in set(arriving) - {refused}:
            connection.sendall(b" ")
            assert b" 422 " in connection.recv(2**16)
        made.job_of("alice")


def test_a_request_to_plan_is_shorter_than_others_may_be(site):
    body = {"application": {"name": 2**20 * "x"}}
    refused = site.ask("alice", "POST", "/v1/plan", body)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (413, "TooLarge")
    assert "the limit for planning is 1048576" in refused.text


def test_who_asks_too_often_without_a_token_is_answered_later(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "STRANGERS_RATE", 0.001)
    monkeypatch.setattr(gate, "STRANGERS_PAUSE", 0.2)
    made = Site(tmp_path)
    with made.service:
        began = time.monotonic()
        assert [made.ask(None, "GET", path).status_code for path in ("/v1/jobs", "/healthz") * 4] == [401, 200] * 4
        assert time.monotonic() >= began + 7 * 0.2, "all but the first"
        monkeypatch.setattr(gate, "STRANGERS_PAUSE", 3600)
        assert made.ask("alice", "GET", "/v1/machine").status_code == 200, "who has one does not wait"


def test_no_secret_reaches_log_metrics_or_errors(tmp_path, caplog):
    caplog.set_level("DEBUG")
    made = Site(tmp_path)
    with made.service:
        job = made.process_of("alice")
        made.job_of("alice", key="client-key-of-alice")
        time.sleep(1.2)
        texts = [made.ask("bob", *request).text for request in [("GET", "/metrics"), ("DELETE", f"/v1/jobs/{job}")]]
        texts.append(made.ask("bob", "GET", f"/v1/jobs/{job}/output").text)
        texts.append(made.ask(None, "GET", "/healthz").text)
        made.ask("alice", "DELETE", f"/v1/jobs/{job}")
    texts.append(caplog.text + " ".join(str(vars(record)) for record in caplog.records))
    for secret in [SECRET, "client-key-of-alice", *made.tokens.values()]:
        assert not any(secret in text for text in texts)


def test_without_tokens_everybody_is_the_user_of_the_service(s3):
    machine = s3.get("/v1/machine").json()
    assert (machine["access"], machine["role"]) == (False, "operator")
    job = s3.simulated(1, 10)
    assert (job["user"], job["mine"]) == (machine["user"], True)


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_without_tokens_a_web_page_from_elsewhere_cannot_ask(s3, headers):
    answer = requests.post(s3.url + "/v1/jobs", json=BODY, headers=headers, timeout=30)
    assert answer.status_code in (400, 403)
    assert s3.get("/v1/jobs").json()["jobs"] == []


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_body_that_a_page_may_send_without_asking_is_not_taken_for_json(s3, kind):
    headers = {} if kind is None else {"Content-Type": kind}
    answer = requests.post(s3.url + "/v1/jobs", data=json.dumps(BODY).encode(), headers=headers, timeout=30)
    assert answer.status_code == 422
    assert s3.get("/v1/jobs").json()["jobs"] == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8642", "[::1]:1", "LOCALHOST:8642"])
def test_this_machine_by_any_of_its_own_names_is_answered(s3, host):
    headers = {"Host": host, "Origin": f"http://{host.lower()}"}
    assert requests.get(s3.url + "/v1/jobs", headers=headers, timeout=30).status_code == 200


def test_the_page_holds_no_data_and_runs_only_its_own_script(site):
    site.job_of("alice")
    answer = site.ask(None, "GET", "/")
    assert answer.status_code == 200
    assert "alice" not in answer.text
    assert SECRET not in answer.text
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"].startswith("'sha256-")


def test_the_table_covers_every_action():
    assert RIGHTS.keys() == set(Action)
