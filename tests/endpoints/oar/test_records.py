"""Jobs of OAR in Gas's own form."""

from dataclasses import replace

import pytest

from gas.endpoints.oar.answers import jobs_of, parsed, records_of
from gas.endpoints.oar.machine import Event, Job, Wanted
from gas.endpoints.oar.records import processors_of, record_of
from gas.endpoints.wording import tag_of

RUNNING = Job(5, "x", "ann", "Running", walltime=100, start=1000, submitted=900, resources=(1, 2))


def read(text):
    return {job.id: job for job in jobs_of(records_of(parsed(text, ""), ""), "")}


def test_recorded_jobs_have_their_size_state_and_times(recorded):
    jobs = {id: record_of(job, "resource_id", "gastest") for id, job in read(recorded("oarstat-J-f")).items()}
    assert [(jobs[id]["state"], jobs[id]["processors"], jobs[id]["walltime"]) for id in (1, 2, 4)] == [
        ("running", 16, 600), ("queued", 24, 1200), ("queued", 8, 900)
    ]  # fmt: skip
    assert jobs[1]["due"] == jobs[1]["start"] + 600 == jobs[1]["expected"] + 600
    assert (jobs[2]["start"], jobs[2]["expected"], jobs[2]["promise"]) == (None, 1795220015, None)
    assert jobs[2]["expected_iso"] == "2026-11-21T00:13:35Z"
    assert jobs[1]["mine"]


def test_a_recorded_job_has_completed(recorded):
    job = record_of(read(recorded("rest-jobs-details-from-to"))[3], "resource_id", "other")
    assert (job["state"], job["exit_status"], job["processors"], job["mine"]) == ("completed", 0, 8, False)
    assert job["finished"] - job["start"] == 61
    assert job["due"] is None


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("Waiting", "queued"), ("Hold", "queued"), ("toLaunch", "queued"), ("toAckReservation", "queued"),
        ("Launching", "running"), ("Running", "running"), ("Suspended", "running"), ("Resuming", "running"),
        ("Finishing", "running"), ("Terminated", "completed"), ("Error", "failed"), ("toError", "failed"),
    ],
)  # fmt: skip
def test_each_state_of_oar_is_one_of_ours(state, kind):
    assert record_of(replace(RUNNING, state=state), "core", "ann")["state"] == kind


@pytest.mark.parametrize(
    ("state", "events", "code", "expected"),
    [
        ("Terminated", (), 0, ("completed", 0, None)),
        ("Terminated", (), 3 * 256, ("failed", 3, None)),
        ("Terminated", (), 9, ("failed", None, "SIGKILL")),
        ("Terminated", ("FRAG_JOB_REQUEST",), 0, ("completed", 0, None)),  # cancelled after its end
        ("Error", ("FRAG_JOB_REQUEST",), None, ("cancelled", None, None)),
        ("Error", ("FRAG_JOB_REQUEST", "WALLTIME", "SEND_KILL_JOB"), None, ("timeout", None, None)),
        ("Error", ("PROLOGUE_ERROR",), None, ("failed", None, None)),
    ],
)
def test_how_it_ended_is_told_by_its_exit_code_and_by_what_happened(state, events, code, expected):
    job = replace(RUNNING, state=state, events=tuple(Event(kind, 1100) for kind in events), exit_code=code, stop=1100)
    record = record_of(job, "core", "ann")
    assert (record["state"], record["exit_status"], record["signal"]) == expected
    assert record["finished"] == 1100


def test_a_job_that_never_started_ended_when_that_was_noted():
    job = Job(5, "x", "ann", "Error", walltime=100, submitted=900, events=(Event("FRAG_JOB_REQUEST", 950),))
    assert record_of(job, "core", "ann")["finished"] == 950


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": "Hold"}, "held; oarresume releases it"),
        ({"state": "Waiting"}, "has no planned start yet"),
        ({"state": "Waiting", "message": "Not enough resources"}, "has no planned start: Not enough resources"),
        ({"events": (Event("FRAG_JOB_REQUEST", 1),)}, "being cancelled"),
        ({"state": "Error", "message": "R=1,W=0:1:0", "events": (Event("PROLOGUE_ERROR", 1),)}, "PROLOGUE_ERROR"),
        ({"message": "R=1,W=0:1:0"}, None),
    ],
)
def test_what_there_is_to_say_is_said(change, message):
    assert record_of(replace(RUNNING, **change), "core", "ann")["message"] == message


def test_the_name_is_shown_without_its_tag():
    assert record_of(replace(RUNNING, name=f"ocean.{tag_of('k')}"), "core", "ann")["name"] == "ocean"


@pytest.mark.parametrize(
    ("levels", "unit", "count"),
    [
        ((("network_address", 2), ("core", 4)), "core", 8),
        ((("network_address", 2), ("core", 4)), "nodes", 2),
        ((("nodes", 3),), "nodes", 3),
        ((("nodes", 2), ("core", 4)), "nodes=2/core", 4),
        ((("nodes", 2), ("core", 4)), "nodes/core=4", 2),
        ((("core", None),), "core", 2),  # ALL: the cores that the job has
        ((("network_address", 2),), "core", 2),
    ],
)
def test_processors_are_counted_in_the_unit_of_the_endpoint(levels, unit, count):
    assert processors_of(replace(RUNNING, wanted=(Wanted(levels, 100),)), unit) == count


def test_of_several_shapes_the_one_of_its_walltime_is_meant():
    shapes = (Wanted((("core", 32),), 50), Wanted((("core", 16),), 100))
    assert processors_of(replace(RUNNING, wanted=shapes), "core") == 16
    waiting = replace(RUNNING, state="Waiting", start=None, walltime=None, resources=(), wanted=shapes)
    record = record_of(waiting, "core", "ann")
    assert (record["processors"], record["walltime"]) == (32, 50)
