"""Jobs counted by class: every job with a slowdown is in one class."""

import pytest

from experiments.walltime.account import account_section, class_rows
from experiments.walltime.claims import claims
from experiments.walltime.report import banner
from experiments.walltime.results import (
    Options,
    Results,
    Terms,
    study_runs,
)


def test_classes_hold_every_job_that_has_a_slowdown(study):
    for log in study.logs:
        result = study.simulation(log, Terms())
        rows = class_rows(study, log, "wfp")
        assert sum(row["jobs"] for row in rows) == result["jobs"] - result["all"]["zero_length"]
        total = sum(row["without"]["slowdown"] for row in rows)
        assert total / sum(row["jobs"] for row in rows) == pytest.approx(result["all"]["slowdown"])


def test_a_quick_study_says_so_and_accounts_for_less(study):
    options = Options(quick=True)
    runs = study_runs(options, study.logs)
    whole = dict(zip(study.runs, study.results, strict=True))
    quick = Results(options, runs, [whole[run] for run in runs])
    assert "Not the full study: two windows" in banner(quick)
    assert len(account_section(quick).blocks) < len(account_section(study).blocks)
    same = [claim for claim in claims(quick) if claim in claims(study)]
    assert len(same) == len(claims(study))  # every statement can be tested
