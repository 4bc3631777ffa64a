"""Why Gas lost: a run is repeated in worlds that keep some of what it could not foresee."""

import numpy as np
import pytest

from experiments.moldable.losses import WORLDS, still_loses
from gas.simulation.simulate import simulate
from workloads import RigidJobs


def jobs_of(rows, machine=4):
    """Return jobs from rows of submission, processors, estimate and run time."""
    submit, processors, estimate, run_time = np.array(rows, np.int64).T
    number = np.arange(len(rows))
    unknown = np.full(len(rows), -1)
    return RigidJobs(number + 1, submit, processors, estimate, run_time, unknown, unknown, unknown, number, machine)


def worlds(rows, place, gas, static, policy="s3"):
    jobs = jobs_of(rows)
    return still_loses(jobs, simulate(jobs, policy), place, gas, static, policy)


SMALL_NOW, LARGE_LATER = (1, 300, 300), (4, 150, 150)
"""One processor for 300 s from now on, or the whole machine for 150 s."""


def test_a_running_job_that_ends_early_lets_the_whole_machine_go_first():
    # Three processors are held until 200 as far as is known, but free at 20.
    assert worlds([(0, 3, 200, 20), (10, 1, 1, 1)], 1, SMALL_NOW, LARGE_LATER) == ["running", "no arrivals"]


def test_a_waiting_job_that_ends_early_does_so_too():
    # The running job keeps its walltime; the job that starts at 30 could run until 200, and ends at 35.
    rows = [(0, 3, 30, 30), (1, 3, 170, 5), (10, 1, 1, 1)]
    assert worlds(rows, 2, SMALL_NOW, LARGE_LATER) == ["waiting", "no arrivals"]


def test_where_all_use_up_what_they_asked_for_nothing_is_lost_to_a_choice_of_the_planner():
    assert worlds([(0, 3, 200, 200), (10, 1, 1, 1)], 1, SMALL_NOW, LARGE_LATER) == []


def test_what_happened_before_is_as_it_was():
    # The first job has ended when the choice is made, so its end is the same in every world.
    rows = [(0, 4, 500, 5), (6, 3, 200, 14), (10, 1, 1, 1)]
    assert worlds(rows, 2, SMALL_NOW, LARGE_LATER) == ["running", "no arrivals"]


@pytest.mark.parametrize("policy", ["s3", "conservative", "s3-1999"])
def test_without_later_arrivals_the_moment_is_the_same(policy):
    rows = [(0, 3, 200, 20), (10, 1, 1, 1), (11, 4, 1000, 1000), (12, 2, 50, 1)]
    assert "no arrivals" in worlds(rows, 1, SMALL_NOW, LARGE_LATER, policy)
    assert set(worlds(rows, 1, SMALL_NOW, LARGE_LATER, policy)) <= set(WORLDS)
