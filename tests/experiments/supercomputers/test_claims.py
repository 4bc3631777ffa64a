"""Statements on several machines; their verdicts are recomputed independently from the table of runs."""

import pytest
from made_supercomputers import made_study
from recomputed import by, chosen, ratio, table, verdict

from experiments.supercomputers.claims import claims
from experiments.supercomputers.results import GAMES, SPREAD
from experiments.supercomputers.tables import TABLES


class Runs:
    """The contents of the CSV file: a batch for each set of machines and months, over all seeds."""

    def __init__(self, study):
        self.rows = table(study, TABLES, "supercomputers-runs")
        self.months = list(dict.fromkeys(row["machines"] for row in self.rows))

    def batches(self, value, **of):
        rows = chosen(self.rows, **of)
        return [sum(value(row) for row in rows if row["machines"] == month) for month in self.months]

    def change(self, value, one, other):
        return by(ratio(self.batches(value, **one), self.batches(value, **other)), 100, -100)


def number(row, *names):
    return [float(row[name]) for name in names]


def of_applications(row):
    count, mean = number(row, "applications", "mean")
    return count * mean


def of_rigid_jobs(row):
    counts = number(row, "SDSC_rigid", "CTC_rigid")
    return sum(
        count * mean for count, mean in zip(counts, number(row, "SDSC_rigid_mean", "CTC_rigid_mean"), strict=True)
    )


def expected(found):
    """Return the verdicts in the order of the report."""
    choose = {"others_do": "choose", "some_do": "everywhere", "share": 0}
    verdicts = [verdict([found.change(of_applications, choose, {"others_do": "home"})], high=0)]
    for game in (*GAMES, SPREAD):
        none, every = ({"others_do": game.others, "some_do": game.some, "share": share} for share in (0, 100))
        gains = found.batches(lambda row: float(row["applications"]) * float(row["gain_all_mean"]), **none)
        verdicts.append(verdict([ratio(gains, found.batches(lambda row: float(row["applications"]), **none))], low=0))
        change = found.change(of_applications, every, none)
        verdicts.append(verdict([change], high=0) if game == SPREAD else verdict([change], low=0))
        verdicts.append(verdict([found.change(of_rigid_jobs, every, none)], low=0))
    return verdicts


@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_table_alone(strength):
    study = made_study(0, strength)
    here = {claim.text: claim.verdict for claim in claims(study)}
    assert dict(zip(here, expected(Runs(study)), strict=True)) == here


def test_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    assert {claim.verdict for claim in claims(made_study(0, 1))} == {"yes"}
    assert {claim.verdict for claim in claims(made_study(0, -1))} == {"no"}
