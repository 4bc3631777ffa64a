"""Made-up results of the study of backfilling: the paper's statements hold, their opposites do, or neither."""

from pathlib import Path

import numpy as np

from experiments.backfilling.results import LogRun, ModelRun, Options, Results, RunTimesRun, variants
from experiments.backfilling.run_times import LIMITS, SIZES, WORKLOADS
from experiments.framework.logs import SOURCES, Found
from experiments.published import MEASURES, POLICIES, overall, table1
from workloads import Header

LOGS = [
    Found(source, source.stem, Path(source.stem), source.stem, Header())
    for source in SOURCES
    if source.trace in ("KTH", "CTC", "SDSC")
]
BATCHES = 40


def made_study(seed, strength):
    """Return the study: at strength 1 the paper's statements hold, at -1 their opposites, at 0 there is only noise."""
    generator = np.random.default_rng(seed)
    runs = [LogRun(log, one) for log in LOGS for one in variants(log) if one.name in ("", "estimates doubled")]
    models = [ModelRun(model, load, 2100, 0) for model in ("F", "J", "Fs", "Fl", "Fsl") for load in (0.6, 0.8, 0.9)]
    logs = [_log(run, generator, strength) for run in runs]
    run_times = {RunTimesRun(name, None, 2100, 0): _run_times(name, generator, strength) for name in WORKLOADS}
    results = [_model(run, generator, strength) for run in models]
    return Results(Options(), [], runs, logs, models, results, run_times=run_times)


def _run_times(workload, generator, strength):
    """Return counts by limit: Fsl is as near to the other workloads as F, nearer, or less near."""
    away = {"F": 1 + 0.5 * strength, "Fsl": 1 - 0.9 * strength}.get(workload, 0)
    mean = 20 + 8 * away
    counts = {}
    for size in SIZES:
        drawn = [generator.normal(mean, 6, 1000) for _ in range(12)]
        counts[size] = [np.bincount(np.clip(one, 0, 55).astype(int), minlength=len(LIMITS)).tolist() for one in drawn]
    return {"counts": counts, "jobs": 12 * 1000 * len(SIZES)}


def scheme(response, *, slowdown=1.0, backfilled=0.5, reason="batches", batches=100, together=None):
    """Return figures of a scheme at a load: its own mean, and the means of the batches that both schemes completed."""
    own = {"response": response, "slowdown": slowdown, "backfilled": backfilled}
    found = own | (together or {})
    means = {name: np.broadcast_to(value, BATCHES).tolist() for name, value in found.items()}
    shared = {name: float(np.mean(values)) for name, values in means.items()} | {"batches": batches, "means": means}
    return {**own, "reason": reason, "batches": batches, "together": shared}


def _doubling(log, policy, measure):
    rows = [row for row in overall() if (row.trace, row.policy, row.measure) == (log.source.trace, policy, measure)]
    return rows[0].percent / 100


def _log(run, generator, strength):
    """Give each month of Table 1 the paper's difference, and doubled estimates the paper's change."""
    months = []
    for row in table1():
        if row.trace != run.log.source.trace:
            continue
        month = {"month": row.month, "jobs": row.jobs, "load": row.load, "days": 30}
        month["easy"] = {"backfilled": 0.4}
        month["conservative"] = {"backfilled": 0.4 + 0.05 * strength + float(generator.normal(0, 0.01))}
        month["error"] = {"easy": {}, "conservative": {}, "difference": {}}
        for measure in MEASURES:
            easy, percent = row.cells[measure].easy, row.cells[measure].percent
            difference = strength * percent + float(generator.normal(0, 0.3))
            for policy, by in (("easy", 0), ("conservative", difference)):
                change = 0.0
                if run.variant.name:
                    change = strength * _doubling(run.log, policy, measure) + float(generator.normal(0, 0.002))
                month[policy][measure] = easy * (1 + by / 100) * (1 + change)
                month["error"][policy][measure] = 0.1
            month["error"]["difference"][measure] = 0.003 * easy
        months.append(month)
    if not months:  # SDSC has no months in Table 1
        months = [_other_month(run, generator, strength, number) for number in range(12)]
    means = {measure: {p: float(np.mean([m[p][measure] for m in months])) for p in POLICIES} for measure in MEASURES}
    whole = {p: {measure: means[measure][p] for measure in MEASURES} | {"backfilled": 0.4} for p in POLICIES}
    return {"jobs": 12000, "load": 0.7, "overall": whole, "months": months, "by_end": []}


def _other_month(run, generator, strength, number):
    month = {"month": f"1998-{number + 1:02}", "jobs": 1000, "load": 0.8, "days": 30}
    for policy in POLICIES:
        month[policy] = {"backfilled": 0.4 + float(generator.normal(0, 0.01))}
        if policy == "conservative":
            month[policy]["backfilled"] += 0.05 * strength
        for measure in MEASURES:
            change = strength * _doubling(run.log, policy, measure) if run.variant.name else 0.0
            month[policy][measure] = 1000 * (1 + change + float(generator.normal(0, 0.002)))
    month["error"] = {what: dict.fromkeys(MEASURES, 0.1) for what in (*POLICIES, "difference")}
    return month


def _model(run, generator, strength):
    def noise(scale):
        return generator.normal(0, scale, BATCHES)

    of_j = run.model == "J"
    worse = {"J": 0.5, "F": 0.0, "Fs": 0.1, "Fl": 0.1, "Fsl": 0.3}[run.model] * strength
    if strength < 0:
        worse += {"F": 0.2, "Fl": 0.0}.get(run.model, 0.0)
    easy = 1000 * (1 + noise(0.05))
    fewer = 0.1 * strength if of_j else 0.1 * (strength < 0)
    gain = 2 * strength if run.model != "Fs" else 2 * max(strength, 0)
    return {
        "easy": scheme(
            1000.0, together={"response": easy, "slowdown": 10 + noise(0.1), "backfilled": 0.5 + noise(0.01)}
        ),
        "conservative": scheme(
            1000.0 * (1 + worse),
            together={
                "response": easy * (1 + worse + noise(0.05)),
                "slowdown": 10 - gain + noise(0.1),
                "backfilled": 0.5 - fewer + noise(0.01),
            },
        ),
    }
