"""At which end of running jobs a job fits: one test for each rule."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, planned, plans, running, with_nodes

from gas.slurm.cluster import Partition, Scheduling


def staircase(*ends, version=OLD):
    """Return a machine whose nodes become free one after the other."""
    return cluster(*(running(n + 1, f"n{n}", end=end) for n, end in enumerate(ends)), nodes=len(ends), version=version)


@pytest.mark.parametrize("version", [OLD, MIDDLE])
def test_ends_are_taken_together_in_windows_that_double(version):
    """Counted from the first end, rounded up to 30 s: to 30 s after, then a minute, two, four."""
    made = staircase(100, 149, 151, 209, 211, version=version)  # the base is 120: windows to 150, 180, 240
    assert [planned(made, job(cpus=cpus))[0] for cpus in (4, 8, 12, 16, 20)] == [149, 149, 151, 211, 211]


def test_from_25_05_1_on_the_start_is_the_last_end_on_the_nodes_that_it_gets():
    made = staircase(100, 149, 151, 209, 211, version=NEW)
    assert [planned(made, job(cpus=cpus))[0] for cpus in (4, 8, 12, 16, 20)] == [100, 149, 151, 209, 211]


def test_a_first_end_that_is_a_multiple_of_half_a_minute_is_rounded_up_too():
    made = staircase(120, 175)  # the base is 150
    assert planned(made, job(cpus=4)) == (175, [0])


def test_an_end_on_nodes_with_too_little_memory_does_not_end_a_window():
    """Seen on 22.05: nodes that never have memory for a task are not offered, and the next end on others is joined."""
    made = staircase(1000, 2000, 2500, 20_000)  # the window that the second end is in goes to 2940
    four = {"cpus_per_task": 4, "memory_per_cpu": 500}
    for memory, start in (([4000] * 4, 2500), ([4000, 4000, 1000, 4000], 20_000)):
        assert planned(with_nodes(made, memory=memory), job(cpus=8, **four))[0] == start


def test_windows_may_grow_linearly():
    made = staircase(100, 610, 640)
    assert planned(made, job(cpus=8))[0] == 640  # the windows end at 600 and 1080
    linear = replace(made, scheduling=Scheduling(parameters={"bf_window_linear": "30"}))
    assert planned(linear, job(cpus=8))[0] == 610


def test_before_24_11_the_running_jobs_do_not_leave_before_a_start_that_is_tried():
    """Job 3 is tried when job 2 has ended, in two hours; before 24.11 a window joins the ends before and after it."""
    queue = (
        running(1, "n0", end=3600), running(8, "n1", end=7000), running(9, "n2", end=7300), job(2, 4, 60),
    )  # fmt: skip
    found = {version: plans(cluster(*queue, job(3, 8, 90), nodes=3, version=version)) for version in (OLD, MIDDLE)}
    assert found[OLD] == [(2, 3600, [0]), (3, 7300, [0, 1])]
    assert found[MIDDLE] == [(2, 3600, [0]), (3, 7200, [0, 1])]


def test_a_job_past_its_end_is_guessed_to_be_gone_after_kill_wait():
    assert planned(staircase(-10), job())[0] == 20
    assert planned(staircase(-100), job())[0] == 1


def test_a_node_that_a_job_is_leaving_is_free_in_a_second():
    leaving = running(1, "n0", end=-5, state="COMPLETING")
    assert planned(cluster(leaving, nodes=1), job()) == (1, [0])


def test_jobs_that_may_be_preempted_are_gone_at_once():
    low = Partition("low", ("n0",), tier=1)
    high = Partition("p", ("n0",), tier=2)
    made = cluster(running(1, "n0", end=600, partitions=("low",)), nodes=1, partitions=(low, high))

    def by_tier(waiting, partition, other):
        return partition.tier > 1 and other.partitions == ("low",)

    assert planned(made, job()) == (600, [0])
    assert planned(made, job(), preempts=by_tier) == (0, [0])
    assert planned(made, job(partitions=("low",)), preempts=by_tier) == (600, [0])


def test_instants_are_seconds():
    assert NOW % 60 == 0
