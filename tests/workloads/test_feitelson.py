"""The Feitelson-96-like model against its own stated distributions; fixed seeds, p-values of 1/1000."""

import ast
import inspect
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from workloads import format_swf, offered_load, read_swf, rigid_jobs
from workloads.feitelson import VARIANTS, FeitelsonModel, generate, repeat_shares, size_shares

NO_REPEATS = FeitelsonModel(most_repeats=1)


def rng(seed=1):
    return np.random.default_rng(seed)


def expected_weights(model, machine):
    weights = {}
    for n in range(1, machine + 1):
        weights[n] = 1 / n**model.size_order
        if n in (2, 4, 8, 16, 32, 64, 128, 256, 512):
            weights[n] *= model.power_of_two_factor
        if n <= model.small_size:
            weights[n] *= model.small_factor
    return weights


# Sizes


@pytest.mark.parametrize("variant", VARIANTS)
def test_sizes_are_harmonic_with_powers_of_two_and_small_ones_emphasised(variant):
    model = replace(VARIANTS[variant], most_repeats=1)
    weights = expected_weights(model, 100)
    log = generate(50_000, 100, generator=rng(2), model=model)
    seen = np.bincount(log.allocated_processors, minlength=101)[1:]
    expected = np.array(list(weights.values())) / sum(weights.values()) * len(log)
    order = np.argsort(-expected)
    common = order[expected[order] >= 20]
    rare = np.setdiff1d(order, common)
    groups = [*([i] for i in common), *([rare] if rare.size else [])]
    observed, predicted = ([column[group].sum() for group in groups] for column in (seen, expected))
    assert scipy.stats.chisquare(observed, predicted).pvalue > 0.001


def test_without_emphasis_sizes_are_harmonic_of_the_sourced_order():
    shares = size_shares(FeitelsonModel(power_of_two_factor=1), 200)
    assert shares.sum() == pytest.approx(1)
    assert shares[0] / shares == pytest.approx(np.arange(1, 201) ** 1.5)


# Run times


@pytest.mark.parametrize("size", [1, 64, 128])
def test_run_times_are_hyper_exponential_with_more_long_ones_among_large_jobs(size):
    model = replace(NO_REPEATS, size_order=1.0)
    log = generate(200_000, 128, generator=rng(size), model=model)
    run_time = log.run_time[log.allocated_processors == size]
    assert run_time.size > 500
    short = 0.95 - 0.2 * size / 128
    unit = model.time_unit
    for limit in (60, 600, 1800, 3600, 4 * 3600, 10 * 3600):
        share = 1 - short * math.exp(-(limit + 0.5) / unit) - (1 - short) * math.exp(-(limit + 0.5) / (7 * unit))
        assert abs(np.mean(run_time <= limit) - share) < 5 * math.sqrt(share * (1 - share) / run_time.size), limit


def test_run_times_vary_more_than_exponential_ones_and_grow_weakly_with_size():
    log = generate(200_000, 128, generator=rng(3), model=NO_REPEATS)
    assert log.run_time.std() > 1.3 * log.run_time.mean()
    sizes = log.allocated_processors
    small, large = (log.run_time[mask].mean() for mask in (sizes <= 8, sizes > 64))
    assert 1.1 < large / small < 2


# Repeats


def runs_of(log):
    return np.bincount(log.executable.astype(int))[1:]


def test_the_number_of_runs_is_harmonic():
    log = generate(200_000, 128, generator=rng(5))
    # Of the jobs that arrived in the first tenth, all runs are there, with very few exceptions.
    first_seen = np.unique(log.executable, return_index=True)[1]
    early = log.executable[np.sort(first_seen[first_seen < 20_000])]
    runs = runs_of(log)[early - 1]
    shares = repeat_shares(FeitelsonModel())
    weights = np.array([1 / r**2.5 for r in range(1, 1001)])
    assert shares == pytest.approx(weights / weights.sum())
    observed = np.append(np.bincount(runs, minlength=9)[1:9], np.count_nonzero(runs > 8))
    assert scipy.stats.chisquare(observed, np.append(shares[:8], shares[8:].sum()) * runs.size).pvalue > 0.001


@pytest.mark.parametrize("think_time", [0, 500])
def test_a_run_is_submitted_when_the_one_before_would_have_ended_had_it_started_at_once(think_time):
    log = generate(5000, 128, generator=rng(6), model=FeitelsonModel(think_time=think_time))
    again = np.flatnonzero(log.preceding_job > 0)
    before = log.preceding_job[again] - 1
    assert again.size > 1000
    assert (log.executable[again] == log.executable[before]).all()
    assert (log.allocated_processors[again] == log.allocated_processors[before]).all()
    assert (log.run_time[again] == log.run_time[before]).all()
    assert np.abs(log.submit[again] - log.submit[before] - log.run_time[again] - think_time).max() <= 1
    # Each job has one first run, and no run is repeated twice.
    assert np.unique(log.executable[log.preceding_job < 0]).size == np.unique(log.executable).size
    assert np.unique(before).size == before.size


def test_first_runs_are_a_poisson_process():
    log = generate(30_000, 128, generator=rng(7))
    gaps = np.diff(log.submit[log.preceding_job < 0])
    mean = FeitelsonModel().mean_interarrival(128)
    gaps = gaps + rng(1).uniform(-0.5, 0.5, gaps.size)
    assert scipy.stats.kstest(gaps.clip(0), scipy.stats.expon(scale=mean).cdf).statistic < 0.01 + 1 / mean


# Load


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_model_tends_to_its_default_load(variant):
    model = replace(VARIANTS[variant], most_repeats=3, default_load=0.6)
    log = generate(300_000, 64, generator=rng(8), model=model)
    assert offered_load(rigid_jobs(log)) == pytest.approx(0.6, rel=0.03)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_a_load_is_reached_by_moving_arrivals_alone(load):
    plain, scaled = (generate(20_000, 128, generator=rng(4), load=target) for target in (None, load))
    assert offered_load(rigid_jobs(scaled)) == pytest.approx(load, rel=1e-5)
    assert scaled.run_time.tolist() == plain.run_time.tolist()
    assert scaled.allocated_processors.tolist() == plain.allocated_processors.tolist()


# Variants


def test_the_variants_have_more_small_jobs_and_longer_jobs():
    logs = {name: generate(50_000, 128, generator=rng(9), model=model) for name, model in VARIANTS.items()}
    serial = {name: np.mean(log.allocated_processors == 1) for name, log in logs.items()}
    mean = {name: log.run_time.mean() for name, log in logs.items()}
    assert serial["Fs"] == pytest.approx(serial["Fsl"], abs=0.03)
    assert min(serial["Fs"], serial["Fsl"]) > 1.5 * max(serial["F"], serial["Fl"])
    assert min(mean["Fl"], mean["Fsl"]) > 3 * max(mean["F"], mean["Fs"])


def test_the_variant_of_small_and_long_jobs_is_near_the_ctc_log(traces):
    real = rigid_jobs(read_swf(traces / "CTC-SP2-1996-3.1-cln.swf.gz"))
    made = generate(50_000, 338, generator=rng(10), model=replace(VARIANTS["Fsl"], most_repeats=1))
    assert np.mean(made.allocated_processors == 1) == pytest.approx(np.mean(real.processors == 1), abs=0.02)
    assert made.run_time.mean() == pytest.approx(real.run_time.mean(), rel=0.05)
    for share in (0.25, 0.75, 0.9):
        assert np.quantile(made.run_time, share) == pytest.approx(np.quantile(real.run_time, share), rel=0.35)


# Whole streams


@examples(40)
@given(st.integers(1, 300), st.integers(1, 2000), st.sampled_from(sorted(VARIANTS)), st.integers(0, 2**32))
def test_every_generated_job_can_run_and_comes_in_order(jobs, processors, variant, seed):
    log = generate(jobs, processors, generator=rng(seed), model=VARIANTS[variant])
    found = rigid_jobs(log)
    assert (len(found), found.machine, found.skipped) == (jobs, processors, {})
    assert (np.diff(log.submit) >= 0).all()
    assert log.run_time.min() >= 1


def test_the_first_jobs_of_a_longer_stream_are_those_of_a_shorter_time():
    # Nothing that arrives early is missing because jobs were drawn in portions.
    log = generate(3000, 16, generator=rng(11), model=FeitelsonModel(most_repeats=50))
    counts = np.histogram(log.submit, bins=5)[0]
    assert counts[1:].max() / counts[1:].min() < 1.35
    assert log.submit[-1] > log.submit[-2] - 1


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    first, again, other = (format_swf(generate(1000, 100, generator=rng(seed))) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_header_says_that_it_is_only_like_the_published_model_and_with_which_constants():
    notes = " ".join(generate(10, 64, generator=rng(), model=VARIANTS["Fl"]).header.notes)
    assert "like Feitelson's model of 1996, not it" in notes
    assert "long_mean 11.7" in notes


def test_every_constant_says_where_it_comes_from():
    tree = ast.parse(inspect.getsource(FeitelsonModel))
    for field, text in itertools.pairwise(tree.body[0].body):
        if isinstance(field, ast.AnnAssign):
            assert any(word in text.value.value for word in ("Sourced", "Recalled", "Ours")), field.target.id


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"time_unit": 0}, "time_unit 0"),
        ({"size_order": -1}, "size_order -1"),
        ({"short_share": 1.5}, "short_share 1.5"),
        ({"most_repeats": 0}, "most_repeats 0"),
        ({"think_time": math.inf}, "think_time inf"),
        ({"default_load": math.nan}, "default_load nan"),
    ],
)
def test_constants_that_are_no_distribution_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        FeitelsonModel(**change)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"jobs": 0}, "0 jobs"),
        ({"processors": 0}, "0 processors"),
        ({"load": -1}, "load -1"),
        ({"jobs": 1, "load": 0.5}, "no load to scale"),
        ({"arrivals": "weekly"}, '"weekly"'),
    ],
)
def test_what_cannot_be_generated_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        generate(**{"jobs": 10, "processors": 128, "generator": rng(), **arguments})
