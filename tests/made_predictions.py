"""Outcomes of the study of predictions in the form of its runs, and options that are quick to compute."""

import numpy as np

from experiments.framework.logs import Found, Source
from experiments.framework.sites import SITES
from experiments.moldable.months import MonthRun
from experiments.moldable.terms import BASE
from experiments.prediction.bakeoff import WaitRun
from experiments.prediction.results import Calibration, Choice, Options, Results
from experiments.prediction.run import SHARES
from experiments.prediction.waits import RECORDED
from workloads import Header

__all__ = ["SMALL", "made_study", "outcome", "predicted"]

SMALL = Options(jobs=5, samples=20, runs=8)


def predicted(start, low, high, promise=1000, processors=10):
    row = {"now": 0, "promise": promise, "start": start, "processors": processors, "rank": 0.5}
    row |= {"mean": (low + high) / 2, "median": (low + high) / 2}
    return row | {f"{end}_{share:g}": at for share in SHARES for end, at in (("low", low), ("high", high))}


def outcome(static, gas, predicting, best=1, watched=None):
    """Return a run; unless another time is given, watching changes nothing."""
    row = {"static": static, "gas": gas, "predicting": predicting, "best": best, "promised": gas, "user": 1}
    row |= {"watched": predicting if watched is None else watched, "changes": int(watched is not None)}
    row |= {"watched_by_plans": gas}
    row |= {"gas_size": 2, "best_size": 1, "predicting_size": 4, "load_ratio": 1.0, "benchmark": "EP"}
    return row | {"problem_class": "A", "submit": 0, "static_size": 1, "still_loses": []}


MONTHS = [f"2001-{month:02}" for month in range(1, 13)]
LOGS = [
    Found(Source(site.trace, site.trace, site.processors, "users", 0), site.trace, None, site.trace, Header(), own=True)
    for site in SITES[:2]
]


def made_study(seed, strength):
    """Return the study: at strength 1 the statements hold, at -1 their opposites, at 0 there is noise at the limits."""
    generator = np.random.default_rng(seed)
    calibrations, calibrated, choices, chosen = [], [], [], []
    for site, log in zip(SITES[:2], LOGS, strict=True):
        for month in MONTHS:
            calibrations.append(Calibration(log, site, month, True, "nothing", SMALL))
            calibrated.append({"jobs": 50, "waiting": 40, "outcomes": _starts(generator, strength)})
            choices.append(Choice(MonthRun(log, site, month, BASE, 0, 40), 100))
            chosen.append({"jobs": 40, "outcomes": _outcomes(generator, strength)})
    waits = []
    for log in LOGS:
        actual = np.round(generator.lognormal(9, 1, 40 * len(MONTHS))).astype(int)
        for method in ("gas", "boosting", "mean"):
            run = WaitRun(log, RECORDED, method, 480, 60, 0)
            waits.append((run, _waits(run, actual, generator, strength)))
    return Results(SMALL, calibrations, calibrated, choices, chosen, waits=waits)


def _starts(generator, strength, jobs=40):
    share = np.clip(0.85 + 0.05 * strength + generator.normal(0, 0.02), 0, 1)
    width = 500 * np.exp(-0.5 * strength + generator.normal(0, 0.1))
    inside = generator.uniform(0, 1, jobs) < share
    return [predicted(150 + width / 2 if one else 999_999, 150, 150 + width) for one in inside]


def _outcomes(generator, strength, jobs=40):
    static = generator.integers(500, 1500, jobs)
    month = generator.normal(0, 30)
    gas, predicting = (static + generator.normal(by, 300, jobs).astype(int) for by in (month, month - 200 * strength))
    watched = predicting + generator.normal(generator.normal(0, 30) - 600 * strength, 100, jobs).astype(int)
    columns = (one.tolist() for one in (static, gas, predicting, watched))
    return [outcome(a, b, c, watched=d) for a, b, c, d in zip(*columns, strict=True)]


def _waits(run, actual, generator, strength):
    """Errors are factors; at strength 0 those of gradient boosting are twice as large as those of Gas."""
    months = np.repeat(np.arange(len(MONTHS)), 40)
    scale = {"gas": 0.5 * np.exp(-strength), "boosting": 1.0, "mean": 0.5}[run.method]
    if run.method == "gas" and strength > 0:
        scale = 0.15
    factor = np.exp(generator.normal(0, 1, len(actual)) * scale + generator.normal(0, 0.02, len(MONTHS))[months])
    middle = actual * factor
    reach = np.clip(0.85 + 0.05 * strength + generator.normal(0, 0.02, len(MONTHS))[months], 0, 1)
    inside = generator.uniform(0, 1, len(actual)) < reach
    low = np.where(inside, np.minimum(middle, actual) * 0.9, np.maximum(middle, actual) * 1.1 + 1)
    high = np.where(inside, np.maximum(middle, actual) * 1.1 + 1, low + 1)
    rows = np.column_stack([low, middle, high]).tolist()
    names = [MONTHS[month] for month in months]
    return {"jobs": len(actual), "month": names, "wait": actual.tolist(), "predicted": {run.method: rows}}
