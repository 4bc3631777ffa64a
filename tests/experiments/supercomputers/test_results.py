"""Runs of several machines, and their results: means over applications, charges and equilibria."""

import json

import pytest

from experiments.framework.logs import find_logs
from experiments.supercomputers.results import (
    BASE,
    GAMES,
    HOME,
    PERFECT,
    SHARES,
    Options,
    Results,
    break_even,
    equilibrium,
    mean_of,
    pooled,
    rigid_mean,
    rigid_mean_of,
    trial_runs,
)
from gas.errors import BadInput


def test_in_equilibrium_one_more_gains_nothing():
    assert equilibrium((0, 50, 100), (30.0, 10.0, -10.0)) == 75
    assert equilibrium((0, 50, 100), (30.0, -10.0, 40.0)) == 37.5  # the first of two
    assert equilibrium((0, 50, 100), (30.0, 0.0, 10.0)) == 50


def test_all_give_way_where_it_always_gains_and_none_where_the_first_one_loses():
    assert equilibrium((0, 50, 100), (1.0, 2.0, 1.0)) == 100
    assert equilibrium((0, 50, 100), (-1.0, 5.0, 5.0)) == 0
    assert equilibrium((0, 50, 100), (0.0, 5.0, 5.0)) == 0


def result(applications, gain, extra, extra_time, waiting=None):
    figures = {"mean": gain, "extra": extra, "extra_time": extra_time}
    of_waiting = {"mean": None, "extra": None, "extra_time": None} if not waiting else figures
    return {"applications": applications, "waiting": waiting or 0, "gain": {"all": figures, "waiting": of_waiting}}


def test_the_break_even_charge_takes_away_all_that_is_gained():
    runs = [result(10, 30.0, 0.5, 200.0), result(30, 10.0, 0.1, 40.0)]
    assert pooled(runs, "mean") == 15.0
    assert break_even(runs, "seconds") == pytest.approx(15.0 / 0.2)
    assert break_even(runs, "share") == pytest.approx(15.0 / 80.0)
    assert break_even([result(10, -30.0, 0.5, 200.0)], "seconds") == -60.0
    assert break_even([result(10, 0.0, 0.0, 0.0)], "seconds") == 0.0
    assert pooled([result(10, 4.0, 0, 0), result(10, 8.0, 0, 0, waiting=5)], "mean", "waiting") == 8.0


def test_machines_stand_together_month_by_month_with_every_temptation_share_and_seed(made_logs):
    runs, left_out = trial_runs(Options(seeds=2, percent=20, months=2, others=False), find_logs(made_logs)[0])
    together = list(dict.fromkeys(run.places for run in runs))
    assert [[str(place) for place in places] for places in together] == [
        ["CTC 1996-07", "KTH 1996-10"], ["CTC 1996-08", "KTH 1996-11"],
    ]  # fmt: skip
    assert not left_out
    assert len(runs) == len(together) * 2 * (2 + len(GAMES) * len(SHARES) + 2)
    assert len({json.dumps(run.configuration, sort_keys=True) for run in runs}) == len(runs)


def test_months_with_hardly_an_application_are_left_out(made_logs):
    logs = find_logs(made_logs)[0]
    runs, left_out = trial_runs(Options(percent=10, months=3), logs)
    assert {str(place) for run in runs for place in run.places} == {
        "CTC 1996-07", "KTH 1996-10", "CTC 1996-09", "KTH 1996-11",
    }  # fmt: skip
    assert [words.split(": ")[1].split(" has ")[0] for words in left_out] == ["1996-08", "1996-12"]
    assert all("too few for 10 applications" in words for words in left_out)
    with pytest.raises(BadInput, match="--percent"):
        trial_runs(Options(percent=1), logs)


def test_one_machine_is_not_several(made_logs):
    only = [log for log in find_logs(made_logs)[0] if log.source.trace == "KTH"]
    with pytest.raises(BadInput, match="need at least two logs"):
        trial_runs(Options(), only)


def machine(rigid, mean):
    return {"rigid": rigid, "rigid_mean": mean}


def test_the_mean_of_the_rigid_jobs_counts_every_job_once_on_whichever_machine():
    assert rigid_mean({"machines": [machine(1, 10.0), machine(3, 30.0)]}) == 25.0
    assert rigid_mean({"machines": [machine(0, None), machine(2, 30.0)]}) == 30.0
    assert rigid_mean({"machines": [machine(0, None)]}) == 0.0
    assert rigid_mean_of([{"machines": [machine(1, 10.0)]}, {"machines": [machine(9, 30.0)]}]) == 20.0  # once a run


def test_a_mean_over_runs_counts_every_application_once():
    assert mean_of([{"applications": 1, "mean": 10.0}, {"applications": 3, "mean": 30.0}], "mean") == 25.0
    assert mean_of([{"applications": 0, "mean": None}], "mean") == 0.0


@pytest.fixture
def study(made_logs):
    """A study with numbered results, to see which ones are used."""
    runs, left_out = trial_runs(Options(seeds=2, percent=20, months=2), find_logs(made_logs)[0])
    results = [{"number": i, "applications": i, "machines": [machine(5, 1.0)] * 2} for i in range(len(runs))]
    return Results(Options(), runs, results, (), left_out)


def taken(study, results):
    return [study.runs[one["number"]] for one in results]


def test_results_of_a_temptation_are_those_of_its_share_on_the_largest_sets_of_machines(study):
    for game in GAMES:
        for share in SHARES:
            runs = taken(study, study.of_game(game, share))
            assert {(run.others, run.some, run.share) for run in runs} == {(game.others, game.some, share)}
            assert {run.setting for run in runs} == {BASE}
            assert len(runs) == len(study.together) * 2  # with two seeds
    (only,) = {run.places for run in taken(study, study.of_game(GAMES[0], 0, places=study.together[1]))}
    assert only == study.together[1]
    assert {run.setting for run in taken(study, study.of_game(GAMES[0], 100, PERFECT))} == {PERFECT}


def test_where_all_do_the_same_no_share_is_left(study):
    game = GAMES[0]
    assert {run.share for run in taken(study, study.of_all(game.some))} == {100}
    assert {run.share for run in taken(study, study.of_all(game.others))} == {0}
    assert {(run.others, run.some) for run in taken(study, study.of_all(HOME[0]))} == {(HOME[0], HOME[0])}


def test_what_a_run_cost_is_counted_by_all_its_jobs(study):
    label, configuration, counted = study.done[7]
    assert label == "CTC + KTH"
    assert configuration == study.runs[7].configuration
    assert counted == {"jobs": 7 + 10, "moldable": 7}
