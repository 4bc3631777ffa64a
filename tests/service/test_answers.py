"""The service's answers agree with the OpenAPI document."""

import pytest

from gas.service.answers import JOB_FIELDS, MachineAnswer, OneJobAnswer
from gas.service.jobs import Job, JobRequest


@pytest.fixture
def job():
    request = JobRequest("job", "lu", 4, 100, "simulated", run_time=50, user="ada")
    return Job(7, request, 10, "queued", 50, 50, 50, 150)


def test_the_documented_fields_of_a_job_are_those_that_are_answered(job):
    assert job.to_wire().keys() == JOB_FIELDS


def test_a_job_requested_by_its_number_has_every_documented_field(job):
    wire = {**job.to_wire(), **job.predicted_to_wire(None, 20), "predicted_coverage": None}
    assert OneJobAnswer.model_validate(wire).model_dump(by_alias=True) == wire


def test_the_machine_has_every_documented_field(live):
    wire = {**live.machine(), "user": "ada", "role": "user", "access": False, "predicted_coverage": None}
    wire["limits"] = dict.fromkeys(
        ("max_queued", "max_processor_seconds", "max_queued_bytes", "max_request_bytes", "max_rate", "max_streams")
    )
    wire["classes"] = []
    assert MachineAnswer.model_validate(wire).model_dump(exclude={"broken"}) == wire
