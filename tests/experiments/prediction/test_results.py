"""Runs of the study of predictions, and their results: starts with their intervals, and choices compared."""

import json
from dataclasses import replace

import numpy as np
import pytest
from made_predictions import SMALL, outcome, predicted

from experiments.framework.logs import find_logs, jobs_by_month
from experiments.moldable.months import Options as PowerOptions
from experiments.moldable.months import month_runs
from experiments.moldable.terms import BASE
from experiments.prediction.results import Choices, Options, Predictions, Results, planned, study_runs
from experiments.prediction.run import REVEALED
from gas.errors import BadInput


def test_every_start_is_before_within_or_after_its_interval():
    rows = [predicted(99, 100, 200), predicted(100, 100, 200), predicted(200, 100, 200), predicted(201, 100, 200)]
    found = Predictions(rows, [("KTH", "1997-01")] * 4, [100] * 4)
    assert found.below(0.9).tolist() == [True, False, False, False]
    assert found.inside(0.9).tolist() == [False, True, True, False]
    assert found.above(0.9).tolist() == [False, False, False, True]
    assert found.coverage(0.9).mean == 50
    assert found.width(0.9).tolist() == [100] * 4
    assert found.share.tolist() == [0.1] * 4
    assert found.where(found.below(0.9)).start.tolist() == [99]


def test_losses_are_compared_run_by_run():
    rows = [outcome(10, 20, 5), outcome(10, 5, 20), outcome(10, 20, 30), outcome(10, 10, 10)]
    found = Choices(rows, [("KTH", "1997-01")] * 4)
    assert found.loses.tolist() == [True, False, True, False]
    assert found.predicting_loses.tolist() == [False, True, True, False]
    assert found.loses_more.tolist() == [-100, 100, 0, 0]
    assert found.later.tolist() == [-15, 15, 10, 0]


def test_the_second_half_of_the_months_of_each_log_is_held_out(made_logs):
    logs = find_logs(made_logs)[0]
    runs, _, _ = study_runs(SMALL, logs)
    assert {run.site.trace for run in runs} == {"CTC", "KTH"}
    for log in logs:
        held_out = {run.month: run.held_out for run in runs if run.log == log}
        if held_out:
            months = sorted(jobs_by_month(log))
            assert sorted(held_out) == months
            count = len(months) // 2  # the middle month is not
            assert [month for month in months if held_out[month]] == months[len(months) - count :]
        for revealed in REVEALED:
            months_revealed = {run.month for run in runs if run.log == log and run.revealed == revealed}
            assert months_revealed == {month for month in held_out if held_out[month] or revealed == "nothing"}
    assert len({json.dumps(run.configuration, sort_keys=True) for run in runs}) == len(runs)


def test_the_choice_is_studied_on_the_runs_of_the_study_of_one_job(made_logs):
    logs = find_logs(made_logs)[0]
    options = replace(SMALL, seeds=2)
    _, choices, left_out = study_runs(options, logs)
    of_power, left_out_there = month_runs(PowerOptions(seeds=2, runs=8, others=False), logs, (BASE,))
    assert [choice.of for choice in choices] == of_power
    assert left_out == left_out_there
    assert {choice.configuration["seed"] for choice in choices} == {0, 1}


def test_the_quick_form_takes_the_last_months(made_logs):
    runs, choices, _ = study_runs(replace(SMALL, months=1), find_logs(made_logs)[0])
    assert [(run.site.trace, run.month, run.revealed) for run in runs] == [
        (trace, month, revealed) for trace, month in (("CTC", "1996-09"), ("KTH", "1996-12")) for revealed in REVEALED
    ]
    assert [(choice.of.site.trace, choice.of.month) for choice in choices] == [("CTC", "1996-09"), ("KTH", "1996-12")]


def test_without_a_month_of_the_choice_the_study_is_refused(made_logs):
    with pytest.raises(BadInput, match="no month has enough jobs for 1000000 runs; give fewer by --runs"):
        planned(replace(SMALL, runs=10**6), find_logs(made_logs)[0])


def test_where_all_run_times_are_known_there_are_no_more_samples_than_streams_of_arrivals(made_logs):
    runs, _, _ = study_runs(Options(), find_logs(made_logs)[0])
    samples = {run.revealed: run.configuration["samples"] for run in runs}
    assert samples["nothing"] == Options().samples
    assert samples["all"] < samples["running"] == samples["waiting"] < samples["nothing"]


@pytest.fixture
def study(made_logs):
    """KTH with one predicted start and one choice in each month."""
    logs = [log for log in find_logs(made_logs)[0] if log.source.trace == "KTH"]
    runs, choices, _ = study_runs(SMALL, logs)
    calibrated = [
        {"jobs": 9, "waiting": 1, "outcomes": [predicted(i, 0, len(run.revealed))]} for i, run in enumerate(runs)
    ]
    chosen = [{"jobs": 9, "outcomes": [outcome(3, 2, 1), {**outcome(9, 9, 9), "benchmark": "LU"}]} for _ in choices]
    return Results(SMALL, runs, calibrated, choices, chosen)


def test_predictions_are_those_of_held_out_months_unless_others_are_asked_for(study):
    held_out = {month for _, month in study.held_out}
    starts = study.predictions("KTH")
    assert {month for _, month in starts.months} == held_out
    assert {month for _, month in study.predictions(held_out=False).months}.isdisjoint(held_out)
    assert len(study.predictions(held_out=None)) == len(study.months())
    assert len(study.predictions(month="1996-09", held_out=None)) == 1
    assert not len(study.predictions("CTC"))


def test_without_predicted_starts_the_logs_are_those_of_the_choices(study):
    assert study.traces == ["KTH"]
    assert Results(SMALL, [], [], study.choices, study.chosen).traces == ["KTH"]


def test_what_was_revealed_is_kept_apart(study):
    for revealed in REVEALED:
        found = study.predictions(revealed=revealed)
        assert np.array_equal(found.width(0.9), np.full(len(found), len(revealed)))


def test_choices_are_found_by_class_month_and_seed(study):
    every = study.outcomes()
    assert len(every) == 2 * len(study.choices)
    assert len(study.outcomes(group="any")) == len(study.outcomes(group="power-of-two")) == len(study.choices)
    assert len(study.outcomes(group="perfect-square")) == 0
    assert len(study.outcomes(seed=0)) == len(every)
    assert len(study.outcomes(seed=1)) == 0
    assert len(study.outcomes(held_out=True)) + len(study.outcomes(held_out=False)) == len(every)
