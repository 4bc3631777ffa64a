"""Made-up results of the study of many moldable jobs: the paper's statements hold, their opposites do, or neither."""

import numpy as np

from experiments.bushel.results import DRAWN, KINDS, Options, Results, Run
from experiments.framework.logs import Found, Source
from experiments.framework.sites import SITES
from workloads import Header

PERCENTS = (5, 20, 35, 50)
SITES_USED = SITES[:2]
MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def made_study(seed, strength):
    """Return the study, two seeds: at strength 1 the paper's statements hold, at -1 the opposites, at 0 only noise."""
    generator = np.random.default_rng(seed)
    runs = []
    for site in SITES_USED:
        log = Found(Source(site.trace, site.trace, site.processors, "users", 0), site.trace, None, site.trace, Header())
        wanted = [(kind, PERCENTS) for kind in KINDS.values()] + [(DRAWN[0], (100,))]
        runs += [
            Run(log, site, tuple(MONTHS), kind, percent, one)
            for kind, percents in wanted
            for percent in percents
            for one in (0, 1)
        ]
    return Results(Options(seeds=2), runs, [_result(run, generator, strength) for run in runs])


def _result(run, generator, strength):
    def noise():
        return generator.normal(0, 0.02, len(MONTHS))

    mix = getattr(run.kind, "mix", "")
    gain = (0.8 if mix == "unrestricted" else 0.5) - 0.4 * run.percent / 100
    moldable = np.full(len(MONTHS), 10.0 * run.percent)
    static = 1000 * (1 - strength * run.percent / 200 + noise())
    gas = static * (np.exp(-strength * gain) + noise())
    others = 500 * (1 + noise())
    # Drawn so that the share of the paper is within reach of noise.
    loses = moldable * (0.165 * (1 + 0.5 * strength) + noise() / 10)
    requested = 1e6 * (1 - strength * run.percent / 100 + noise())
    by_month = {
        "moldable": moldable, "others": 1000 - moldable,
        "loses": loses, "moldable_static": moldable * static, "moldable_gas": moldable * gas,
        "others_before": others * (1 + noise()), "others_static": others * (1 + noise()),
        "others_gas": others * (1 - 0.2 * strength + noise()), "requested_before": np.full(len(MONTHS), 1e6),
        "requested_static": requested,
    }  # fmt: skip
    return {
        "jobs": 12000, "moldable": int(moldable.sum()), "loses": float(loses.sum()), "months": MONTHS,
        "by_month": {name: sums.tolist() for name, sums in by_month.items()},
    }  # fmt: skip
