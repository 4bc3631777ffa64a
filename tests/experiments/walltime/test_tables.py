"""Tables of the study of walltime adjustment: what a row is, and what its columns hold."""

import pytest

from experiments.framework.logs import find_logs
from experiments.walltime.accuracy import CATEGORIES
from experiments.walltime.results import LogRun, Options, Results, Terms, adjusted
from experiments.walltime.tables import TABLES

DAYS = {"1996-10": 5, "1996-11": 36, "1996-12": 66}


def simulated(wait):
    """A simulation in which every month has the same mean wait."""
    figures = {"jobs": 4, "wait": wait, "slowdown": 2.0, "slowdown_60": 2.0, "weighted": wait, "accuracy": 0.5}
    counts = dict.fromkeys(CATEGORIES, 1)
    months = [{"month": month, "after": days * 86400, **figures, **counts} for month, days in DAYS.items()]
    return {"jobs": 12, "months": months, "all": figures}


@pytest.fixture
def study(made_logs):
    log = next(log for log in find_logs(made_logs)[0] if log.source.trace == "KTH")
    terms = [Terms(), adjusted("wfp", "regular"), adjusted("wfp", "selective")]
    runs = [LogRun(log, "simulation", terms=one) for one in terms]
    cells = [{"percentile": 85, "floor": floor, "accuracy": 0.6, "median": 0.7} for floor in (0.0, 0.5)]
    runs.append(LogRun(log, "accuracy", "user", 1))
    replay = {"jobs": 12, "no_history": 3, "cells": [cell | dict.fromkeys(CATEGORIES, 3) for cell in cells]}
    return Results(Options(), runs, [simulated(100), simulated(90), simulated(80), replay])


def rows(study, name):
    return TABLES[name].of(name, study).rows


def test_a_gain_is_over_the_months_that_are_averaged_and_an_advantage_is_of_selective_adjustment(study):
    regular, selective = rows(study, "walltime-gains")
    assert (regular["adjustment"], selective["adjustment"]) == ("regular", "selective")
    assert [row["wait_gain_percent"] for row in (regular, selective)] == pytest.approx([10.0, 20.0])
    assert regular["wait_gain_percent_all_jobs"] == pytest.approx(10.0)
    assert "wait_points_above_regular" not in regular
    assert selective["wait_points_above_regular"] == pytest.approx(10.0)


def test_every_month_of_every_simulation_is_a_row_and_says_whether_it_is_averaged(study):
    found = rows(study, "walltime-months")
    assert [row["month"] for row in found] == [*DAYS] * 3
    assert [row["averaged"] for row in found[:3]] == [False, True, True]
    assert found[0]["adjustment"] is None
    assert all("after" not in row for row in found)


def test_a_scheme_that_was_replayed_is_a_row_for_each_percentile_and_floor(study):
    found = rows(study, "walltime-accuracy")
    assert [(row["key"], row["months"], row["percentile"], row["floor"]) for row in found] == [
        ("user", 1, 85, 0.0), ("user", 1, 85, 0.5),
    ]  # fmt: skip
    assert {(row["jobs"], row["no_history"], row["mean_accuracy"], row["UE"]) for row in found} == {(12, 3, 0.6, 3)}


def test_columns_of_a_measure_say_of_which_it_is(study):
    meanings = {one.column: one.meaning for one in TABLES["walltime-gains"].of("x", study).columns}
    assert meanings["slowdown_gain_percent_all_jobs"] == "of the mean slowdown over all jobs of the log"
    assert meanings["wait_gain_percent"] == "of the mean wait against no adjustment, over months"
