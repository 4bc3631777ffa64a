"""Benchmarks replace jobs: the nearest in processor time, none twice, the same for the same seed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.moldable.benchmarks import Form, application, requests
from experiments.moldable.substitution import OPPONENTS, load_ratio, substitutes
from gas.errors import BadInput
from workloads import RigidJobs

FORM = Form()


def jobs_of(rows, machine=128):
    """Return jobs of (processors, run time), one a minute."""
    processors, run_time = np.array(rows, np.int64).reshape(-1, 2).T.copy()
    ids = np.arange(1, len(rows) + 1)
    unknown = np.full(len(rows), -1)
    estimate = np.maximum(run_time, 1)
    return RigidJobs(ids, 60 * ids, processors, estimate, run_time, unknown, unknown, unknown, ids - 1, machine)


def drawn(jobs, count, seed=1, mix="thirds", opponent="uniform"):
    return substitutes(jobs, count, mix=mix, form=FORM, opponent=opponent, generator=np.random.default_rng(seed))


def work_of(one, machine=128):
    sizes, times, _ = requests(application(one.benchmark, one.problem_class, FORM), machine)
    return one.static * int(times[sizes.tolist().index(one.static)])


some_jobs = st.lists(st.tuples(st.integers(1, 128), st.integers(0, 50_000)), min_size=5, max_size=40).map(jobs_of)


@pytest.mark.thorough
@given(some_jobs, st.integers(0, 2**32), st.sampled_from(["uniform", "powers"]))
def test_each_gives_way_who_is_nearest_of_those_left(jobs, seed, opponent):
    work = (jobs.processors * jobs.run_time).tolist()
    left = set(range(len(jobs)))
    for one in drawn(jobs, 5, seed, opponent=opponent):
        assert one.place in left
        assert abs(work[one.place] - work_of(one)) == min(abs(work[i] - work_of(one)) for i in left)
        left.remove(one.place)


def test_the_static_request_is_uniform_over_the_sizes_that_fit_the_machine():
    jobs = jobs_of([(1, i) for i in range(3000)], machine=20)
    found = drawn(jobs, 3000, mix="unrestricted")
    counts = np.bincount([one.static for one in found], minlength=21)[2:]
    assert 110 < counts.min() <= counts.max() < 210  # 158 of each are expected; five standard deviations are 61


def test_among_powers_of_two_only_what_accepts_any_size_is_held_to_them():
    jobs = jobs_of([(1, i) for i in range(200)])
    found = drawn(jobs, 200, opponent="powers")
    assert {one.static for one in found if one.benchmark == "EP"} <= {2, 4, 8, 16, 32, 64, 128}
    assert any(one.static == 25 for one in found if one.benchmark in ("SP", "BT"))


def test_a_job_that_keeps_its_size_has_one_that_the_benchmark_accepts():
    jobs = jobs_of([(p, 600) for p in (1, 3, 16, 25, 64, 100)] * 20)
    for one in drawn(jobs, 60, opponent="own"):
        assert one.static == jobs.processors[one.place]
        assert one.static in requests(application(one.benchmark, one.problem_class, FORM), 128)[0]


def test_no_more_can_give_way_than_there_are():
    assert len({one.place for one in drawn(jobs_of([(4, 100)] * 12), 12)}) == 12
    with pytest.raises(BadInput, match="only 12 jobs that can be replaced"):
        drawn(jobs_of([(4, 100)] * 12), 13)


@pytest.mark.parametrize("opponent", OPPONENTS)
def test_the_same_seed_gives_the_same_and_another_gives_others(opponent):
    jobs = jobs_of([(16, 10 * i) for i in range(300)])
    assert drawn(jobs, 50, seed=3, opponent=opponent) == drawn(jobs, 50, seed=3, opponent=opponent)
    assert drawn(jobs, 50, seed=3, opponent=opponent) != drawn(jobs, 50, seed=4, opponent=opponent)


def test_the_load_ratio_is_the_processor_time_with_the_substitutes_over_that_without():
    jobs = jobs_of([(16, 1000), (10, 100), (1, 7)])
    found = drawn(jobs, 2)
    kept = [i for i in range(3) if i not in {one.place for one in found}]
    after = sum(16_000 if i == 0 else 1000 if i == 1 else 7 for i in kept) + sum(work_of(one) for one in found)
    assert load_ratio(jobs, found, FORM) == after / 17_007


def test_sizes_can_be_uniform_in_their_logarithms():
    jobs = jobs_of([(1, i) for i in range(2000)])
    found = drawn(jobs, 2000, mix="unrestricted", opponent="log")
    small = np.mean([one.static <= 16 for one in found])
    assert 0.45 < small < 0.57  # of 2 to 128, half by logarithm: 0.51 with the bounds of rounding; 11% if uniform


def test_jobs_can_be_replaced_by_requested_time_or_at_random():
    jobs = replace(jobs_of([(1, i) for i in range(0, 300_000, 100)]), estimate=np.arange(300_000, 0, -100))
    by = {
        match: substitutes(
            jobs, 20, mix="thirds", form=FORM, opponent="uniform", generator=np.random.default_rng(1), match=match
        )
        for match in ("used", "requested", "any")
    }
    for match, time in (("used", jobs.run_time), ("requested", jobs.estimate)):
        assert all(abs(time[one.place] - work_of(one)) <= 2100 for one in by[match] if work_of(one) < 290_000)
    assert len({one.place for one in by["any"]}) == 20
    assert np.std([one.place for one in by["any"]]) > 500  # uniform: 866
