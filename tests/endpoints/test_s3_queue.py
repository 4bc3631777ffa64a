"""The queue of an S³ as a snapshot for predictions, and its past as a history."""

import pytest

from gas.endpoints import FileEndpoint, QueueEndpoint, RememberingEndpoint, S3Endpoint
from gas.endpoints.s3_queue import TEACHING, history_of, snapshot_of
from gas.errors import BadInput, Unreachable
from gas.service import jobs
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
    assert found.submit.tolist()[:3] == [s3.job(id)["submitted"] for id in (running["id"], large["id"], small["id"])]
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
    with pytest.raises(Unreachable, match="s3: returned .* instead of a whole number"):
        of(job("queued", **wrong), machine=machine)


# ------------------------------------------------------------------------------------------------------------- history


def ended(state, **more):
    return job(state, submitted=NOW - 500, start=NOW - 300, finished=NOW - 260, **more)


def test_a_history_has_those_that_ended_by_themselves_and_as_arrivals_those_that_have_not_ended():
    found = history_of(
        "s3",
        [
            job("running", submitted=NOW - 40, start=NOW - 30, user="bob"),
            job("queued", submitted=NOW - 20, processors=9),
            ended("completed"),
            ended("failed", user="bob"),
            ended("timeout"),
            ended("cancelled"),
            ended("lost"),
            ended("completed", kind="reservation"),
            job("reserved", kind="reservation", submitted=NOW),
        ],
    )
    log = found.log("cpus")
    assert (found.name, dict(found.users)) == ("own past", {"bob": 0, "ann": 1})
    assert (log.start_time + log.submit).tolist() == [NOW - 500, NOW - 500, NOW - 500, NOW - 40, NOW - 20]
    assert log.wait.tolist() == [200, 200, 200, -1, -1]  # so that the ends of the last two are unknown
    assert log.run_time.tolist() == [40, 40, 100, 0, 0]
    assert log.requested_processors.tolist() == [4, 4, 4, 4, 9]
    assert log.requested_time.tolist() == [100] * 5
    assert log.user.tolist() == [1, 0, 1, 0, 1]


def test_the_states_that_teach_are_those_that_the_service_learns_from():
    assert TEACHING == jobs.TEACHING


@pytest.mark.parametrize("known", [[], [ended("cancelled")], [job("queued", submitted=NOW)]])
def test_where_no_job_has_ended_by_itself_there_is_no_history(known):
    with pytest.raises(BadInput, match="s3: no job has ended there yet"):
        history_of("s3", known)


@pytest.mark.parametrize("wrong", [{"submitted": None}, {"finished": "soon"}, {"start": None}, {"processors": True}])
def test_a_past_that_is_none_of_s3_is_named(wrong):
    with pytest.raises(Unreachable, match="s3: returned .* instead of a whole number"):
        history_of("s3", [{**ended("completed"), **wrong}])


def test_an_s3_tells_its_past(s3):
    endpoint = S3Endpoint("s3", s3.url)
    assert isinstance(endpoint, RememberingEndpoint)
    assert not isinstance(FileEndpoint("list", "list.json"), RememberingEndpoint)
    done, whole = s3.simulated(3, 600, 1)["id"], s3.simulated(2, 1)["id"]
    s3.simulated(8, 900)
    for job in (done, whole):
        s3.until(job, "completed")
    log = endpoint.history().log("cpus")
    assert log.requested_processors.tolist() == [3, 2, 8]
    assert log.run_time.tolist() == [s3.job(done)["finished"] - s3.job(done)["start"], 1, 0]
    assert endpoint.history().users == {the_service_user().user: 0}
