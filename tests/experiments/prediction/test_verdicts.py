"""Verdicts of the report on predictions, recomputed independently from its tables alone."""

from math import sqrt
from statistics import mean, median

import pytest
from made_predictions import made_study
from recomputed import chosen, jackknife, of_values, share, table, verdict

from experiments.prediction.bakeoff_report import bakeoff_claims
from experiments.prediction.claims import claims
from experiments.prediction.report import TABLES

LOGS = ("SDSC", "CTC")
INF = float("inf")


def months_of(rows):
    """Return the rows of each month of each log."""
    found = {}
    for row in rows:
        found.setdefault((row["log"], row["month"]), []).append(row)
    return list(found.values())


def averaged(rows, value):
    """Return, as a part, the mean of a value over rows, with months as batches."""
    return of_values([[value(row) for row in of] for of in months_of(rows)])


def counted(rows, hit):
    """Return, as a part, the percentage of the rows that are hits, with months as batches."""
    batches = [[hit(row) for row in of] for of in months_of(rows)]
    return share([sum(of) for of in batches], [len(of) for of in batches])


def number(row, *names):
    return [float(row[name]) for name in names]


# ------------------------------------------------------------------------------------------------- starts and choices


def inside(row):
    low, start, high = number(row, "low_0.9", "start", "high_0.9")
    return low <= start <= high


def sharpness(rows):
    """Return the width of intervals relative to the promised wait: the larger of two ratios."""
    width = [high - low for low, high in (number(row, "low_0.9", "high_0.9") for row in rows)]
    way = [promise - now for promise, now in (number(row, "promise", "now") for row in rows)]
    each = median(a / b for a, b in zip(width, way, strict=True))
    return max(each, median(width) / median(way))


def sharp(rows):
    batches = months_of(rows)
    without = [
        sharpness([row for at, of in enumerate(batches) if at != left for row in of]) for left in range(len(batches))
    ]
    return jackknife(sharpness(rows), without)


def later(row):
    predicting, gas = number(row, "predicting", "gas")
    return predicting - gas


def loses_more(row):
    predicting, gas, static = number(row, "predicting", "gas", "static")
    return 100.0 * ((predicting > static) - (gas > static))


def sooner_watched(row):
    watched, predicting = number(row, "watched", "predicting")
    return watched - predicting


def regret_left(rows):
    """Return the regret of watching in per cent of the regret of promises."""
    watched, gas, best = (sum(float(row[name]) for row in rows) for name in ("watched", "gas", "best"))
    return 100 * (watched - best) / (gas - best)


def left(rows):
    batches = months_of(rows)
    without = [
        regret_left([row for at, of in enumerate(batches) if at != out for row in of]) for out in range(len(batches))
    ]
    return jackknife(regret_left(rows), without)


def expected(study):
    """Return the verdicts on starts and choices, in the order of the report."""
    starts = chosen(table(study, TABLES, "prediction-starts"), told="nothing", held_out=True)
    choices = table(study, TABLES, "prediction-choices")

    def of(rows, name):
        return chosen(rows, log=name) if name else rows

    return [
        *(verdict([counted(of(starts, name), inside)], low=85, high=95) for name in (*LOGS, "")),
        *(verdict([sharp(of(starts, name))], high=0.5) for name in LOGS),
        *(verdict([averaged(of(choices, name), later)], high=0) for name in ("", *LOGS)),
        *(verdict([averaged(of(choices, name), loses_more)], high=0) for name in ("", *LOGS)),
        *(verdict([averaged(of(choices, name), sooner_watched)], high=0) for name in ("", *LOGS)),
        *(verdict([left(of(choices, name))], low=0, high=100 / 3) for name in ("", *LOGS)),
    ]


# ---------------------------------------------------------------------------------------------------------- the waits


def error(row, method):
    middle, wait = number(row, f"{method}_median", "wait")
    return abs(middle - wait) / 60


def pinball(row, method):
    wait, *values = number(row, "wait", f"{method}_low", f"{method}_median", f"{method}_high")
    levels = zip((0.05, 0.5, 0.95), values, strict=True)
    return mean((wait - value) * (level - (wait < value)) for level, value in levels) / 60


def factor(row, method):
    middle, wait = number(row, f"{method}_median", "wait")
    return 100.0 * (0.5 <= (middle + 60) / (wait + 60) <= 2)


def near(seconds):
    return lambda row, method: 100.0 * (error(row, method) * 60 <= seconds)


def covered(row):
    low, wait, high = number(row, "gas_low", "wait", "gas_high")
    return low <= wait <= high


def of_medians(rows, of):
    """Return, as a part, a difference of medians over all rows, with its error over months."""
    each = [of(month) for month in months_of(rows) if len(month) >= 5]
    scatter = sqrt(sum((one - mean(each)) ** 2 for one in each) / (len(each) - 1) / len(each))
    return of(rows), scatter, len(each)


def medians_apart(share, other):
    return lambda rows: median(error(row, "gas") for row in rows) - share * median(error(row, other) for row in rows)


def scores(rows, late):
    """Return which jobs each score covers, and whether higher is better."""
    return (rows, near(60), 1), (rows, near(600), 1), (late, factor, 1), (rows, error, -1), (rows, pinball, -1)


def ahead(of, sign, other):
    return lambda row: sign * (of(row, "gas") - of(row, other))


def expected_of_waits(study):
    """Return the verdicts on waits, log by log, in the order of the report."""
    found = []
    for name in LOGS:
        rows = chosen(table(study, TABLES, "prediction-waits"), log=name, judges=True)
        long = [row for row in rows if float(row["wait"]) > 3600]
        late = [row for row in rows if float(row["wait"]) > 600]
        better = []
        for other in ("mean", "boosting"):
            better += [averaged(some, ahead(of, sign, other)) for some, of, sign in scores(rows, late)]
            apart = of_medians(rows, medians_apart(1, other))
            better.append((-apart[0], *apart[1:]))
        found += [
            verdict([counted(rows, covered)], low=85, high=95),
            verdict([counted(long, covered)], low=85, high=95),
            verdict(better, low=0),
            verdict([counted(late, lambda row: factor(row, "gas") > 0)], low=60),
            verdict([of_medians(rows, medians_apart(0.5, "boosting"))], high=0),
        ]
    return found


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("strength", [1, 0, -1])
def test_verdicts_are_those_of_the_tables_alone(strength):
    study = made_study(0, strength)
    here = {claim.text: claim.verdict for claim in claims(study)}
    assert dict(zip(here, expected(study), strict=True)) == here
    here = {claim.text: claim.verdict for claim in bakeoff_claims(study)}
    assert dict(zip(here, expected_of_waits(study), strict=True)) == here


def test_statements_hold_in_results_made_for_them_and_fail_in_opposite_ones():
    good, bad = (
        [claim.verdict for claim in (*claims(study), *bakeoff_claims(study))]
        for study in (made_study(0, strength) for strength in (1, -1))
    )
    assert good.count("yes") >= 16
    assert bad.count("no") >= 16
