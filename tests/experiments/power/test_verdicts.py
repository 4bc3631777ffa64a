"""Verdicts of the report, recomputed independently from its table of outcomes alone."""

import csv
import re

import numpy as np
from recomputed import share
from scipy.special import stdtrit  # scipy.stats has the same, but takes long to import

from experiments.moldable.terms import BASE

GROUPS = {"MG": "power-of-two", "LU": "power-of-two", "SP": "perfect-square", "BT": "perfect-square", "EP": "any"}


def sides(rows, statistic, parts, limit):
    """Return on which side of a limit each part's 98% jackknife interval is, and the one allowing for all parts."""
    found = []
    for part in parts:
        mine = [row for row in rows if part(row)]
        months = sorted({(row["log"], row["month"]) for row in mine})
        count = len(months)
        if count < 4:
            found.append((0, 0))
            continue
        whole = statistic(mine)
        without = [statistic([row for row in mine if (row["log"], row["month"]) != month]) for month in months]
        error = np.sqrt((count - 1) / count * np.sum((np.array(without) - np.mean(without)) ** 2))
        widths = [stdtrit(count - 1, 0.5 + level / 2) * error for level in (0.98, 1 - 0.02 / len(parts))]
        found.append(tuple(-1 if whole + width < limit else int(whole - width > limit) for width in widths))
    return found


def verdict(found):
    """Return the verdict on the statement that all parts are below the limit."""
    if any(among == 1 for _, among in found):
        return "no"
    return "yes" if all(alone == -1 for alone, _ in found) else "not resolved"


def ratio(of):
    return lambda rows: of([int(row["gas"]) for row in rows]) / of([int(row["static"]) for row in rows])


def test_verdicts_on_means_and_deviations_are_those_of_the_table_alone(reported):
    folder = reported[0]
    with (folder / "power-outcomes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["terms"] == BASE.name]
    page = (folder / "power.md").read_text()
    parts = [lambda row, log=log: row["log"] == log for log in sorted({row["log"] for row in rows})]
    parts += [lambda row, group=group: GROUPS[row["benchmark"]] == group for group in sorted(set(GROUPS.values()))]
    for words, of in (
        ("the mean turn-around time of Gas's requests is below", np.mean),
        ("the standard deviation of", np.std),
    ):
        expected = verdict(sides(rows, ratio(of), parts, 1.0))
        assert re.search(rf"^\| {expected} \| {re.escape(words)}", page, re.MULTILINE), (words, expected)


def test_the_share_of_lost_runs_and_its_interval_are_those_of_the_table_alone(reported):
    folder = reported[0]
    with (folder / "power-outcomes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["terms"] == BASE.name]
    months = sorted({(row["log"], row["month"]) for row in rows})
    of = [
        [int(row["gas"]) > int(row["static"]) for row in rows if (row["log"], row["month"]) == month]
        for month in months
    ]
    count, lost = np.array([len(one) for one in of]), np.array([sum(one) for one in of])
    value, error, _, least = share(lost, count)
    shown = f"{value:.1f} ± {max(stdtrit(len(months) - 1, 0.95) * error, least(0.95)):.1f}%"
    assert shown in (folder / "power.md").read_text()
