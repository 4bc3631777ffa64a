"""Tables of the study of walltime adjustment: their rows and columns."""

import pytest

from experiments.walltime.tables import TABLES


def rows(study, name):
    return TABLES[name].of(name, study).rows


def test_a_gain_is_over_the_months_that_are_averaged_and_an_advantage_is_of_selective_adjustment(small_study):
    regular, selective = rows(small_study, "walltime-gains")
    assert (regular["adjustment"], selective["adjustment"]) == ("regular", "selective")
    assert [row["wait_gain_percent"] for row in (regular, selective)] == pytest.approx([10.0, 20.0])
    assert regular["wait_gain_percent_all_jobs"] == pytest.approx(10.0)
    assert "wait_points_above_regular" not in regular
    assert selective["wait_points_above_regular"] == pytest.approx(10.0)


def test_every_month_of_every_simulation_is_a_row_and_says_whether_it_is_averaged(small_study):
    found = rows(small_study, "walltime-months")
    assert [row["month"] for row in found] == ["1996-10", "1996-11", "1996-12"] * 3
    assert [row["averaged"] for row in found[:3]] == [False, True, True]
    assert found[0]["adjustment"] is None
    assert all("after" not in row for row in found)


def test_a_scheme_that_was_replayed_is_a_row_for_each_percentile_and_floor(small_study):
    found = rows(small_study, "walltime-accuracy")
    assert [(row["key"], row["months"], row["percentile"], row["floor"]) for row in found] == [
        ("user", 1, 85, 0.0), ("user", 1, 85, 0.5),
    ]  # fmt: skip
    assert {(row["jobs"], row["no_history"], row["mean_accuracy"], row["UE"]) for row in found} == {(12, 3, 0.6, 3)}


def test_columns_of_a_measure_say_of_which_it_is(small_study):
    meanings = {one.column: one.meaning for one in TABLES["walltime-gains"].of("x", small_study).columns}
    assert meanings["slowdown_gain_percent_all_jobs"] == "improvement of the mean slowdown over all jobs of the log"
    assert meanings["wait_gain_percent"] == "improvement of the mean wait over no adjustment, averaged over months"
