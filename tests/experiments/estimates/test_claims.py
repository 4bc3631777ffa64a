"""The paper's statements on estimates: each has a verdict where its logs are at hand."""

import pytest

from experiments.estimates.claims import best_factor, claims
from experiments.estimates.results import (
    EXACT,
    Options,
    Results,
    uniform,
)
from experiments.published import FACTORS


def test_the_best_factor_is_the_one_with_the_lowest_mean(study):
    log = study.logs[0]
    factor, change = best_factor(study, log.source.trace, "conservative", "response")
    by_factor = {f: study.mean(log, "conservative", "response", uniform(f)).mean for f in FACTORS[1:]}
    assert by_factor[factor] == min(by_factor.values())
    exact = study.mean(log, "conservative", "response", EXACT).mean
    assert change.percent.mean == pytest.approx(100 * (by_factor[factor] / exact - 1))


def test_statements_have_verdicts_where_their_logs_are_at_hand(study):
    found = claims(study)
    assert all(claim.here for claim in found)
    assert sum("Table 4" in claim.text for claim in found) == 2
    nothing = claims(Results(Options(), [], []))
    assert all(claim.holds is None for claim in nothing)
