"""The queue of a Slurm as an endpoint hands it on to be run forward."""

from dataclasses import replace

import pytest

from gas.availability import AvailabilityList
from gas.endpoints import QueueEndpoint, RequeueingEndpoint, SchedulingEndpoint
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint, in_place_of
from gas.errors import BadInput, Conflict
from gas.slurm.cluster import Job


@pytest.fixture
def endpoint(slurm):
    return SlurmEndpoint("fake", CommandTransport("fake", timeout=5, folder=str(slurm.folder)))


def test_its_candidates_are_the_jobs_that_would_be_submitted(endpoint):
    assert isinstance(endpoint, SchedulingEndpoint)
    assert not isinstance(endpoint, QueueEndpoint)
    plan = endpoint.availability()
    queue = endpoint.queue(plan, [(4, 3600, None), (10**6, 3600, None)], plan.now)
    assert [one.cpus for one in queue.jobs] == [4, 10**6]
    assert queue.jobs[0].time_limit == 3600
    assert queue.cluster.now == plan.now
    assert (queue.snapshot({}).machine, queue.unseen_until) == (128, None)


def test_sizes_of_several_cpus_and_of_gpus_are_predicted_too(endpoint):
    for lines, cpus in ((("#SBATCH -n 4 -c 2",), 8), (("#SBATCH -N 2",), 2)):
        asking = endpoint.requesting(script=Script.of("\n".join(["#!/bin/sh", *lines]), "job.sh"))
        plan = asking.availability()
        (job,) = asking.queue(plan, [(int(lines[0].split()[2]), 3600, None)], plan.now).jobs
        assert job.cpus == cpus


def test_a_size_that_the_options_leave_out_is_no_job(endpoint):
    asking = endpoint.requesting(script=Script.of("#!/bin/sh\n#SBATCH -n 4 -c 2\n#SBATCH -N 3", "job.sh"))
    plan = asking.availability()
    assert asking.queue(plan, [(5, 3600, None)], plan.now).jobs == (None,)


def test_a_list_of_something_else_is_refused(endpoint):
    with pytest.raises(BadInput, match="the queue is not known well enough to predict from"):
        endpoint.queue(AvailabilityList.of([0], [8]), [], 0)


@pytest.fixture
def queued(endpoint, monkeypatch):
    """The same with a job that waits, of priority 1,700, and one that waits behind it."""
    cluster = endpoint.transport.cluster("fake")
    name, now = cluster.partitions[0].name, cluster.now
    jobs = [Job(id, "lu", "ada", "PENDING", (name,), 4, p, submitted=now - 60) for id, p in ((7, 1_700), (8, 1_600))]
    cluster = replace(cluster, jobs=tuple(jobs))
    monkeypatch.setattr(endpoint.transport, "cluster", lambda name: cluster)
    return endpoint


def test_a_waiting_job_is_a_candidate_in_each_shape_and_not_in_the_queue(queued):
    assert isinstance(queued, RequeueingEndpoint)
    queue = queued.queue_with(7, [(4, 3600, None), (8, 1800, None), (10**6, 60, None)], 0)
    assert [(one.cpus, one.time_limit) for one in queue.jobs] == [(4, 3600), (8, 1800), (10**6, 60)]
    assert [one.priority for one in queue.jobs] == [1_700] * 3, "that of its age: its size adds nothing there"
    assert [job.id for job in queue.cluster.jobs] == [8], "who waits behind it is still there"


def test_one_that_waits_no_more_is_a_conflict(queued):
    with pytest.raises(Conflict, match="job 9 is no longer waiting"):
        queued.queue_with(9, [(4, 3600, None)], 0)


def test_in_another_shape_it_keeps_what_it_has_waited_for_and_gets_what_its_size_adds():
    def asked(priority, **more):
        return Job(0, "", "ada", "PENDING", ("batch",), 4, priority, **more)

    job = asked(1_700, priority_in={"batch": 1_700})
    own, larger = asked(1_000), asked(1_250, priority_in={"batch": 1_250})
    assert in_place_of(job, own, own).priority == 1_700
    assert in_place_of(job, larger, own).priority_in == {"batch": 1_950}
    assert in_place_of(job, asked(0), own).priority == 700
    assert in_place_of(asked(5), asked(0), own).priority == 1, "one with priority 0 would be held"
    assert in_place_of(job, larger, None).priority == 1_700
