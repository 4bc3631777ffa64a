"""Which runs the study has, and changes of means with their intervals over months."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.framework.logs import Found, Source
from experiments.malleate.results import BASE, PERCENTS, VARIANTS, Case, Options, Results, malleate_runs
from gas.intervals import ratio_by_months
from workloads import Header

LOG = Found(Source("one", "one", 64, "users", 1000), "one", None, "one", Header(), own=True)
KTH = Found(Source("KTH", "KTH-SP2-1996", 100, "users", 28490), "kth", None, "kth", Header())
PERFECT = Found(Source("CM5", "LANL-CM5-1994", 1024, "perfect", 201387), "cm5", None, "cm5", Header())
MONTHS = 5
GAS = Case(LOG, BASE, 100, "gas")
RIGID = np.array([100.0, 200.0, 150.0, 120.0, 180.0])


def sums(turnaround, jobs=100):
    turnaround = np.asarray(turnaround, float)
    return {
        "jobs": [jobs] * len(turnaround), "turnaround": turnaround.tolist(), "wait": turnaround.tolist(),
        "log": np.log(turnaround).tolist(), "slowdown": turnaround.tolist(),
        "later": (0.1 * jobs * np.ones(len(turnaround))).tolist(), "sooner": [0.0] * len(turnaround),
    }  # fmt: skip


def study_of(factor, seeds=1, jobs=100):
    options = Options(seeds=seeds, others=False)
    runs = malleate_runs(options, [LOG])
    figures = {
        name: {**dict.fromkeys(("all", "adopters", "others"), sums(RIGID * by, jobs)), "median": 1.0, "used": 1.0}
        for name, by in {
            "rigid": np.ones(MONTHS),
            "gas": np.asarray(factor),
            "malleable-own": np.full(MONTHS, 0.5),
        }.items()
    }
    result = {"jobs": 1, "moldable": 1, "months": [f"2001-0{i}" for i in range(1, 6)], "strategies": figures}
    return Results(options, runs, [result for _ in runs])


def test_runs_are_shares_of_adopters_with_every_seed_and_one_of_each_other_setting():
    runs = malleate_runs(Options(seeds=3), [LOG])
    assert len(runs) == 3 * len(PERCENTS) + len(VARIANTS)
    assert {run.seed for run in runs if run.setting in VARIANTS} == {0}
    assert [run.on_s3 for run in runs[: len(PERCENTS)]] == [True] * len(PERCENTS)
    assert not any(run.on_s3 for run in runs[len(PERCENTS) :])


def test_logs_of_published_figures_are_run_for_these_too():
    runs = [run for run in malleate_runs(Options(seeds=1), [KTH, LOG]) if run.policy]
    assert [(run.log.name, run.policy) for run in runs] == [("kth", "conservative"), ("kth", "easy")]


def test_without_estimates_run_times_are_taken_and_not_once_more():
    runs = malleate_runs(Options(seeds=1), [PERFECT])
    assert {run.configuration["estimates"] for run in runs} == {"perfect"}
    assert not any(run.setting.perfect for run in runs)


def test_a_change_is_of_sums_over_months():
    factor = np.array([0.5, 0.7, 0.6, 0.8, 0.9])
    found = study_of(factor).change(GAS)
    expected = ratio_by_months(RIGID * factor, RIGID)
    assert found.mean == pytest.approx(100 * ((RIGID * factor).sum() / RIGID.sum() - 1))
    assert found.half_width == pytest.approx(100 * expected.half_width)


def test_an_equal_factor_in_all_months_has_no_width_and_the_geometric_mean_is_it():
    study = study_of(np.full(MONTHS, 0.8))
    assert study.change(GAS).half_width == pytest.approx(0, abs=1e-9)
    assert study.change(replace(GAS, what="log")).mean == pytest.approx(100 * (np.exp(np.log(0.8) / 100) - 1))


def test_seeds_of_a_month_are_one_batch():
    factor = np.array([0.5, 0.7, 0.6, 0.8, 0.9])
    one, three = (study_of(factor, seeds).change(GAS) for seeds in (1, 3))
    assert one.mean == pytest.approx(three.mean)
    assert one.half_width == pytest.approx(three.half_width)


def test_the_share_is_of_what_the_other_strategy_saves():
    assert study_of(np.full(MONTHS, 0.75)).share(GAS, "malleable-own").mean == pytest.approx(0.5)
    assert study_of(np.full(MONTHS, 0.75)).share(replace(GAS, strategy="malleable-own"), "rigid") is None


def test_a_higher_level_gives_a_wider_interval():
    factor = np.array([0.5, 0.7, 0.6, 0.8, 0.9])
    study = study_of(factor)
    strict = Results(study.options, study.runs, study.results, level=0.98)
    assert strict.change(GAS).half_width > study.change(GAS).half_width


def test_months_of_few_jobs_do_not_count():
    assert study_of(np.full(MONTHS, 0.75), jobs=49).change(GAS) is None


def test_the_share_of_jobs_that_end_later_is_in_per_cent():
    assert study_of(np.full(MONTHS, 0.75)).part(replace(GAS, what="later")).mean == pytest.approx(10)
