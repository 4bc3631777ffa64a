"""Made-up results of the study of wrong models: Gas gains with them, loses, or neither."""

import numpy as np

from experiments.accuracy.beliefs import PLANS
from experiments.accuracy.results import ALL_TERMS, Results
from experiments.framework.logs import Found, Source
from experiments.framework.sites import SITES
from experiments.moldable.months import MonthRun, Options
from workloads import Header

MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def made_study(seed, strength, jobs=20):
    """Return the study: at strength 1 the statements hold, at -1 their opposites, at 0 there is only noise."""
    generator = np.random.default_rng(seed)
    options = Options(seed, 1, jobs)
    runs = [
        MonthRun(
            Found(Source(site.trace, site.trace, site.processors, "users", 0), site.trace, None, site.trace, Header()),
            *(site, month, terms, 0, jobs),
        )
        for terms in ALL_TERMS
        for site in SITES[:2]
        for month in MONTHS
    ]
    return Results(options, runs, [{"jobs": jobs, "outcomes": _outcomes(generator, strength, jobs)} for _ in runs])


def _outcomes(generator, strength, jobs):
    factors = [{"gas": 2.0, "cautious": 3.0}.get(plan.way, 1.0) ** -strength for plan in PLANS]
    found = []
    for _ in range(jobs):
        static, *others = generator.lognormal(8, 0.4, 1 + len(PLANS))
        kills = generator.uniform(size=len(PLANS)) < {1: 0.4, 0: 0.1, -1: 0.01}[strength]
        plans = [
            [4, 600, int(factor * one), int(killed)] for factor, one, killed in zip(factors, others, kills, strict=True)
        ]
        row = {"benchmark": "EP", "problem_class": "B", "submit": 0, "static_size": 2, "static": int(static)}
        found.append(row | {"plans": plans})
    return found
