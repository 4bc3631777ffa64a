"""Made-up results of studies in which a share of the jobs is treated differently."""

import numpy as np

from experiments.framework.group_results import GroupRun
from experiments.framework.logs import Found, Source
from experiments.framework.results import Seeded
from experiments.framework.sites import SITES
from workloads import Header

MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def made_study(results, settings, slower, *, seed, strength):
    """Return a study: at strength 1 the treated jobs end later and the others sooner, at -1 the reverse.

    At strength 0 there is only chance.

    Parameters
    ----------
    results
        The class of the study's results.
    slower
        By which share turn-around times change under a setting.
    """
    generator = np.random.default_rng(seed)
    runs = [
        GroupRun(
            Found(Source(site.trace, site.trace, site.processors, "users", 0), site.trace, None, site.trace, Header()),
            *(site, month, seed, tuple(settings)),
        )
        for site in SITES[:2]
        for month in MONTHS
    ]

    def month():
        of = []
        for setting in settings:
            signs = dict(zip(results.groups, (strength, -strength), strict=True))
            sums = {
                group: _sums(generator, setting.percent, group == results.groups[0], sign * slower(setting), strength)
                for group, sign in signs.items()
            }
            of.append(vars(setting) | {"broken": 0} | sums)
        return {"jobs": 400, "broken": 0, "settings": of}

    return results(Seeded(seed), runs, [month() for _ in runs])


def _sums(generator, percent, treated, slower, strength):
    jobs = 4 * (percent if treated else 100 - percent)
    before = float(generator.lognormal(8, 0.2)) * jobs
    factor = 1 + slower + generator.normal(0, 0.05)
    later = jobs * (0.1 - 0.06 * strength + generator.normal(0, 0.02))
    return {
        "jobs": jobs, "turnaround_before": before, "turnaround": before * factor, "wait_before": before / 2,
        "wait": before * (factor - 0.5), "log_before": 8.0 * jobs, "log": jobs * (8 + np.log(factor)),
        "later": later, "sooner": jobs / 10,
    }  # fmt: skip
