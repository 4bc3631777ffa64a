"""Made-up results of the study of several supercomputers: its statements hold, their opposites do, or neither."""

import numpy as np

from experiments.framework.logs import Found, Source
from experiments.framework.sites import SITES
from experiments.supercomputers.results import BASE, GAMES, HOME, SHARES, SPREAD, Options, Place, Results, TrialRun
from workloads import Header

MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def made_study(seed, strength):
    """Return the study, two seeds: at strength 1 the statements hold, at -1 their opposites, at 0 there is noise."""
    generator = np.random.default_rng(seed)
    logs = [
        Found(Source(site.trace, site.trace, site.processors, "users", 0), site.trace, None, site.trace, Header())
        for site in SITES[:2]
    ]
    runs = []
    for month in MONTHS:
        places = tuple(Place(log, site, month) for log, site in zip(logs, SITES, strict=False))
        for number in (0, 1):
            runs += [TrialRun(places, BASE, number, 10, one, one, 0, False) for one in HOME]
            runs += [
                TrialRun(places, BASE, number, 10, game.others, game.some, share, True)
                for game in (*GAMES, SPREAD)
                for share in (SHARES if game != SPREAD else (0, 100))
            ]
    return Results(Options(seeds=2), runs, [_result(run, generator, strength) for run in runs])


def _result(run, generator, strength):
    def noise(scale):
        return float(generator.normal(0, scale))

    longer = 1 + strength * run.share / 300 + noise(0.02)
    shorter = 1 - strength * run.share / 300 + noise(0.02) if run.some == "coallocate" else longer
    mean = (1000.0 + 300 * strength * (run.others == "home")) * shorter
    gain = {"mean": 100.0 * strength + noise(20), "extra": 0.5, "extra_time": 50.0, "sooner": 0.5, "later": 0.1}
    machines = [
        {"rigid": 100, "rigid_mean": 500 * longer * (1 + noise(0.02)), "rigid_median": 300.0, "utilization": 0.6}
        for _ in run.places
    ]
    applications = int(generator.integers(40, 60))
    return {
        "applications": 50, "waiting": applications // 2, "some": applications * run.share // 100, "mean": mean,
        "gain": {"all": gain, "waiting": gain} if run.deviating else None, "machines": machines,
        "load_ratios": [1.0 for _ in run.places],
    }  # fmt: skip
