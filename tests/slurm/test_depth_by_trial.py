"""How many jobs of a user or a partition are planned, as plans are only with that number."""

from dataclasses import replace

import pytest
from made_clusters import cluster, job, running

from gas.slurm.cluster import Licence, Partition, Scheduling, Tasks
from gas.slurm.depth_by_trial import depth_by_trial
from gas.slurm.forecast import forecast
from gas.slurm.unpublished import with_inferred_settings


def published(made, **parameters):
    """Return a cluster whose jobs have the starts of a cycle with some parameters, which are not published."""
    planned = replace(made, scheduling=Scheduling(parameters={"bf_node_space_size": "0"} | parameters))
    starts: dict[int, int] = {}
    for one in forecast(planned, beyond=False).plans:
        starts.setdefault(one.job.id, one.start)
    jobs = tuple(replace(one, start=starts.get(one.id)) if one.pending else one for one in made.jobs)
    return replace(made, jobs=jobs, planned=made.now)


def queue(*users, **fields):
    jobs = [job(at, 4, user=user, priority=100 - at, **fields) for at, user in enumerate(users, 1)]
    return cluster(running(99, "n0", end=600), *jobs, nodes=1)


@pytest.mark.parametrize("parameters", [{"bf_max_job_user": "2"}, {"bf_max_job_part": "3"}])
def test_it_is_the_number_with_which_plans_are_as_they_are_published(parameters):
    ((key, count),) = parameters.items()
    made = queue("ann", "ann", "ann", "bob", "eve")
    assert depth_by_trial(published(made, **parameters)) == (key, int(count))


def test_jobs_without_licences_count_though_they_have_no_plan():
    made = queue("ann", "ann", "ann")
    jobs = tuple(replace(one, licences={"x": 1}) if one.id == 1 else one for one in made.jobs)
    made = replace(made, jobs=jobs, licences=(Licence("x", 1, used=1),))
    assert depth_by_trial(published(made, bf_max_job_user="2")) == ("bf_max_job_user", 2)


def test_tasks_of_an_array_count_one_by_one():
    made = queue("ann", "bob")
    first = replace(made.jobs[1], array=1, tasks=Tasks((range(4),)))
    made = replace(made, jobs=(made.jobs[0], first, *made.jobs[2:]))
    assert depth_by_trial(published(made, bf_max_job_user="2")) == ("bf_max_job_user", 2)


def test_where_a_cycle_without_it_plans_the_same_there_is_none():
    assert depth_by_trial(published(queue("ann", "bob"))) is None
    assert depth_by_trial(queue("ann", "bob")) is None


def test_preemption_by_tier_shows_in_plans_that_a_cycle_makes_only_with_it():
    """On 22.05 slurmrestd says neither PreemptType nor from when on a job is preemptable."""
    partitions = (Partition("p", ("n0",)), Partition("high", ("n0",), tier=2))
    first = replace(job(1, 4), partitions=("high",))
    waiting = cluster(running(99, "n0", end=600), first, nodes=1, partitions=partitions)
    waiting = replace(waiting, planned=waiting.now)
    with_it = replace(waiting, jobs=(waiting.jobs[0], replace(first, start=waiting.now + 1)))
    without = replace(waiting, jobs=(waiting.jobs[0], replace(first, start=waiting.now + 600)))
    assert with_inferred_settings(with_it).settings.preempt_type == "partition_prio"
    assert with_inferred_settings(without).settings is None
