"""Verdicts of the report on estimates, recomputed independently from its tables alone."""

import csv
from itertools import product

import pytest
from made_estimates import made_study
from recomputed import by, chosen, ratio, share, table, verdict

from experiments.estimates.claims import claims
from experiments.estimates.tables import TABLES
from experiments.published import overall, table3

LOGS = ("KTH", "CTC", "SDSC")
FACTORS = sorted({row.factor for row in table3() if row.factor})
CELLS = list(product(LOGS, ("easy", "conservative"), ("response", "slowdown")))


class Months:
    """The contents of the CSV file of months."""

    def __init__(self, study):
        self.rows = table(study, TABLES, "estimates-months")
        self.of_history = table(study, TABLES, "estimates-history")

    def history(self):
        """Return the verdicts on the shares of section 4.4, as printed there, within two points."""
        printed = {"with_data": 45159, "underestimated": 12001, "underestimated_with_data": 6240}
        bases = [float(row["not_killed"]) for row in self.of_history]
        papers = {what: 100 * count / 62630 for what, count in printed.items()}
        return [
            verdict([share([float(row[what]) for row in self.of_history], bases)], low=paper - 2, high=paper + 2)
            for what, paper in papers.items()
        ]

    def sums(self, log, policy, measure, estimates, factors=("",)):
        """Return sums by month, a mean over simulations."""
        rows = [
            row
            for factor in factors
            for row in chosen(self.rows, trace=log, policy=policy, estimates=estimates, factor=factor, overrun="kill")
        ]
        months = sorted({row["month"] for row in rows})
        simulations = len(rows) / len(months)
        return [sum(float(row[measure]) for row in rows if row["month"] == month) / simulations for month in months]

    def change(self, cell, one, two):
        """Return by how many per cent the first mean exceeds the second."""
        return by(ratio(self.sums(*cell, *one), self.sums(*cell, *two)), 100, -100)


def expected(found):
    """Return the verdicts, in the order of the report."""
    exact = "uniform", (1,)
    paper = {(row.trace, row.policy, row.measure, row.factor): row.mean for row in table3()}

    def best(cell):
        return min(paper[*cell, factor] for factor in FACTORS if factor > 1) < paper[*cell, 1]

    def some(policy):
        """Return the verdict that at least one factor lowers each mean that is lower in the paper."""
        cells = [cell for cell in CELLS if cell[1] == policy and best(cell)]
        of_factors = [[found.change(cell, ("uniform", (f,)), exact) for f in FACTORS[1:]] for cell in cells]
        return verdict([min(parts) for parts in of_factors], high=0, tried=len(FACTORS) - 1)

    changes, printed = [], []
    for row in table3():
        if row.factor != 1:
            cell = row.trace, row.policy, row.measure
            of = ("users",) if row.factor is None else ("uniform", (row.factor,))
            changes.append(found.change(cell, of, exact))
            printed.append(100 * (row.mean / paper[*cell, 1] - 1))
    doubled = [found.change((row.trace, row.policy, row.measure), ("doubled",), ("users",)) for row in overall()]
    of_doubled = [row.percent for row in overall()]
    compared = []
    for ours, theirs in ((changes, printed), (doubled, of_doubled)):
        pairs = [(one, other) for one, other in zip(ours, theirs, strict=True) if other]
        compared.append(verdict([by(one, 1 if other > 0 else -1) for one, other in pairs], low=0))
        compared.append(verdict([by(one, 1, -other) for one, other in pairs], low=-5, high=5))
    own = [found.change(cell, ("users",), ("uniform", FACTORS[1:])) for cell in CELLS]
    return [*found.history(), some("conservative"), some("easy"), verdict(own, low=0), *compared]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_table_alone(strength):
    study = made_study(0, strength)
    here = {claim.text: claim.verdict for claim in claims(study)}
    assert dict(zip(here, expected(Months(study)), strict=True)) == here


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.thorough
def test_verdicts_on_logs_of_ones_own_are_those_of_the_table_alone(gas, made, tmp_path):
    log = tmp_path / "own.swf.gz"
    log.symlink_to(made / "KTH-SP2-1996-2.swf.gz")
    folder = tmp_path / "study"
    found = gas("experiment", "estimates", "--log", log, "--quick", "--output", folder, "--workers", 1)
    assert found.code == 0, found.err
    months = Months.__new__(Months)
    months.rows = rows_of(folder / "estimates-months.csv")
    cells = list(product(("own",), ("easy", "conservative"), ("response", "slowdown")))
    exact = "uniform", (1,)
    expected = []
    for policy in ("easy", "conservative"):
        mine = [cell for cell in cells if cell[1] == policy]
        lowest = [min(months.change(cell, ("uniform", (f,)), exact) for f in FACTORS[1:]) for cell in mine]
        expected.append(verdict(lowest, high=0, tried=len(FACTORS) - 1))
    own = [months.change(cell, ("users",), ("uniform", FACTORS[1:])) for cell in cells]
    expected.append(verdict(own, low=0))
    shown = [line.partition(': "other logs') for line in found.out.splitlines()]
    assert [words.strip() for words, stated, _ in shown if stated] == expected
    report = (folder / "estimates.md").read_text(encoding="utf-8")
    assert "No log of the paper takes part." in report
    assert "Table 2: requested" not in report
    means = [line for line in report.splitlines() if line.startswith("| own | f = 11 | mean response | EASY |")]
    (eleven,) = chosen(rows_of(folder / "estimates-runs.csv"), factor="11", policy="easy")
    assert f"| {float(eleven['response']):,.0f} |" in means[0]


def test_the_papers_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    agree, opposite = ([claim.verdict for claim in claims(made_study(0, strength))] for strength in (1, -1))
    assert agree.count("yes") >= 4
    assert opposite.count("no") >= 4
