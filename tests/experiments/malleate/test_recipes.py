"""Rigid jobs get several sizes, and keep the run time at their own size."""

import numpy as np
import pytest
from made_up import busy_jobs

from experiments.malleate.recipes import RECIPES, amdahl_jobs

MACHINE = 64


@pytest.mark.parametrize("name", RECIPES)
def test_every_job_has_its_own_size_with_its_own_time_and_walltime(name):
    jobs = busy_jobs(400, MACHINE, seed=3)
    moldable = RECIPES[name][1](jobs, np.random.default_rng(1))
    for place in range(len(jobs)):
        requests = moldable.requests(place)
        at = int(np.flatnonzero(requests.sizes == jobs.processors[place])[0])
        assert requests.times[at] == jobs.run_time[place]
        assert requests.walltimes[at] == jobs.estimate[place]
        assert (np.diff(requests.sizes) > 0).all()
        assert requests.sizes.max() <= MACHINE
        assert (requests.walltimes >= requests.times).all()


def test_amdahl_times_fall_with_size_by_less_than_in_proportion():
    jobs = busy_jobs(400, MACHINE, seed=3)
    moldable = amdahl_jobs(jobs, np.random.default_rng(1))
    for place in range(len(jobs)):
        sizes, times, _ = moldable.requests(place)
        assert (np.diff(times) <= 0).all()
        work = sizes * times
        assert (work[1:] + sizes[1:] >= work[:-1]).all()  # but for rounding up to a second


def test_amdahl_efficiency_on_the_own_size_is_from_a_half_to_95_percent():
    jobs = busy_jobs(2000, MACHINE, seed=3)
    moldable = amdahl_jobs(jobs, np.random.default_rng(1))
    found = []
    for place in np.flatnonzero((jobs.run_time > 2000) & (jobs.processors >= 2) & (jobs.processors <= MACHINE // 2)):
        sizes, times, _ = moldable.requests(int(place))
        own = int(jobs.processors[place])
        one, two = (float(times[np.flatnonzero(sizes == size)[0]]) for size in (own, 2 * own))
        # T(n) = f + (1 - f) / n: the ratio of two times gives f, and f the efficiency.
        ratio = two / one
        serial = (ratio / own - 1 / (2 * own)) / ((1 - 1 / (2 * own)) - ratio * (1 - 1 / own))
        found.append(1 / (serial * own + 1 - serial))
    assert 0.49 < min(found) < 0.56
    assert 0.90 < max(found) < 0.96


def test_sizes_are_whole_quarters_halves_and_multiples_of_the_own_one_within_the_machine():
    jobs = busy_jobs(400, MACHINE, seed=3)
    moldable = amdahl_jobs(jobs, np.random.default_rng(1))
    for place in np.flatnonzero(jobs.run_time > 0).tolist():
        own = int(jobs.processors[place])
        accepted = [own // 4] * (own % 4 == 0) + [own // 2] * (own % 2 == 0) + [own, 2 * own, 4 * own]
        assert moldable.requests(place).sizes.tolist() == [size for size in accepted if size <= MACHINE]
