"""The queue of a Slurm as an endpoint hands it on to be run forward."""

import pytest

from gas.availability import AvailabilityList
from gas.endpoints import QueueEndpoint, SchedulingEndpoint
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.errors import BadInput


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
        asking = endpoint.asking(script=Script.of("\n".join(["#!/bin/sh", *lines]), "job.sh"))
        plan = asking.availability()
        (job,) = asking.queue(plan, [(int(lines[0].split()[2]), 3600, None)], plan.now).jobs
        assert job.cpus == cpus


def test_a_size_that_the_options_leave_out_is_no_job(endpoint):
    asking = endpoint.asking(script=Script.of("#!/bin/sh\n#SBATCH -n 4 -c 2\n#SBATCH -N 3", "job.sh"))
    plan = asking.availability()
    assert asking.queue(plan, [(5, 3600, None)], plan.now).jobs == (None,)


def test_a_list_of_something_else_is_refused(endpoint):
    with pytest.raises(BadInput, match="the queue is not known well enough to predict from"):
        endpoint.queue(AvailabilityList.of([0], [8]), [], 0)
