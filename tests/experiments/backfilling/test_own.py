"""Logs without figures in the paper: the findings are recomputed from the tables alone."""

from dataclasses import replace

import pytest
from recomputed import by, chosen, ratio, table, verdict

from experiments.backfilling.claims import claims
from experiments.backfilling.own import own_claims, own_months
from experiments.backfilling.own_report import own_section
from experiments.backfilling.results import LogRun, Options, Results, variants
from experiments.backfilling.run import log_run
from experiments.backfilling.tables import TABLES
from experiments.framework.files import log_of_file
from gas.report.blocks import Table


@pytest.fixture(scope="module")
def study(made_logs):
    found = log_of_file(next(made_logs.glob("KTH-*.swf.gz")))
    log = replace(found, source=replace(found.source, trace="KTH"))  # the name of the paper's log, but another log
    runs = [LogRun(log, one) for one in variants(log)]
    files = {log.sha256: str(log.path)}
    return Results(Options(), [], runs, [log_run(run.configuration, files=files) for run in runs], [], [])


def sums(study, policy, measure, estimates="users"):
    rows = chosen(table(study, TABLES, "results"), policy=policy, estimates=estimates, order="instant", overrun="kill")
    return [float(row["jobs"]) * float(row[measure]) for row in rows if row["month"]]


def test_what_the_paper_says_is_judged_on_each_log_by_the_table_alone(study):
    measures = ("response", "slowdown")
    apart = [by(ratio(sums(study, "conservative", one), sums(study, "easy", one)), 100, -100) for one in measures]
    doubled = [
        by(ratio(sums(study, policy, one, "doubled"), sums(study, policy, one)), 100, -100)
        for policy in ("easy", "conservative")
        for one in measures
    ]
    assert [claim.verdict for claim in own_claims(study)] == [verdict(apart, high=0), verdict(doubled, high=0)]


def test_it_is_never_taken_for_one_of_the_papers(study):
    assert not any(cell.ours for cell in study.cells)
    assert study.overall("KTH", "response", "easy") is None
    of_the_paper = [claim for claim in claims(study) if claim.where != "other logs"]
    assert {claim.holds for claim in of_the_paper} == {None}


def test_the_report_has_its_months_and_its_means_under_all_rules(study):
    wholes, months = (one for one in own_section(study).blocks if isinstance(one, Table))
    assert len(months.rows) == len(own_months(study)) == 2 * len(study.log_results[0]["months"])
    assert len(wholes.rows) == 2 * len(study.log_runs)
    overall = study.log_results[0]["overall"]
    assert wholes.rows[0][3:5] == tuple(f"{overall[one]['response']:,.0f}" for one in ("easy", "conservative"))
