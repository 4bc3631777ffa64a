"""Verdicts of the report on walltimes, recomputed independently from its tables alone."""

from itertools import pairwise

import pytest
from made_walltime import made_study
from recomputed import by, chosen, jackknife, mean, ratio, table, verdict

from experiments.walltime.claims import claims
from experiments.walltime.tables import TABLES

KEYS = ("group", "user", "user+group", "user+group+walltime")
TRIPLE = KEYS[-1]
PERCENTILES = (100, 95, 90, 85, 80, 70, 50)
MEASURES = ("wait", "slowdown", "weighted")
LOGS = ("first", "second")


class Tables:
    """The contents of the CSV files."""

    def __init__(self, study):
        self.months, self.schemes, self.spread = (
            table(study, TABLES, f"walltime-{name}") for name in ("months", "accuracy-months", "spread")
        )

    def gains(self, log, queue, adjustment, percentile, measure):
        """Return by how many per cent each month is better than without adjustment."""
        rows = chosen(self.months, trace=log, queue=queue, apart=False, averaged=True)
        before = {row["month"]: float(row[measure]) for row in chosen(rows, adjustment="")}
        after = chosen(rows, adjustment=adjustment, percentile=percentile, key=TRIPLE, months=1, floor=0.5, least=10)
        return [100 * (1 - float(row[measure]) / before[row["month"]]) for row in after]

    def scheme(self, log, key, window, percentile, floor, *columns):
        """Return columns of a scheme, a value for each month."""
        rows = chosen(self.schemes, trace=log, key=key, months=window, percentile=percentile, floor=floor)
        return [[float(row[column]) for row in rows] for column in columns]

    def apart(self, log, one, two):
        """Return by how much one scheme is more accurate than another."""
        (jobs, first), (_, second) = (self.scheme(log, *of, "jobs", "accuracy") for of in (one, two))
        return ratio([n * (a - b) for n, a, b in zip(jobs, first, second, strict=True)], jobs)

    def fewer(self, log, one, two):
        """Return by how many per cent more jobs one scheme underestimates than another."""
        shorts = []
        for of in (one, two):
            jobs, short = self.scheme(log, TRIPLE, *of, "jobs", "short")
            shorts.append([n * share for n, share in zip(jobs, short, strict=True)])
        return by(ratio(*shorts), 100, -100)

    def varied(self, log, key):
        """Return R with all months, and without each one."""
        rows = chosen(self.spread, trace=log, key=key)
        (whole,) = chosen(rows, without="")
        return float(whole["deviation"]), [float(row["deviation"]) for row in rows if row["without"]]


def expected(found):
    """Return the verdict on each statement, in the order of the report."""

    def gains(queue, adjustment, which):
        return [mean(found.gains(log, queue, adjustment, *one)) for log in LOGS for one in which]

    def points(queue, one, two):
        return [
            mean(
                a - b for a, b in zip(found.gains(log, queue, *one, of), found.gains(log, queue, *two, of), strict=True)
            )
            for log in LOGS
            for of in MEASURES
        ]

    def selective(queue):
        parts = [points(queue, ("selective", p), ("regular", p)) for p in (95, 85, 70)]
        return verdict([part for of in parts for part in of], low=0)

    def schemes(pairs, **limits):
        return verdict([found.apart(log, *pair) for log in LOGS for pair in pairs], **limits)

    best = [part for p in (95, 70) for part in points("wfp", ("selective", 85), ("selective", p))]
    varied = []
    for log in LOGS:
        for fewer, more in pairwise(("all", *KEYS)):
            (one, without), (two, also) = found.varied(log, fewer), found.varied(log, more)
            varied.append(jackknife(two - one, [b - a for a, b in zip(without, also, strict=True)]))
    floors = [by(found.fewer(log, ("", p, 0.5), ("", p, 0.0)), -1) for log in LOGS for p in PERCENTILES]
    medians = []
    for log in LOGS:
        (p85,), (p50,) = (found.scheme(log, TRIPLE, 1, p, 0.5, "median") for p in (85, 50))
        (own,) = found.scheme(log, "", "", "", "", "median")
        medians += [mean(a - b for a, b in zip(p85, other, strict=True)) for other in (p50, own)]
    every = [(percentile, measure) for percentile in (95, 85, 70) for measure in MEASURES]
    at85 = [(85, measure) for measure in MEASURES]
    return [
        selective("wfp"),
        selective("fcfs"),
        verdict(gains("wfp", "regular", [(95, "wait"), *at85]), low=0),
        verdict(gains("wfp", "selective", at85), low=0),
        verdict(gains("fcfs", "regular", every), high=2),
        verdict(gains("fcfs", "selective", at85), low=0),
        verdict(best, low=0),
        verdict(varied, high=0),
        schemes([((TRIPLE, "", p, 0.0), (key, "", p, 0.0)) for p in PERCENTILES for key in KEYS[:-1]], low=0),
        schemes([((TRIPLE, "", b, 0.0), (TRIPLE, "", a, 0.0)) for a, b in pairwise(PERCENTILES[:-1])], low=0),
        schemes([((TRIPLE, "", 50, 0.0), (TRIPLE, "", 70, 0.0))], high=0),
        verdict(floors, low=17),
        schemes([((TRIPLE, "", 85, 0.0), (TRIPLE, "", 85, 0.5))], high=0.02),
        schemes([((TRIPLE, 1, p, 0.0), (TRIPLE, "", p, 0.0)) for p in PERCENTILES if p != 70], low=0),
        verdict([found.fewer(log, (1, p, 0.0), ("", p, 0.0)) for log in LOGS for p in (85, 80, 70, 50)], high=0),
        verdict(medians, low=0),
    ]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_tables_alone(strength):
    study = made_study(0, strength)
    here = {claim.text: claim.verdict for claim in claims(study)}
    assert dict(zip(here, expected(Tables(study)), strict=True)) == here


def test_the_papers_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    agree, opposite = ([claim.verdict for claim in claims(made_study(0, strength))] for strength in (1, -1))
    assert agree.count("yes") >= 14
    assert opposite.count("no") >= 12
