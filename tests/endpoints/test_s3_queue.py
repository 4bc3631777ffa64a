"""The queue of an S³ as a snapshot to predict from."""

import pytest

from gas.endpoints import FileEndpoint, QueueEndpoint, S3Endpoint
from gas.endpoints.s3_queue import snapshot_of
from gas.errors import Unreachable
from gas.service.tokens import the_service_user

NOW = 1_700_000_000
MACHINE = {"now": NOW, "processors": 10}


def job(state, **more):
    told = {
        "kind": "job",
        "state": state,
        "processors": 4,
        "walltime": 100,
        "user": "ann",
        "promise": NOW,
        "start": None,
    }
    return {**told, "due": None, "not_before": None, **more}


def of(*jobs, users=None, machine=MACHINE):
    return snapshot_of("s3", machine, jobs, users or {})


def test_an_s3_shows_its_queue_and_a_file_has_none(s3):
    assert isinstance(S3Endpoint("s3", s3.url), QueueEndpoint)
    assert not isinstance(FileEndpoint("list", "list.json"), QueueEndpoint)


def test_who_runs_and_who_waits_in_the_order_of_submission_with_what_they_are_promised(s3):
    running = s3.simulated(8, 600)
    s3.until(running["id"], "running")
    large, small = s3.simulated(10, 300), s3.simulated(2, 100)
    s3.until(small["id"], "running")
    ended = s3.simulated(1, 50, 0)
    s3.delete(f"/v1/jobs/{ended['id']}")
    s3.post("/v1/reservations", {"processors": 5, "start": large["promise"] + 1000, "walltime": 60})
    endpoint = S3Endpoint("s3", s3.url)
    found = endpoint.snapshot({the_service_user().user: 7})
    assert (found.machine, endpoint.policy) == (10, "s3")
    assert found.processors.tolist() == [8, 10, 2, 5]
    assert found.walltime.tolist() == [600, 300, 100, 60]
    assert found.running.tolist() == [True, False, True, False]
    assert found.fixed.tolist() == [False, False, False, True]
    assert found.start.tolist()[1] == s3.job(large["id"])["promise"]
    assert found.start.tolist()[0] == s3.job(running["id"])["start"]
    assert set(found.user.tolist()) == {7}


def test_users_that_are_not_known_have_no_number():
    found = of(job("queued"), job("queued", user="bob", promise=NOW + 100), users={"bob": 3})
    assert found.user.tolist() == [-1, 3]


def test_a_job_that_could_not_be_ended_in_time_goes_on_until_its_processors_are_due():
    found = of(job("running", start=NOW - 150, due=NOW + 50))
    assert found.walltime.tolist() == [200]


def test_what_has_started_since_the_machine_was_asked_moves_now():
    found = of(job("running", start=NOW + 2), job("queued", promise=NOW + 1))
    assert found.now == NOW + 2
    assert found.start.tolist() == [NOW + 2, NOW + 2]


def test_a_reservation_that_runs_stays_to_its_end():
    found = of(job("running", kind="reservation", start=NOW - 10))
    assert found.fixed.tolist() == [True]


def test_jobs_that_wait_for_a_time_are_not_taken_to_start_before_it():
    found = of(job("queued", not_before=NOW + 5, promise=NOW + 9), job("queued", not_before=NOW - 5), job("queued"))
    assert found.not_before.tolist() == [NOW + 5, NOW - 5, NOW]
    assert found.fixed is None
    assert of(job("queued", not_before=NOW - 5)).not_before is None


@pytest.mark.parametrize(
    ("machine", "wrong"),
    [
        ({"processors": 10}, {}),
        (MACHINE, {"walltime": None}),
        (MACHINE, {"promise": "soon"}),
        (MACHINE, {"processors": True}),
        (MACHINE, {"not_before": "soon"}),
    ],
)
def test_an_answer_that_is_none_of_s3_is_named(machine, wrong):
    with pytest.raises(Unreachable, match="s3: answered .* where a whole number belongs"):
        of(job("queued", **wrong), machine=machine)
