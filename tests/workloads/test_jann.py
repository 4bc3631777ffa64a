"""Jann's model: its fit, its jobs, and its file."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from workloads import Header, Log, format_swf, offered_load, read_swf, rigid_jobs
from workloads.hyper_erlang import HyperErlang
from workloads.jann import JannModel, SizeRange, ctc_model, fit, generate, size_ranges

SERIAL = SizeRange(1, 1, (1,), (300,), HyperErlang(2, 0.6, 50, 4000), HyperErlang(1, 0.9, 300, 5000))
FEW = SizeRange(2, 4, (2, 4), (10, 30), HyperErlang(1, 0.8, 100, 9000), HyperErlang(1, 0.7, 500, 6000))
MANY = SizeRange(5, 64, (5, 16, 40, 64), (1, 5, 1, 3), HyperErlang(3, 0.5, 200, 5000), HyperErlang(2, 0.5, 900, 4000))
MODEL = JannModel(64, (SERIAL, FEW, MANY), "a machine", ("Somebody",))


def rng(seed=1):
    return np.random.default_rng(seed)


def log_of(submit, processors, run_time, machine=64):
    columns = {"submit": submit, "allocated_processors": processors, "run_time": run_time}
    header = Header.of([("MaxProcs", machine), ("Acknowledge", "Somebody")])
    return Log.from_columns(columns, header=header, name="made.swf")


def raw_moments(values):
    return [float(np.mean(np.asarray(values, dtype=float) ** k)) for k in (1, 2, 3)]


# Ranges


def test_ranges_are_powers_of_two_or_multiples_of_five_up_to_the_machine():
    assert size_ranges(20, "powers-of-two") == [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 20)]
    assert size_ranges(12, "multiples-of-five") == [(1, 5), (6, 10), (11, 12)]
    assert len(size_ranges(322, "powers-of-two")) == 10  # as published for the CTC SP2


@given(st.integers(1, 3000), st.sampled_from(["powers-of-two", "multiples-of-five"]))
def test_ranges_cover_every_size_once(machine, kind):
    covered = [size for first, last in size_ranges(machine, kind) for size in range(first, last + 1)]
    assert covered == list(range(1, machine + 1))


# Fitting


def test_each_range_gets_the_moments_of_its_own_jobs():
    generator = rng(3)
    sizes = generator.choice([1, 2, 3, 4, 7, 8], 3000)
    submit = np.sort(generator.integers(0, 10**6, 3000))
    run_time = np.exp(generator.normal(5, 2, 3000)).astype(int) * sizes
    model = fit(log_of(submit, sizes, run_time))
    # 9 to 64 is empty and joins its only neighbours, one after the other.
    assert [(one.first, one.last) for one in model.ranges] == [(1, 1), (2, 2), (3, 4), (5, 64)]
    for one in model.ranges:
        mine = (sizes >= one.first) & (sizes <= one.last)
        assert dict(zip(one.sizes, one.counts, strict=True)) == {
            int(n): int((sizes == n).sum()) for n in set(sizes[mine])
        }
        for law, values in ((one.run_time, run_time[mine]), (one.interarrival, np.diff(submit[mine]))):
            assert law.matched == 3
            assert [law.moment(k) for k in (1, 2, 3)] == pytest.approx(raw_moments(values), rel=1e-8)
    assert (model.machine, model.source, model.acknowledgements) == (64, "made.swf", ("Somebody",))


def test_a_range_of_few_jobs_joins_the_neighbour_with_fewer_jobs():
    sizes = np.repeat([1, 2, 4, 8], [100, 80, 5, 60])
    submit = rng().permutation(np.arange(sizes.size) * 10)
    order = np.argsort(submit)
    model = fit(log_of(submit[order], sizes[order], np.arange(sizes.size), machine=8))
    assert [(one.first, one.last, sum(one.counts)) for one in model.ranges] == [(1, 1, 100), (2, 2, 80), (3, 8, 65)]


def test_a_range_whose_jobs_all_came_in_one_second_joins_a_neighbour():
    sizes = np.repeat([1, 2], [50, 40])
    submit = np.concatenate([np.arange(50), np.full(40, 50)])
    model = fit(log_of(submit, sizes, np.arange(90), machine=2))
    assert [(one.first, one.last, one.sizes) for one in model.ranges] == [(1, 2, (1, 2))]


def test_two_jobs_are_enough_for_a_model_of_one_range():
    model = fit(log_of([0, 100], [3, 8], [50, 70]))
    (one,) = model.ranges
    assert (one.first, one.last, one.sizes) == (1, 64, (3, 8))
    assert (one.interarrival.matched, one.interarrival.mean) == (1, pytest.approx(100))
    assert one.run_time.mean == pytest.approx(60)


def test_a_smaller_machine_leaves_out_the_jobs_that_it_cannot_run():
    sizes = np.tile([1, 64], 100)
    model = fit(log_of(np.arange(200), sizes, np.arange(200)), processors=32)
    assert (model.machine, model.largest_size) == (32, 1)


@pytest.mark.parametrize(("submit", "sizes"), [([5], [1]), ([5, 5], [1, 1]), ([0, 9], [100, 1])])
def test_a_log_without_two_submit_times_cannot_be_fitted(submit, sizes):
    with pytest.raises(ValueError, match=r"made\.swf: \d usable jobs with one submit time"):
        fit(log_of(submit, sizes, [10] * len(submit)))


def test_unknown_ranges_are_refused():
    with pytest.raises(ValueError, match='"primes" are not known; known: powers-of-two, multiples-of-five'):
        fit(log_of([0, 9], [1, 1], [1, 2]), ranges="primes")


# Generating


def test_jobs_of_each_range_follow_its_distributions():
    log = generate(60_000, generator=rng(5), model=MODEL)
    total_rate = sum(1 / one.interarrival.mean for one in MODEL.ranges)
    for one in MODEL.ranges:
        sizes = log.allocated_processors
        mine = (sizes >= one.first) & (sizes <= one.last)
        share = 1 / one.interarrival.mean / total_rate
        assert mine.mean() == pytest.approx(share, rel=0.05)
        expected = np.array(one.counts) / sum(one.counts) * mine.sum()
        observed = [int((sizes[mine] == size).sum()) for size in one.sizes]
        assert sum(observed) == mine.sum()
        assert len(observed) == 1 or scipy.stats.chisquare(observed, expected).pvalue > 0.001
        run_time = log.run_time[mine]
        law = one.run_time
        for limit in (1, 10, 60, 600, 3600, 36_000):  # seconds are rounded, so compare between two of them
            expected_share = float(law.cdf(limit + 0.5))
            spread = math.sqrt(expected_share * (1 - expected_share) / run_time.size)
            assert abs(np.mean(run_time <= limit) - expected_share) <= 5 * spread + 1e-12
        for k in (1, 2, 3):
            error = math.sqrt((law.moment(2 * k) - law.moment(k) ** 2) / run_time.size)
            assert np.mean(run_time**k) == pytest.approx(law.moment(k), abs=5 * error + law.moment(k) * 0.001)


def test_arrivals_of_each_range_are_independent_with_its_interarrival_times():
    log = generate(60_000, generator=rng(6), model=MODEL)
    for one in MODEL.ranges:
        mine = (log.allocated_processors >= one.first) & (log.allocated_processors <= one.last)
        gaps = np.diff(log.submit[mine])
        gaps = gaps + rng(7).uniform(-0.5, 0.5, gaps.size)  # fractions were cut off at both ends
        law = one.interarrival
        seen = scipy.stats.ecdf(gaps).cdf
        assert np.max(np.abs(seen.probabilities - law.cdf(seen.quantiles))) < 0.02
        assert abs(scipy.stats.spearmanr(gaps[:-1], gaps[1:]).statistic) < 5 / math.sqrt(gaps.size)


def test_the_mix_of_ranges_is_right_from_second_0_on():
    first = []  # jobs of each range in the first ten minutes; a process that began at 0 would have far more
    for seed in range(1000):
        log = generate(50, generator=rng(seed), model=MODEL)
        early = log.allocated_processors[log.submit < 600]
        first.append([np.count_nonzero((early >= one.first) & (early <= one.last)) for one in MODEL.ranges])
    counts = np.array(first)
    expected = [600 / one.interarrival.mean for one in MODEL.ranges]
    assert (np.abs(counts.mean(axis=0) - expected) < 4 * counts.std(axis=0) / math.sqrt(len(counts))).all()


@examples(30)
@given(st.integers(1, 400), st.integers(64, 2000), st.integers(0, 2**32))
def test_every_generated_job_can_run_and_comes_in_order(jobs, processors, seed):
    log = generate(jobs, processors, generator=rng(seed), model=MODEL)
    rigid = rigid_jobs(log)
    assert (len(rigid), rigid.machine, rigid.skipped) == (jobs, processors, {})
    assert (np.diff(log.submit) >= 0).all()
    assert (log.submit == np.trunc(log.submit)).all()
    assert (log.run_time == np.trunc(log.run_time)).all()
    assert log.run_time.min() >= 1


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_a_load_is_reached_by_moving_arrivals_alone(load):
    plain, scaled = (generate(20_000, generator=rng(4), model=MODEL, load=target) for target in (None, load))
    assert offered_load(rigid_jobs(scaled)) == pytest.approx(load, rel=1e-5)
    assert scaled.run_time.tolist() == plain.run_time.tolist()
    assert scaled.allocated_processors.tolist() == plain.allocated_processors.tolist()


def test_the_load_tends_to_what_the_model_says():
    log = generate(300_000, generator=rng(11), model=MODEL)
    assert offered_load(rigid_jobs(log)) == pytest.approx(MODEL.load, rel=0.03)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    first, again, other = (format_swf(generate(2000, generator=rng(seed), model=MODEL)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_fit_to_what_a_model_generated_finds_the_model():
    log = generate(200_000, generator=rng(12), model=MODEL)
    found = fit(log)
    for one in MODEL.ranges:
        inside = [other for other in found.ranges if one.first <= other.sizes[0] <= one.last]
        jobs = sum(sum(other.counts) for other in inside)
        mean = sum(sum(other.counts) * other.run_time.mean for other in inside) / jobs
        assert mean == pytest.approx(one.run_time.mean, rel=0.05)
    assert found.load == pytest.approx(MODEL.load, rel=0.05)
    serial = found.ranges[0]
    assert serial.run_time.order == SERIAL.run_time.order
    assert serial.run_time.p == pytest.approx(SERIAL.run_time.p, abs=0.02)
    assert serial.run_time.stage2 == pytest.approx(SERIAL.run_time.stage2, rel=0.03)


def test_the_header_thanks_those_who_made_the_log_and_says_what_was_drawn_from():
    log = generate(10, generator=rng(), model=MODEL)
    assert "Somebody" in log.acknowledgements
    assert any("jobs of 2-4 processors: run time order 1, p 0.8" in note for note in log.header.notes)


def test_a_large_workload_takes_little_memory():
    tracemalloc.start()
    generate(200_000, generator=rng(), model=MODEL, load=0.7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300 * 200_000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"jobs": 0}, "0 jobs"),
        ({"processors": 0}, "0 processors"),
        ({"processors": 63}, "machine of 63 processors is too small .* need 64; fit it"),
        ({"load": -1}, "load -1"),
        ({"jobs": 1, "load": 0.5}, "no load to scale"),
    ],
)
def test_what_cannot_be_generated_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        generate(**{"jobs": 10, "generator": rng(), "model": MODEL, **arguments})


# Files


def test_a_model_comes_back_from_its_file_as_it_was():
    odd = replace(MODEL, source='a "log" of\tÅbo\x7f', acknowledgements=("Dan \\ Steve", "x"))
    assert JannModel.from_toml(odd.to_toml()) == odd
    assert JannModel.from_toml(ctc_model().to_toml()) == ctc_model()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gas.jann/1", "gas.jann/9", "m.toml: is not a Jann model: schema is 'gas.jann/9', expected \"gas.jann/1\""),
        ("machine = 64", "machine = 60", "m.toml: jobs of 64 processors cannot run on a machine of 60"),
        ("machine = 64", "machine = 6.5", "m.toml: machine = 6.5"),
        ("machine = 64", "", 'm.toml: has no "machine"'),
        ("counts = [300]", "counts = [0]", "m.toml: range 1: range 1-1: counts"),
        ("sizes = [2, 4]", "sizes = [4, 2]", "m.toml: range 2: range 2-4: sizes .* ascend"),
        ("sizes = [2, 4]", "sizes = [2, true]", "m.toml: range 2: sizes has True"),
        ("p = 0.8", "p = 1.8", "m.toml: range 2: run_time: p 1.8"),
        ("p = 0.8", "p = 'a'", "m.toml: range 2: run_time: p = 'a'"),
        ("first = 2", "first = 1", "ranges 1-1 and 1-4 must ascend"),
        ("[[ranges]]", "[[ranges", "m.toml: is not TOML"),
        ("[[ranges]]", "[[range]]", 'm.toml: has no "ranges"'),
        ("order = 2, p = 0.5, stage1 = 900.0", "order = 2, p = 1.0, stage1 = 0.0", "have the mean 0"),
    ],
)
def test_a_damaged_file_is_refused_by_place(old, new, said):
    text = MODEL.to_toml().replace("stage1 = 900,", "stage1 = 900.0,")
    assert old in text
    with pytest.raises(ValueError, match=said):
        JannModel.from_toml(text.replace(old, new), "m.toml")


def test_a_model_without_ranges_is_refused():
    with pytest.raises(ValueError, match="at least one range"):
        JannModel(64, ())


# The CTC SP2


def test_the_model_that_comes_along_has_the_published_ones_machine_and_ranges():
    model = ctc_model()
    assert (model.machine, len(model.ranges)) == (322, 10)
    # The page on the published model: most ranges need one stage, some up to 7.
    assert max(one.interarrival.order for one in model.ranges) <= 7
    assert all(law.matched == 3 for one in model.ranges for law in (one.run_time, one.interarrival))
    assert sum(sum(one.counts) for one in model.ranges) == pytest.approx(17_440, rel=0.03)
    assert "Dan Dwyer and Steve Hotovy" in model.acknowledgements


def test_the_model_that_comes_along_is_the_fit_to_those_days_of_the_log(traces):
    log = read_swf(traces / "CTC-SP2-1996-3.1-cln.swf.gz")
    day = 86_400
    midnight = 835_675_200 - log.start_time  # 25 June 1996 in New York (04:00 UTC)
    days = (log.submit >= midnight) & (log.submit < midnight + 80 * day)
    model = fit(log.select(days), 322)
    shipped = ctc_model()
    for found, kept in zip(model.ranges, shipped.ranges, strict=True):
        assert (found.sizes, found.counts) == (kept.sizes, kept.counts)
        for name in ("run_time", "interarrival"):
            one, other = getattr(found, name), getattr(kept, name)
            assert one.order == other.order
            assert (one.p, one.stage1, one.stage2) == pytest.approx((other.p, other.stage1, other.stage2), rel=1e-6)


@pytest.mark.parametrize("ranges", ["powers-of-two", "multiples-of-five"])
def test_a_fit_to_the_whole_ctc_log_has_the_moments_of_every_range(traces, ranges):
    log = read_swf(traces / "CTC-SP2-1996-3.1-cln.swf.gz")
    model = fit(log, ranges=ranges)
    submit, sizes, run_time = np.trunc(log.submit), log.allocated_processors, np.trunc(log.run_time)
    assert sum(sum(one.counts) for one in model.ranges) == len(log)
    for one in model.ranges:
        mine = (sizes >= one.first) & (sizes <= one.last)
        for law, values in ((one.run_time, run_time[mine]), (one.interarrival, np.diff(submit[mine]))):
            assert law.matched == 3
            assert [law.moment(k) for k in (1, 2, 3)] == pytest.approx(raw_moments(values), rel=1e-8)


def test_jobs_like_those_of_the_ctc_log_have_its_sizes_and_mean_run_times(traces):
    log = read_swf(traces / "CTC-SP2-1996-3.1-cln.swf.gz")
    made = generate(300_000, generator=rng(2), model=fit(log))
    for low, high in ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, 338)):
        real, drawn = (one.run_time[(s := one.allocated_processors) >= low][s[s >= low] <= high] for one in (log, made))
        assert drawn.size / len(made) == pytest.approx(real.size / len(log), rel=0.1, abs=0.002)
        assert drawn.mean() == pytest.approx(real.mean(), rel=0.05)
        assert drawn.std() == pytest.approx(real.std(), rel=0.05)
