"""Statements on conditional backfilling; their verdicts are recomputed independently from the table."""

import pytest
from made_conditional import made_study
from recomputed import by, chosen, ratio, share, table, verdict

from experiments.conditional.claims import claims
from experiments.conditional.report import TABLES


def sums(rows, name):
    """Return the sums of all groups in these rows, a value for each month."""
    months = sorted({row["month"] for row in rows})
    return [sum(float(row[name]) for row in chosen(rows, month=month)) for month in months]


def expected(rows):
    """Return the verdicts in the order of the report."""
    logs = sorted({row["log"] for row in rows})

    def of_logs(part, *names, **columns):
        found = [chosen(rows, log=log, **columns) for log in logs]
        return [part(*(sums(of, name) for name in names)) for of in found]

    def change(**columns):
        return [by(part, 100, -100) for part in of_logs(ratio, "turnaround", "turnaround_before", **columns)]

    verdicts = ["no" if any(int(row["broken"]) for row in rows) else "yes"]
    for notice in (600, 3600):
        verdicts += [
            verdict(change(percent=25, notice=notice, group="asked"), low=0),
            verdict(change(percent=25, notice=notice, group="others"), high=0),
            verdict(change(percent=100, notice=notice), low=0),
            verdict(of_logs(share, "later", "jobs", percent=25, notice=notice, group="others"), high=10),
        ]
    apart = []
    for log in logs:
        long, short = (chosen(rows, log=log, percent=25, notice=notice, group="asked") for notice in (3600, 600))
        apart.append(by(ratio(sums(long, "turnaround"), sums(short, "turnaround")), 100, -100))
    return [*verdicts, verdict(apart, low=0)]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_table_alone(strength):
    study = made_study(0, strength)
    assert [claim.verdict for claim in claims(study)] == expected(table(study, TABLES, "conditional-months"))


def test_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    assert {claim.verdict for claim in claims(made_study(0, 1))[:-1]} == {"yes"}
    assert {claim.verdict for claim in claims(made_study(0, -1))[1:-1]} == {"no"}


def test_a_single_promise_that_was_broken_is_told():
    study = made_study(0, 1)
    study.results[0]["settings"][0]["broken"] = 1
    assert claims(study)[0].holds is False
    assert "1 broken" in claims(study)[0].here
