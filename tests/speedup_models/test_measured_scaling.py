"""Fits compared with published measurements: each size is predicted from the other sizes of its table.

A size is predicted only if the fit to the others says of itself that it may be used. If it says no, that is right if
its prediction would have been poor.
"""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from thorough import some

from speedup_models.fitting import fit
from speedup_models.goodput import Work
from speedup_models.goodput_fit import fit_goodput
from speedup_models.nas import Nas

HERE = Path(__file__).parent
NAS = [("BT", "cluster-2012"), ("SP", "cluster-2012"), ("LU", "cluster-2012"), ("MG", "cluster-2012"),
       ("EP", "cluster-2012"), ("MG", "slow-network-2012"), ("SP", "slow-network-2012")]  # fmt: skip


class Unseen(NamedTuple):
    """One size of a table, predicted from the others."""

    table: str
    size: int
    error: float
    used: bool
    inside: bool


def rows_of(name):
    lines = [line for line in (HERE / name).read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def numbers(text):
    return np.array([float(word) for word in text.split()])


def curves():
    found = {}
    for row in rows_of("measured_curves.csv"):
        values = numbers(row["values"])
        found[row["table"]] = numbers(row["sizes"]).astype(int), values if row["kind"] == "time" else 1e3 / values
    for code, dataset in NAS:
        curve = Nas.packaged(code, "C", dataset).curve
        found[f"nas-{code}-{dataset}"] = np.array(curve.counts), np.array(curve.times)
    return found


def trainings():
    found = {}
    for row in rows_of("measured_steps.csv"):
        for local, seconds in zip(numbers(row["locals"]), numbers(row["seconds"]), strict=True):
            found.setdefault(row["table"], []).append((int(row["nodes"]), int(row["gpus"]), local, seconds))
    return {name: np.array(rows).T for name, rows in found.items()}


def unseen_of_curve(name, sizes, seconds):
    found = []
    for size in sizes if len(sizes) > 3 else []:
        rest = sizes != size
        report = fit(sizes[rest], seconds[rest], bootstrap=0)
        expected = report.of(report.better).seconds(np.array([size]))[0]
        inside = bool(sizes[0] < size < sizes[-1])
        found.append(Unseen(name, int(size), abs(expected / seconds[~rest][0] - 1), report.fits, inside))
    return found


def unseen_of_training(name, nodes, gpus, local, seconds):
    found = []
    for size in np.unique(gpus):
        rest = gpus != size
        work = [Work(nodes[keep], gpus[keep], local[keep], np.zeros(int(keep.sum()))) for keep in (rest, ~rest)]
        report = fit_goodput(work[0], seconds[rest], intervals=False)
        expected = report.network.step(work[1])
        errors = np.abs(expected / seconds[~rest] - 1)
        inside = bool(gpus.min() < size < gpus.max())
        found += [Unseen(name, int(size), float(one), report.fits, inside) for one in errors[np.isfinite(errors)]]
    return found


def summary(found):
    errors = np.array([one.error for one in found])
    return float(np.median(errors)), float(np.mean(errors <= 0.1))


@pytest.mark.thorough
def test_some_measured_tables_are_predicted_within_a_tenth():
    known = curves()
    for name in ("tf-ec2-inception3", "lanl-vibe", "dlperf-resnet50-mxnet"):
        found = unseen_of_curve(name, *known[name])
        assert summary([one for one in found if one.used and one.inside])[0] < 0.1


def test_a_table_that_no_model_follows_is_said_not_to_fit():
    sizes, seconds = curves()["nas-MG-slow-network-2012"]
    assert not fit(sizes, seconds, bootstrap=0).fits


@pytest.mark.long
def test_unseen_sizes_are_predicted_within_a_tenth_where_a_model_fits_at_all():
    known = curves()
    tried = some(list(known), 8)
    found = [one for name in tried for one in unseen_of_curve(name, *known[name])]
    trained = [one for name, columns in trainings().items() for one in unseen_of_training(name, *columns)]
    share = len(tried) / len(known)
    for each, least, count in ((found, 0.85, 70 * share), (trained, 0.7, 70)):
        used = [one for one in each if one.used and one.inside]
        median, within = summary(used)
        assert len(used) >= count
        assert median <= 0.05
        assert within >= least
    refused = [one for one in found + trained if not one.used and one.inside]
    assert len(refused) >= 20 * share
    assert summary(refused)[0] > 0.1
