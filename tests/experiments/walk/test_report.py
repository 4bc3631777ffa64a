"""Statements on the walk; their verdicts are recomputed independently from the table of outcomes."""

import pytest
from made_walk import made_study
from recomputed import by, chosen, ratio, table, verdict

from experiments.walk.report import TABLES, claims


def expected(rows):
    """Return the verdicts in the order of the report."""
    sooner = [row for row in rows if row["walk"] and int(row["walk_promised"]) < int(row["exact_promised"])]
    longer, oftener = [], []
    for log in sorted({row["log"] for row in rows}):
        months = [chosen(rows, log=log, month=month) for month in sorted({row["month"] for row in rows})]
        pairs = [[(int(row["walk"]), int(row["exact"])) for row in of if row["walk"]] for of in months]
        apart = [sum(walk - exact for walk, exact in of) for of in pairs]
        longer.append(by(ratio(apart, [sum(exact for _, exact in of) for of in pairs]), 100))
        signs = [sum((walk > exact) - (walk < exact) for walk, exact in of) for of in pairs]
        oftener.append(by(ratio(signs, [len(of) for of in pairs]), 100))
    return ["no" if sooner else "yes", verdict(longer, low=0), verdict(oftener, low=0)]


@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_table_alone(strength):
    study = made_study(0, strength)
    assert [claim.verdict for claim in claims(study)] == expected(table(study, TABLES, "walk-outcomes"))


def test_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    assert [claim.verdict for claim in claims(made_study(0, 1))] == ["yes", "yes", "yes"]
    assert [claim.verdict for claim in claims(made_study(0, -1))] == ["yes", "no", "no"]


def test_a_walk_that_is_promised_to_finish_sooner_contradicts_the_exact_planner():
    study = made_study(0, 1)
    study.results[0]["outcomes"][0] |= {"walk": 1, "walk_promised": 0}
    assert claims(study)[0].holds is False
