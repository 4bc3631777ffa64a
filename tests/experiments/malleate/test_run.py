"""A log under all strategies, as the ledger keeps it."""

import hashlib
from functools import cache

import numpy as np
import pytest
from made_up import busy_log
from thorough import ALL, EACH

from experiments.malleate.fairness import CLASSES
from experiments.malleate.rules import STRATEGIES
from experiments.malleate.run import BASELINE, ON_S3, malleate_run
from gas.simulation.metrics import metrics
from gas.simulation.simulate import simulate
from workloads import apply_overrun, offered_load, read_swf, rigid_jobs, write_swf


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log.swf"
    write_swf(busy_log(400 if ALL or EACH else 150, 64, seed=2, load=1.1), path)
    return path


@pytest.fixture(scope="module")
def result_of(log):
    sha256 = hashlib.sha256(log.read_bytes()).hexdigest()
    usual = {"log": sha256, "processors": 64, "estimates": "users", "recipe": "survey", "percent": 50, "seed": 1}
    usual |= {"cost": 15, "load": 1.0, "months": [], "s3": False}

    @cache
    def of(**given):
        more = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
        return malleate_run({**usual, **more}, files={sha256: str(log)})

    return of


def total(result, strategy, what, group="all"):
    return sum(result["strategies"][strategy][group][what])


def test_sums_are_those_of_the_whole_simulation(result_of, log):
    result = result_of()
    jobs = apply_overrun(rigid_jobs(read_swf(log), 64), "kill")
    easy = simulate(jobs, "easy")
    assert result["jobs"] == len(jobs) == total(result, "rigid", "jobs")
    assert total(result, "rigid", "turnaround") == (easy.end - jobs.submit).sum()
    assert total(result, "rigid", "wait") == (easy.start - jobs.submit).sum()
    assert total(result, "rigid", "later") == total(result, "rigid", "sooner") == 0
    assert result["strategies"]["rigid"]["used"] == 1


def test_all_strategies_take_part_and_gas_under_s3_if_wanted(result_of):
    assert list(result_of()["strategies"]) == list(STRATEGIES)
    assert list(result_of(s3=True, percent=10)["strategies"]) == [*STRATEGIES, ON_S3]


def test_adopters_and_others_are_all_jobs(result_of):
    result = result_of()
    for name in STRATEGIES:
        for what in ("jobs", "turnaround", "later"):
            parts = total(result, name, what, "adopters") + total(result, name, what, "others")
            assert parts == pytest.approx(total(result, name, what), abs=0.01)
    assert total(result, "gas", "jobs", "adopters") == result["moldable"]


def test_classes_are_all_jobs_and_the_load_is_that_of_rigid_jobs(result_of, log):
    result = result_of()
    jobs = apply_overrun(rigid_jobs(read_swf(log), 64), "kill")
    assert result["offered"] == pytest.approx(offered_load(jobs))
    for name in STRATEGIES:
        assert sum(total(result, name, "jobs", group) for group in CLASSES) == len(jobs)
        assert 0 < result["strategies"][name]["busy"] <= 1
    span = simulate(jobs, "easy").end.max() - jobs.submit.min()
    assert result["strategies"]["rigid"]["busy"] == pytest.approx((jobs.processors * jobs.run_time).sum() / (64 * span))


def test_without_known_users_none_has_lost_and_their_evenness_is_unknown(log, tmp_path):
    path = tmp_path / "log.swf"
    whole = read_swf(log)
    write_swf(whole.with_columns(user=np.full(len(whole), -1)), path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    given = {"log": sha256, "processors": 64, "estimates": "users", "recipe": "survey", "percent": 50, "seed": 1}
    result = malleate_run({**given, "cost": 15, "load": 1.0, "months": [], "s3": False}, files={sha256: str(path)})
    assert {of["users_later"] for of in result["strategies"].values()} == {None}
    assert {of["even"]["whole"] for of in result["strategies"].values()} == {None}


def test_a_higher_load_brings_jobs_closer_together(result_of):
    waits = [total(result_of(load=load), "rigid", "wait") for load in (0.7, 1.0, 1.3)]
    assert waits == sorted(waits)


def test_only_chosen_months_are_counted(result_of):
    every = result_of()
    month = every["months"][0]
    one = result_of(months=(month,))
    assert one["strategies"]["gas"]["all"]["jobs"][0] == every["strategies"]["gas"]["all"]["jobs"][0]
    assert sum(one["strategies"]["gas"]["all"]["jobs"][1:]) == 0


def test_a_baseline_is_what_the_simulator_says(result_of, log):
    found = metrics(simulate(apply_overrun(rigid_jobs(read_swf(log), 64), "kill"), "conservative"))
    result = result_of(recipe=BASELINE, policy="conservative")
    assert (result["response"], result["slowdown"]) == (found.mean_response, found.mean_bounded_slowdown_unclamped)


def test_perfect_estimates_are_the_run_times(result_of, log):
    jobs = rigid_jobs(read_swf(log), 64)
    result = result_of(estimates="perfect", recipe=BASELINE, policy="easy")
    exact = simulate(type(jobs)(**{**vars(jobs), "estimate": np.maximum(jobs.run_time, 1)}), "easy")
    assert result["response"] == metrics(exact).mean_response
