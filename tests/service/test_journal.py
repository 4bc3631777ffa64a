"""What is noted of a broken promise, on its job and in the log: how late it is and why."""

import logging

import pytest

from gas.s3 import S3
from gas.service.jobs import Job, JobRequest
from gas.service.journal import note_broken

REQUEST = JobRequest("job", "lu", 4, 10, "simulated", run_time=10)


def overrun(schedule):
    """The running job does not end at its walltime."""
    schedule.step(101)


def resize(schedule):
    schedule.resize(4)


@pytest.mark.parametrize(
    ("happens", "why"),
    [(overrun, "a job could not be ended at its walltime"), (resize, "the machine was reduced to 4 processors")],
)
def test_a_broken_promise_is_noted_with_its_cause(happens, why, caplog):
    schedule = S3(8, 0)
    schedule.submit(8, 100)
    schedule.submit(4, 10)
    waiting = schedule.submit(4, 10)
    schedule.step(0)
    job = Job(waiting.id, REQUEST, 0, "queued", waiting.start, waiting.promise, waiting.promise, waiting.end)
    happens(schedule)
    broken = schedule.broken[-1]
    with caplog.at_level(logging.WARNING):
        note_broken(broken, job, schedule.processors, "the service did not run")
    assert (job.broken_promise, job.message) == (100, f"its promise was broken: {why}")
    assert f"{broken.start - 100} s later than promised, because {why}" in caplog.text
