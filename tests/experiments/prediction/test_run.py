"""Predictions in simulations of logs: for which jobs, and which sizes are chosen by them."""

from pathlib import Path

import numpy as np
import pytest

from experiments.framework.logs import find_logs, log_in
from experiments.moldable.months import Options, month_runs
from experiments.power.run import power_run
from experiments.prediction.run import SHARES, calibration_run, prediction_run
from workloads import read_swf, write_swf

CALIBRATION = {"what": "calibration", "processors": 100, "month": "1996-11", "jobs": 12, "samples": 30, "seed": 3}
CALIBRATION |= {"policy": "s3", "revealed": "nothing"}


@pytest.fixture(scope="module")
def kth(made_logs):
    return next(log for log in find_logs(made_logs)[0] if log.source.trace == "KTH")


def calibrated(log, **changes):
    return calibration_run(CALIBRATION | {"log": log.sha256} | changes, files={log.sha256: str(log.path)})


def rewritten(log, path, change):
    """Return the changed log, in a file of its own."""
    write_swf(change(read_swf(log.path)), path)
    return log_in(Path(path), log.source)


def test_jobs_that_must_wait_are_predicted_between_their_submission_and_their_promise(kth):
    found = calibrated(kth)
    assert 0 < len(found["outcomes"]) <= min(12, found["waiting"])
    assert found["waiting"] < found["jobs"]
    for row in found["outcomes"]:
        assert row["now"] < row["promise"]
        assert row["now"] <= row["start"] <= row["promise"]
        assert row["now"] <= row["mean"] <= row["promise"]
        lows, highs = ([row[f"{end}_{share:g}"] for share in SHARES] for end in ("low", "high"))
        widening = [row["now"], *lows[::-1], *highs, row["promise"]]
        assert widening == sorted(widening)
        assert 0 <= row["rank"] <= 1


@pytest.mark.thorough
def test_what_is_predicted_does_not_depend_on_who_comes_after_the_month(kth, tmp_path):
    month = calibrated(kth, jobs=10**6)["outcomes"]  # all: intervals depend on earlier predictions
    last = max(row["now"] for row in month)
    cut = rewritten(kth, tmp_path / "KTH-SP2-1996-2.swf", lambda log: log.select(log.submit <= last))
    predicted = ("now", "promise", "mean", "median", "low_0.9", "high_0.9")
    again = calibrated(cut, jobs=10**6)["outcomes"]
    assert month
    assert [[row[name] for name in predicted] for row in again] == [[row[name] for name in predicted] for row in month]


def test_given_all_run_times_the_last_job_is_predicted_to_the_second(kth, tmp_path):
    def a_busy_morning(log):
        first = log.select(np.arange(60))
        return first.with_columns(submit=np.arange(60.0) * 60)  # shorter than a day, so no arrivals are expected

    busy = rewritten(kth, tmp_path / "KTH-SP2-1996-2.swf", a_busy_morning)
    month = {"month": "1996-09", "jobs": 10**6}
    drawn, known = (calibrated(busy, revealed=of, **month)["outcomes"][-1] for of in ("nothing", "all"))
    assert known["low_0.9"] == known["mean"] == known["high_0.9"] == known["start"]
    assert known["start"] < known["promise"]
    assert drawn["low_0.9"] < drawn["high_0.9"]


@pytest.fixture(scope="module")
def choices(made_logs):
    """The outcomes of a month with and without predictions."""
    log = next(log for log in find_logs(made_logs)[0] if log.source.trace == "KTH")
    run = next(run for run in month_runs(Options(runs=10, seeds=1), [log])[0] if run.month == "1996-11")
    files = {log.sha256: str(log.path)}
    predicting = prediction_run({"what": "choice", **run.configuration, "samples": 5}, files=files)
    return predicting["outcomes"], power_run(run.configuration, files=files)["outcomes"]


def test_beside_one_that_predicts_all_others_choose_as_in_the_study_of_one_job(choices):
    predicting, plain = choices
    assert plain
    own = ("predicting", "predicting_size", "watched", "changes", "watched_by_plans")
    assert [{name: value for name, value in row.items() if name not in own} for row in predicting] == plain


def test_nothing_is_better_than_the_best_in_hindsight_not_even_a_prediction(choices):
    for row in choices[0]:
        assert row["predicting"] >= row["best"]
        if row["predicting_size"] == row["gas_size"]:
            assert row["predicting"] == row["gas"]
