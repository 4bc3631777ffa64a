"""Verdicts of the report on backfilling, found again from its tables alone by a computation of its own."""

import pytest
from made_backfilling import made_study
from recomputed import by, chosen, mean, ratio, table, verdict

from experiments.backfilling.claims import claims
from experiments.backfilling.tables import TABLES
from experiments.published import overall


class Tables:
    """What the CSV files say."""

    def __init__(self, study):
        self.results, self.batches, self.cells = (
            table(study, TABLES, name) for name in ("results", "batches", "cells")
        )

    def sums(self, trace, policy, what, estimates="users"):
        """Return sums over the jobs of each month of a log."""
        rows = [row for row in chosen(self.results, workload=trace, policy=policy, estimates=estimates) if row["month"]]
        return [float(row["jobs"]) * (float(row[what]) if what else 1) for row in rows]

    def points(self, model, what, loads):
        """Return the means of batches of conservative and of EASY at each load."""
        found = []
        for load in loads:
            rows = chosen(self.batches, model=model, load=load)
            found.append([[float(row[what]) for row in chosen(rows, policy=p)] for p in ("conservative", "easy")])
        return found


def expected(found):
    """Return the verdicts that are by intervals, in the order of the report."""
    doubled = []
    for row in overall():
        sums = (found.sums(row.trace, row.policy, row.measure, estimates) for estimates in ("doubled", "users"))
        doubled.append(by(ratio(*sums), 100, -100))
    signs = [by(one, 1 if row.percent > 0 else -1) for one, row in zip(doubled, overall(), strict=True)]
    cells = [row for row in found.cells if row["trace"] in ("KTH", "CTC")]
    directions, sizes = [], []
    for row in cells:
        printed = float(row["paper_conservative"]) - float(row["paper_easy"])
        percent = float(row["paper_difference_percent"])
        if printed or percent:
            part = float(row["difference_percent"]), float(row["standard_error_percent"]), int(row["days"])
            directions.append(by(part, 1 if (printed or percent) > 0 else -1))
            sizes.append(by(part, 1, -percent))

    def apart(model, what, loads):
        return [by(ratio(*one), 100, -100) for one in found.points(model, what, loads)]

    def fewer(model):
        points = found.points(model, "backfilled", (0.6, 0.8, 0.9))
        return [by(mean(b - a for a, b in zip(*one, strict=True)), 100) for one in points]

    more, less = (found.sums("SDSC", policy, "backfilled") for policy in ("conservative", "easy"))
    sdsc = ratio([a - b for a, b in zip(more, less, strict=True)], found.sums("SDSC", "easy", ""))
    return [
        verdict(signs, low=0),
        verdict(directions, low=0),
        verdict(sizes, low=-5, high=5),
        verdict(apart("F", "response", (0.6, 0.8, 0.9)), low=-10, high=10),
        verdict(apart("J", "response", (0.8, 0.9)), low=0),
        verdict(apart("J", "slowdown", (0.8, 0.9)), high=0),
        verdict(fewer("F"), low=-2, high=2),
        verdict(fewer("J"), low=0),
        verdict([sdsc], low=0),
    ]


@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_tables_alone(strength):
    study = made_study(0, strength)
    here = {
        claim.text: claim.verdict for claim in claims(study) if "Table 4" not in claim.where or "doubl" in claim.text
    }
    assert dict(zip(here, expected(Tables(study)), strict=True)) == here


def test_overall_means_are_compared_as_they_are():
    study = made_study(0, 1)
    rows = [row for row in table(study, TABLES, "results") if not row["month"] and row["estimates"] == "users"]
    here = {claim.text: claim.verdict for claim in claims(study)}
    for row in overall():
        what = "response" if row.measure == "response" else "bounded slowdown"
        scheme = "EASY" if row.policy == "easy" else row.policy
        (found,) = [here[text] for text in here if text.startswith(f"mean {what} of {row.trace} under {scheme} ")]
        (ours,) = chosen(rows, workload=row.trace, policy=row.policy)
        near = abs(float(ours[row.measure]) / row.mean - 1) <= 0.05
        marked = row.measure == "response" and row.trace in ("KTH", "CTC")
        assert found == (("yes" if near else "no") if marked else "reported")


def test_what_the_paper_says_is_found_and_so_is_the_opposite():
    agree, opposite = ([claim.verdict for claim in claims(made_study(0, strength))[12:]] for strength in (1, -1))
    assert agree.count("yes") >= 7
    assert opposite.count("no") >= 7
