"""Made-up results of the study of the walk: it costs time, saves it, or neither."""

import numpy as np

from experiments.framework.logs import Found, Source
from experiments.framework.sites import SITES
from experiments.moldable.months import MonthRun, Options, Results
from workloads import Header

MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def made_study(seed, strength):
    """Return the study: at strength 1 the walk takes longer, at -1 it takes less, at 0 there is only noise."""
    generator = np.random.default_rng(seed)
    options = Options(seed, 1, 40, others=False)
    runs = [
        MonthRun(
            Found(Source(site.trace, site.trace, site.processors, "users", 0), site.trace, None, site.trace, Header()),
            *(site, month, options.terms, 0, 40),
        )
        for site in SITES[:2]
        for month in MONTHS
    ]
    return Results(options, runs, [{"jobs": 40, "outcomes": _outcomes(generator, strength)} for _ in runs])


def _outcomes(generator, strength, jobs=40):
    of_month = generator.normal(0, 20)
    found = []
    for exact in generator.integers(500, 1500, jobs).tolist():
        walk = None if generator.uniform() < 0.1 else int(exact + of_month + 200 * strength + generator.normal(0, 100))
        promised = None if walk is None else exact + 700
        row = {"benchmark": "EP", "problem_class": "A", "submit": 0, "exact_size": 4, "walk_size": 2}
        row |= {name + what: None for name in ("largest", "equal") for what in ("_size", "_promised", "")}
        found.append(row | {"exact": exact, "exact_promised": exact + 600, "walk": walk, "walk_promised": promised})
    return found
