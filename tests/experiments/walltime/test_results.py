"""Runs of the study of walltime adjustment, and their results: monthly gains over runs without adjustment."""

import pytest

from experiments.framework.logs import find_logs
from experiments.walltime.accuracy import KEYS, WINDOWS
from experiments.walltime.results import (
    ADJUSTMENTS,
    CHANGES,
    NEIGHBOURS,
    PERCENTILES,
    QUEUES,
    LogRun,
    Options,
    Results,
    Terms,
    adjusted,
    study_runs,
)
from gas.intervals import sure


@pytest.fixture
def logs(made_logs):
    return find_logs(made_logs)[0]


def test_every_key_window_order_adjustment_and_percentile_is_run_once(logs):
    runs = study_runs(Options(), logs)
    assert len(set(runs)) == len(runs)
    for log in logs:
        mine = [run for run in runs if run.log == log]
        assert {(run.key, run.months) for run in mine if run.kind == "accuracy"} == {
            (key, window) for key in KEYS for window in WINDOWS
        }
        terms = [run.terms for run in mine if run.kind == "simulation"]
        for queue in QUEUES:
            for apart in (False, True):
                assert Terms(queue, apart=apart) in terms
                for adjustment in ADJUSTMENTS:
                    assert all(adjusted(queue, adjustment, p, apart=apart) in terms for p in PERCENTILES)
    assert len(study_runs(Options(quick=True), logs)) < len(runs) / 2


def test_gains_are_against_the_same_month_and_advantages_paired():
    log = object()

    def result(**by_month):
        days = {"a": 0, "b": 40, "c": 70, "d": 100}
        return {"jobs": 4, "months": [{"month": m, "after": days[m] * 86400, "wait": w} for m, w in by_month.items()]}

    known = {
        Terms(): result(a=100, b=100, c=200, d=0),
        adjusted("wfp", "regular"): result(a=500, b=90, c=200, d=3),
        adjusted("wfp", "selective"): result(a=1, b=80, c=180, d=3),
    }

    class Months(Results):
        def simulation(self, log, terms):
            return known.get(terms)

    study = Months(Options(), [], [])
    assert study.gains(log, adjusted("wfp", "regular"), "wait") == pytest.approx({"b": 10.0, "c": 0.0})
    assert study.gain(log, adjusted("wfp", "selective"), "wait").mean == pytest.approx(15.0)
    advantage = study.advantage(log, adjusted("wfp", "regular"), "wait")
    assert advantage.mean == pytest.approx(10.0)
    assert advantage.half_width is None  # two months may agree by chance
    assert not sure(advantage)
    assert study.gain(log, adjusted("fcfs", "selective"), "wait") is None


def test_changes_to_the_scheme_are_run_one_at_a_time_and_not_in_the_quick_form(logs):
    terms = {run.terms for run in study_runs(Options(), logs[:1]) if run.kind == "simulation"}
    for change in (*CHANGES.values(), *({"least": least} for least in NEIGHBOURS)):
        assert adjusted("wfp", "regular", **change) in terms
    quick = {run.terms for run in study_runs(Options(quick=True), logs[:1]) if run.kind == "simulation"}
    assert quick < terms
    assert not any(one.apart for one in quick)


def test_the_baseline_differs_by_the_adjustment_alone():
    assert adjusted("fcfs", "selective", 70, apart=True).baseline == Terms("fcfs", apart=True)


def accuracy(log, key, months, **found):
    return LogRun(log, "accuracy", key, months), {"jobs": 8, "cells": [], "no_history": 0, **found}


def test_a_log_adjusts_if_any_job_has_similar_ones_by_the_triple_key(logs):
    def study(no_history):
        run, result = accuracy(logs[0], "user+group+walltime", None, no_history=no_history)
        return Results(Options(), [run], [result])

    assert study(7).adjusts(logs[0])
    assert not study(8).adjusts(logs[0])
    assert not Results(Options(), [], []).adjusts(logs[0])


def test_a_cell_of_the_replay_is_found_by_percentile_and_floor(logs):
    cells = [{"percentile": 85, "floor": floor, "accuracy": value} for floor, value in ((0.0, 0.4), (0.5, 0.6))]
    run, result = accuracy(logs[0], "user", 1, cells=cells)
    study = Results(Options(), [run], [result])
    assert study.accuracy(logs[0], "user", 1, 85, 0.5) == {"percentile": 85, "floor": 0.5, "accuracy": 0.6, "jobs": 8}
    assert study.accuracy(logs[0], "user", 1, 70, 0.5) is None
    assert study.accuracy(logs[0], "user", 3, 85, 0.5) is None


def test_what_a_log_without_jobs_gave_is_nothing(logs):
    study = Results(Options(), [LogRun(logs[0], "use")], [{"jobs": 0}])
    assert study.use(logs[0]) is None
    assert study.averaged(logs[0]) == []
    assert study.gain(logs[0], adjusted("wfp", "regular"), "wait") is None


def test_the_whole_log_gains_where_its_mean_falls_and_months_apart_have_none(logs):
    runs = [LogRun(logs[0], "simulation", terms=terms) for terms in (Terms(), adjusted("wfp", "regular"))]
    results = [{"jobs": 4, "months": [], "all": {"wait": wait}} for wait in (200, 150)]
    study = Results(Options(), runs, results)
    assert study.whole_gain(logs[0], adjusted("wfp", "regular"), "wait") == 25.0
    assert study.whole_gain(logs[0], adjusted("wfp", "regular", apart=True), "wait") is None
    assert study.label(runs[0]) == f"{logs[0].name}, a simulation"
