"""The REST API, played by a server: its answers, its users, and its failures."""

import json
import time

import numpy as np
import pytest
import requests

from documents.fields import FieldError, Fields
from gas.endpoints.access import Access
from gas.endpoints.endpoint import JobDescription, Request
from gas.endpoints.oar.rest import RestTransport
from gas.endpoints.oar.submission import batch_of
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.endpoints.wording import tag_of
from gas.errors import BadInput, Conflict, Forbidden, Unauthorized, Unreachable

JOB = JobDescription("ocean", ("./lu",))


def batch(key="k", **more):
    return batch_of(Request(2, 300, **more), JOB, key=key, resource="core")


@pytest.fixture
def transport(api):
    return RestTransport("oar", api.url, timeout=5)


def test_all_pages_are_read(api, transport):
    """The server returns five objects at a time, for any requested number."""
    for _ in range(12):
        api.add()
    assert [one.id for one in transport.machine("oar").resources] == list(range(1, 9))
    assert [job.id for job in transport.active_jobs()] == list(range(1, 13))


def test_what_is_free_is_what_jobs_leave(api, endpoint):
    job = api.add(state="Running", walltime=600, resources=[{"id": 1}, {"id": 2}])
    made = endpoint(url=api.url)
    first = made.availability()
    job["start_time"] = first.now - 10
    found = made.availability()
    start = int(found.anchors(np.array([8]), np.array([60]), 0)[0])
    assert start == job["start_time"] + 600 + 61


def test_a_condition_leaves_resources_out(api):
    for one in api.resources[:3]:
        one["cluster"] = "b"
    transport = RestTransport("oar", api.url, properties="cluster = 'b' AND core > 1")
    assert [one.id for one in transport.machine("oar").resources] == [2, 3]


def test_a_job_is_submitted_and_found_by_its_number_and_its_tag(api, transport):
    api.add(name=f"other.{tag_of('k')}", owner="bob")
    id = transport.submit(batch())
    assert transport.job(id).name == f"ocean.{tag_of('k')}"
    assert [job.id for job in transport.tagged_jobs(tag_of("k"))] == [id]
    api.jobs[-1]["state"] = "Terminated"
    assert [job.id for job in transport.tagged_jobs(tag_of("k"))] == [id]
    assert transport.job(99) is None


def test_what_is_sent_is_what_oarsub_would_be_given(api, transport):
    transport.submit(batch())
    (method, path, body) = api.asked[-1]
    assert (method, path) == ("POST", "/oarapi/jobs.json")
    assert body["resource"] == ["/core=2,walltime=0:05:00"]
    assert body["command"] == "./lu"


def test_the_latest_ended_jobs_are_asked_for_from_the_end(api, transport):
    for _ in range(9):
        api.add(state="Terminated")
    api.add(state="Running")
    assert [job.id for job in transport.ended_jobs(2)] == [8, 9]
    assert [job.id for job in transport.ended_jobs(7)] == list(range(3, 10))
    assert transport.ended_jobs(0) == ()


def test_the_name_in_a_header_is_sent_only_if_it_is_given(api):
    RestTransport("oar", api.url).active_jobs()
    assert "X-REMOTE-IDENT" not in api.headers[-1]
    RestTransport("oar", api.url, ident="ann").active_jobs()
    assert api.headers[-1]["X-REMOTE-IDENT"] == "ann"


def test_a_token_or_what_netrc_has_says_who_asks(api, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    RestTransport("oar", api.url).active_jobs()
    assert api.headers[-1]["Authorization"] == requests.auth._basic_auth_str("ann", "secret")
    RestTransport("oar", api.url, netrc=False).active_jobs()
    assert "Authorization" not in api.headers[-1]
    RestTransport("oar", api.url, access=Access("abc", "file")).active_jobs()
    assert api.headers[-1]["Authorization"] == "Bearer abc"


def test_the_token_of_s3_is_not_sent_to_oar(api, monkeypatch):
    monkeypatch.setenv("GAS_TOKEN", "for-s3")
    transport = RestTransport.configured("oar", Fields({"url": api.url}, "gas.toml"), None)
    transport.active_jobs()
    assert "Authorization" not in api.headers[-1]


def test_passwords_do_not_travel_in_the_clear(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine oar.example.org login ann password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    def credentials(**table):
        fields = Fields({"url": "http://oar.example.org/oarapi", **table}, "gas.toml")
        return RestTransport.configured("oar", fields, None)._credentials

    assert credentials() is None
    assert credentials(insecure=True) == ("ann", "secret")
    assert credentials(url="https://oar.example.org/oarapi") == ("ann", "secret")


@pytest.mark.parametrize(
    ("table", "properties", "problem"),
    [
        ({"url": "frontend/oarapi"}, None, "url.*is not the address"),
        ({"url": "http://127.0.0.1/oarapi", "ident": "a b"}, None, "ident.*is not the name of a user"),
        ({"url": "http://127.0.0.1/oarapi"}, "a = 'x' OR b = 'y'", "properties.*over REST"),
        ({"url": "http://127.0.0.1/oarapi", "timeout": 0}, None, "timeout"),
        ({"url": "http://127.0.0.1/oarapi", "token_file": "/nonexistent"}, None, "token_file"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(table, properties, problem):
    with pytest.raises(FieldError, match=problem):
        RestTransport.configured("oar", Fields(table, "gas.toml"), properties)


def test_an_api_that_knows_nobody_is_asked_about_tags_in_vain(api):
    api.user = ""
    with pytest.raises(Unauthorized, match=r"does not accept the credentials.*netrc.*ident"):
        RestTransport("oar", api.url).tagged_jobs("gas-1")


@pytest.mark.parametrize(
    ("fault", "problem"),
    [("500", "returned HTTP 500; is it the REST API of OAR"), ("cut", "connection was lost"),
     ("hang", "has not answered for 0.3 s"), ("half", "cut off|is not JSON")],
)  # fmt: skip
def test_an_answer_that_is_none_is_unreachable(api, fault, problem):
    api.fail("GET", fault)
    with pytest.raises(Unreachable, match=problem):
        RestTransport("oar", api.url, timeout=0.3).active_jobs()


def test_a_server_that_is_not_there_got_nothing(api):
    api.stop()
    transport = RestTransport("oar", api.url)
    with pytest.raises(NotSent, match="cannot be reached"):
        transport.active_jobs()
    with pytest.raises(NotSent, match="cannot be reached"):
        transport.submit(batch())


def said(status, message):
    return lambda api: (status, {"code": status, "title": "Bad query", "message": message})


def made_and_said(status, message):
    def answer(api):
        id = api.add(name=batch().name)["id"]
        return status, {"code": status, "message": message.replace("=ID", f"={id}")}

    return answer


@pytest.mark.parametrize(
    ("fault", "kind", "problem"),
    [
        (said(400, "Oarsub command exited with status 8: [ADMISSION RULE] Modify\nOAR_JOB_ID=-5\nThere are not enough "
                   "resources for your request\n[ERROR] Oarsub failed, please verify\nCmd:\noarsub --error"),
         BadInput, "oarsub refuses: There are not enough resources for your request$"),
        (said(500, "Oarsub command exited with status 248: ERROR : The queue x does not exist\nCmd:\n"), BadInput,
         "oarsub refuses: ERROR : The queue x does not exist$"),
        (said(500, "Oarsub command exited with status 1: Cannot connect to database"), NotSent, "Cannot connect"),
        (said(401, "A suitable authentication must be done"), Unauthorized, "suitable authentication.*netrc"),
        (said(403, "No"), Forbidden, "No"),
        (lambda api: (404, b"<html>Not Found</html>"), Unreachable, "is it the REST API of OAR"),
        (lambda api: (405, b""), Unreachable, "is it the REST API of OAR"),
        (made_and_said(500, "Oarsub command exited with status 9: OAR_JOB_ID=ID\n[ERROR] Cannot connect to executor"),
         RefusedAs, "Cannot connect to executor"),
        (lambda api: (201, {"id": "x"}), Unclear, "HTTP 201"),
        (lambda api: (502, b"Bad Gateway"), Unclear, "HTTP 502"),
        ("500", Unclear, "HTTP 500"),
        ("then-500", Unclear, "HTTP 500"),
        ("cut", Unclear, "connection was lost"),
        ("then-cut", Unclear, "connection was lost"),
        ("then-hang", Unclear, "has not answered"),
    ],
)  # fmt: skip
def test_what_became_of_a_submission_is_told_apart(api, fault, kind, problem):
    api.fail("POST", fault)
    with pytest.raises(kind, match=problem) as raised:
        RestTransport("oar", api.url, timeout=0.5).submit(batch())
    if kind is RefusedAs:
        assert raised.value.id == api.jobs[-1]["id"]


def test_a_job_is_cancelled_once(api, transport):
    id = transport.submit(batch())
    transport.cancel(id)
    assert transport.job(id).state == "Error"
    api.fail(
        "DELETE", said(400, "Oardel command exited with status 1536: Cannot frag 1 ; This job was already killed.")
    )
    transport.cancel(id)


def test_a_cancellation_that_oar_s_server_was_not_told_of_is_said_to_be_noted(api, transport):
    words = (
        "Oardel command exited with status 512: Deleting the job = 1 ...REGISTERED.\nCould not connect to the socket"
    )
    api.fail("DELETE", said(400, words))
    with pytest.raises(Conflict, match="the cancellation of job 1 is recorded, but OAR's server does not respond"):
        transport.cancel(1)


def test_jobs_of_others_are_not_cancelled(api, transport):
    job = api.add(owner="bob")
    with pytest.raises(Forbidden, match="is not yours or does not exist"):
        transport.cancel(job["id"])


def test_something_that_is_not_oar_is_not_taken_for_it(api):
    api.fail("GET", lambda api: (200, json.dumps({"jobs": []}).encode()))
    with pytest.raises(Unreachable, match="is it the REST API of OAR"):
        RestTransport("oar", api.url).active_jobs()


def test_what_users_have_used_is_read_where_it_decides(api, endpoint):
    """Of 1000 s used and requested, bob has 900: a karma of 2.7; the querying user, with nothing, is before him."""
    now = int(time.time())
    listed = [{"id": id} for id in range(1, 9)]
    api.add(owner="zoe", state="Running", start_time=now, walltime=600, resources=listed, queue="default")
    api.add(owner="bob", scheduled_start=now + 661, walltime=3600, resources=listed, queue="default",
            message="R=8 (Karma=2.700,quota_ok)")  # fmt: skip
    api.used = {"bob": (900, 900), "cy": (100, 100)}
    made = endpoint(url=api.url)
    found = made.availability()
    assert int(found.anchors(np.array([8]), np.array([60]), 0)[0]) - now == pytest.approx(661, abs=2)
    assert [remark for remark in made.remarks if "karma" in remark] == []
    api.used["ann"] = (5000, 5000)
    found = made.availability()
    assert int(found.anchors(np.array([8]), np.array([60]), 0)[0]) - now == pytest.approx(661 + 3661, abs=2)
    assert any("karma" in remark for remark in made.remarks)  # bob's message is older


def test_an_api_that_does_not_say_who_asks_is_planned_with(api, endpoint):
    def refused(api):
        return 401, {"message": "You must be authenticated"}

    made = endpoint(url=api.url)
    api.faults += [*[("GET", "")] * 3, ("GET", refused)]
    assert made.availability().processors == 8


def test_what_would_be_sent_has_all_shapes(api, endpoint):
    made = endpoint(url=api.url, moldable=True)
    shown = made.preview(Request(2, 300, alternatives=((4, 200),)), JobDescription("ocean", ("true",)))
    assert '"/resource_id=2,walltime=0:05:00",\n    "/resource_id=4,walltime=0:03:20"' in shown
    assert shown.startswith(f"POST {api.url}/jobs.json")
    assert api.asked == []
