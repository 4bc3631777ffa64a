"""Downey's model against its own stated distributions; fixed seeds, p-values of 1/1000."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from workloads import format_swf, offered_load, rigid_jobs
from workloads.downey import SIZES, DowneyModel, MoldableJobs, generate, generate_moldable, rigid

MODEL = DowneyModel(shortest_work=30, longest_work=3e6, largest_parallelism=200, mean_interarrival=400)


def rng(seed=1):
    return np.random.default_rng(seed)


def perfect(work, parallelism, sigma, sizes):
    """A speed-up model for tests: linear up to A."""
    return work / np.minimum(sizes, parallelism)


@pytest.fixture(scope="module")
def moldable():
    return generate_moldable(40_000, 128, generator=rng(3), model=MODEL)


@pytest.mark.parametrize(
    ("column", "law"),
    [
        ("L", lambda: scipy.stats.loguniform(30, 3e6)),
        ("A", lambda: scipy.stats.loguniform(1, 200)),
        ("sigma", lambda: scipy.stats.uniform(0, 2)),
    ],
)
def test_work_parallelism_and_variance_have_the_stated_distributions(moldable, column, law):
    assert scipy.stats.kstest(getattr(moldable, column), law().cdf).pvalue > 0.001


def test_they_are_independent_of_each_other(moldable):
    columns = [moldable.L, moldable.A, moldable.sigma, np.diff(moldable.submit, prepend=0)]
    correlations = np.abs(scipy.stats.spearmanr(np.stack(columns), axis=1).statistic - np.eye(4))
    assert correlations.max() < 5 / math.sqrt(len(moldable))


def test_interarrival_times_are_exponential_or_uniform_log(moldable):
    assert scipy.stats.kstest(np.diff(moldable.submit, prepend=0), scipy.stats.expon(scale=400).cdf).pvalue > 0.001
    other = generate_moldable(20_000, 128, generator=rng(), model=MODEL, arrivals="uniform-log")
    gaps = np.log(np.diff(other.submit, prepend=0))
    assert scipy.stats.kstest((gaps - gaps.min()) / np.ptp(gaps), "uniform").pvalue > 0.001


def test_by_default_the_largest_parallelism_is_the_machine_and_the_work_offered_is_seven_tenths_of_it():
    model = DowneyModel.for_machine(256)
    assert model.largest_parallelism == 256
    mean_work = scipy.stats.loguniform(model.shortest_work, model.longest_work).mean()
    assert mean_work / (256 * model.mean_interarrival) == pytest.approx(0.7)


def test_given_constants_are_kept():
    model = DowneyModel.for_machine(64, shortest_work=5, longest_work=50, largest_parallelism=9, mean_interarrival=7)
    assert model == DowneyModel(5, 50, 9, 7)
    assert DowneyModel.for_machine(64, longest_work=50).mean_interarrival != model.mean_interarrival


# Rigid


def test_execution_times_are_the_callers_rounded_up_to_whole_seconds():
    columns = ([0.5, 7.2, 9.9], [100.0, 0.2, 90.0], [4.4, 1, 300], [0, 1, 2])
    jobs = MoldableJobs(*map(np.array, columns))
    seen = []

    def seconds(work, parallelism, sigma, sizes):
        seen.append((work.tolist(), parallelism.tolist(), sigma.tolist(), sizes.tolist()))
        return work / sizes

    log = rigid(jobs, 64, seconds, generator=rng())
    assert seen == [([100.0, 0.2, 90.0], [4.4, 1, 300], [0, 1, 2], [4, 1, 64])]
    assert log.allocated_processors.tolist() == [4, 1, 64]  # A to the nearest, at most the machine
    assert log.run_time.tolist() == [25, 1, 2]
    assert log.submit.tolist() == [0, 7, 9]


def test_sizes_can_be_powers_of_two_near_the_parallelism():
    jobs = MoldableJobs(np.arange(5.0), np.ones(5), np.array([1.0, 2.9, 5.6, 5.7, 900]), np.zeros(5))
    assert SIZES["power-of-two"](jobs, 100, rng()).tolist() == [1, 4, 4, 8, 64]


def test_sizes_can_be_any_up_to_the_parallelism_each_as_likely():
    jobs = MoldableJobs(np.zeros(6000), np.ones(6000), np.full(6000, 5.1), np.zeros(6000))
    sizes = SIZES["uniform"](jobs, 100, rng())
    assert scipy.stats.chisquare(np.bincount(sizes, minlength=7)[1:]).pvalue > 0.001
    assert SIZES["uniform"](jobs, 3, rng()).max() == 3


@examples(40)
@given(st.integers(1, 300), st.integers(1, 3000), st.sampled_from(sorted(SIZES)), st.integers(0, 2**32))
def test_every_generated_job_can_run_and_comes_in_order(jobs, processors, sizes, seed):
    log = generate(jobs, processors, generator=rng(seed), seconds=perfect, choose=SIZES[sizes])
    found = rigid_jobs(log)
    assert (len(found), found.machine, found.skipped) == (jobs, processors, {})
    assert (np.diff(log.submit) >= 0).all()
    assert log.run_time.min() >= 1


@pytest.mark.parametrize("load", [0.3, 0.9])
def test_a_load_is_reached_by_moving_arrivals_alone(load):
    plain, scaled = (generate(20_000, 64, generator=rng(4), seconds=perfect, load=target) for target in (None, load))
    assert offered_load(rigid_jobs(scaled)) == pytest.approx(load, rel=1e-5)
    assert scaled.run_time.tolist() == plain.run_time.tolist()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    made = [format_swf(generate(1000, 100, generator=rng(seed), seconds=perfect)) for seed in (1, 1, 2)]
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_the_header_names_the_constants_and_how_sizes_were_chosen():
    log = generate(10, 64, generator=rng(), seconds=perfect, choose=SIZES["power-of-two"], model=MODEL)
    (note,) = [note for note in log.header.notes if "shortest_work 30" in note]
    assert "sizes power-of-two" in note
    assert "largest_sigma 2" in note


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shortest_work": 0}, "shortest_work 0"),
        ({"longest_work": 10}, "longest_work 10"),
        ({"largest_parallelism": 0.5}, "largest_parallelism 0.5"),
        ({"largest_sigma": -1}, "largest_sigma -1"),
        ({"mean_interarrival": math.nan}, "mean_interarrival nan"),
    ],
)
def test_constants_that_are_no_distribution_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replace(MODEL, **change)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"jobs": 0}, "0 jobs"),
        ({"processors": 0}, "0 processors"),
        ({"load": 0}, "load 0"),
        ({"arrivals": "weekly"}, '"weekly"'),
        ({"choose": lambda jobs, processors, generator: np.full(10, 65)}, "from 1 to 64, not 10 from 65 to 65"),
        ({"seconds": lambda *given: np.full(10, math.nan)}, "execution times must be 10 finite numbers"),
        ({"seconds": lambda *given: np.ones(3)}, "not 3 from 1 to 1"),
    ],
)
def test_what_cannot_be_generated_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        generate(**{"jobs": 10, "processors": 64, "generator": rng(), "seconds": perfect, **arguments})
