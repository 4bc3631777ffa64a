import math
import tomllib
from functools import cache

import numpy as np
import pytest

from documents.fields import Fields
from gas.application import Application
from speedup_models.amdahl import Amdahl
from speedup_models.downey import Downey
from speedup_models.estimates import Estimate
from speedup_models.families import FAMILIES, Groups, solve
from speedup_models.fitting import fit
from speedup_models.model import ModelError, execution_times
from speedup_models.nas import Nas
from speedup_models.proposal import application_text
from speedup_models.registry import model_from_table

COUNTS = np.array([1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256])


def noisy(model, counts, share, seed=0):
    rng = np.random.default_rng(seed)
    return model.seconds(counts) * np.exp(rng.normal(0, share, len(counts)))


def values(fitted):
    return [estimate.value for estimate in fitted.parameters.values()]


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(("a", "sigma"), [(40, 0), (40, 0.5), (40, 1), (40, 1.8), (7.3, 0.9)])
def test_exact_timings_give_back_downeys_parameters(a, sigma):
    report = fit(COUNTS, Downey(3600, a, sigma).seconds(COUNTS), bootstrap=0)
    assert values(report.downey) == pytest.approx([3600, a, sigma], rel=1e-4, abs=1e-4)
    assert report.downey.error < 1e-6
    assert report.downey.identifiable
    assert (report.better, report.decided, report.warnings) == ("downey", True, ())


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("f", [0, 0.001, 0.2, 1])
def test_exact_timings_give_back_amdahls_parameters(f):
    report = fit(COUNTS, Amdahl(3600, f).seconds(COUNTS), bootstrap=0)
    assert values(report.amdahl) == pytest.approx([3600, f], rel=1e-4, abs=1e-7)
    assert report.better == "amdahl"


@pytest.mark.thorough
def test_noisy_timings_give_intervals_that_hold_the_truth():
    truth = Downey(3600, 40, 0.6)
    counts = np.repeat(COUNTS, 3)
    report = fit(counts, noisy(truth, counts, 0.03), bootstrap=60)
    for estimate, true in zip(report.downey.parameters.values(), (3600, 40, 0.6), strict=True):
        assert estimate.low < true < estimate.high
        assert estimate.low <= estimate.value <= estimate.high
    assert report.downey.error == pytest.approx(0.03, rel=0.3)
    assert report.better == "downey"
    assert report.decided


@pytest.mark.thorough
def test_more_noise_makes_wider_intervals():
    widths = []
    for share in (0.01, 0.05):
        parameter = fit(COUNTS, noisy(Downey(3600, 40, 0.6), COUNTS, share), bootstrap=40).downey.parameters["A"]
        widths.append(parameter.high - parameter.low)
    assert widths[1] > 2 * widths[0]


@pytest.mark.thorough
def test_the_band_of_the_bootstrap_surrounds_the_fitted_curve():
    report = fit(COUNTS, noisy(Downey(3600, 40, 0.6), COUNTS, 0.03), bootstrap=60)
    for fitted in (report.amdahl, report.downey):
        low, high = fitted.band(COUNTS)
        assert (low < high).all()
        inside = (low <= fitted.seconds(COUNTS)) & (fitted.seconds(COUNTS) <= high)
        assert inside.mean() > 0.8
        assert fitted.seconds(COUNTS) == pytest.approx(fitted.model().seconds(COUNTS))
        assert fitted.samples.shape == (60, len(fitted.parameters))


# A, sigma and sequential time that a search over a grid had found for the measured class C curves.
GRID_FITS = {
    "BT": (213, 0.18, 1339),
    "SP": (142, 0.25, 878),
    "LU": (207, 0.80, 860),
    "MG": (29, 0.08, 63.3),
    "EP": (467, 0.28, 277),
}


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("code", GRID_FITS)
def test_real_curves_are_fitted_at_least_as_well_as_by_a_search_over_a_grid(code):
    curve = Nas.packaged(code, "C").curve
    counts, seconds = np.array(curve.counts), np.array(curve.times)
    a, sigma, work = GRID_FITS[code]
    residuals = np.log(seconds / Downey(work, a, sigma).seconds(counts))
    fitted = fit(counts, seconds, bootstrap=0).downey
    assert fitted.error <= math.sqrt(float(np.mean(residuals**2)))
    assert fitted.parameters["sequential_time"].value == pytest.approx(work, rel=0.02)


@pytest.mark.thorough
def test_the_order_of_the_timings_does_not_matter():
    counts = np.repeat(COUNTS, 2)
    seconds = noisy(Downey(3600, 40, 0.6), counts, 0.05)
    shuffled = np.random.default_rng(5).permutation(counts.size)
    one, other = fit(counts, seconds, bootstrap=10), fit(counts[shuffled], seconds[shuffled], bootstrap=10)
    assert application_text(one, "x") == application_text(other, "x")


@pytest.mark.thorough
def test_the_unit_of_time_only_scales_the_sequential_time():
    seconds = noisy(Downey(3600, 40, 0.6), COUNTS, 0.05)
    one, other = fit(COUNTS, seconds, bootstrap=0), fit(COUNTS, seconds * 60, bootstrap=0)
    assert values(other.downey)[0] == pytest.approx(60 * values(one.downey)[0], rel=1e-5)
    assert values(other.downey)[1:] == pytest.approx(values(one.downey)[1:], rel=1e-4)
    assert other.downey.aicc == pytest.approx(one.downey.aicc, abs=1e-6)


@pytest.mark.thorough
def test_aicc_is_that_of_the_textbook():
    seconds = noisy(Amdahl(3600, 0.05), COUNTS, 0.05)
    fitted = fit(COUNTS, seconds, bootstrap=0).amdahl
    squares = np.sum(np.log(seconds / fitted.model().seconds(COUNTS)) ** 2)
    n, k = 12, 3  # sequential time, serial fraction, variance
    assert fitted.aicc == pytest.approx(n * np.log(squares / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1))


@pytest.mark.thorough
def test_cross_validation_predicts_each_count_from_the_others():
    counts = np.array([1, 1, 2, 4, 8])
    seconds = np.array([100, 110, 52, 30, 15.0])
    errors = []
    for left_out in (1, 2, 4, 8):
        keep = counts != left_out
        if np.unique(counts[keep]).size < 3:
            continue
        model = fit(counts[keep], seconds[keep], bootstrap=0).amdahl.model()
        errors.append(np.mean(np.abs(model.seconds(np.array([left_out]))[0] / seconds[~keep] - 1)))
    assert fit(counts, seconds, bootstrap=0).amdahl.cv_error == pytest.approx(np.mean(errors), rel=1e-5)


@pytest.mark.thorough
def test_many_counts_are_left_out_in_twenty_folds():
    counts = np.arange(1, 61)
    seconds = noisy(Amdahl(1000, 0.03), counts, 0.05)
    errors = np.empty(60)
    for fold in range(20):
        out = np.arange(60) % 20 == fold
        groups = Groups.of(counts[~out], np.log(seconds[~out]))
        point = solve(FAMILIES["amdahl"], groups)
        model = Amdahl(np.exp(FAMILIES["amdahl"].log_work(groups, point)), *point)
        errors[out] = np.abs(model.seconds(counts[out]) / seconds[out] - 1)
    assert fit(counts, seconds, bootstrap=0).amdahl.cv_error == pytest.approx(errors.mean(), rel=1e-5)


@pytest.mark.thorough
def test_timings_below_the_parallelism_cannot_fix_downeys_parameters():
    counts = np.array([1, 2, 4, 8, 12, 16, 24, 32])
    report = fit(counts, noisy(Amdahl(1000, 0.005), counts, 0.01), bootstrap=20)
    assert not report.downey.identifiable
    a = report.downey.parameters["A"]
    assert a.low < 40
    assert a.high > 100  # anything from the largest count on, up to 1/f = 200 with infinite sigma
    assert any("do not determine Downey's A and sigma" in warning for warning in report.warnings)
    assert report.better == "amdahl"


@pytest.mark.thorough
def test_perfect_scaling_sets_no_upper_limit_to_the_parallelism():
    report = fit(COUNTS, 3600 / COUNTS * (1 + 0.001 * (-1.0) ** np.arange(COUNTS.size)), bootstrap=20)
    assert report.downey.parameters["A"].high == math.inf
    assert "at least" in report.downey.parameters["A"].interval()
    assert not report.downey.identifiable


def test_few_timings_decide_nothing():
    counts = np.array([1, 4, 16, 64])
    report = fit(counts, Downey(1000, 10, 0.2).seconds(counts), bootstrap=5)
    assert not report.decided
    assert "too few to distinguish the models" in report.verdict
    assert report.downey.aicc is None


def test_with_few_timings_a_model_that_predicts_far_better_is_taken_all_the_same():
    counts = np.array([1, 2, 4, 8, 16, 32, 64])
    report = fit(counts, Downey(1000, 10, 0.2).seconds(counts), bootstrap=0)
    assert (report.better, report.decided) == ("downey", False)
    assert "as it predicts left-out counts better (error <0.01% for Downey's model" in report.verdict


@pytest.mark.parametrize(
    ("seconds", "preferred"),
    [
        ([1013.2, 513.2, 250.2, 128.9, 65.9, 34.1, 18.5, 12.0], "Downey's model"),
        ([887.0, 444.6, 323.1, 127.0, 63.5, 34.5, 20.1, 17.6], "Amdahl's law"),
    ],
)
def test_aicc_and_prediction_at_odds_leave_it_open(seconds, preferred):
    report = fit([1, 2, 4, 8, 16, 32, 64, 128], seconds, bootstrap=0)
    gain = report.amdahl.aicc - report.downey.aicc
    assert (gain > 2, gain < -2) == (preferred == "Downey's model", preferred == "Amdahl's law")
    assert (report.amdahl.cv_error < report.downey.cv_error) == (preferred == "Downey's model")
    assert (report.better, report.decided) == ("amdahl", False)
    assert f"AICc prefers {preferred}" in report.verdict
    assert "but the other model predicts left-out counts better" in report.verdict


@pytest.mark.thorough
def test_the_bootstrap_spreads_as_linear_theory_says():
    counts = np.array([1, 2, 4, 8, 16, 32])
    seconds = noisy(Amdahl(1000, 0.1), counts, 0.03, seed=4)
    fitted = fit(counts, seconds, bootstrap=300).amdahl
    work, f = values(fitted)
    # derivatives of log T by log L and by f; scatter from the six residuals less two parameters
    slopes = np.stack([np.ones(6), (1 - 1 / counts) / (f + (1 - f) / counts)], axis=-1)
    residuals = np.log(seconds / Amdahl(work, f).seconds(counts))
    covariance = np.linalg.inv(slopes.T @ slopes) * (residuals @ residuals) / (6 - 2)
    assert np.std(np.log(fitted.samples[:, 0])) == pytest.approx(math.sqrt(covariance[0, 0]), rel=0.12)
    assert np.std(fitted.samples[:, 1]) == pytest.approx(math.sqrt(covariance[1, 1]), rel=0.12)


def test_three_counts_are_the_fewest_and_leave_no_intervals():
    report = fit([1, 4, 16], [100, 30, 12], bootstrap=5)
    assert report.better == "amdahl"
    assert not report.decided
    assert report.downey.cv_error is None
    assert report.amdahl.cv_error is not None
    for fitted in (report.downey, report.amdahl):
        assert {estimate.interval() for estimate in fitted.parameters.values()} == {"no interval"}
        assert fitted.band([1, 2]) is None


@pytest.mark.parametrize("timings", range(4, 7))
def test_intervals_need_two_timings_more_than_parameters(timings):
    counts = 4 ** np.arange(timings)
    report = fit(counts, Downey(1000, 20, 0.5).seconds(counts) * (1 + 0.02 * (-1.0) ** np.arange(timings)), bootstrap=5)
    assert (report.amdahl.parameters["sequential_time"].low is not None) == (timings >= 2 + 2)
    assert (report.downey.parameters["sequential_time"].low is not None) == (timings >= 3 + 2)


@pytest.mark.thorough
def test_models_that_explain_the_timings_equally_well_are_not_told_apart():
    # Amdahl with a fourth parameter's worth of levelling-off: somewhere between, AICc must pass through a draw.
    counts = np.array([1, 2, 4, 8, 16, 32, 64, 128])
    verdicts = {}
    for share in np.linspace(0, 1, 11):
        seconds = Amdahl(1000, 0.02).seconds(counts) ** (1 - share) * Downey(1000, 30, 0.6).seconds(counts) ** share
        report = fit(counts, seconds * (1 + 0.02 * (-1.0) ** np.arange(8)), bootstrap=0)
        gain = report.amdahl.aicc - report.downey.aicc
        verdicts[report.decided, report.better] = gain
        if abs(gain) < 2:
            assert (report.better, report.decided) == ("amdahl", False)
            assert "do not distinguish the models" in report.verdict
        elif report.decided:
            assert report.better == ("downey" if gain > 0 else "amdahl")
    assert (True, "amdahl") in verdicts
    assert (True, "downey") in verdicts


def test_times_that_rise_with_the_processors_are_pointed_out():
    curve = Nas.packaged("MG", "C", "slow-network-2012").curve
    report = fit(curve.counts, curve.times, bootstrap=0)
    text = " ".join(report.warnings)
    assert (
        'rises from 17.7 s on 8 processors to 24.56 s on 32, which neither model can follow; use model = "table"'
        in text
    )
    assert "the better model is still off by" in text


def test_superlinear_speedup_is_pointed_out():
    curve = Nas.packaged("SP", "C").curve  # 247.19 s on 4, 54.4 s on 16
    assert any(
        "from 4 to 16 processors" in w and "superlinear" in w
        for w in fit(curve.counts, curve.times, bootstrap=0).warnings
    )


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], []), {}, "too few processor counts \\(0\\): a fit needs 3"),
        (
            ([1, 1, 2], [1, 1, 1]),
            {},
            r"too few processor counts \(2\): a fit needs 3; measure more, or write the times",
        ),
        (([1, 2, 4], [1, 1]), {}, "3 processor counts but 2 times"),
        (([1, 2, 4], [1, 1, 0]), {}, "0 s on 4 processors is not a time above 0"),
        (([1, 2, 4], [1, 1, math.nan]), {}, "nan s on 4 processors"),
        (([0, 2, 4], [1, 1, 1]), {}, "a count is at least 1"),
        (([1, 2, 4], [3, 2, 1]), {"seed": -1}, "seed -1 is below 0"),
        (([1, 2, 4], [3, 2, 1]), {"bootstrap": -1}, "-1 bootstrap samples"),
        (([1, 2, 4], [3, 2, 1]), {"bootstrap": 10**7}, "10000000 bootstrap samples"),
    ],
)
def test_what_cannot_be_fitted_is_refused(arguments, options, message):
    with pytest.raises(ModelError, match=message):
        fit(*arguments, **options)


@cache
def fitted_once():
    """Return a report that several tests share and only read."""
    return fit(COUNTS, noisy(Downey(36000, 40, 0.6), COUNTS, 0.02), bootstrap=5, seed=7)


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("model", [None, "downey", "amdahl"])
def test_the_application_file_holds_the_fitted_model(model):
    report = fitted_once()
    document = tomllib.loads(application_text(report, 'lu "C" \\ σ', model))
    assert document["name"] == 'lu "C" \\ σ'
    read = model_from_table(Fields(document["speedup"], "lu.toml [speedup]"))
    fitted = report.of(model or "downey").model()
    assert type(read) is type(fitted)
    assert np.abs(execution_times(read, COUNTS) - execution_times(fitted, COUNTS)).max() <= 1


def test_the_application_file_says_how_it_came_about():
    report = fitted_once()
    text = application_text(report, "lu")
    comments = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    assert "Downey's model, fitted by gas fit to 12 timings on 12 processor counts from 1 to 256" in comments
    assert "from 5 residual bootstrap samples, seed 7" in comments
    assert report.verdict in comments
    assert f"# {report.downey.parameters['A'].interval()}" in text
    assert "the comparison prefers" not in text
    assert "Amdahl's law was requested; the comparison prefers Downey's model." in application_text(
        report, "lu", "amdahl"
    )


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    seconds = noisy(Downey(3600, 40, 0.6), COUNTS, 0.05)
    texts = [application_text(fit(COUNTS, seconds, bootstrap=8, seed=seed), "x") for seed in (1, 1, 2)]
    assert texts[0] == texts[1]
    assert texts[0].replace("seed 1", "seed 2") != texts[2]


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "bell\x07", "\ud800"])
def test_a_name_that_is_no_printable_line_is_refused(name):
    with pytest.raises(ModelError, match="one line of printable text"):
        application_text(fitted_once(), name)


def test_intervals_in_words():
    assert Estimate(2.0, None, None).interval() == "no interval"
    assert Estimate(2.0, 1.0, math.inf).interval() == "at least 1"
    assert Estimate(2.0, 0.0, math.inf).interval() == "not limited"
    assert Estimate(2.0, 1.5, 2.51234).interval() == "1.5 to 2.512"


def test_an_application_that_was_timed_on_gpus_counts_gpus():
    text = application_text(fit([1, 2, 4, 8], [800, 420, 220, 130], bootstrap=0, unit="gpus"), "train")
    assert Application.from_tables(tomllib.loads(text), "app.toml").unit == "gpus"


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("law", [Amdahl(1000.0, 0.05), Downey(1000.0, 20.0, 1.5)], ids=["amdahl", "downey"])
@pytest.mark.parametrize("left_out", [8, 32])
def test_a_size_that_was_not_measured_is_predicted_within_a_tenth(law, left_out):
    sizes = [size for size in (1, 2, 4, 8, 16, 32, 64) if size != left_out]
    noise = np.random.default_rng(left_out).normal(0, 0.02, len(sizes))
    report = fit(sizes, law.seconds(np.array(sizes)) * np.exp(noise), bootstrap=0)
    best = report.of(report.better).model()
    (there,), (wanted,) = best.seconds(np.array([left_out])), law.seconds(np.array([left_out]))
    assert abs(there / wanted - 1) < 0.1
