"""A log made moldable: it keeps its load, sizes and speed-ups follow the survey, every request is a valid one.

Shares may differ from those of the distributions by five standard deviations of a binomial count; the seeds are fixed,
so a test that passes once always does.
"""

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import busy_jobs

from experiments.moldable.moldability import (
    MOST_REQUESTS,
    SURVEY,
    Moldability,
    average_parallelism,
    moldable_jobs,
    number_of_requests,
    smallest_size,
    variance_of_parallelism,
)
from gas import AvailabilityList
from gas.errors import BadInput
from gas.planner import soonest
from gas.times import LONGEST
from speedup_models import Downey, execution_times
from workloads import RigidJobs

ALL_SIZES = Moldability("none", limited=False)


def jobs_of(rows, machine=128):
    """Return jobs of (processors, run time, estimate), one a minute."""
    processors, run_time, estimate = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    ids = np.arange(1, len(rows) + 1)
    unknown = np.full(len(rows), -1)
    return RigidJobs(ids, 60 * ids, processors, estimate, run_time, unknown, unknown, unknown, ids - 1, machine)


def made(jobs, options=ALL_SIZES, seed=1):
    return moldable_jobs(jobs, options, np.random.default_rng(seed))


def alike(number, processors=7, machine=430):
    return jobs_of([(processors, 3600, 7200)] * number, machine)


def requests_of(moldable):
    return [moldable.requests(place) for place in range(len(moldable.jobs))]


def accepted(constraint, machine):
    return set(constraint.allowed(machine).tolist())


def assert_share(found, expected):
    error = np.sqrt(expected * (1 - expected) / len(found))
    assert np.mean(found) == pytest.approx(expected, abs=5 * error + 0.0005)  # expected has three digits


def five_errors(counts):
    return 5 * np.sqrt(np.mean(counts))


# The distributions, whose quantiles are known


@pytest.mark.parametrize(
    ("smallest", "quartiles", "ends"),
    [
        (1, [11.1, 112.9, 1148.9], [1.1, 11_695]),
        (4, [9.0, 56.9, 361], [1.4, 2292]),
        (16, [7.8, 36.2, 168], [1.7, 779]),
    ],
)
def test_the_average_parallelism_has_the_quartiles_of_its_smallest_size(smallest, quartiles, ends):
    found = average_parallelism(np.array([0, 0.25, 0.5, 0.75, 1]), np.full(5, smallest))
    assert found[1:4] == pytest.approx(quartiles, rel=0.005)
    assert found[[0, 4]] == pytest.approx(ends, rel=0.04)  # the lower ones have two digits


def test_five_jobs_in_eight_can_start_on_one_processor_and_none_needs_more_than_42():
    assert_share(smallest_size(np.random.default_rng(1).random(50_000)) == 1, 0.628)
    assert smallest_size(np.array([0, np.nextafter(1, 0)])).tolist() == [1, 42]


def test_one_job_in_seven_has_no_variance_of_parallelism():
    sigma = variance_of_parallelism(np.random.default_rng(2).standard_normal(50_000))
    assert_share(sigma == 0, 0.143)
    assert_share(sigma <= 1, 0.427)
    assert sigma.min() == 0


def test_users_name_two_to_nineteen_requests():
    named = number_of_requests(np.random.default_rng(3).random(50_000))
    assert_share(named == 2, 0.379)
    assert number_of_requests(np.array([0, np.nextafter(1, 0)])).tolist() == [2, MOST_REQUESTS]


def test_the_shares_of_the_survey_sum_to_one():
    assert sum(share for _, share in SURVEY) == pytest.approx(1)


# Jobs of those distributions


@pytest.mark.parametrize(("smallest", "quartiles"), [(1, [11.1, 112.9, 1148.9]), (4, [9.0, 56.9, 361])])
def test_jobs_have_the_parallelism_of_the_smallest_size_that_they_can_take(smallest, quartiles):
    # With a sigma this large, more than 4 processors are of use whatever A is, so that no 4 is cut from above.
    found = made(alike(20_000, 50, machine=50), Moldability("none", limited=False, variability=100))
    those = (found.sizes[found.first[:-1]] == smallest) & (found.sigma > 25)
    for quartile, limit in zip((0.25, 0.5, 0.75), quartiles, strict=True):
        assert_share(found.A[those] < limit, quartile)


def test_jobs_have_the_smallest_sizes_and_the_variance_of_the_distributions():
    found = made(alike(20_000, 50, machine=50))
    assert_share(found.sizes[found.first[:-1]] == 1, 0.628)  # A > 1, so two are of use, and no 1 is cut from above
    assert_share(found.sigma == 0, 0.143)
    assert_share(found.sigma <= 1, 0.427)


def test_twice_the_variability_is_twice_the_sigma_and_none_is_none():
    once, twice, none = (made(alike(100), Moldability(variability=k)) for k in (1.0, 2.0, 0.0))
    assert (twice.sigma == 2 * once.sigma).all()
    assert (none.sigma == 0).all()
    assert (once.A == twice.A).all()


def test_sizes_end_where_the_job_is_as_fast_as_it_ever_will_be_even_if_the_smallest_is_beyond():
    found = made(alike(2000, processors=1))
    for place, (sizes, _, _) in enumerate(requests_of(found)):
        useful = Downey(1.0, found.A[place], found.sigma[place]).largest_useful_size
        assert sizes[-1] == min(useful, 430)


def test_all_sizes_between_the_bounds_are_listed_with_no_constraint():
    for sizes, _, _ in requests_of(made(alike(500, processors=430))):
        others = sizes[sizes != 430]
        assert (np.diff(others) == 1).all()


@pytest.mark.thorough
def test_the_number_of_requests_is_the_users_own_where_there_are_as_many_sizes():
    all_sizes = np.diff(made(alike(20_000)).first)
    named = np.diff(made(alike(20_000), Moldability("none")).first)
    free = all_sizes > MOST_REQUESTS
    assert_share(named[free] == 2, 0.379)
    assert set(named[free].tolist()) == set(range(2, MOST_REQUESTS + 1))


def test_every_other_size_is_named_as_often():
    every, some = (made(alike(20_000, 5, machine=21), Moldability("none", limited=n)) for n in (False, True))
    all_sizes = np.diff(every.first) == 21
    job = np.repeat(np.arange(20_000), np.diff(some.first))
    counts = np.bincount(some.sizes[all_sizes[job]], minlength=22)[1:]
    others = np.delete(counts, 4)
    assert counts[4] == all_sizes.sum()  # the own size, by all
    assert others.min() > 1000
    assert np.abs(others - others.mean()).max() < five_errors(others)


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize("constraint", ["own", "survey", "none"])
@pytest.mark.parametrize("own", [3, 8, 100])
def test_users_name_their_own_size_and_others_out_of_all_that_are_accepted(constraint, own):
    every, some = (requests_of(made(alike(3000, own), Moldability(constraint, limited=n))) for n in (False, True))
    for whole, part in zip(every, some, strict=True):
        assert own in part.sizes
        assert len(part.sizes) <= MOST_REQUESTS
        assert set(part.sizes) <= set(whole.sizes)


def test_an_own_size_that_is_accepted_costs_no_other_and_one_that_is_not_takes_the_place_of_one():
    every, some = (requests_of(made(alike(5000, 9, machine=9), Moldability("none", limited=n))) for n in (False, True))
    lost = {
        # 9 is beyond the largest size if there is a gap below it; 1 to 9 are accepted if all are allowed.
        gap: {len(w.sizes) - len(p.sizes) for w, p in zip(every, some, strict=True) if chosen(w.sizes.tolist())}
        for gap, chosen in (
            (True, lambda sizes: len(sizes) > 1 and sizes[-2] < 8),
            (False, lambda sizes: len(sizes) == 9),
        )
    }
    assert min(lost[False]) == 0
    assert min(lost[True]) == 1


# Constraints on sizes


def test_a_job_of_a_power_of_two_takes_powers_of_two_and_any_other_takes_any_size():
    jobs = jobs_of([(64, 3600, 7200), (48, 3600, 7200)] * 500)
    found = requests_of(made(jobs, Moldability("own", limited=False)))
    assert all((sizes & (sizes - 1) == 0).all() for sizes, _, _ in found[::2])
    assert {n for sizes, _, _ in found[::2] for n in sizes.tolist()} == {1, 2, 4, 8, 16, 32, 64, 128}
    assert {n for sizes, _, _ in found[1::2] for n in sizes.tolist()} == set(range(1, 129))


@pytest.mark.thorough
def test_constraints_of_the_survey_are_as_frequent_as_it_says():
    found = made(alike(20_000, 127, machine=128), Moldability("survey", limited=False))
    rigid = np.isnan(found.A)
    assert_share(rigid, 0.02)
    assert all(r.sizes.tolist() == [127] for r, still in zip(requests_of(found), rigid, strict=True) if still)
    # Above 42, the largest of the smallest sizes, a job that can use the whole machine lists all that it accepts.
    large = [
        set(sizes[sizes > 42].tolist())
        for (sizes, _, _), a, s in zip(requests_of(found), found.A, found.sigma, strict=True)
        if a > 0 and Downey(1.0, a, s).largest_useful_size >= 128
    ]
    for constraint, share in SURVEY:
        if constraint is not None:
            expected = {n for n in accepted(constraint, 128) if n > 42} | {127}
            assert_share([sizes == expected for sizes in large], share / 0.98)


# The same draws whatever the options


def test_options_change_neither_parallelism_nor_variance():
    jobs = busy_jobs(300, 100, seed=1)
    plain = made(jobs, Moldability())
    for options in (
        ALL_SIZES, Moldability("survey"), Moldability("survey", limited=False), Moldability(accuracy=0.5)
    ):  # fmt: skip
        other = made(jobs, options)
        there = ~np.isnan(other.A)
        assert there.mean() > 0.9
        assert (other.A[there] == plain.A[there]).all()
        assert (other.sigma[there] == plain.sigma[there]).all()


def test_who_is_not_constrained_names_the_same_sizes_under_the_survey():
    same = [
        set(one.sizes) == set(other.sizes)
        for one, other in zip(
            requests_of(made(alike(2000), Moldability("none"))),
            requests_of(made(alike(2000), Moldability("survey"))),
            strict=True,
        )
    ]
    assert np.mean(same) > 0.70


def test_the_same_seed_gives_the_same_and_another_gives_others():
    jobs = busy_jobs(300, 100, seed=1)
    one, again, other = made(jobs, seed=3), made(jobs, seed=3), made(jobs, seed=4)
    for name in ("first", "sizes", "times", "walltimes", "A", "sigma"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(one.A, other.A)


# Each job's requests


@st.composite
def some_jobs(draw):
    machine = draw(st.sampled_from([1, 2, 3, 16, 100]))
    rows = st.tuples(
        st.integers(1, machine),
        st.one_of(st.just(0), st.integers(1, 100), st.integers(1, 200_000)),
        st.integers(1, 50_000),
    )
    drawn = draw(st.lists(rows, min_size=1, max_size=30))
    return jobs_of([(size, ran, ran + slack) for size, ran, slack in drawn], machine)


options = st.builds(
    Moldability,
    constraint=st.sampled_from(["own", "survey", "none"]),
    limited=st.booleans(),
    variability=st.sampled_from([0.0, 1.0, 3.0]),
    accuracy=st.none(),
)
seeds = st.integers(0, 2**32)


@given(some_jobs(), options, seeds)
def test_the_own_request_is_there_to_the_second_so_that_the_load_stays(jobs, options, seed):
    found = made(jobs, options, seed)
    assert len(found.first) == len(jobs) + 1
    assert found.first[-1] == len(found.sizes) == len(found.times) == len(found.walltimes)
    for place, (sizes, times, walltimes) in enumerate(requests_of(found)):
        own = sizes.tolist().index(jobs.processors[place])
        assert times[own] == jobs.run_time[place]
        assert walltimes[own] == jobs.estimate[place]
    for name in ("id", "submit", "processors", "run_time", "estimate"):
        assert np.array_equal(getattr(found.jobs, name), getattr(jobs, name))


@given(some_jobs(), options, seeds)
def test_more_processors_are_never_slower_and_never_thriftier_but_for_rounding(jobs, options, seed):
    for sizes, times, _ in requests_of(made(jobs, options, seed)):
        assert (np.diff(sizes) > 0).all()
        assert 1 <= sizes[0] <= sizes[-1] <= jobs.machine
        assert (np.diff(times) <= 0).all()
        # A time is less than a second too long.
        assert (sizes[1:] * times[1:] >= sizes[:-1] * (times[:-1] - 1)).all()


@given(some_jobs(), options, seeds)
def test_times_are_those_of_downeys_model_seen_on_the_own_size(jobs, options, seed):
    found = made(jobs, options, seed)
    for place, (sizes, times, _) in enumerate(requests_of(found)):
        if not np.isnan(found.A[place]):
            seen = int(jobs.processors[place]), int(jobs.run_time[place])
            model = Downey.observed(*seen, found.A[place], found.sigma[place])
            assert times.tolist() == execution_times(model, sizes).tolist()


def test_the_noise_of_floats_costs_no_second():
    # Without variance the work is shared evenly up to A, so that times are known in whole numbers.
    jobs = jobs_of([(1 + i % 100, 60 * (1 + i % 37), 7200) for i in range(500)], machine=100)
    found = made(jobs, Moldability("none", limited=False, variability=0))
    for place in np.flatnonzero(found.A > 100):
        sizes, times, _ = found.requests(place)
        work = int(jobs.processors[place] * jobs.run_time[place])
        assert times.tolist() == [-(-work // size) for size in sizes.tolist()]


@given(some_jobs(), options, seeds)
def test_users_overestimate_every_request_as_they_did_their_own(jobs, options, seed):
    for place, (_, times, walltimes) in enumerate(requests_of(made(jobs, options, seed))):
        ran, asked = int(jobs.run_time[place]), int(jobs.estimate[place])
        if ran > 0:
            assert walltimes.tolist() == [-(-time * asked // ran) for time in times.tolist()]
        assert (walltimes >= times).all()


@given(some_jobs(), seeds, st.sampled_from([1, 2, 4, 10]))
def test_with_a_constant_accuracy_all_requests_have_it_the_own_one_too(jobs, seed, times_too_long):
    found = made(jobs, Moldability(accuracy=1 / times_too_long), seed)
    for place, (sizes, times, walltimes) in enumerate(requests_of(found)):
        own = sizes.tolist().index(jobs.processors[place])
        assert walltimes.tolist() == np.maximum(1, times * times_too_long).tolist()
        assert walltimes[own] == found.jobs.estimate[place]
        assert times[own] == found.jobs.run_time[place] == jobs.run_time[place]


def test_jobs_without_run_time_stay_rigid():
    found = made(jobs_of([(4, 0, 60), (4, 100, 100), (1, 0, 1)]))
    assert np.isnan(found.A).tolist() == np.isnan(found.sigma).tolist() == [True, False, True]
    assert [column.tolist() for column in found.requests(0)] == [[4], [0], [60]]
    assert [column.tolist() for column in found.requests(2)] == [[1], [0], [1]]


def test_most_jobs_of_a_busy_machine_have_a_choice():
    jobs = busy_jobs(2000, 430, seed=5)
    found = made(jobs, Moldability())
    assert np.median(np.diff(found.first)) >= 2
    assert (jobs.processors * jobs.run_time).sum() == (found.jobs.processors * found.jobs.run_time).sum()


def test_a_log_without_jobs_has_no_requests():
    found = made(jobs_of([]), Moldability("survey"))
    assert found.first.tolist() == [0]
    assert found.sizes.size == found.A.size == 0


def test_a_size_on_which_a_job_would_ask_for_more_than_136_years_is_left_out():
    endless = made(jobs_of([(64, LONGEST // 2, LONGEST)] * 50), seed=2)
    short = made(jobs_of([(64, 500, 1000)] * 50), seed=2)
    assert endless.walltimes.max() == LONGEST
    assert len(endless.sizes) < len(short.sizes)
    for long, usual in zip(requests_of(endless), requests_of(short), strict=True):
        assert 64 in long.sizes
        assert set(usual.sizes[usual.sizes > 64]) <= set(long.sizes) <= set(usual.sizes)


def test_the_planner_takes_the_requests_as_they_are():
    empty = AvailabilityList.of([0], [430], processors=430)
    for requests in requests_of(made(alike(50))):
        best = soonest(requests, empty)
        assert best.finish == requests.times.min()
        assert best.processors == requests.sizes[requests.times == requests.times.min()].min()


# What is refused


def test_a_run_time_above_the_estimate_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"job 2: run time 11 s is above its estimate of 10 s.*apply_overrun"):
        made(jobs_of([(1, 10, 10), (1, 11, 10)]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"constraint": "odd"}, 'constraint on sizes "odd" is not known; known: own, survey, none'),
        ({"variability": -1}, "variability -1: must be from 0 to 1000"),
        ({"variability": float("nan")}, "variability nan: must be from 0 to 1000"),
        ({"accuracy": 0}, "accuracy 0: must be from 0.001 to 1"),
        ({"accuracy": 1.5}, "accuracy 1.5: must be from 0.001 to 1"),
    ],
)
def test_options_out_of_range_are_refused(wrong, message):
    with pytest.raises(BadInput, match=message):
        Moldability(**wrong)


def test_options_can_be_recorded_as_json():
    options = Moldability("survey", limited=False, variability=2.0, accuracy=0.5)
    assert Moldability(**json.loads(json.dumps(asdict(options)))) == options
