"""What would make a waiting job start sooner: each change is planned, and of each kind the smallest is given."""

from dataclasses import replace

from slurm_standing import a_cluster, an_accounting, job

from gas.slurm.accounting import Bounds
from gas.slurm.cluster import Cluster, Job, Node, Partition
from gas.slurm.held_back import limits_in
from gas.slurm.sooner import WORTH_SECONDS, Change, sooner

NOW = 1_800_000_000
HOUR = 3600


def running(id, nodes, hours):
    return Job(
        id, "r", "ann", "RUNNING", ("main",), 4 * len(nodes), 10, start=NOW - 60, end=NOW + hours * HOUR,
        time_limit=hours * HOUR + 60, least_nodes=len(nodes), nodes=nodes, cpus_on=dict.fromkeys(nodes, 4),
    )  # fmt: skip


def waiting(id, nodes, hours, *, priority, **more):
    return Job(
        id, "w", "bob", "PENDING", ("main",), 4 * nodes, priority, time_limit=hours * HOUR, least_nodes=nodes,
        tasks_asked=4 * nodes, submitted=NOW - 600 + id, reason="Priority", **more,
    )  # fmt: skip


def cluster(*jobs, partitions=None):
    nodes = tuple(Node(f"n{at}", 4, partitions=("main",)) for at in range(4))
    names = tuple(one.name for one in nodes)
    return Cluster("c", NOW, "24.11.5", nodes, jobs, (), partitions or (Partition("main", names, longest=24 * HOUR),))


def test_a_shorter_job_that_fits_before_the_next_plan_starts_now():
    # two nodes are free until a job of all four nodes starts, in four hours
    wide = waiting(2, 4, 2, priority=9, start=NOW + 4 * HOUR, planned_nodes=("n0", "n1", "n2", "n3"))
    own = waiting(3, 2, 8, priority=5)
    first, found = sooner(cluster(running(1, ("n0", "n1"), 4), wide, own), own)
    assert first.expected is not None
    assert first.expected >= NOW + 5 * HOUR
    by_time = next(one for one in found if one.change.kind == "time")
    assert by_time.start == NOW
    assert by_time.change.job.time_limit == 4 * HOUR - 60  # the longest that ends before


def test_a_smaller_job_that_fits_beside_those_that_run_starts_now():
    own = waiting(3, 4, 8, priority=5)
    first, found = sooner(cluster(running(1, ("n0", "n1"), 4), own), own)
    assert first.expected == NOW + 4 * HOUR
    smaller = next(one for one in found if one.change.kind == "size")
    assert (smaller.start, smaller.change.job.least_nodes, smaller.change.job.cpus) == (NOW, 2, 8)


def test_other_partitions_are_tried_where_they_are_given():
    there = tuple(f"n{at}" for at in range(4))
    parts = (Partition("main", there[:2], longest=24 * HOUR), Partition("long", there[2:], longest=24 * HOUR))
    own = waiting(3, 2, 8, priority=5)
    change = Change("partition", replace(own, partitions=("long",)))
    _, found = sooner(cluster(running(1, ("n0", "n1"), 4), own, partitions=parts), own, others=[change])
    assert [(one.change.kind, one.start) for one in found if one.change.kind == "partition"] == [("partition", NOW)]


def test_a_gain_of_a_few_minutes_is_not_said():
    first_end = WORTH_SECONDS - 60
    short = replace(running(1, ("n0", "n1"), 1), end=NOW + first_end, time_limit=first_end + 60)
    own = waiting(3, 4, 8, priority=5)
    first, found = sooner(cluster(short, own), own)
    assert first.expected == NOW + first_end
    assert found == []


def test_sizes_that_are_no_whole_parts_are_not_tried():
    own = replace(waiting(3, 1, 8, priority=5), cpus=3, tasks_asked=3)
    _, found = sooner(cluster(running(1, ("n0", "n1", "n2", "n3"), 4), own), own)
    assert not [one for one in found if one.change.kind == "size"]


def test_a_job_beyond_the_limit_of_its_partition_is_tried_at_that_limit():
    own = replace(waiting(3, 1, 50, priority=5), reason="PartitionTimeLimit")
    made = cluster(own)
    first, found = sooner(made, own, limits=limits_in(made))
    (by_time,) = [one for one in found if one.change.kind == "time"]
    assert (first.expected, by_time.start, by_time.change.job.time_limit) == (None, NOW, 24 * HOUR)


def test_a_job_of_more_cpus_than_there_are_is_tried_with_all_of_them():
    def smaller(made, own):
        found = [one for one in sooner(made, own, limits=limits_in(made))[1] if one.change.kind == "size"]
        return [(one.change.job.cpus, one.change.job.tasks_asked, one.start) for one in found]

    own = replace(waiting(3, 1, 1, priority=5), cpus=50, tasks_asked=50, reason="PartitionConfig")
    assert smaller(cluster(own), own) == [(16, 16, NOW)]
    pairs = replace(own, tasks_asked=25, cpus_per_task=2, least_nodes=13)
    assert smaller(cluster(pairs), pairs) == [(16, 8, NOW)]
    drained = cluster(own)
    nodes = (replace(drained.nodes[0], why_not=("DRAIN",)), *drained.nodes[1:])
    assert smaller(replace(drained, nodes=nodes), own) == [(12, 12, NOW)]


def test_a_job_beyond_a_limit_on_cpus_is_tried_with_as_many_as_it_allows():
    asked = replace(job(1), id=2, cpus=20, tasks_asked=20, account="lab", qos="normal", reason="QOSMaxCpuPerJobLimit")
    made = a_cluster(an_accounting(normal=Bounds(job_tres={"cpu": 7.0})), jobs=[asked])
    _, found = sooner(made, asked, limits=limits_in(made))
    assert [one.change.job.cpus for one in found if one.change.kind == "size"] == [7]


def test_a_job_beyond_a_limit_on_time_is_tried_at_that_limit():
    asked = replace(job(1, minutes=1000), id=2, account="lab", qos="normal", reason="QOSMaxWallDurationPerJobLimit")
    made = a_cluster(an_accounting(normal=Bounds(longest=130 * 60)), jobs=[asked])
    _, found = sooner(made, asked, limits=limits_in(made))
    assert [one.change.job.time_limit for one in found if one.change.kind == "time"] == [130 * 60]
