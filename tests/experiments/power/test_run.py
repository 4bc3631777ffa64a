"""One moldable job at a time: its result is that of a whole simulation of the altered log."""

from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest
from made_up import busy_jobs

from experiments.framework.ledger import Ledger
from experiments.framework.logs import find_logs
from experiments.moldable.benchmarks import Form, application, requests
from experiments.moldable.outcomes import Month, outcomes
from experiments.moldable.substitution import substitutes
from experiments.power.run import power_run
from gas.planner import plan
from gas.simulation.simulate import Simulation, simulate

FORM = Form(accuracy=0.5)


@pytest.fixture(scope="module")
def jobs():
    return busy_jobs(700, 64, seed=3)


@pytest.fixture(scope="module")
def placed(jobs):
    return substitutes(jobs, 40, mix="thirds", form=FORM, opponent="uniform", generator=np.random.default_rng(2))


def altered(jobs, place, size, walltime, time):
    """Return the jobs with one of another size, estimate and run time."""
    columns = {name: getattr(jobs, name).copy() for name in ("processors", "estimate", "run_time")}
    for name, value in zip(columns, (size, walltime, time), strict=True):
        columns[name][place] = value
    return replace(jobs, **columns)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("policy", ["s3", "conservative", "s3-1999"])
def test_each_turnaround_is_that_of_the_whole_altered_log(jobs, placed, policy):
    found = outcomes(Month(jobs, 0, placed, FORM), policy)
    assert [one.submit for one in found] == sorted(int(jobs.submit[one.place]) for one in placed)
    for one, outcome in zip(sorted(placed, key=lambda one: one.place), found, strict=True):
        sizes, times, walltimes = requests(application(one.benchmark, one.problem_class, FORM), jobs.machine)
        there = {}
        for size, time, walltime in zip(sizes.tolist(), times.tolist(), walltimes.tolist(), strict=True):
            if size in (outcome.gas_size, outcome.static_size, outcome.best_size):
                end = simulate(altered(jobs, one.place, size, walltime, time), policy).end[one.place]
                there[size] = int(end) - outcome.submit
        assert (outcome.gas, outcome.static, outcome.best) == (
            there[outcome.gas_size],
            there[one.static],
            there[outcome.best_size],
        )


def test_gas_chooses_what_the_planner_chooses_from_the_list_of_that_moment(jobs, placed):
    simulation = Simulation(jobs, "s3", ask=sorted(one.place for one in placed))
    at = {one.place: one for one in placed}
    for outcome in outcomes(Month(jobs, 0, placed, FORM)):
        one = at[simulation.run()]
        best = plan(application(one.benchmark, one.problem_class, FORM), simulation.availability()).best
        assert (outcome.gas_size, outcome.promised) == (best.processors, best.finish - outcome.submit)
        simulation.answer()


def test_nothing_ends_later_than_promised_and_no_choice_is_better_than_the_best(jobs, placed):
    found = outcomes(Month(jobs, 0, placed, FORM))
    assert all(one.best <= min(one.gas, one.static) and one.gas <= one.promised for one in found)
    assert any(one.regret > 0 for one in found)  # estimates are wrong here, so hindsight is better


def test_with_true_estimates_gas_never_loses_and_regrets_nothing(jobs, placed):
    known = replace(jobs, estimate=np.maximum(jobs.run_time, 1))
    for one in outcomes(Month(known, 0, placed, Form(accuracy=1))):
        assert (one.regret, one.gas) == (0, one.promised)
        assert one.gas <= one.static


@pytest.mark.thorough
@pytest.mark.parametrize("estimates", ["users", "perfect"])
def test_a_month_of_a_log_is_the_same_in_any_process_and_kept(made_logs, tmp_path, estimates):
    log = find_logs(made_logs)[0][0]
    run = partial(power_run, files={log.sha256: str(log.path)})
    months = [
        {
            "log": log.sha256,
            "processors": 430,
            "month": month,
            "runs": 20,
            "seed": seed,
            "mix": "thirds",
            "opponent": "uniform",
            "form": asdict(FORM),
            "policy": "s3",
            "begin": "empty",
            "load": 1.0,
            "estimates": estimates,
        }
        for month in ("1996-08", "1996-09")
        for seed in (1, 2)
    ]
    found = Ledger(tmp_path / "two", "1").run(run, months, workers=2)
    assert found == [run(month) for month in months] == Ledger(tmp_path / "two", "1").run(run, months)
    assert [len(one["outcomes"]) for one in found] == [20] * 4
    assert len({str(one["outcomes"]) for one in found}) == 4


@pytest.mark.thorough
def test_months_with_the_same_seed_draw_benchmarks_of_their_own(made_logs):
    log = find_logs(made_logs)[0][0]
    common = {
        "log": log.sha256, "processors": 430, "runs": 20, "seed": 1, "mix": "thirds", "opponent": "uniform",
        "form": asdict(FORM), "policy": "s3", "begin": "warm", "load": 1.0, "estimates": "users",
    }  # fmt: skip
    drawn = [
        sorted(
            (one["benchmark"], one["problem_class"], one["static_size"])
            for one in power_run(common | {"month": month}, files={log.sha256: str(log.path)})["outcomes"]
        )
        for month in ("1996-08", "1996-09")
    ]
    assert drawn[0] != drawn[1]
