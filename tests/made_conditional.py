"""Made-up results of the study of conditional backfilling: those who are asked end later, sooner, or neither."""

import numpy as np

from experiments.conditional.results import NOTICES, PERCENTS, Asking, MonthRun, Options, Results
from experiments.conditional.run import GROUPS
from experiments.framework.logs import Found, Source
from experiments.framework.sites import SITES
from workloads import Header

MONTHS = [f"2001-{month:02}" for month in range(1, 13)]
SETTINGS = tuple(Asking(percent, notice) for percent in PERCENTS for notice in NOTICES)


def made_study(seed, strength):
    """Return the study; of strength 1 the asked end later and the others sooner, of -1 the reverse, of 0 by chance."""
    generator = np.random.default_rng(seed)
    runs = [
        MonthRun(
            Found(Source(site.trace, site.trace, site.processors, "users", 0), site.trace, None, site.trace, Header()),
            *(site, month, seed, SETTINGS),
        )
        for site in SITES[:2]
        for month in MONTHS
    ]
    return Results(Options(seed), runs, [_month(generator, strength) for _ in runs])


def _month(generator, strength):
    settings = [
        {"percent": one.percent, "notice": one.notice, "broken": 0}
        | {group: _sums(generator, one, strength, group) for group in GROUPS}
        for one in SETTINGS
    ]
    return {"jobs": 400, "broken": 0, "settings": settings}


def _sums(generator, asking, strength, group):
    jobs = 4 * (asking.percent if group == "asked" else 100 - asking.percent)
    before = float(generator.lognormal(8, 0.2)) * jobs
    slower = strength * (0.2 + asking.notice / 36000) * (1 if group == "asked" else -1)
    factor = 1 + slower + generator.normal(0, 0.05)
    later = jobs * (0.1 - 0.06 * strength + generator.normal(0, 0.02))
    return {
        "jobs": jobs, "turnaround_before": before, "turnaround": before * factor, "wait_before": before / 2,
        "wait": before * (factor - 0.5), "log_before": 8.0 * jobs, "log": jobs * (8 + np.log(factor)),
        "later": later, "sooner": jobs / 10,
    }  # fmt: skip
