"""``gas experiment prediction``: what is counted and judged, and the whole study on made-up logs."""

import csv
import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_predictions import SMALL, outcome, predicted
from study_files import contents

from experiments.framework.intervals import FEWEST, Interval, better, by_months, interval, within
from experiments.framework.logs import find_logs
from experiments.framework.origin import Origin
from experiments.framework.rendering import markdown
from experiments.framework.sites import SITES
from experiments.prediction.claims import claims
from experiments.prediction.report import prediction_report
from experiments.prediction.results import Results, study_runs

SHORT = ("--jobs", 5, "--samples", 15, "--runs", 6)


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "prediction", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def reported(made_logs, tmp_path_factory):
    """The study: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("prediction")
    return folder, *run_once(folder, made_logs, *SHORT)


# ------------------------------------------------------------------------------------------------------- the intervals


def test_months_of_equal_size_count_as_one_value_each():
    values = np.array([1.0, 3.0, 5.0, 7.0, 0.0, 2.0, 4.0, 4.0])
    months = [(log, month) for log, month in product(("KTH", "CTC"), ("1997-01", "1997-02")) for _ in range(2)]
    expected = interval([2.0, 6.0, 1.0, 4.0])
    found = by_months(values, months)
    assert (found.mean, found.half_width) == pytest.approx((expected.mean, expected.half_width))


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), min_size=FEWEST, max_size=7))
def test_the_mean_is_that_of_all_values_however_many_a_month_has(batches):
    values = np.array([value for batch in batches for value in batch])
    found = by_months(values, [("KTH", str(i)) for i, batch in enumerate(batches) for _ in batch])
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width is not None
    assert found.half_width >= 0


@pytest.mark.parametrize("months", [1, 2, 3])
def test_few_months_tell_nothing_of_how_sure_a_mean_is_even_where_they_agree(months):
    values, names = np.full(2 * months, 90.0), [("KTH", f"1997-{1 + i // 2:02}") for i in range(2 * months)]
    assert by_months(values, names) == Interval(90.0, None)


def test_the_full_study_has_months_enough_for_an_interval_of_each_log():
    assert all(len(site.months) >= FEWEST for site in SITES)


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        ((-5.0, 2.0), True),
        ((-5.0, 6.0), None),
        ((-5.0, None), None),
        ((0.0, 0.0), False),
        ((5.0, 9.0), False),
        ((5.0, None), None),
    ],
)
def test_less_is_believed_only_where_its_interval_leaves_out_zero(difference, verdict):
    assert better(Interval(*difference)) is verdict


@pytest.mark.parametrize(
    ("share", "verdict"),
    [((85.0, 0.1), True), ((95.0, 30.0), True), ((84.0, 0.5), False), ((84.0, 1.0), None), ((97.0, 2.5), None),
     ((97.0, 1.5), False), ((84.0, None), None), ((90.0, None), None)],
)  # fmt: skip
def test_a_share_is_believed_to_lie_outside_only_where_its_whole_interval_does(share, verdict):
    assert within(Interval(*share), 85, 95) is verdict


# ---------------------------------------------------------------------------------------------------------- the claims


@pytest.fixture
def made_study(made_logs):
    """A study with the same outcomes in every month, all of them held out."""
    logs = [log for log in find_logs(made_logs)[0] if log.source.trace == "KTH"]
    found, chosen, _ = study_runs(replace(SMALL, months=1), logs)

    def study(starts, outcomes, months=FEWEST):
        names = [f"1997-{1 + i:02}" for i in range(months)]
        runs = [replace(run, month=name) for name in names for run in found]
        choices = [replace(choice, of=replace(choice.of, month=name)) for name in names for choice in chosen]
        calibrated = [{"jobs": 20, "waiting": len(starts), "outcomes": starts} for _ in runs]
        return Results(SMALL, runs, calibrated, choices, [{"jobs": 20, "outcomes": outcomes} for _ in choices])

    return study


@pytest.mark.parametrize(("inside", "verdict"), [(84, False), (85, True), (90, True), (95, True), (96, False)])
def test_too_many_right_intervals_are_as_wrong_as_too_few(made_study, inside, verdict):
    starts = [predicted(150, 100, 200)] * inside + [predicted(250, 100, 200)] * (100 - inside)
    found = claims(made_study(starts, [outcome(10, 5, 5)]))
    covers = [claim for claim in found if "contain the true start" in claim.text]
    assert {claim.holds for claim in covers} == {verdict}
    assert all(f"{inside}.0" in claim.here for claim in covers)


def test_two_months_that_agree_by_chance_give_no_verdict(made_study):
    starts = [predicted(150, 100, 200)] * 18 + [predicted(250, 100, 200)] * 2
    judged = [
        claim
        for claim in claims(made_study(starts, [outcome(10, 20, 5)], months=2))
        if "as wide as" not in claim.text  # which is no question of an interval
    ]
    assert {claim.holds for claim in judged} == {None}
    assert all(claim.here.endswith("; fewer than 4 months, so no interval") for claim in judged)
    assert not any("±" in claim.here for claim in judged)


@pytest.mark.parametrize(("width", "verdict"), [(500, True), (501, False)])
def test_half_of_the_way_is_wide_enough(made_study, width, verdict):
    found = claims(made_study([predicted(150, 100, 100 + width)], [outcome(10, 5, 5)]))
    assert {claim.holds for claim in found if "as wide as" in claim.text} == {verdict}


@pytest.mark.parametrize(
    ("outcomes", "sooner", "loses_less"),
    [
        ([outcome(10, 20, 5), outcome(10, 5, 5)], True, True),
        ([outcome(10, 5, 20), outcome(10, 5, 5)], False, False),
        ([outcome(1000, 900, 10), outcome(10, 5, 11)], True, False),
    ],
)
def test_predicting_helps_where_it_is_sooner_and_loses_less(made_study, outcomes, sooner, loses_less):
    found = claims(made_study([predicted(150, 100, 200)], outcomes))
    assert {claim.holds for claim in found if "mean turn-around" in claim.text} == {sooner}
    assert {claim.holds for claim in found if "less often" in claim.text} == {loses_less}


# ---------------------------------------------------------------------------------------------------------- the report


def test_the_report_says_what_is_predicted_how_right_it_is_and_what_comes_of_it(reported):
    folder, out, err = reported
    text = (folder / "prediction.md").read_text()
    for section in (
        "Does it hold?",
        "What is predicted",
        "Are the intervals right?",
        "How wide are they?",
        "How near is the predicted start?",
        "By size of the job",
        "By month",
        "Choosing by predictions: turn-around time",
        "Losing to static",
        "Where predicting chooses another size",
        "The choice by month",
        "To make this report again",
    ):
        assert f"## {section}" in text
    assert "> Not the full study" in text
    assert "SDSC-SP2-1998" in text  # a log that is not at hand
    assert "KTH: held out 1996-11 to 1996-12, not held out 1996-09 to 1996-10." in text
    assert "fewer than 4 months give no interval" in text
    assert text.index("way to the promise, the time from submission to the promised start") == text.index("way to the")
    assert "(paper: 4.6%)" in out
    assert "log: KTH-SP2-1996-2.1-cln, by courtesy of Lars Made-Up" in err
    for name in ("reliability", "ranks", "starts", "turnaround"):
        assert (folder / f"prediction-{name}.svg").exists()
    assert "Traceback" not in out + err


def test_an_interval_that_is_the_same_for_all_jobs_is_compared_where_there_are_months_to_take_it_from(reported):
    text = (reported[0] / "prediction.md").read_text()
    assert "the same interval for all jobs of a log: width over way" in text
    assert "no such month took part" not in text


def test_where_there_is_no_such_month_there_are_no_such_columns_either(made_study):
    study = made_study([predicted(150, 100, 200)], [outcome(10, 20, 5)])
    text = markdown(prediction_report(study, Origin("1", "0" * 64, (), "gas")))
    assert "the same interval for all jobs of a log:" not in text
    assert "There is none of KTH, of which no such month took part." in text


def test_the_report_counts_the_held_out_starts_alone(reported):
    with (reported[0] / "prediction-starts.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["told"] == "nothing" and row["held_out"] == "True"]
    inside = [float(row["low_0.9"]) <= float(row["start"]) <= float(row["high_0.9"]) for row in rows]
    assert rows
    expected = f"Of {len(rows)} starts in held-out months (CTC, KTH) {100 * np.mean(inside):.1f}% lie"
    assert expected in (reported[0] / "prediction.md").read_text()


@pytest.mark.thorough
def test_two_workers_and_shards_give_the_same_bytes(gas, made_logs, reported, tmp_path):
    command = ("experiment", "prediction", "--traces", made_logs, "--output", tmp_path, *SHORT)
    for part, workers in (("2/2", 1), ("1/2", 2)):
        assert gas(*command, "--shard", part, "--workers", workers).code == 0
        assert not (tmp_path / "prediction.md").exists()
    kept = sorted((tmp_path / "runs").iterdir())
    assert gas(*command).code == 0
    assert sorted((tmp_path / "runs").iterdir()) == kept  # nothing was left to compute
    assert contents(tmp_path) == contents(reported[0])


@pytest.mark.thorough
def test_the_quick_form_says_that_it_is_no_full_study_and_seeds_count_as_batches(made_logs, tmp_path):
    out, _ = run_once(tmp_path, made_logs, "--quick", "--jobs", 2, "--samples", 5, "--runs", 4, "--seeds", 2)
    assert "only the last 2 months of each log" in out
    text = (tmp_path / "prediction.md").read_text()
    assert "--quick" in text
    assert "KTH: held out 1996-11 to 1996-12; of the other months none takes part." in text
    assert "There is none of KTH, of which no such month took part." in text
    assert "With 2 seeds as batches: " in text


def test_without_a_month_that_is_long_enough_there_is_nothing_to_study(gas, made_logs, tmp_path):
    found = gas("experiment", "prediction", "--traces", made_logs, "--output", tmp_path, "--runs", 10_000)
    assert found.code == 2
    assert "--runs" in found.err


def test_without_a_log_there_is_nothing_to_study(gas, tmp_path):
    found = gas("experiment", "prediction", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "--traces" in found.err
