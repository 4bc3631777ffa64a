"""Lists of jobs in pages: in submission order, each job once, and never more than a page at a time."""

import json
import time

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.s3 import S3Endpoint
from gas.errors import OverLimit, Unreachable
from gas.service.jobs import LONG_COMMAND, Job, JobRequest
from gas.service.limits import Limits
from gas.service.listing import Wanted, candidates_of, page_of
from gas.service.live import LiveScheduler
from gas.service.server import Embedded


def job(id, state="queued", user="alice"):
    return Job(id, JobRequest("job", "x", 1, 60, "simulated", run_time=60, user=user), 0, state, 0, 0, 0, 60)


@given(st.sets(st.integers(1, 60)), st.integers(1, 7), st.sampled_from([None, "alice", "bob"]))
def test_the_pages_together_are_the_list(ids, limit, user):
    jobs = {id: job(id, user="alice" if id % 3 else "bob") for id in sorted(ids)}
    found, after, pages = [], 0, 0
    while after is not None:
        wanted = Wanted(after, limit, user=user)
        page = page_of([jobs[id] for id in candidates_of(jobs, list(jobs), wanted)], wanted)
        assert len(page.jobs) <= limit
        found += [one.id for one in page.jobs]
        after, pages = page.next, pages + 1
    expected = [id for id in jobs if user in (None, jobs[id].request.user)]
    assert found == expected
    assert pages == max(1, -(-len(expected) // limit))


@pytest.fixture
def busy(start_s3):
    """Five ended jobs, two running and four waiting ones; by number, ended ones are among the others."""
    s3 = start_s3(4)
    s3.made = [s3.simulated(2, 5000)["id"] for _ in range(11)]
    for id in s3.made[2:9:2] + s3.made[:1]:
        s3.delete(f"/v1/jobs/{id}")
    deadline = time.monotonic() + 20
    while s3.scheduler.machine()["running"] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return s3


def test_a_list_comes_in_pages_in_submission_order(busy):
    first = busy.get("/v1/jobs?limit=4&ended=3").json()
    ended = [one["id"] for one in first["jobs"] if one["state"] == "cancelled"]
    second = busy.get(f"/v1/jobs?limit=4&ended=3&after={first['next']}").json()
    third = busy.get(f"/v1/jobs?limit=4&ended=3&after={second['next']}").json()
    assert [len(page["jobs"]) for page in (first, second, third)] == [4, 4, 1]
    assert third["next"] is None
    listed = [one for page in (first, second, third) for one in page["jobs"]]
    assert [one["id"] for one in listed] == sorted(one["id"] for one in listed)
    assert sum(one["state"] == "cancelled" for one in listed) == 3
    assert ended == [one["id"] for one in listed if one["state"] == "cancelled"][: len(ended)]


def test_a_list_can_be_narrowed_to_states_a_user_and_fields(busy):
    user = busy.get("/v1/machine").json()["user"]
    running = busy.get("/v1/jobs?state=running&fields=state,promise").json()["jobs"]
    assert [set(one) for one in running] == [{"id", "state", "promise"}] * 2
    assert {one["state"] for one in running} == {"running"}
    both = busy.get("/v1/jobs?state=running&state=cancelled&ended=100").json()["jobs"]
    assert [one["state"] for one in both].count("cancelled") == 5
    assert len(both) == 7
    assert busy.get("/v1/jobs?user=somebody-else").json() == {"jobs": [], "next": None}
    assert len(busy.get(f"/v1/jobs?user={user}").json()["jobs"]) == 6


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(
    ("query", "problem"),
    [("fields=id,secret", "secret"), ("limit=0", "limit"), ("limit=5000", "limit"), ("state=x", "state")],
)
def test_a_page_that_cannot_be_is_refused(busy, query, problem):
    answer = busy.get(f"/v1/jobs?{query}")
    assert answer.status_code == 422
    assert problem in answer.json()["error"]["message"]


def test_clients_follow_the_pages(busy, monkeypatch):
    asked = []
    endpoint = S3Endpoint("s3", busy.url)
    call = endpoint.call

    def in_small_pages(method, path, body=None):
        asked.append(path)
        return call(method, f"{path}&limit=2", body)

    monkeypatch.setattr(endpoint, "call", in_small_pages)
    listed = endpoint.jobs(ended=100)
    assert [one["id"] for one in listed] == busy.made
    assert len(asked) == 6
    assert [set(one) for one in endpoint.jobs(fields=["state"])] == [{"id", "state"}] * 6


@pytest.mark.parametrize("following", ["7", 0, -1, True, 1.5])
def test_a_service_whose_pages_never_end_is_not_followed(monkeypatch, following):
    answer = requests.Response()
    answer.status_code, answer._content = 200, json.dumps({"jobs": [], "next": following}).encode()
    endpoint = S3Endpoint("s3", "http://127.0.0.1:1")
    monkeypatch.setattr(endpoint, "call", lambda *asked: answer)
    with pytest.raises(Unreachable, match="whose next page begins at"):
        endpoint.jobs()


def test_a_long_command_is_told_only_with_its_own_job(start_s3):
    s3 = start_s3(2)
    s3.simulated(2, 5000)
    long, short = ["true", "x" * (LONG_COMMAND + 1)], ["true", "y"]
    waiting = [s3.process(2, 10, *command)["id"] for command in (long, short)]
    ended = [s3.process(2, 10, *command)["id"] for command in (long, short)]
    for id in ended:
        s3.delete(f"/v1/jobs/{id}")
    listed = {one["id"]: one for one in s3.get("/v1/jobs?ended=10").json()["jobs"]}
    for brief, whole in (waiting, ended):
        assert listed[brief]["command"] is None
        assert listed[brief]["command_bytes"] == len(json.dumps(long))
        assert listed[whole]["command"] == short
        assert s3.job(brief)["command"] == long


# ---------------------------------------------------------------------------------------------------- bytes of a user


def test_a_user_may_keep_so_many_bytes_of_commands(tmp_path):
    limits = Limits(max_queued_bytes=10_000)
    with Embedded(LiveScheduler("s3", 2, tmp_path / "state", limits=limits), limits=limits) as service:

        def submit(length):
            body = {"kind": "process", "command": ["true", "x" * length]}
            return requests.post(
                f"{service.url}/v1/jobs", json={"processors": 2, "walltime": 900, "actuator": body}, timeout=30
            )

        first = submit(6000)
        assert first.status_code == 201
        refused = submit(5000)
        assert (refused.status_code, refused.json()["error"]["kind"]) == (403, "OverLimit")
        assert "10000" in refused.json()["error"]["message"]
        assert "cancel one" in refused.json()["error"]["message"]
        assert submit(1000).status_code == 201
        assert "put long parts into a file" in submit(10_000).json()["error"]["message"]
        for one in service.scheduler.jobs():
            service.scheduler.cancel(one.id)


def test_the_bytes_of_a_user_count_together():
    limits = Limits(max_queued_bytes=100)
    limits.check_bytes("alice", 60, 40)
    with pytest.raises(OverLimit, match="101, and the limit is 100"):
        limits.check_bytes("alice", 60, 41)
    Limits(max_queued_bytes=None).check_bytes("alice", 10**18, 10**18)
