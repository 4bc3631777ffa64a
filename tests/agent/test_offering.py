"""Offers of earlier starts: accepted in their present form, declined, and refused on schedulers without offers."""

import pytest

import gas
from gas.agent.offering import accept, decline, offering
from gas.endpoints import FileEndpoint, JobDescription, OfferingEndpoint, Request, S3Endpoint
from gas.errors import BadInput, Conflict


@pytest.fixture
def endpoint(s3):
    return S3Endpoint("kth", s3.url)


def offered(s3, endpoint):
    """Return a job that was promised a start after two others; the second was cancelled, and its start is offered."""
    s3.simulated(10, 3600)
    second = s3.simulated(10, 600)
    job = endpoint.submit(Request(10, 60), JobDescription("a", run_time=5, notice=120))
    endpoint.cancel(second["id"])
    return endpoint.job(job["id"])


def test_an_s3_offers_and_a_list_does_not(endpoint):
    assert isinstance(endpoint, OfferingEndpoint)
    with pytest.raises(BadInput, match=r"notice 60 s: a\.json offers no earlier starts, only S³ does"):
        offering(FileEndpoint("a.json", "a.json"), "notice 60 s")


def test_what_is_offered_is_accepted_once(s3, endpoint):
    job = offered(s3, endpoint)
    assert job["offer"] == job["promise"] - 600
    found = accept(endpoint, job["id"])
    assert (found["promise"], found["offer"]) == (job["offer"], None)
    with pytest.raises(Conflict, match=r"has no offer now; nothing was changed"):
        accept(endpoint, job["id"])


def test_who_declines_keeps_the_promise_and_may_ask_again(s3, endpoint):
    job = offered(s3, endpoint)
    found = decline(endpoint, job["id"])
    assert (found["promise"], found["offer"], found["offers_from"]) == (job["promise"], None, None)
    again = decline(endpoint, job["id"], job["offer"] + 60)
    assert (again["offer"], again["offers_from"]) == (job["offer"] + 60, job["offer"] + 60)


def test_a_script_in_python_submits_with_notice_sees_the_offer_and_accepts_it(s3):
    s3.simulated(10, 3600)
    second = s3.simulated(10, 600)
    job = gas.submit({10: "1m"}, None, s3.url, notice="2m")
    assert (job.job["notice"], job.offer) == (120, None)
    s3.delete(f"/v1/jobs/{second['id']}")
    job.seen(s3.job(job.id))
    before = job.job["promise"]
    job.decline_offer("+70m")
    assert job.job["offers_from"] > job.job["submitted"] + 4000
    job.decline_offer(0)
    assert job.offer == before - 600
    job.accept_offer()
    assert (job.job["promise"], job.offer) == (before - 600, None)
    job.cancel()
