"""A job of the service: how its request is counted, what others see of it, what its directory says."""

from dataclasses import replace

import pytest

from gas.service.jobs import LONG_COMMAND, Job, JobRequest, Predicted

ASKED = JobRequest("job", "lu", 4, 100, "process", ("./lu", "8"), {"A": "1"}, "/home/ada", user="ada")


def job(state="queued", start=50, **more):
    return Job(7, more.pop("request", ASKED), 10, state, start, start, start, start + 100, **more)


def test_size_is_the_bytes_of_command_environment_and_directory():
    assert ASKED.size == len('["./lu", "8"]') + len('{"A": "1"}') + len("/home/ada")


@pytest.mark.parametrize(("letters", "kept"), [(10, True), (LONG_COMMAND, False)])
def test_a_brief_request_has_no_environment_and_no_long_command_but_its_length(letters, kept):
    request = replace(ASKED, command=("x" * letters,))
    brief = request.brief
    assert (brief.environment, bool(brief.command)) == ({}, kept)
    assert brief.command_bytes == request.command_bytes
    assert brief.brief == brief


def test_a_snapshot_does_not_follow_the_job():
    followed = job()
    seen = followed.snapshot()
    followed.state = "running"
    assert (seen.state, seen.request.environment) == ("queued", {})


def test_a_directory_is_named_by_number_and_identity():
    assert (job().directory_name, job(identity="a1").directory_name) == ("7", "7.a1")


def test_facts_name_the_variables_that_the_user_set_and_not_what_they_hold():
    facts = job(identity="a1").facts("s1")
    assert (facts["store"], facts["id"], facts["declared"], facts["start"]) == ("s1", 7, ["A"], 50)
    assert "key" not in facts  # unset values are not written


@pytest.mark.parametrize(
    ("state", "more", "start"),
    [
        ("queued", {}, None),
        ("running", {}, 50),
        ("cancelled", {"finished": 50}, None),  # before it started
        ("cancelled", {"finished": 60}, 50),
        ("cancelled", {"finished": 50, "signal": "SIGTERM"}, 50),  # it ran for less than a second
    ],
)
def test_only_a_job_that_ran_has_a_start(state, more, start):
    wire = job(state, **more).to_wire()
    assert wire["start"] == start
    assert (wire["start_iso"] is None) == (start is None)


def test_what_is_hidden_is_null():
    wire = job().to_wire(mine=False, hidden=["command", "name"])
    assert (wire["command"], wire["name"], wire["mine"], wire["processors"]) == (None, None, False, 4)


def test_a_reservation_begins_when_it_was_asked_for_and_a_job_not_before():
    reserved = replace(ASKED, kind="reservation", actuator="none", start=50)
    assert job("reserved", request=reserved).to_wire()["not_before"] is None
    assert job(request=replace(ASKED, start=40)).to_wire()["not_before"] == 40


@pytest.mark.parametrize(
    ("state", "now", "expected"),
    [("queued", 0, (20, 10, 50)), ("queued", 30, (30, 30, 50)), ("running", 0, (None, None, None))],
)
def test_a_prediction_lies_between_now_and_the_promise_and_is_of_jobs_that_wait(state, now, expected):
    wire = job(state).predicted_to_wire(Predicted(20, 10, 90), now)
    assert tuple(wire[f"predicted_{name}"] for name in ("start", "low", "high")) == expected


def test_a_remark_is_made_once_and_stays_when_the_job_is_cancelled():
    late = job("running", message="being cancelled by root")
    for _ in range(2):
        late.remark("its promise was broken: the service did not run")
    assert late.being_ended
    late.remark(late.no_longer())
    assert late.message == "its promise was broken: the service did not run; cancelled by root"
    assert late.no_longer() is None


def test_who_cancels_their_own_job_is_not_named():
    mine = job("running", message="being cancelled")
    assert (mine.no_longer(), mine.message) == (None, None)
