"""The Lublin-Feitelson model against its own stated distributions, computed here independently.

Bounds are five standard deviations or a p-value of 1/1000 under fixed seeds.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from workloads import format_swf, offered_load, rigid_jobs
from workloads.lublin import (
    BATCH,
    INTERACTIVE,
    ONE_TYPE,
    LublinModel,
    arrival_times,
    draw_run_times,
    draw_sizes,
    generate,
    slot_weights,
)

MODEL = LublinModel()
TYPES = [BATCH, INTERACTIVE, ONE_TYPE]
type_names = ["batch", "interactive", "one"]
every_type = pytest.mark.parametrize("kind", TYPES, ids=type_names)


def rng(seed=1):
    return np.random.default_rng(seed)


def near(share, expected, count):
    return abs(share - expected) <= 5 * math.sqrt(expected * (1 - expected) / count)


# Sizes


def log2_cdf(kind, x):
    """The two-stage uniform distribution: p_u evenly below med, the rest evenly above."""
    below = np.clip((x - kind.low) / (kind.med - kind.low), 0, 1)
    above = np.clip((x - kind.med) / (kind.hi - kind.med), 0, 1)
    return kind.p_u * below + (1 - kind.p_u) * above


def size_shares(kind, machine):
    """The probability of every size, from the ends of its rounding interval."""
    shares = np.zeros(machine + 1)
    sizes = np.arange(1, machine + 1)
    any_size = 1 - kind.p_serial - kind.p_pow2
    shares[1:] = any_size * (log2_cdf(kind, np.log2(sizes + 0.5)) - log2_cdf(kind, np.log2(sizes - 0.5)))
    largest = math.floor(kind.hi)
    for power in range(largest + 1):
        top = math.inf if power == largest else power + 0.5
        shares[2**power] += kind.p_pow2 * (log2_cdf(kind, top) - log2_cdf(kind, power - 0.5))
    shares[1] += kind.p_serial
    return shares


@pytest.mark.parametrize("machine", [8, 100, 128, 430])
@every_type
def test_sizes_follow_the_two_stage_uniform_distribution(kind, machine):
    scaled = kind.scaled(machine / 128)
    shares = size_shares(scaled, machine)
    assert shares.sum() == pytest.approx(1)
    count = 100_000
    seen = np.bincount(draw_sizes(scaled, count, rng(machine)), minlength=machine + 1)
    assert seen.size == machine + 1
    frequent = shares * count >= 10
    observed = np.append(seen[frequent], seen[~frequent].sum())
    expected = np.append(shares[frequent], shares[~frequent].sum()) * count
    if expected[-1] < 10:
        assert observed[-1] <= 40
        observed, expected = observed[:-1], expected[:-1] * (observed[:-1].sum() / expected[:-1].sum())
    assert scipy.stats.chisquare(observed, expected).pvalue > 0.001


@every_type
def test_serial_jobs_have_the_stated_share_and_powers_of_two_at_least_theirs(kind):
    sizes = draw_sizes(kind, 100_000, rng())
    assert near(np.mean(sizes == 1), kind.p_serial, sizes.size)
    powers = np.mean(sizes & (sizes - 1) == 0)
    shares = size_shares(kind, 128)
    expected = shares[[2**k for k in range(8)]].sum()
    assert kind.p_serial + kind.p_pow2 < expected < 1
    assert near(powers, expected, sizes.size)


def test_the_constants_stand_for_128_processors():
    assert [kind.scaled(1) for kind in TYPES] == TYPES
    assert BATCH.hi == ONE_TYPE.hi == math.log2(MODEL.machine)


def test_on_eight_processors_sizes_are_as_the_authors_advise():
    for kind in (BATCH, ONE_TYPE):
        small = kind.scaled(8 / 128)
        assert (small.hi, small.med, small.low) == pytest.approx((3, 1.5, 0.8))


@given(st.integers(8, 10**6))
def test_the_bend_stays_where_the_authors_allow_it_on_machines_of_any_size(machine):
    for kind in TYPES:
        scaled = kind.scaled(machine / 128)
        assert 0.585 < scaled.low <= scaled.med <= scaled.hi <= math.log2(machine) + 1e-9
        assert scaled.hi - 3.5 <= scaled.med
        assert scaled.med <= scaled.hi - 1.5 or scaled.hi < 3


@given(st.integers(8, 3000), st.sampled_from(TYPES))
def test_no_job_asks_for_more_than_the_machine(machine, kind):
    sizes = draw_sizes(kind.scaled(machine / 128), 500, rng(machine))
    assert sizes.min() >= 1
    assert sizes.max() <= machine


# Run times


def ln_run_time(kind, size):
    """CDF and density of ln(run time) of a size: a mixture of two gammas, truncated at 12."""
    p = min(max(kind.pa * size + kind.pb, 0), 1)
    short, long = scipy.stats.gamma(kind.a1, scale=kind.b1), scipy.stats.gamma(kind.a2, scale=kind.b2)
    kept = p * short.cdf(12) + (1 - p) * long.cdf(12)

    def cdf(x):
        return (p * short.cdf(x) + (1 - p) * long.cdf(x)) / kept

    def pdf(x):
        return (p * short.pdf(x) + (1 - p) * long.pdf(x)) / kept

    return cdf, pdf


@pytest.mark.parametrize("size", [1, 32, 128, 1000])
@every_type
def test_run_times_are_hyper_gamma_with_a_share_of_short_ones_that_depends_on_size(kind, size):
    count = 50_000
    cdf, pdf = ln_run_time(kind, size)
    seconds = draw_run_times(kind, np.full(count, size), rng(size), MODEL)
    assert seconds.min() >= 1
    assert seconds.max() <= math.exp(12)
    for limit in (10, 60, 600, 3600, 6 * 3600, 24 * 3600):
        expected = cdf(math.log(limit))  # the fraction is cut off: below the limit before and after
        assert near(np.mean(seconds < limit), expected, count), limit
    mean = scipy.integrate.quad(lambda x: math.exp(x) * pdf(x), 0, 12, limit=200)[0]
    assert abs(seconds.mean() + 0.5 - mean) <= 5 * seconds.std() / math.sqrt(count) + 0.5


# Arrivals


def integrated_weights(kind):
    """Slot weights from the density itself."""

    def density(x):
        return x ** (kind.anum - 1) * math.exp(-x / kind.bnum)

    weights = np.zeros(48)
    for number in range(11, 59):
        weights[(number - 1) % 48] = scipy.integrate.quad(density, number - 0.5, number + 0.5)[0]
    return weights * 48 / weights.sum()


@every_type
def test_slot_weights_are_the_gamma_of_the_daily_cycle(kind):
    weights = slot_weights(kind)
    assert weights == pytest.approx(integrated_weights(kind), rel=1e-9)
    assert weights.mean() == pytest.approx(1)
    assert 24 <= int(weights.argmax()) <= 32  # early afternoon
    assert 6 <= int(weights.argmin()) <= 10  # before the day begins at 5


def walk(steps, weights):
    """Arrivals by the program's own walk: points buy slots, and leftover points a part of the current one."""
    points = remainder = time = 0.0
    slot, arrivals = 0, []
    for step in steps:
        points += step
        passed = 0
        while points > weights[slot]:
            points -= weights[slot]
            slot = (slot + 1) % 48
            passed += 1800
        new_remainder = points / weights[slot]
        time += passed + 1800 * (new_remainder - remainder)
        remainder = new_remainder
        arrivals.append(time)
    return np.array(arrivals)


def steps_of(arrivals, weights):
    """The drawn interarrival times, in slots of weight 1, that give these arrivals."""
    taken = np.concatenate([[0], np.cumsum(weights)])
    slots = np.divmod(arrivals / 1800, 48)
    position = 48 * slots[0] + np.interp(slots[1], np.arange(49), taken)
    return np.diff(position, prepend=0)


@every_type
def test_interarrival_times_are_gamma_in_the_logarithm_and_never_beyond_its_limit(kind):
    steps = steps_of(arrival_times(kind, 20_000, rng(5), MODEL), integrated_weights(kind))
    logarithms = np.log(1800 * steps)
    gamma = scipy.stats.gamma(kind.aarr * kind.arar, scale=kind.barr)
    assert logarithms.max() <= 13 + 1e-6
    assert scipy.stats.kstest(logarithms, lambda x: gamma.cdf(x) / gamma.cdf(13)).pvalue > 0.001
    early, late = logarithms[:-1], logarithms[1:]
    assert abs(scipy.stats.spearmanr(early, late).statistic) < 5 / math.sqrt(early.size)  # drawn independently


@every_type
def test_arrivals_are_those_of_the_walk_from_slot_to_slot(kind):
    arrivals = arrival_times(kind, 3000, rng(6), MODEL)
    weights = integrated_weights(kind)
    assert walk(steps_of(arrivals, weights), weights) == pytest.approx(arrivals, abs=0.01)


@every_type
def test_over_many_days_the_arrivals_show_the_daily_cycle(kind):
    arrivals = arrival_times(kind, 400_000, rng(8), MODEL)
    hours = np.bincount((arrivals // 3600).astype(int) % 24, minlength=24) / arrivals.size
    expected = integrated_weights(kind).reshape(24, 2).sum(axis=1) / 48
    # Long gaps occur at any hour, so that counts vary several times as much as those of independent arrivals.
    assert np.abs(hours / expected - 1).max() < 0.15
    assert np.corrcoef(hours, expected)[0, 1] > 0.99


# Whole streams


def test_both_types_come_in_proportion_to_their_rates_and_are_told_apart_by_queue():
    log = generate(100_000, 128, generator=rng(9))
    assert set(log.queue.tolist()) == {0, 1}

    def rate(kind):
        density = scipy.stats.gamma(kind.aarr * kind.arar, scale=kind.barr).pdf
        above, below = (
            scipy.integrate.quad(lambda x, power=power: math.exp(power * x) * density(x), 0, 13, limit=200)[0]
            for power in (1, 0)
        )
        return below / above

    expected = rate(BATCH) / (rate(BATCH) + rate(INTERACTIVE))
    assert np.mean(log.queue == 1) == pytest.approx(expected, rel=0.08)
    for queue, kind in ((0, INTERACTIVE), (1, BATCH)):
        serial = log.allocated_processors[log.queue == queue] == 1
        assert near(serial.mean(), kind.p_serial, serial.size)


def test_in_the_same_second_interactive_jobs_come_first():
    log = generate(50_000, 128, generator=rng(2))
    together = np.diff(log.submit) == 0
    before, after = log.queue[:-1][together], log.queue[1:][together]
    assert (before <= after).all()
    assert (before < after).any()


@pytest.mark.parametrize(
    ("types", "queues"), [("one", {-1}), ("batch", {1}), (["interactive"], {0}), (("interactive", "batch"), {0, 1})]
)
def test_types_can_be_chosen(types, queues):
    assert set(generate(500, 128, generator=rng(), types=types).queue.tolist()) == queues


@examples(30)
@given(st.integers(1, 300), st.integers(8, 2000), st.sampled_from([("batch", "interactive"), "one"]))
def test_every_generated_job_can_run_and_comes_in_order(jobs, processors, types):
    log = generate(jobs, processors, generator=rng(jobs), types=types)
    rigid = rigid_jobs(log)
    assert (len(rigid), rigid.machine, rigid.skipped) == (jobs, processors, {})
    assert log.job.tolist() == list(range(1, jobs + 1))
    assert (np.diff(log.submit) >= 0).all()
    assert (log.submit == np.trunc(log.submit)).all()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    first, again, other = (format_swf(generate(1000, 100, generator=rng(seed), load=0.7)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_a_load_is_reached_by_moving_arrivals_alone(load):
    plain, scaled = (generate(20_000, 128, generator=rng(4), load=target) for target in (None, load))
    assert offered_load(rigid_jobs(scaled)) == pytest.approx(load, rel=1e-6)
    assert scaled.run_time.tolist() == plain.run_time.tolist()
    assert scaled.allocated_processors.tolist() == plain.allocated_processors.tolist()
    factor = offered_load(rigid_jobs(plain)) / load
    expected = plain.submit[0] + (plain.submit - plain.submit[0]) * factor
    assert np.abs(scaled.submit - expected).max() <= 0.5 + 1e-6


def test_constants_can_be_changed():
    model = LublinModel(batch=replace(BATCH, p_serial=1, p_pow2=0), longest_ln_run_time=5)
    log = generate(300, 64, generator=rng(), types="batch", model=model)
    assert set(log.allocated_processors.tolist()) == {1}
    assert log.run_time.max() <= math.exp(5)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"p_serial": 0.9}, "p_serial"), ({"p_u": 1.5}, "p_u"), ({"med": 8}, "low <= med <= hi"), ({"a1": 0}, "a1")],
)
def test_constants_that_are_no_distribution_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        replace(BATCH, **change)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"jobs": 0}, "0 jobs"),
        ({"processors": 7}, "8 or more"),
        ({"types": "bath"}, "'bath'"),
        ({"types": ()}, "known"),
        ({"types": ("one", "batch")}, '"one"'),
        ({"types": ("batch", "batch")}, "known"),
        ({"load": -1}, "load -1"),
        ({"jobs": 1, "load": 0.5}, "no load to scale"),
    ],
)
def test_what_cannot_be_generated_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        generate(**{"jobs": 10, "processors": 128, "generator": rng(), **arguments})
