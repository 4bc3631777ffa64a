"""What becomes of a job that is not submitted yet, in a queue that is longer than what is planned of it."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, NODES, NOW, a_cluster, job

from gas.slurm import beyond
from gas.slurm.cluster import Scheduling, Tasks
from gas.slurm.forecast import outlooks
from gas.slurm.why import Why

HOUR = 3600
ALL = 4 * len(NODES)
NEAR = 60  # bf_resolution


def waiting(count, first=1, **more):
    """Return jobs that each want the whole machine for an hour, in their order."""
    return [replace(job(ALL, 60), id=first + number, user="other", priority=1000 - number, **more)
            for number in range(count)]  # fmt: skip


@pytest.fixture(autouse=True)
def few_are_planned(monkeypatch):
    """Two by Slurm, and five beyond those."""
    monkeypatch.setattr(beyond, "MOST", 5)


def found(jobs, asked):
    made = replace(a_cluster(jobs=jobs), scheduling=Scheduling(depth=2))
    (one,) = outlooks(made, [asked])
    return one


def test_behind_a_queue_that_is_planned_on_whole_it_comes_when_that_has_ended():
    one = found(waiting(7), job(1))
    assert (one.planned, one.why, one.crowd) == (None, Why.DEPTH, 0)
    assert one.expected == pytest.approx(NOW + 7 * HOUR, abs=NEAR)


def test_behind_a_longer_one_it_comes_when_the_rest_could_have_been_done_as_well():
    one = found(waiting(20), job(1))
    assert (one.planned, one.crowd) == (None, 13)
    assert one.expected == pytest.approx(NOW + 20 * HOUR, abs=NEAR)


def test_what_comes_before_the_rest_does_not_wait_for_it():
    first = found(waiting(20), replace(job(1), priority=5000))
    assert (first.planned, first.crowd) == (NOW, 0)
    among = found(waiting(20), replace(job(1), priority=997))
    assert (among.expected, among.crowd) == (pytest.approx(NOW + 4 * HOUR, abs=NEAR), 0)


def test_of_an_array_as_many_tasks_are_in_the_way_as_run_at_once():
    (array,) = waiting(1, 100, array=100, tasks=Tasks((range(50),), 2))
    one = found([*waiting(7), replace(array, priority=500)], job(1))
    assert one.crowd == 50
    assert one.expected == pytest.approx(NOW + 9 * HOUR, abs=NEAR)


def test_what_waits_elsewhere_is_in_no_way():
    there = replace(MAIN, name="other", nodes=("n1",))
    others = [replace(one, partitions=("other",), cpus=4) for one in waiting(20)]
    made = replace(a_cluster(jobs=others, partitions=(replace(MAIN, nodes=MAIN.nodes[1:]), there)),
                   scheduling=Scheduling(depth=2))  # fmt: skip
    (one,) = outlooks(made, [job(1)])
    assert one.crowd == 0
