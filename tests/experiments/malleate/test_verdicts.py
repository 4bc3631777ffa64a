"""Statements on malleable jobs; their verdicts are recomputed independently from the tables."""

import pytest
from made_malleate import made_study
from recomputed import by, chosen, jackknife, ratio, share, table, verdict

from experiments.malleate.claims import claims
from experiments.malleate.fairness import CLASSES
from experiments.malleate.tables import TABLES

MALLEABLE, PREDICTED = "malleable-own", "gas-predicted"


class Tables:
    """The contents of the CSV files."""

    def __init__(self, study):
        self.months = table(study, TABLES, "malleate-months")
        self.even = table(study, TABLES, "malleate-fairness")
        self.logs = sorted({row["log"] for row in self.months})

    def sums(self, log, strategy, what="turnaround", *, percent=100, group="all", terms="base"):
        rows = chosen(self.months, log=log, strategy=strategy, percent=percent, group=group, terms=terms)
        return [float(row[what]) for row in sorted(rows, key=lambda row: row["month"])]

    def changes(self, strategy, **which):
        """Return by how many per cent the mean exceeds that of rigid jobs, on each log."""
        return [
            by(ratio(self.sums(log, strategy, **which), self.sums(log, "rigid", **which)), 100, -100)
            for log in self.logs
        ]

    def against(self, strategy, other):
        return [by(ratio(self.sums(log, strategy), self.sums(log, other)), 100, -100) for log in self.logs]

    def later(self, strategy):
        return [share(self.sums(log, strategy, "later"), self.sums(log, strategy, "jobs")) for log in self.logs]

    def shares(self):
        """Return the savings of others as a share of those of malleable jobs."""
        found = []
        for log in self.logs:
            rigid, one, two = (self.sums(log, name) for name in ("rigid", PREDICTED, MALLEABLE))
            found.append(ratio(*([a - b for a, b in zip(rigid, of, strict=True)] for of in (one, two))))
        return found

    def evener(self, strategy):
        found = []
        for log in self.logs:
            one, two = (
                {row["without"]: float(row["jain"]) for row in chosen(self.even, log=log, strategy=name, percent=100,
                                                                      terms="base")}
                for name in (strategy, "rigid")
            )  # fmt: skip
            apart = {month: one[month] - two[month] for month in one}
            found.append(jackknife(apart.pop(""), list(apart.values())))
        return found


def expected(of):
    """Return the verdicts in the order of the report."""
    classes = [
        [part for name in CLASSES for part in of.changes(strategy, group=name)] for strategy in (PREDICTED, MALLEABLE)
    ]
    return [
        verdict(of.changes(MALLEABLE), high=0),
        verdict(of.changes(MALLEABLE), low=-67, high=-37),
        verdict(of.changes(PREDICTED), high=0),
        verdict(of.shares(), low=0.5),
        verdict(of.against(PREDICTED, "gas"), high=0),
        verdict(of.against(PREDICTED, "slurm"), high=0),
        verdict(of.changes(PREDICTED, percent=20, group="adopters"), high=0),
        verdict(of.changes(PREDICTED, percent=20, group="others"), high=0),
        verdict(of.later(PREDICTED), high=10),
        verdict(of.later(MALLEABLE), high=10),
        *(verdict(parts, high=0) for parts in classes),
        *(verdict(of.evener(strategy), low=0) for strategy in (PREDICTED, MALLEABLE)),
        verdict(of.against("gas-predicted-again", PREDICTED), high=0),
        *(verdict(of.changes(strategy, terms="Amdahl's law"), high=0) for strategy in (PREDICTED, MALLEABLE)),
    ]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(("seed", "effect"), [(1, 0.5), (2, 0.9), (3, 0.4)])
def test_verdicts_are_those_of_the_tables_alone(seed, effect):
    study = made_study(seed, effect, others=True)
    here = {claim.text: claim.verdict for claim in claims(study)}
    assert dict(zip(here, expected(Tables(study)), strict=True)) == here
