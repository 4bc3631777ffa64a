"""Requests that are killed and submitted again agree with whole simulations of logs that contain them all."""

from dataclasses import replace

import numpy as np
import pytest
from made_up import busy_jobs

from experiments.accuracy.rounds import Chain, followed
from gas.simulation.simulate import Simulation, simulate

NEEDS = 5000


@pytest.fixture(scope="module")
def jobs():
    return busy_jobs(400, 64, seed=3)


def log_with(jobs, place, size, requests):
    """Return the jobs with one that is resubmitted, and the places of its requests (instant, walltime, run time)."""
    kept = np.arange(len(jobs)) != place
    names = ("id", "submit", "processors", "estimate", "run_time", "user", "group", "executable", "row")
    columns = {name: list(getattr(jobs, name)[kept]) for name in names}
    at = []
    for instant, walltime, time in requests:
        here = place if not at else int(np.searchsorted(columns["submit"], instant, side="right"))
        row = {"id": 10**6 + here, "submit": instant, "processors": size, "estimate": walltime, "run_time": time}
        for name in names:
            columns[name].insert(here, row.get(name, -1))
        at.append(here)
    return replace(jobs, **{name: np.array(column, np.int64) for name, column in columns.items()}), at


def first_of(jobs, place, size, walltime, longest=10**6):
    simulation = Simulation(jobs, "s3", ask=[place])
    simulation.run()
    end = int(simulation.outcomes([size], [walltime], [walltime])[0, 1])
    return Chain(place, size, NEEDS, longest, (walltime,), (end,))


def test_each_request_ends_as_in_a_whole_simulation_of_the_log_that_has_all_of_them(jobs):
    chains = [first_of(jobs, place, size, 300) for place in (40, 150, 333) for size in (4, 64)]
    found = followed(jobs, chains, "s3")
    assert list(found) == chains
    for chain, whole in found.items():
        assert whole.walltimes == (300, 600, 1200, 2400, 4800, 9600)
        submits = (int(jobs.submit[chain.place]), *whole.ends[:-1])
        times = (*whole.walltimes[:-1], NEEDS)
        together, at = log_with(jobs, chain.place, chain.size, list(zip(submits, whole.walltimes, times, strict=True)))
        assert simulate(together, "s3").end[at].tolist() == list(whole.ends)


def test_a_walltime_is_at_most_what_the_site_accepts(jobs):
    chain = first_of(jobs, 40, 4, 2000, longest=NEEDS)
    assert followed(jobs, [chain], "s3")[chain].walltimes == (2000, 4000, NEEDS)


@pytest.mark.thorough
def test_requests_of_other_jobs_take_no_part():
    jobs = busy_jobs(400, 64, seed=7)  # so that a request that differs by a second on one processor would show
    alone = [first_of(jobs, place, 4, 300) for place in (218, 221)]
    places = [(place, size) for place in range(20, 380, 3) for size in (4, 64)]
    others = [replace(first_of(jobs, *one, 300), time=301) for one in places]
    among = followed(jobs, [*others, *alone], "s3")
    assert {chain: among[chain] for chain in alone} == followed(jobs, alone, "s3")


def test_nothing_killed_is_nothing_to_follow(jobs):
    assert followed(jobs, [], "s3") == {}
