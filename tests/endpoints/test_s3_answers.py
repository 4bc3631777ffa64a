"""Answers of an S³ are accepted only if every value has the required type."""

import pytest

from gas.endpoints.s3_answers import job_of, jobs_of, machine_of, standing_of
from gas.errors import Unreachable

JOB = {"id": 7, "state": "queued", "processors": 4, "walltime": 60, "promise": 1}
MACHINE = {
    "scheduler": "s", "processors": 8, "accepting": True, "in_use": 0, "queued": 0, "running": 0, "reserved": 0,
    "user": "ann", "role": "user",
}  # fmt: skip


def test_what_an_older_service_does_not_say_is_unknown_and_what_a_newer_one_says_besides_stays():
    job = job_of({**JOB, "colour": "red"}, "x")
    assert (job["name"], job["exit_status"], job["colour"]) == (None, None, "red")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "7"), ("id", True), ("id", None), ("state", []), ("processors", -1), ("processors", None),
        ("walltime", 1e300), ("start", 2**60), ("promise", "soon"), ("name", {}), ("name", "x" * 200_000),
        ("message", 5), ("exit_status", 10**400), ("mine", "yes"), ("predicted_start", float("nan")),
    ],
)  # fmt: skip
def test_a_job_with_a_value_that_cannot_be_is_not_taken(key, value):
    with pytest.raises(Unreachable, match=f"x: returned a job that cannot be understood.*{key}"):
        jobs_of({"jobs": [JOB, {**JOB, key: value}]}, "x")


@pytest.mark.parametrize("document", [None, [], 5, {}, {"jobs": None}, {"jobs": [5]}, {"jobs": {}}])
def test_what_is_no_list_of_jobs_is_not_taken(document):
    with pytest.raises(Unreachable):
        jobs_of(document, "x")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("processors", "8"),
        ("queued", None),
        ("scheduler", 5),
        ("limits", []),
        ("limits", {"max_rate": "1"}),
        ("broken", [{"id": 1}]),
    ],
)
def test_a_machine_with_a_value_that_cannot_be_is_not_taken(key, value):
    assert machine_of(dict(MACHINE), "x")["processors"] == 8
    with pytest.raises(Unreachable):
        machine_of({**MACHINE, key: value}, "x")
    if key in ("processors", "limits") and not isinstance(value, dict):
        with pytest.raises(Unreachable):
            standing_of({key: value}, "x")
