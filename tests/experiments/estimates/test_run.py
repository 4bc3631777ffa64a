"""One run of the study of estimates: the same draw for every factor, the same work, the simulator's means."""

import numpy as np
import pytest

from experiments.estimates.results import (
    DOUBLED,
    EXACT,
    MODELS,
    USERS,
    LogRun,
    uniform,
)
from experiments.estimates.run import estimated, simulated
from experiments.framework.logs import load_log
from experiments.published import MEASURES, POLICIES
from gas.simulation.metrics import metrics


def jobs_under(study, terms, seed=0):
    run = LogRun(study.logs[0], "simulation", terms, seed)
    return estimated(run.configuration, load_log(run.log.path, run.log.sha256))


def test_a_seed_draws_the_same_place_in_the_interval_for_every_factor(study):
    two, eleven = (jobs_under(study, uniform(factor), seed=1) for factor in (2, 11))
    r = two.run_time
    assert (two.estimate >= np.maximum(r, 1)).all()
    assert (eleven.estimate <= np.maximum(11 * r, 1)).all()
    assert np.abs((eleven.estimate - r) - 10 * (two.estimate - r)).max() <= 10  # both are rounded up
    assert not np.array_equal(jobs_under(study, uniform(2), seed=2).estimate, two.estimate)


def test_with_doubled_estimates_the_same_jobs_do_the_same_work(study):
    asked, doubled = jobs_under(study, USERS), jobs_under(study, DOUBLED)
    assert (asked.run_time > asked.estimate).any()
    assert np.array_equal(doubled.run_time, np.minimum(asked.run_time, asked.estimate))
    assert np.array_equal(doubled.estimate, 2 * asked.estimate)


def test_no_job_is_killed_under_the_models_that_are_compared(study):
    log = study.logs[0]
    work = {
        terms: (schedule.end - schedule.start).tolist()
        for terms in MODELS
        if terms.estimates != "doubled"
        for schedule in [simulated(jobs_under(study, terms), "easy", LogRun(log, "simulation", terms).configuration)]
    }
    assert all(times == work[EXACT] for times in work.values())


def test_means_are_those_of_the_simulator_and_months_add_up_to_them(study):
    log = study.logs[0]
    result = study.simulations(log, USERS)[0]
    jobs = jobs_under(study, USERS)
    for policy in POLICIES:
        found = metrics(simulated(jobs, policy, LogRun(log, "simulation").configuration))
        assert result[policy]["response"] == pytest.approx(found.mean_response)
        assert result[policy]["slowdown"] == pytest.approx(found.mean_bounded_slowdown_unclamped)
        for measure in MEASURES:
            assert sum(result[policy]["sums"][measure]) == pytest.approx(result[policy][measure] * len(jobs))
