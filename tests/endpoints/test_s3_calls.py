"""Requests to an S³: once for each key, repeated where that is safe, and never beyond the patience."""

import json

import pytest

from gas.endpoints import InDoubt, JobDescription, Request, S3Endpoint
from gas.errors import (
    BadInput,
    Conflict,
    Draining,
    Forbidden,
    NotFound,
    OverLimit,
    StalePlan,
    StoreFailed,
    TooLarge,
    TooMany,
    Unauthorized,
    Unreachable,
)

JOB = json.dumps({"id": 7, "state": "queued", "processors": 1, "walltime": 2, "promise": 3}).encode()


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


@pytest.mark.process
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
        (401, b'{"error": {"message": "who are you?"}}', "HTTP 401; is it an S³ service"),
        (500, b'{"error": {"kind": "Internal", "message": "oh dear"}}', "x: oh dear"),
    ],
)
def test_answers_that_cannot_be_understood(scripted, status, content, message):
    scripted.answers = [(status, content)]
    with pytest.raises(Unreachable, match=message):
        S3Endpoint("x", scripted.url, retries=0).availability()


def refusal(kind, status):
    return status, json.dumps({"error": {"kind": kind.__name__, "message": "so it is"}}).encode()


REFUSALS = [
    (BadInput, 422), (Conflict, 409), (Draining, 409), (Forbidden, 403), (NotFound, 404), (OverLimit, 403),
    (StalePlan, 412), (StoreFailed, 503), (TooLarge, 413), (Unauthorized, 401),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "status"), REFUSALS)
def test_a_refusal_is_the_error_that_the_service_raised(scripted, kind, status):
    scripted.answers = [refusal(kind, status)]
    with pytest.raises(kind, match="x: so it is") as caught:
        S3Endpoint("x", scripted.url).job(1)
    assert type(caught.value) is kind
    assert len(scripted.asked) == 1, "a refusal is an answer"


ONE = Request(1, 2), JobDescription("a", run_time=1)


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"id": 1}', b"7", b"<html>"])
def test_an_answer_that_is_no_job_leaves_doubt(scripted, content):
    scripted.answers = [(201, content)]
    endpoint = S3Endpoint("x", scripted.url, patience=0)
    with pytest.raises(InDoubt, match="the request may have arrived") as caught:
        endpoint.submit(*ONE, "k")
    assert caught.value.key == "k"
    assert endpoint.in_doubt("k")


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"id": 1}', b"7"])
def test_a_job_that_cannot_be_understood(scripted, content):
    scripted.answers = [(200, content)]
    with pytest.raises(Unreachable, match="cannot be understood"):
        S3Endpoint("x", scripted.url).job(1)


@pytest.mark.parametrize(("kind", "status"), REFUSALS)
@pytest.mark.parametrize("lost_before", [False, True])
def test_a_refusal_is_the_end_of_doubt_only_if_nothing_else_was_sent(scripted, kind, status, lost_before):
    nothing = (200, b'{"jobs": []}')  # after a 409 the client asks for this: the job of its key
    scripted.answers = [("cut", b"")] * lost_before + [refusal(kind, status), nothing]
    endpoint = S3Endpoint("x", scripted.url)
    with pytest.raises(kind):
        endpoint.submit(*ONE, "k")
    assert endpoint.in_doubt("k") == lost_before
    assert not endpoint.in_doubt("another")


def test_a_job_is_the_end_of_all_doubt(scripted):
    scripted.answers = [("cut", b""), (502, b"<html>"), (200, JOB)]
    endpoint = S3Endpoint("x", scripted.url)
    endpoint.submit(*ONE, "k")
    assert not endpoint.in_doubt("k")


def test_a_key_that_was_used_for_another_plan_of_the_same_job_finds_that_job(scripted):
    scripted.answers = [refusal(Conflict, 409), (200, b'{"jobs": [%s]}' % JOB)]
    assert S3Endpoint("x", scripted.url).submit(*ONE, "a/b c")["id"] == 7
    assert scripted.asked[1][:2] == ("GET", "/v1/jobs?key=a%2Fb%20c")


@pytest.mark.process
def test_nobody_listening_leaves_no_doubt():
    endpoint = S3Endpoint("kth", "http://127.0.0.1:9", patience=0)
    with pytest.raises(Unreachable, match="nothing was submitted") as caught:
        endpoint.submit(*ONE, "k")
    assert not isinstance(caught.value, InDoubt)
    assert not endpoint.in_doubt("k")


def test_patience_is_time_and_its_first_use_is_told(scripted):
    scripted.answers = [("cut", b"")] * 100
    endpoint, told = S3Endpoint("x", scripted.url, patience=1.0), []
    endpoint.tell = told.append
    with pytest.raises(InDoubt):
        endpoint.submit(*ONE)
    assert len(scripted.asked) > 3, "more than the retries of a request that reads"
    assert len(told) == 1
    assert "trying again for 1 s" in told[0]


def test_too_many_requests_wait_as_long_as_they_are_told_to(scripted):
    status, content = refusal(TooMany, 429)
    wait = (status, content, {"Retry-After": "0.2"})
    scripted.answers = [wait, wait, wait, (200, JOB), wait, (201, JOB)]
    endpoint = S3Endpoint("x", scripted.url, retries=1)
    assert endpoint.job(7)["id"] == 7
    assert endpoint.submit(*ONE)["id"] == 7
    assert len(scripted.asked) == 6


@pytest.mark.parametrize("wait", ["3600", "Wed, 21 Oct 2015 07:28:00 GMT", "nan"])
def test_too_many_requests_do_not_wait_beyond_patience(scripted, wait):
    status, content = refusal(TooMany, 429)
    scripted.answers = [(status, content, {"Retry-After": wait})] * 9
    endpoint = S3Endpoint("x", scripted.url, patience=0.1)
    with pytest.raises(TooMany) as caught:
        endpoint.submit(*ONE, "k")
    assert caught.value.retry_after >= 1
    assert not endpoint.in_doubt("k")
    with pytest.raises(TooMany):
        endpoint.job(7)
