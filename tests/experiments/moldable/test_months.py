"""Months of logs with one moldable job at a time: the runs and their results."""

import hashlib
import json
import re

import pytest

from experiments.framework.logs import find_logs
from experiments.framework.results import SiteResults
from experiments.framework.study import AtHand, Computed
from experiments.moldable.months import (
    Options,
    Outcomes,
    cost_runs,
    month_runs,
    outcome_rows,
    planned,
    summarised,
)
from experiments.moldable.terms import BASE, PERFECT, TERMS
from gas.errors import BadInput

FEW = Options(seeds=2, runs=12, others=False)


@pytest.fixture
def logs(made_logs):
    return find_logs(made_logs)[0]


def test_every_month_of_a_log_is_run_on_every_term_and_the_papers_with_every_seed(made_logs):
    runs, left_out = month_runs(Options(seeds=3, runs=12), find_logs(made_logs)[0])
    months = {(run.site.trace, run.month) for run in runs}
    assert len(months) >= 5
    assert {trace for trace, _ in months} == {"CTC", "KTH"}
    assert len(runs) == len(months) * (len(TERMS) + 2)
    assert len({json.dumps(run.configuration, sort_keys=True) for run in runs}) == len(runs)
    assert any("too few for 12" in words for words in left_out)


def test_every_configuration_names_the_content_of_its_log(made_logs):
    log = find_logs(made_logs)[0][0]
    runs, _ = month_runs(Options(seeds=1, runs=12, others=False), [log], (BASE,))
    assert {re.fullmatch(r"[0-9a-f]{64}", run.configuration["log"]) is not None for run in runs} == {True}
    assert runs[0].configuration["log"] == log.sha256
    assert hashlib.sha256(b"").hexdigest() != log.sha256


def outcome(gas, static=10, best=1, **more):
    row = {"promised": gas, "user": 1, "gas_size": 1, "best_size": 1, "load_ratio": 1.0, "benchmark": "EP"}
    return row | {"gas": gas, "static": static, "best": best, "still_loses": []} | more


def test_regret_and_loss_are_by_how_much_and_whether_gas_was_later():
    found = Outcomes([outcome(5, 10, 5), outcome(20, 10, 5)])
    assert found.regret.tolist() == [0, 15]
    assert found.loses.tolist() == [False, True]
    assert found.factor.tolist() == [2.0, 0.5]
    assert Outcomes([outcome(0, 0, 0)]).factor.tolist() == [1.0]  # both at once


def test_the_cost_is_looked_at_with_half_and_a_quarter_of_the_substitutes_of_each_log(logs):
    runs = cost_runs(month_runs(FEW, logs, (BASE,))[0])
    assert [(run.site.trace, run.runs, run.for_cost) for run in runs] == [
        (trace, count, True) for trace in ("CTC", "KTH") for count in (6, 3)
    ]


def test_without_a_month_of_enough_jobs_the_study_is_refused(logs):
    with pytest.raises(BadInput, match="no month has enough jobs for 9999 runs; give fewer by --runs"):
        planned(Options(runs=9999), logs)


def computed(logs, rows_of, terms=(BASE, PERFECT)):
    """A study of some terms, with a function for the rows of each run."""
    runs, left_out = planned(FEW, logs, terms)
    return Computed(FEW, runs, [{"jobs": 9, "outcomes": rows_of(run)} for run in runs], AtHand(logs), left_out)


def test_rows_are_found_by_terms_log_class_seed_and_month(logs):
    rows = [outcome(5), outcome(6, benchmark="LU")]
    study = summarised(computed(logs, lambda run: [] if run.for_cost else rows))
    assert isinstance(study, SiteResults)
    own = [run for run in study.runs if run.terms == BASE]
    assert len(study.outcomes()) == 2 * len(own)
    assert len(study.outcomes(group="any")) == len(study.outcomes(group="power-of-two")) == len(own)
    assert len(study.outcomes(seed=1)) == len(own)  # one of two seeds, two rows each
    assert len(study.outcomes(PERFECT)) == len(own)  # which has one seed
    by_log = [len(study.outcomes(trace=trace)) for trace in ("CTC", "KTH")]
    assert sum(by_log) == len(study.outcomes())
    months = {(run.site.trace, run.month) for run in own}
    assert sum(len(study.outcomes(trace=trace, month=month)) for trace, month in months) == len(study.outcomes())


def test_what_is_run_for_the_cost_alone_counts_in_the_cost_and_nowhere_else(logs):
    study = summarised(computed(logs, lambda run: [outcome(5)]))
    assert not any(run.for_cost for run in study.runs)
    assert len(study.done) == len(study.runs) + 4
    assert len(outcome_rows(study.runs, study.results)) == len(study.runs)


def test_where_no_job_could_give_way_the_study_is_refused_with_a_reason(logs):
    nothing = computed(logs, lambda run: [])
    reasons = [{"jobs": 0, "outcomes": [], "too_few": "too few jobs"} for _ in nothing.runs]
    with pytest.raises(BadInput, match="--runs 12: no month has so many jobs that can be replaced; .*: too few jobs"):
        summarised(Computed(FEW, nothing.runs, reasons, nothing.at_hand, []))
