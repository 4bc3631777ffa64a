"""Runs of the study of backfilling, and their results beside Table 1."""

import json
from pathlib import Path

import pytest

from experiments.backfilling.results import (
    CHANGE_LOADS,
    DOUBLED,
    LOADS,
    LogRun,
    ModelRun,
    Options,
    Results,
    change_runs,
    log_runs,
    model_runs,
    planned,
    run_times_runs,
    variants,
)
from experiments.framework.logs import SOURCES, Found, find_logs
from experiments.published import POLICIES, table1
from workloads import Header


def test_logs_run_as_the_paper_did_and_under_other_rules(made_logs):
    by_trace = {log.source.trace: variants(log) for log in find_logs(made_logs)[0]}
    assert [v.name for v in by_trace["KTH"]] == [
        "", "order event", "months by end", "overrun extend", "overrun extend and months by end", "estimates doubled",
    ]  # fmt: skip
    assert (by_trace["CTC"][0].processors, by_trace["CM5"][0].estimates) == (512, "perfect")
    assert {"users' estimates", "users' estimates and overrun extend"} <= {v.name for v in by_trace["CM5"]}


def test_variants_that_differ_only_in_their_months_share_a_run(made_logs):
    runs = log_runs(find_logs(made_logs)[0])
    distinct = {json.dumps(dict(run.configuration), sort_keys=True) for run in runs}
    assert len(distinct) == sum(not run.variant.by_end for run in runs)


def test_batches_are_those_of_the_paper():
    batches = {run.model: run.configuration["batch"] for run in model_runs(Options())}
    assert batches["F"] == 3333
    assert 900 < batches["J"] < 1000


def test_the_full_study_runs_the_models_as_the_paper_did():
    assert Options().full
    assert not Options(loads=LOADS[:3]).full
    assert not Options(jobs=2100).full
    assert {run.load for run in model_runs(Options())} == {*LOADS}
    assert {run.load for run in change_runs(Options())} == {*CHANGE_LOADS}
    assert Options(loads=(0.5, 0.7)).change_loads == (0.5, 0.7)  # none of the loads at which model F is changed


def test_without_logs_models_are_run():
    runs, left_out = planned(Options(), [])
    assert [run for run in runs if isinstance(run, LogRun)] == []
    assert any(isinstance(run, ModelRun) for run in runs)
    assert left_out == []


KTH = Found(next(source for source in SOURCES if source.trace == "KTH"), "KTH", Path("KTH.swf"), "0" * 64, Header())
ROW = next(row for row in table1() if row.trace == "KTH")


def figures(easy, conservative, backfilled=0.5):
    means = zip(POLICIES, (easy, conservative), strict=True)
    return {policy: {"response": mean, "slowdown": mean, "backfilled": backfilled} for policy, mean in means}


def month(easy, conservative, jobs=10):
    error = {what: {"response": 1.0, "slowdown": 1.0} for what in (*POLICIES, "difference")}
    return {"month": ROW.month, "jobs": jobs, "load": 0.5, **figures(easy, conservative), "error": error}


@pytest.fixture
def study():
    """KTH with one month of Table 1, in which doubled estimates reverse the order of the schemes."""
    runs = log_runs([KTH])
    results = []
    for run in runs:
        means = (20.0, 10.0) if run.variant.name == DOUBLED else (10.0, 20.0)
        months = [month(*means)]
        results.append({"jobs": 10, "overall": figures(*means), "months": months, "by_end": months})
    return Results(Options(), [], runs, results, [], [])


def test_a_month_of_the_table_is_shown_with_the_papers_rules_and_others_beside_it(study):
    cell = study.cells_under(ROW)[0]
    assert (cell.ours.easy, cell.ours.conservative, cell.jobs) == (10.0, 20.0, 10)
    assert DOUBLED not in cell.variants  # another experiment
    assert {"order event", "overrun extend"} <= {*cell.variants}
    assert study.cells_under(ROW, DOUBLED)[0].ours.easy == 20.0


def test_months_of_logs_that_are_not_at_hand_have_no_figures_and_are_not_counted(study):
    absent = [cell for cell in study.cells if cell.trace == "CTC"]
    assert absent
    assert all(cell.ours is None and cell.agrees is None for cell in absent)
    assert {cell.month for cell in study.cells if cell.ours} == {ROW.month}


def test_overall_means_are_those_of_the_whole_log(study):
    assert study.overall("KTH", "response", "easy") == 10.0
    assert study.overall("KTH", "response", "easy", DOUBLED) == 20.0
    assert study.overall("KTH", "response", "easy", "no such rules") is None
    assert study.overall("CTC", "response", "easy") is None
    assert study.backfilled("KTH", "easy") == 0.5
    assert study.backfilled("CTC", "easy") is None


def test_months_are_compared_with_the_papers_by_our_numbers_of_jobs(study):
    off = study.off("KTH", "response", "easy")(0.9)
    assert off.mean == pytest.approx((10.0 / ROW.cells["response"].easy - 1) * 100)
    assert off.half_width is None  # of one month
    assert study.off("CTC", "response", "easy") is None


def test_run_times_are_counted_of_models_and_of_the_log_that_is_at_hand(made_logs):
    models = [run.workload for run in run_times_runs(Options(), [])]
    assert models == ["J", "F", "Fsl"]
    runs = run_times_runs(Options(), find_logs(made_logs)[0])
    assert [run.workload for run in runs] == ["CTC", *models]
    assert runs[0].configuration["processors"] == 512
