"""When the ends of running jobs give back what a limit wants, and when use has decayed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from slurm_standing import NOW, SETTINGS, a_cluster, job, running

from gas.slurm.cluster import Tasks
from gas.slurm.release import Counted, decayed_to, subtree

JOBS = [running(1, 4, 1200), running(2, 2, 600), running(3, 1, 1800, user="other")]


def counted(jobs=JOBS, counts=lambda job: True):
    return Counted.of(a_cluster(jobs=jobs), counts)


def test_jobs_end_one_after_the_other():
    found = counted()
    assert (found.number(), found.amount("cpu")) == (3, 7)
    assert [found.when_fewer(by) for by in (1, 2, 3, 4)] == [NOW + 600, NOW + 1200, NOW + 1800, None]
    assert [found.when_less("cpu", by, 1) for by in (1, 2, 3, 6, 7)] == [
        NOW + 600, NOW + 600, NOW + 1200, NOW + 1200, NOW + 1800,
    ]  # fmt: skip


def test_a_node_counts_once_for_all_jobs_that_have_it():
    jobs = [running(1, 2, 60, nodes=("n1", "n2")), running(2, 2, 60, nodes=("n2",)), running(3, 9, 60, nodes=())]
    assert counted(jobs[:2]).amount("node") == 2
    assert counted(jobs).amount("node") == 2 + max(jobs[2].least_nodes, 1), (
        "of one whose nodes are not shown, the least"
    )


def test_only_those_that_count():
    assert counted(counts=lambda job: job.user == "other").when_fewer(1) == NOW + 1800


def test_a_job_without_an_end_gives_nothing_back_that_one_can_count_on():
    jobs = [*JOBS, replace(running(4, 1, 60), end=None)]
    assert counted(jobs).when_less("cpu", 7, 1) == NOW + 1800
    assert counted(jobs).when_less("cpu", 8, 1) is None
    assert counted(jobs).when_remaining("cpu", 10) is None


def test_a_job_over_its_time_may_end_now():
    assert counted([running(1, 1, -30)]).when_fewer(1) == NOW


def waiting(id, cpus, minutes=60, **more):
    return replace(job(cpus, minutes), id=id, **{"priority": 100 - id} | more)


def behind(*ahead, priority=0):
    """Return the running jobs and those that wait, for a job of a priority."""
    return Counted.of(a_cluster(jobs=[*JOBS, *ahead]), lambda _: True, before=replace(job(1), priority=priority))


def test_those_that_wait_before_a_job_take_what_is_given_back():
    """Three jobs run, and three may: the next two ends are those of jobs that wait, then comes the end of job 3."""
    assert behind().when_fewer(1) == NOW + 600
    assert behind(waiting(11, 1)).when_fewer(1) == NOW + 1200
    assert behind(waiting(11, 1), waiting(12, 1)).when_fewer(1) == NOW + 1800
    assert behind(*(waiting(id, 1) for id in (11, 12, 13))).when_fewer(1) == NOW + 600 + 3600


def test_who_comes_later_or_cannot_start_takes_nothing():
    assert behind(waiting(11, 1), priority=95).when_fewer(1) == NOW + 600, "it has a lower priority"
    for more in ({"dependency": "afterok:1(unfulfilled)"}, {"start": NOW + 9000}, {"eligible": NOW + 9000},
                 {"priority": 0}):  # fmt: skip
        assert behind(waiting(11, 1, **more)).when_fewer(1) == NOW + 600, more


def test_a_small_job_goes_before_a_large_one_that_does_not_fit():
    """Of 7 CPUs 2 are given back: the job of 4 waits on, one of 2 does not."""
    assert behind(waiting(11, 4)).when_less("cpu", 2, 2) == NOW + 600
    assert behind(waiting(11, 2)).when_less("cpu", 2, 2) == NOW + 1200


def test_each_task_of_an_array_counts():
    assert behind(waiting(11, 1, array=11, tasks=Tasks((range(3),)))).when_fewer(1) == NOW + 600 + 3600


@given(most=some.floats(0, 150))
def test_minutes_that_remain_are_few_enough_then_and_not_before(most):
    found = counted()
    at = found.when_remaining("cpu", most)
    assert found.remaining("cpu", at) <= most
    if at > NOW:
        assert found.remaining("cpu", at - 1) > most


def test_use_decays_by_half_lives():
    at = decayed_to(400, 100, SETTINGS, NOW)
    assert at == pytest.approx(NOW + 2 * 86400, abs=300 + 60)
    assert (at - NOW) % 300 == 0
    assert decayed_to(400, 100, replace(SETTINGS, half_life=0), NOW) is None
    assert decayed_to(400, 0, SETTINGS, NOW) is None


def test_accounts_below():
    assert set(subtree({"a": "root", "b": "a", "c": "b", "d": "root"}, "a")) == {"a", "b", "c"}
