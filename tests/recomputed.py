"""Verdicts recomputed from tables of results alone, by textbook formulas and without the code of the studies.

A part of a statement is a value, its standard error, its number of months, and, if it is known, a function that
returns the least half of an interval from the probability below its end. A statement says that every part lies between
two limits.
"""

import csv
import io
from collections import defaultdict
from math import inf, sqrt
from pathlib import Path
from statistics import fmean

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, stdtrit  # scipy.stats has the same, but takes long to import

from experiments.framework.records import as_csv

CONFIDENCE = 0.98
FEWEST_MONTHS = 4


class Rows(list):
    """The rows of a CSV file; repeated queries for the same texts in the same columns are answered at once."""

    def __init__(self, rows):
        super().__init__(rows)
        self.groups = {}

    def by(self, names):
        if names not in self.groups:
            groups = self.groups[names] = defaultdict(list)
            for row in self:
                groups[tuple(row[name] for name in names)].append(row)
        return self.groups[names]


def table(study, tables, name):
    """Return the rows of a study's table as in its CSV file."""
    return Rows(csv.DictReader(io.StringIO(as_csv(tables[name].of(name, study).rows).decode())))


def rows_of(path):
    """Return the rows of a CSV file."""
    with Path(path).open() as file:
        return Rows(csv.DictReader(file))


def chosen(rows, **columns):
    """Return the rows that have these texts in their columns."""
    rows = rows if isinstance(rows, Rows) else Rows(rows)
    return rows.by(tuple(columns)).get(tuple(map(str, columns.values())), [])


def mean(values):
    """Return, as a part, the mean of one value per month."""
    values = list(values)
    error = sqrt(sum((value - fmean(values)) ** 2 for value in values) / (len(values) - 1) / len(values))
    return fmean(values), error, len(values)


def ratio(sums, bases):
    """Return, as a part, the ratio of two sums with a value per month each (Cochran's ratio estimate)."""
    sums, bases = np.array(sums, float), np.array(bases, float)
    whole, count = sums.sum() / bases.sum(), len(sums)
    error = sqrt(((sums - whole * bases) ** 2).sum() / (count - 1) / count) / abs(bases.mean())
    return whole, error, count


def of_values(batches):
    """Return, as a part, the mean of values in batches by month, at least as uncertain as of independent values."""
    values = [value for of in batches for value in of]
    error = np.std(values, ddof=1) / sqrt(len(values))
    part = ratio([sum(of) for of in batches], [len(of) for of in batches])
    return *part, lambda below: stdtrit(len(values) - 1, below) * error


def share(hits, trials):
    """Return, as a part, the percentage of trials, at least as uncertain as that of so many independent ones."""
    done, of = round(sum(hits)), round(sum(trials))

    def exact(below):
        low = 0 if not done else brentq(lambda p: 1 - bdtr(done - 1, of, p) - (1 - below), 0, done / of)
        high = 1 if done == of else brentq(lambda p: bdtr(done, of, p) - (1 - below), done / of, 1)
        return 100 * max(done / of - low, high - done / of)

    return *by(ratio(hits, trials), 100), exact


def jackknife(whole, without):
    """Return a statistic as a part, given its values without each month in turn."""
    without = np.array(without, float)
    count = len(without)
    return whole, sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()), count


def by(part, factor, plus=0.0):
    """Return a part in another unit."""
    return factor * part[0] + plus, abs(factor) * part[1], part[2]


def verdict(parts, low=-inf, high=inf, tried=1):
    """Return the verdict that all parts lie between two limits, each part being the best of `tried`."""
    parts = [part for part in parts if part is not None]
    found = []
    for value, error, months, *least in parts:
        below = [1 - wrong / tried / 2 for wrong in (1 - CONFIDENCE, (1 - CONFIDENCE) / len(parts))]
        alone, among = (max(stdtrit(months - 1, one) * error, *(of(one) for of in least), 0.0) for one in below)
        if months < FEWEST_MONTHS or (among < 1e-12 and 0.5**months > 1 - below[1]):
            found.append("not resolved")
            continue
        if value - among > high or value + among < low:
            found.append("no")
        else:
            found.append("yes" if low < value - alone and value + alone < high else "not resolved")
    if not found:
        return "no verdict"
    return "no" if "no" in found else "yes" if set(found) == {"yes"} else "not resolved"
