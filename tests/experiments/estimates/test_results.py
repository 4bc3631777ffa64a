"""Runs of the study of estimates, and their results: means over seeds, and paired changes."""

import pytest

from experiments.estimates.results import (
    DOUBLED,
    EXACT,
    MODELS,
    OTHER_RULES,
    USERS,
    LogRun,
    Options,
    Results,
    Terms,
    study_runs,
    uniform,
)
from experiments.framework.logs import find_logs
from experiments.published import FACTORS, MEASURES, POLICIES


@pytest.fixture
def kth(made_logs):
    return next(log for log in find_logs(made_logs)[0] if log.source.trace == "KTH")


def test_changes_are_paired_seed_by_seed():
    log = object()

    def result(*means, spread=1):
        figures = dict(zip(MEASURES, means, strict=True))
        sums = {measure: [mean, mean, 2 * mean, spread * mean] * 2 for measure, mean in figures.items()}
        return {"jobs": 4, **{policy: {**figures, "sums": sums} for policy in POLICIES}}

    known = {
        USERS: [result(10, 2), result(20, 2)],
        EXACT: [result(11, 1), result(22, 4)],
        DOUBLED: [result(5, 1, spread=99)],
    }

    class Pairs(Results):
        def simulations(self, log, terms):
            return known[terms]

    study = Pairs(Options(), [], [])
    change = study.change(log, "easy", "response", USERS, EXACT)
    assert change.percent.mean == pytest.approx(10.0)
    assert change.percent.half_width is None  # two seeds may agree by chance
    assert change.sign == 1  # by the same share in every month
    assert change.of_months.half_width == pytest.approx(0.0, abs=1e-9)
    unsure = study.change(log, "easy", "slowdown", USERS, EXACT)
    assert unsure.percent.mean == pytest.approx(25.0)
    assert unsure.percent.half_width > 25
    assert study.change(log, "easy", "response", USERS, DOUBLED).sign == 0  # two months have another sign
    for one, other in ((USERS, DOUBLED), (DOUBLED, USERS)):
        assert study.change(log, "easy", "response", one, other).percent.half_width is not None


def test_terms_say_whether_a_seed_matters():
    assert uniform(2).drawn
    assert Terms("tsafrir").drawn
    assert not EXACT.drawn
    assert not Terms("history").drawn


def test_the_full_study_runs_other_rules_and_models_once_and_what_is_drawn_with_every_seed(kth):
    runs = study_runs(Options(seed=3, seeds=2), [kth])
    terms = [run.terms for run in runs if run.kind == "simulation"]
    assert {*OTHER_RULES, *MODELS} <= {*terms}
    for one in {*terms}:
        assert terms.count(one) == (2 if one.drawn else 1)
    assert len({run.configuration["factor"] for run in runs if run.kind == "simulation"}) == len(FACTORS) + 1
    less = study_runs(Options(others=False), [kth])
    assert not {run.terms for run in less} & {*MODELS} - {EXACT}


def test_results_are_those_of_a_log_on_some_terms_and_none_without_jobs(kth):
    runs = [LogRun(kth, "simulation", USERS), LogRun(kth, "simulation", uniform(2), 0), LogRun(kth, "use")]
    runs += [LogRun(kth, "simulation", uniform(2), 1), LogRun(kth, "simulation", DOUBLED)]
    figures = [{"easy": {"response": mean}, "jobs": jobs} for mean, jobs in ((5, 3), (1, 3), (0, 9), (3, 3), (0, 0))]
    study = Results(Options(seeds=2), runs, figures)
    assert study.mean(kth, "easy", "response", uniform(2)).mean == 2.0
    assert study.mean(kth, "easy", "response", USERS).half_width is None  # one run
    assert study.mean(kth, "easy", "response", DOUBLED) is None
    assert study.mean(None, "easy", "response", USERS) is None
    assert study.asked(kth, "use") == figures[2]
    assert study.asked(kth, "history") is None
    assert (study.log("KTH"), study.log("CTC")) == (kth, None)
    assert study.logs == [kth]


def test_models_that_say_nothing_of_a_log_are_named_once_with_the_reason(kth):
    runs = [LogRun(kth, "simulation", Terms("tsafrir"), seed) for seed in (0, 1)]
    study = Results(Options(), runs, [{"jobs": 0, "left_out": "too few estimates"}] * 2)
    assert study.not_modelled == ["KTH, tsafrir: too few estimates"]
