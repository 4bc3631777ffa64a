"""Verdicts of the report on backfilling, recomputed independently from its tables alone."""

from math import hypot, inf

import numpy as np
import pytest
from made_backfilling import made_study
from recomputed import by, chosen, jackknife, mean, ratio, table, verdict
from scipy.special import stdtrit  # scipy.stats has the same, but takes long to import

from experiments.backfilling.claims import claims
from experiments.backfilling.tables import TABLES
from experiments.published import overall


class Tables:
    """The contents of the CSV files."""

    def __init__(self, study):
        self.results, self.batches, self.cells, self.run_times = (
            table(study, TABLES, name) for name in ("results", "batches", "cells", "run_times")
        )

    def sums(self, trace, policy, what, estimates="users"):
        """Return sums over the jobs of each month of a log."""
        rows = [row for row in chosen(self.results, workload=trace, policy=policy, estimates=estimates) if row["month"]]
        return [float(row["jobs"]) * (float(row[what]) if what else 1) for row in rows]

    def blocks(self, workload, size):
        """Return the number of jobs with a run time up to each limit, a row for each block."""
        rows = chosen(self.run_times, workload=workload, size=size)
        limits = sorted({float(row["up_to"]) for row in self.run_times})
        found = np.zeros((max(int(row["block"]) for row in rows) + 1, len(limits)))
        for row in rows:
            found[int(row["block"]), limits.index(float(row["up_to"]))] = float(row["jobs"])
        return found

    def distances(self, size, reference, near, far=None):
        """Return a model's distance from a reference, or how much nearer it is than another; a part for each sample."""
        samples = [self.blocks(one, size) for one in (reference, near, far) if one]

        def statistic(samples):
            cumulative = [np.cumsum(one.sum(axis=0)) / one.sum() for one in samples]
            away = [100 * abs(one - cumulative[0]).max() for one in cumulative[1:]]
            return away[-1] - away[0] if far else away[0]

        found = []
        for place, blocks in enumerate(samples):
            without = [
                statistic([*samples[:place], np.delete(blocks, gone, axis=0), *samples[place + 1 :]])
                for gone in range(len(blocks))
            ]
            found.append(jackknife(statistic(samples), without))
        return found

    def points(self, model, what, loads):
        """Return the means of the batches of conservative backfilling and of EASY at each load."""
        found = []
        for load in loads:
            rows = chosen(self.batches, model=model, load=load)
            found.append([[float(row[what]) for row in chosen(rows, policy=p)] for p in ("conservative", "easy")])
        return found


def expected(found):
    """Return the verdicts that intervals decide, in the order of the report."""
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

    def against(one, other):
        def gaps(model):
            return [by(ratio(*one), 100, -100) for one in found.points(model, "response", (0.8, 0.9))]

        pairs = zip(gaps(one), gaps(other), strict=True)
        return [[(a[0] - b[0], *one[1:]) for one in (a, b)] for a, b in pairs]

    overall_means = []
    for row in sorted(overall(), key=lambda row: row.measure != "response"):
        of = chosen(found.cells, trace=row.trace, measure=row.measure)
        sums = [[float(cell["jobs"]) * float(cell[name + row.policy]) for cell in of] for name in ("", "paper_")]
        overall_means.append(verdict([by(ratio(*sums), 100, -100)], low=-5, high=5) if of else "not tested")

    classes = dict.fromkeys(row["size"] for row in found.run_times)
    near, close = (
        {reference: [found.distances(size, reference, *who) for size in classes] for reference in ("CTC", "J")}
        for who in (("Fsl", "F"), ("Fsl",))
    )

    more, less = (found.sums("SDSC", policy, "backfilled") for policy in ("conservative", "easy"))
    sdsc = ratio([a - b for a, b in zip(more, less, strict=True)], found.sums("SDSC", "easy", ""))
    return [
        *overall_means,
        verdict(signs, low=0),
        verdict(directions, low=0),
        verdict(sizes, low=-5, high=5),
        verdict(apart("F", "response", (0.6, 0.8, 0.9)), low=-10, high=10),
        verdict(apart("J", "response", (0.8, 0.9)), low=0),
        verdict(apart("J", "slowdown", (0.8, 0.9)), high=0),
        verdict(fewer("F"), low=-2, high=2),
        verdict(fewer("J"), low=0),
        verdict([sdsc], low=0),
        decide(near["CTC"], low=0),
        decide(close["CTC"], high=10),
        decide(near["J"], low=0),
        decide(close["J"], high=10),
        verdict(apart("Fl", "response", (0.8, 0.9)), low=0),
        decide(against("Fsl", "Fl"), low=0),
        outside(apart("Fs", "slowdown", (0.8, 0.9)), 10),
        decide(against("J", "Fsl"), low=0),
    ]


def decide(parts, low=-inf, high=inf):
    """Return the verdict that parts lie between limits; each part is a value with the error due to each sample."""
    found = []
    for samples in parts:
        value = samples[0][0]
        alone, among = (
            hypot(*(stdtrit(count - 1, 1 - wrong / 2) * error for _, error, count in samples))
            for wrong in (0.02, 0.02 / len(parts))
        )
        if value - among > high or value + among < low:
            found.append("no")
        else:
            found.append("yes" if low < value - alone and value + alone < high else "not resolved")
    return "no" if "no" in found else "yes" if set(found) == {"yes"} else "not resolved"


def outside(parts, limit):
    """Return the verdict that every part is further from 0 than a limit."""
    found = []
    for value, error, count in parts:
        alone, among = (stdtrit(count - 1, 1 - wrong / 2) * error for wrong in (0.02, 0.02 / len(parts)))
        if abs(value) + among <= limit:
            return "no"
        found.append(abs(value) - alone > limit)
    return "yes" if all(found) else "not resolved"


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_tables_alone(strength):
    study = made_study(0, strength)
    here = {claim.text: claim.verdict for claim in claims(study)}
    assert dict(zip(here, expected(Tables(study)), strict=True)) == here


def test_the_papers_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    agree, opposite = ([claim.verdict for claim in claims(made_study(0, strength))[12:]] for strength in (1, -1))
    assert agree.count("yes") >= 15
    assert opposite.count("no") >= 13
