"""The report on prediction: what is predicted, how accurate that is, and what choosing by it brings."""

import csv

import numpy as np
import pytest
from made_predictions import outcome, predicted
from study_runs import run_study

from experiments.framework.origin import Origin
from experiments.prediction.report import prediction_report
from gas.report.rendering import markdown


def test_the_report_says_what_is_predicted_how_right_it_is_and_what_comes_of_it(reported):
    folder, out, err = reported
    text = (folder / "prediction.md").read_text()
    for section in (
        "Verdicts",
        "What is predicted",
        "Calibration of the intervals",
        "Width of the intervals",
        "Error of the predicted start",
        "By size of the job",
        "By month",
        "Choosing by predictions: turn-around time",
        "Losing to static",
        "Runs in which predictions change the size",
        "Watching the job while it waits",
        "The choice by month",
        "Reproducing this report",
    ):
        assert f"## {section}" in text
    assert "> Not the full study" in text
    assert "SDSC-SP2-1998" in text  # a log that is not at hand
    assert "KTH: held out 1996-11 to 1996-12, not held out 1996-09 to 1996-10." in text
    assert "With fewer than 4 months there is no interval" in " ".join(text.split())
    assert text.index("promised wait, the time from submission to the promised start") == text.index("promised wait")
    assert "(paper: 4.6%)" in out
    assert "log: KTH-SP2-1996-2.1-cln, by courtesy of Lars Made-Up" in err
    for name in ("reliability", "ranks", "starts", "turnaround", "watching"):
        assert (folder / f"prediction-{name}.svg").exists()
    assert "Traceback" not in out + err


def test_an_interval_that_is_the_same_for_all_jobs_is_compared_where_there_are_months_to_take_it_from(reported):
    text = (reported[0] / "prediction.md").read_text()
    assert "the same interval for all jobs of a log: width over promised wait" in text
    assert "no such month was simulated" not in text


@pytest.mark.thorough
def test_where_there_is_no_such_month_there_are_no_such_columns_either(made_study):
    study = made_study([predicted(150, 100, 200)], [outcome(10, 20, 5)])
    text = markdown(prediction_report(study, Origin("1", "0" * 64, (), "gas")))
    assert "the same interval for all jobs of a log:" not in text
    assert "There is none for KTH: no such month was simulated." in text


def test_the_report_counts_the_held_out_starts_alone(reported):
    with (reported[0] / "prediction-starts.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["told"] == "nothing" and row["held_out"] == "True"]
    inside = [float(row["low_0.9"]) <= float(row["start"]) <= float(row["high_0.9"]) for row in rows]
    assert rows
    expected = f"Of {len(rows)} starts in held-out months (CTC, KTH), {100 * np.mean(inside):.1f}% lie"
    assert expected in (reported[0] / "prediction.md").read_text()


@pytest.mark.thorough
def test_the_quick_form_says_that_it_is_no_full_study_and_seeds_count_as_batches(made_logs, tmp_path):
    out, _ = run_study(
        "prediction",
        tmp_path,
        made_logs,
        "--quick",
        "--jobs",
        2,
        "--samples",
        5,
        "--runs",
        4,
        "--seeds",
        2,
        "--waits",
        60,
    )
    assert "only the last 2 months of each log" in out
    text = (tmp_path / "prediction.md").read_text()
    assert "--quick" in text
    assert "KTH: held out 1996-11 to 1996-12; no other month is used." in text
    assert "There is none for KTH: no such month was simulated." in text
    assert "With 2 seeds as batches: " in text
