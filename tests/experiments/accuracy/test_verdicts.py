"""Statements on wrong models; their verdicts are recomputed independently from the table of outcomes."""

import numpy as np
import pytest
from made_accuracy import made_study
from recomputed import by, chosen, jackknife, of_values, ratio, share, table, verdict

from experiments.accuracy.claims import claims
from experiments.accuracy.report import TABLES


class Rows:
    """Columns of one variant, error and way to ask, by log and month."""

    def __init__(self, rows, variant, error, way):
        self.of = {}
        for row in rows:
            if (row["variant"], row["error"], row["way"]) == (variant, str(error), way):
                one = int(row["turnaround"]), int(row["static"]), int(row["killed"])
                self.of.setdefault(row["log"], {}).setdefault(row["month"], []).append(one)

    def months(self, log):
        return [np.array(rows).T for rows in self.of[log].values()]


def shorter(months):
    return by(ratio([one.sum() for one, _, _ in months], [static.sum() for _, static, _ in months]), -100, 100)


def shorter_in_the_geometric_mean(months):
    def of(those):
        ratios = np.concatenate([one / static for one, static, _ in those])
        return 100 * (1 - np.prod(ratios ** (1 / len(ratios))))

    return jackknife(of(months), [of(months[:i] + months[i + 1 :]) for i in range(len(months))])


def expected(every):
    """Return the verdicts in the order of the report."""
    logs, found = sorted({row["log"] for row in every}), []
    rows = chosen(every, opponent="uniform")
    for variant in ("each size", "scalability"):
        for error in (25, 100, 300):
            gas = Rows(rows, variant, error, "gas")
            found += [
                verdict([of(gas.months(log)) for log in logs], low=0) for of in (shorter, shorter_in_the_geometric_mean)
            ]
        gas = Rows(rows, variant, 100, "gas")
        shares = [[(sum(killed > 0), len(killed)) for _, _, killed in gas.months(log)] for log in logs]
        found.append(verdict([share(*np.array(of).T) for of in shares], low=10))
        gas, cautious = (Rows(rows, variant, 300, way) for way in ("gas", "cautious"))
        pairs = [list(zip(gas.months(log), cautious.months(log), strict=True)) for log in logs]
        points = [of_values([(a[0] > a[1]) * 1 - (b[0] > b[1]) for a, b in of]) for of in pairs]
        found.append(verdict(points, low=0))
        saved = [ratio([a[0].sum() - b[0].sum() for a, b in of], [a[1].sum() for a, _ in of]) for of in pairs]
        found.append(verdict(saved, low=0))
    for variant in ("each size", "scalability"):
        for error in (25, 100, 300):
            gas = Rows(chosen(every, opponent="own"), variant, error, "gas")
            found.append(verdict([shorter(gas.months(log)) for log in logs], low=0))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_table_alone(strength):
    study = made_study(0, strength)
    assert [claim.verdict for claim in claims(study)] == expected(table(study, TABLES, "accuracy-outcomes"))


def test_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    assert {claim.verdict for claim in claims(made_study(0, 1))} == {"yes"}
    assert {claim.verdict for claim in claims(made_study(0, -1))} == {"no"}
