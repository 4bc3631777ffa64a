"""Made-up results of the study of estimates: changes as in the paper, the opposite ones, or noise alone."""

import numpy as np

from experiments.estimates.claims import POINTS
from experiments.estimates.history import READINGS
from experiments.estimates.results import EXACT, LogRun, Options, Results, Terms, uniform
from experiments.framework.logs import Found, Source
from experiments.published import FACTORS, HISTORY, MEASURES, POLICIES, overall, table3
from workloads import Header

LOGS = [Found(Source(of, of, 64, "users", 0), of, None, of, Header()) for of in ("KTH", "CTC", "SDSC")]
MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def made_study(seed, strength):
    """Return the study, two seeds: at strength 1 the changes are the paper's, at -1 the opposite, at 0 only noise."""
    generator = np.random.default_rng(seed)
    options = Options(seeds=2, others=False)
    wanted = [Terms(), Terms("doubled"), *map(uniform, FACTORS)]
    runs = [
        LogRun(log, "simulation", terms, one)
        for log in LOGS
        for terms in wanted
        for one in (options.all_seeds if terms.drawn else [0])
    ]
    results = [_result(run, generator, strength) for run in runs]
    history = LogRun(next(log for log in LOGS if log.source.trace == "CTC"), "history")
    return Results(options, [*runs, history], [*results, _history(generator, strength)])


def _history(generator, strength):
    """Return the paper's shares, or shares that are off by as much as is allowed, or by more."""
    off = {1: 0.0, 0: POINTS, -1: 10.0}[strength]
    of_months = {"not killed": [1000] * len(MONTHS)}
    for what in ("with data", "underestimated", "underestimated with data"):
        share = HISTORY[what] / HISTORY["not killed"] * 1000 + 10 * off
        of_months[what] = (share + generator.normal(0, 8, len(MONTHS))).tolist()
    readings = {READINGS[0].name: {what: sum(values) for what, values in of_months.items()}}
    return {"jobs": 12000, "months": MONTHS, "by_month": {READINGS[0].name: of_months}, "readings": readings}


def _published(run, policy, measure):
    """Return the paper's mean relative to the mean with f = 1."""
    key = run.log.source.trace, policy, measure
    means = {row.factor: row.mean for row in table3() if (row.trace, row.policy, row.measure) == key}
    found = means[None if run.terms.estimates != "uniform" else run.terms.factor] / means[1]
    if run.terms.estimates == "doubled":
        change = next(row.percent for row in overall() if (row.trace, row.policy, row.measure) == key)
        found *= 1 + change / 100
    return found


def _result(run, generator, strength):
    found = {"jobs": 100 * len(MONTHS), "overruns": 0, "months": MONTHS, "jobs_by_month": [100] * len(MONTHS)}
    for policy in POLICIES:
        sums = {}
        for measure in MEASURES:
            noise = 0 if run.terms == EXACT else generator.normal(0, 0.004, len(MONTHS))
            factor = _published(run, policy, measure) ** strength + noise
            sums[measure] = 1000 * factor * np.linspace(1, 3, len(MONTHS))
        means = {measure: float(values.mean()) / 100 for measure, values in sums.items()}
        found[policy] = {**means, "sums": {measure: sums[measure].tolist() for measure in MEASURES}}
    return found
