"""A job as the store of a service keeps it."""

from dataclasses import replace

from gas.service.jobs import Job, JobRequest, Shape

REQUEST = JobRequest(
    "job",
    "lu.C",
    64,
    17,
    actuator="process",
    command=("./lu", "-n", "é 'x'"),
    environment={"A": "1"},
    directory="/tmp",
    start_by=5,
    key="k",
    user="alice",
)
JOB = Job(
    1, REQUEST, submitted=0, state="queued", start=5, promise=5, first_promise=7, due=22, identity="0123456789abcdef"
)


def reshaped(job=JOB):
    other = replace(job)
    other.reshape(Shape(32, 40, None, 9), 3)
    return other
