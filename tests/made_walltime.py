"""Made-up results of the study of walltimes: the paper's statements hold, their opposites do, or neither."""

import numpy as np

from experiments.framework.logs import Found, Source
from experiments.walltime.accuracy import FLOORS, KEYS, PERCENTILES
from experiments.walltime.results import MEASURES, Options, Results, study_runs
from workloads import Header

LOGS = [
    Found(Source(name, name, 64, "users", 1000), name, None, name, Header(), own=True) for name in ("first", "second")
]
MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def made_study(seed, strength):
    """Return the study: at strength 1 the paper's statements hold, at -1 their opposites, at 0 there is only noise."""
    generator = np.random.default_rng(seed)
    runs = study_runs(Options(quick=True), LOGS)
    return Results(Options(quick=True), runs, [_result(run, generator, strength) for run in runs])


def _noise(generator, scale):
    return generator.normal(0, scale, len(MONTHS))


def _result(run, generator, strength):
    return {"use": _use, "accuracy": _accuracy, "simulation": _simulation}[run.kind](run, generator, strength)


def _use(_, generator, strength):
    keys = ("all", *KEYS)
    spread = [
        {
            "key": key, "mean": 0.3 - 0.02 * strength * place, "groups": 9, "by_jobs": 0.3, "at_random": 0.3,
            "without": (0.3 - 0.02 * strength * place + _noise(generator, 0.001)).tolist(),
        }
        for place, key in enumerate(keys)
    ]  # fmt: skip
    for row in spread:
        row["mean"] += float(_noise(generator, 0.001 * (len(MONTHS) - 1) ** 0.5)[0])  # the error that a jackknife finds
    medians = 0.5 + _noise(generator, 0.05)
    months = {month: {"jobs": 100, "accuracy": 0.5, "median": medians[i]} for i, month in enumerate(MONTHS)}
    return {"jobs": 1200, "spread": spread, "months": months}


def _accuracy(run, generator, strength):
    """Accuracy is better with more in the key, a shorter window and a percentile nearer to p70."""
    cells = []
    for percentile in PERCENTILES:
        for floor in FLOORS:
            near = {100: 0, 95: 1, 90: 2, 85: 3, 80: 4, 70: 5, 50: 2}[percentile]
            merit = near + (6 if run.key == KEYS[-1] else 0) + (6 if run.months == 1 else 0)
            merit = 0.03 * strength * merit
            accuracy = 0.5 + merit + _noise(generator, 0.01)
            median = 0.5 + merit + _noise(generator, 0.01)
            short = 0.5 * (1 - 0.4 * strength * ((floor > 0) + (run.months == 1)) + _noise(generator, 0.05))
            months = {
                month: {"jobs": 100, "accuracy": accuracy[i], "median": median[i], "short": short[i]}
                for i, month in enumerate(MONTHS)
            }
            figures = {"accuracy": float(accuracy.mean()), "median": float(np.median(median)), "at_60": 0.5}
            cells.append({"percentile": percentile, "floor": floor, "months": months, **figures})
            cells[-1] |= {"NA": 300, "OE": 300, "UE": 300, "BE": 300}
    return {"jobs": 1200, "no_history": 100, "cells": cells}


def _simulation(run, generator, strength):
    terms = run.terms
    gain = {None: 0.0, "regular": 0.1, "selective": 0.3}[terms.adjustment] if terms.queue == "wfp" else 0.0
    if terms.queue == "fcfs" and terms.adjustment == "selective":
        gain = 0.3
    if terms.percentile == 85:
        gain *= 1.5
    scale = 0.01 if terms.adjustment else 0
    figures = {measure: 100 * (1 - strength * gain + _noise(generator, scale)) for measure in MEASURES}
    months = [
        {"month": month, "after": (40 + 30 * i) * 86400, **{measure: values[i] for measure, values in figures.items()}}
        for i, month in enumerate(MONTHS)
    ]
    return {
        "jobs": 1200,
        "months": months,
        "all": {measure: float(values.mean()) for measure, values in figures.items()},
    }
