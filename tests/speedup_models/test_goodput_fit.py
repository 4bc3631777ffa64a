"""AdaptDL's throughput model fitted to steps of made-up trainings with known parameters."""

import math
from dataclasses import replace

import numpy as np
import pytest
from thorough import rounds

from speedup_models.goodput import Network, Work
from speedup_models.goodput_fit import PARAMETERS, fit_goodput
from speedup_models.model import ModelError

TRUTH = Network(0.03, 0.004, 0.08, 0.002, 0.02, 0.0008, 2.5)
LAYOUTS = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (2, 16), (4, 32), (8, 64)]


def work(layouts=LAYOUTS, locals_=(8, 16, 32, 64), repeats=1):
    rows = [(nodes, gpus, local, 0) for nodes, gpus in layouts for local in locals_ for _ in range(repeats)]
    nodes, gpus, local, accumulated = np.array(rows).T
    return Work(nodes, gpus, local.astype(float), accumulated.astype(float))


def measured(truth, steps, share, rng):
    return truth.step(steps) * np.exp(rng.normal(0, share, len(steps.local)))


def drawn(seed):
    """A network in the range of AdaptDL's own applications, and steps of it with 3% scatter."""
    rng = np.random.default_rng(seed)
    low, high = [0.01, 0.001, 0.02, 0.0005, 0.005, 0.0002], [0.1, 0.01, 0.2, 0.005, 0.05, 0.002]
    truth = Network(*np.exp(rng.uniform(np.log(low), np.log(high))).tolist(), float(rng.uniform(1, 8)))
    steps = work(repeats=2)
    return truth, steps, measured(truth, steps, 0.03, rng)


def held(seeds):
    """The number of intervals that hold the true parameter, and of all intervals."""
    inside = total = 0
    for seed in seeds:
        truth, steps, seconds = drawn(seed)
        for name, found in fit_goodput(steps, seconds).parameters.items():
            inside += found.low <= getattr(truth, name) <= found.high
            total += 1
    return inside, total


def test_exact_steps_give_back_all_seven_parameters():
    steps = work()
    fitted = fit_goodput(steps, TRUTH.step(steps), intervals=False)
    assert [fitted.parameters[name].value for name in PARAMETERS] == pytest.approx(
        [getattr(TRUTH, name) for name in PARAMETERS], rel=1e-3
    )
    assert fitted.error < 1e-5
    assert fitted.cv_error < 1e-3
    assert fitted.fits
    assert fitted.notes == ()


@pytest.mark.thorough
def test_intervals_hold_the_true_parameters():
    inside, total = held(range(1))
    assert total == 7
    assert inside >= 5


@pytest.mark.long
def test_of_many_intervals_of_95_percent_at_least_nine_in_ten_hold_the_truth():
    seeds = rounds(40)
    inside, total = held(range(seeds))
    assert total == 7 * seeds
    assert inside >= 0.9 * total


@pytest.mark.thorough
def test_an_interval_is_where_the_best_fit_of_the_others_is_not_clearly_worse():
    from scipy.optimize import minimize_scalar
    from scipy.stats import f

    # One GPU: log(alpha_c + beta_c m), two parameters, of which one can be profiled by hand.
    steps = work([(1, 1)], (4, 8, 16, 32, 64, 128))
    seconds = measured(TRUTH, steps, 0.03, np.random.default_rng(3))
    found = fit_goodput(steps, seconds).parameters["alpha_c"]

    def squares(alpha):
        return minimize_scalar(
            lambda beta: np.sum(np.log(seconds / (alpha + beta * steps.local)) ** 2),
            bounds=(1e-4, 0.1),
            method="bounded",
        ).fun

    level = squares(found.value) * (1 + f.ppf(0.95, 1, 4) / 4)
    for end in (found.low, found.high):
        assert end == 0 or squares(end) == pytest.approx(level, rel=0.05)


def test_links_that_were_not_measured_have_no_time():
    fitted = fit_goodput(one := work([(1, 1), (1, 2), (1, 4), (1, 8)]), TRUTH.step(one), intervals=False)
    assert "alpha_n" not in fitted.parameters
    assert math.isnan(fitted.network.alpha_n)
    assert np.isnan(fitted.network.step(work([(2, 8)], (8,)))).all()
    assert any("only layouts on one node have a time" in note for note in fitted.notes)
    several = work([(1, 1), (2, 2), (4, 4), (8, 8)])
    fitted = fit_goodput(several, TRUTH.step(several), intervals=False)
    assert math.isnan(fitted.network.alpha_r)
    assert any("several GPUs of one node" in note for note in fitted.notes)


def test_one_number_of_samples_on_each_gpu_leaves_computing_undivided():
    steps, truth = work(locals_=(32,)), replace(TRUTH, gamma=1.0)  # nor can overlap be seen
    fitted = fit_goodput(steps, truth.step(steps), intervals=False)
    assert fitted.parameters["alpha_c"].value == 0
    assert fitted.parameters["alpha_c"].low is None
    assert any("same number of samples" in note for note in fitted.notes)
    assert fitted.network.step(steps) == pytest.approx(truth.step(steps), rel=0.001)


def test_a_size_left_out_is_predicted_from_the_others():
    _, steps, seconds = drawn(7)
    fitted = fit_goodput(steps, seconds, intervals=False)
    out = steps.gpus == 16
    others = Work(*(array[~out] for array in steps))
    again = fit_goodput(others, seconds[~out], intervals=False).network.step(Work(*(array[out] for array in steps)))
    assert fitted.left_out[16] == pytest.approx(np.mean(np.abs(again / seconds[out] - 1)), rel=1e-6)
    assert set(fitted.left_out) == {1, 2, 4, 8, 16, 32, 64}


def test_steps_that_follow_no_such_model_are_not_said_to_fit():
    steps = work()
    wild = TRUTH.step(steps) * np.where(steps.gpus % 16 == 0, 3.0, 1.0)
    fitted = fit_goodput(steps, wild, intervals=False)
    assert not fitted.fits
    assert fitted.residuals.max() > 0.15


def test_measurements_beyond_count_are_refused():
    steps = work(repeats=1000)
    with pytest.raises(ModelError, match="32,000 measured steps: a fit takes 10,000; leave some out"):
        fit_goodput(steps, TRUTH.step(steps))


def test_of_many_sizes_twenty_are_left_out():
    steps = work([(1, 1), *((2, gpus) for gpus in range(2, 40))], (8, 32))
    fitted = fit_goodput(steps, TRUTH.step(steps), intervals=False)
    assert len(fitted.left_out) == 20
    assert {1, 39} <= set(fitted.left_out)


def test_too_few_measurements_are_refused():
    with pytest.raises(ModelError, match="2 distinct measurements of a step: a fit needs 3; time it on more sizes"):
        fit_goodput(two := work([(1, 1), (1, 2)], (8,)), TRUTH.step(two))
