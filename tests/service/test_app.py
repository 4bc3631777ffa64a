"""The routes other than those of jobs, and what all routes share: the document, errors, bodies."""

import time

import pytest
import requests


def wait_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return value


def test_the_availability_list_is_the_wire_format(s3):
    answer = s3.get("/v1/availability").json()
    assert answer["schema"] == "gas.availability/1"
    assert answer["kind"] == "promise"
    assert answer["frames"] == [{"start": answer["now"], "end": None, "free": 10}]


def test_the_etag_changes_with_the_schedule_and_not_with_the_clock(s3):
    tag = s3.get("/v1/availability").headers["ETag"]
    again = s3.get("/v1/availability", headers={"If-None-Match": tag})
    assert (again.status_code, again.headers["ETag"], again.content) == (304, tag, b"")
    s3.simulated(1, 3600)
    changed = s3.get("/v1/availability", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != tag


def test_healthz_says_how_busy_it_is(s3):
    s3.simulated(7, 3600)
    s3.simulated(7, 3600)
    wait_for(lambda: s3.get("/healthz").json()["running"])
    answer = s3.get("/healthz").json()
    assert (answer["status"], answer["in_use"], answer["running"], answer["queued"]) == ("ok", 7, 1, 1)
    assert answer["promises_broken"] == 0


def test_the_openapi_document_describes_every_route_with_examples(s3):
    document = s3.get("/openapi.json").json()
    routes = {(m.upper(), path) for path, methods in document["paths"].items() for m in methods}
    assert routes == {
        ("GET", "/v1/availability"),
        ("POST", "/v1/jobs"),
        ("GET", "/v1/jobs"),
        ("GET", "/v1/jobs/{id}"),
        ("DELETE", "/v1/jobs/{id}"),
        ("PATCH", "/v1/jobs/{id}"),
        ("POST", "/v1/jobs/{id}/offer"),
        ("GET", "/v1/jobs/{id}/output"),
        ("POST", "/v1/reservations"),
        ("GET", "/healthz"),
        ("GET", "/"),
        ("GET", "/metrics"),
        ("GET", "/v1/machine"),
        ("PUT", "/v1/machine"),
        ("GET", "/v1/events"),
        ("POST", "/v1/plan"),
    }
    for body in ("SubmitBody", "ReserveBody", "AvailabilityAnswer"):
        assert document["components"]["schemas"][body]["examples"]


def test_the_examples_of_the_openapi_document_work(s3):
    schemas = s3.get("/openapi.json").json()["components"]["schemas"]
    now = s3.get("/v1/availability").json()["now"]
    for example in schemas["SubmitBody"]["examples"]:
        example["processors"] = min(example["processors"], 10)
        example.pop("start_by", None)
        assert s3.post("/v1/jobs", example).status_code == 201
    reserve = schemas["ReserveBody"]["examples"][0] | {"processors": 1, "start": now + 10**6}
    assert s3.post("/v1/reservations", reserve).status_code == 201


@pytest.mark.parametrize(("method", "path"), [("PATCH", "/v1/jobs/1"), ("PUT", "/v1/machine"), ("POST", "/v1/plan")])
def test_no_request_may_say_a_thing_twice(idle, method, path):
    twice, headers = '{"processors": 1, "processors": 2}', {"Content-Type": "application/json"}
    answer = requests.request(method, idle + path, data=twice, headers=headers, timeout=30)
    assert (answer.status_code, answer.json()["error"]["kind"]) == (422, "BadInput")
    assert "the key 'processors' occurs twice" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/jobs/1", 404),
        ("DELETE", "/v1/jobs/1", 404),
        ("GET", "/v1/availability?without=1", 404),
        ("PATCH", "/v1/jobs/1", 422),
        ("GET", "/v1/jobs/1/output", 404),
        ("GET", "/v1/jobs/0", 422),
        ("GET", "/v1/jobs/one", 422),
        ("GET", f"/v1/jobs/{10**30}", 422),
        ("GET", "/v1/jobs?ended=-1", 422),
        ("GET", "/nowhere", 404),
        ("PUT", "/v1/jobs", 405),
    ],
)
def test_a_bad_path_has_its_status_and_one_clear_message(idle, method, path, status):
    answer = requests.request(method, idle + path, timeout=30)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"kind", "message"}


MANY = {str(n): n for n in range(50_000)}


def submission(**actuator):
    return {"processors": 1, "walltime": 1, "actuator": {"kind": "process", "command": ["x"], **actuator}}


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(
    ("path", "place", "body"),
    [
        ("/v1/jobs", "body", MANY),
        ("/v1/plan", "body", MANY),
        ("/v1/jobs", "actuator", submission(**MANY)),
        ("/v1/jobs", "environment", submission(environment=MANY)),
        ("/v1/jobs", "command", submission(command=[1] * 10_000)),
    ],
    ids=["submission", "plan", "actuator", "environment", "command"],
)
def test_many_thousand_mistakes_are_one_error(s3, monkeypatch, path, place, body):
    counted = []
    monkeypatch.setattr("gas.service.app.first_problem", lambda errors: counted.append(len(errors)) or "")
    assert s3.post(path, body).status_code == 422
    assert counted[0] <= 2
    monkeypatch.undo()
    message = s3.post(path, body).json()["error"]["message"]
    assert place in message
    assert len(message) < 400
