"""Verdicts of the report on many moldable jobs, recomputed independently from its table of months."""

from itertools import pairwise, product
from math import log

import pytest
from made_bushel import made_study
from recomputed import by, chosen, jackknife, ratio, share, table, verdict

from experiments.bushel.claims import beyond, claims
from experiments.bushel.report import TABLES
from experiments.bushel.results import DRAWN, KINDS
from experiments.published import PAPER_LOSES

MIXES = ("thirds", "unrestricted", "restricted")


class Months:
    """The contents of the CSV file of months."""

    def __init__(self, study):
        self.rows = table(study, TABLES, "bushel-months")
        self.logs = sorted({row["log"] for row in self.rows})
        self.seeds = sorted({row["seed"] for row in self.rows})

    def series(self, kind):
        """Return the columns of all shares, in order, for each log and seed."""
        of_kind = chosen(self.rows, moldable_by=kind.name)
        found = {}
        for name, seed in product(self.logs, self.seeds):
            rows = chosen(of_kind, log=name, seed=seed)
            percents = sorted({int(row["percent"]) for row in rows})
            found[name, seed] = [Columns(chosen(rows, percent=percent)) for percent in percents]
        return found

    def scenarios(self, *kinds):
        """Return the columns for each log, seed and share."""
        return [columns for kind in kinds for series in self.series(kind).values() for columns in series]


class Columns:
    """Sums by month."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, name):
        return [float(row[name]) for row in self.rows]

    def change(self, one, other):
        return by(ratio(self[one], self[other]), 100, -100)

    def log_gain(self, without=None):
        static, gas = (self.total(f"moldable_{which}", without) for which in ("static", "gas"))
        return log(static / gas)

    def total(self, name, without=None):
        return sum(value for at, value in enumerate(self[name]) if at != without)


def jackknifed(statistic, months=12):
    return jackknife(statistic(None), [statistic(month) for month in range(months)])


def expected(found, opponent):
    """Return the verdicts on the paper's statements, in the order of the report."""
    kinds = {mix: KINDS[mix, opponent] for mix in MIXES}

    def ahead(*mixes):
        scenarios = found.scenarios(*(kinds[mix] for mix in mixes))
        return verdict([one.change("moldable_gas", "moldable_static") for one in scenarios], high=0)

    shrinks, falls = [], []
    for mix in MIXES:
        for series in found.series(kinds[mix]).values():
            half = len(series) // 2
            shrinks.append(
                jackknifed(
                    lambda without, series=series, half=half: (
                        sum(
                            high.log_gain(without) - low.log_gain(without)
                            for low, high in zip(series[:half], series[-half:], strict=True)
                        )
                        / half
                    )
                )
            )
            if mix != "thirds":
                falls.append(jackknifed(lambda without, series=series: mean_change(series[0], series[-1], without)))
    free, held = (found.scenarios(kinds[mix]) for mix in ("unrestricted", "restricted"))
    more = [
        jackknifed(lambda without, a=a, b=b: a.log_gain(without) - b.log_gain(without))
        for a, b in zip(free, held, strict=True)
    ]
    loads = [
        by(ratio(later["requested_static"], sooner["requested_static"]), 100, -100)
        for series in found.series(kinds["thirds"]).values()
        for sooner, later in pairwise(series)
    ]
    lost = [share(one["loses"], one["moldable"]) for one in found.scenarios(kinds["thirds"])]
    return [
        ahead("thirds"),
        ahead("unrestricted", "restricted"),
        verdict(shrinks, high=0),
        verdict(more, low=0),
        verdict(loads, high=0),
        verdict(lost, low=PAPER_LOSES),
        verdict(falls, high=0),
    ]


def mean_change(first, last, without):
    means = [of.total("moldable_static", without) / of.total("moldable", without) for of in (first, last)]
    return 100 * (means[1] / means[0] - 1)


def expected_beyond(found):
    """Return the verdicts on statements beyond the paper."""
    verdicts = [
        verdict(
            [
                one.change("others_gas", f"others_{world}")
                for one in found.scenarios(*(KINDS[mix, opponent] for mix in MIXES))
            ],
            high=0,
        )
        for opponent in ("own", "uniform")
        for world in ("static", "before")
    ]
    every = [one.change("moldable_gas", "moldable_static") for one in found.scenarios(DRAWN[0])]
    return [*verdicts, verdict(every, high=0)]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_table_alone(strength):
    study = made_study(0, strength)
    found = Months(study)
    for opponent in ("own", "uniform"):
        here = {claim.text: claim.verdict for claim in claims(study, opponent)}
        assert dict(zip(here, expected(found, opponent), strict=True)) == here
    here = {claim.text: claim.verdict for claim in beyond(study)}
    assert dict(zip(here, expected_beyond(found), strict=True)) == here


def test_the_papers_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    agree, opposite = (
        [claim.verdict for claim in (*claims(study, "own"), *beyond(study))]
        for study in (made_study(0, strength) for strength in (1, -1))
    )
    assert agree.count("yes") >= 10
    assert opposite.count("no") >= 10
