"""Made-up results of the study of malleable jobs: strategies multiply turn-around times by an effect, with noise."""

import numpy as np

from experiments.framework.logs import Found, Source
from experiments.malleate.fairness import CLASSES
from experiments.malleate.results import Options, Results, malleate_runs, strategy_names
from workloads import Header

LOGS = [
    Found(Source(name, name, 64, "users", 1000), name, None, name, Header(), own=True)
    for name in ("one", "two", "three")
]
MONTHS = [f"2001-{month:02}" for month in range(1, 13)]


def result_of(run, generator, effect):
    """Return a result in which strategies multiply turn-around times by `effect` on average, with noise by month."""
    rigid = generator.lognormal(10, 0.5, len(MONTHS))
    strategies = {}
    for name in [*strategy_names(Results(Options(), [run], [{}])), "gas-s3"]:
        factor = 1.0 if name == "rigid" else effect * generator.lognormal(-0.045, 0.3, len(MONTHS))  # whose mean is 1
        sums = {
            "jobs": [100] * len(MONTHS), "turnaround": (100 * rigid * factor).tolist(), "wait": [1.0] * len(MONTHS),
            "log": np.log(rigid * factor).tolist(), "slowdown": (rigid * factor).tolist(),
            "later": (100 * generator.uniform(0, 0.2, len(MONTHS))).tolist(), "sooner": [1.0] * len(MONTHS),
        }  # fmt: skip
        strategies[name] = {
            **dict.fromkeys(("all", "adopters", "others", *CLASSES), sums),
            "even": {"whole": 0.4, "without": (0.4 + generator.normal(0, 0.01, len(MONTHS))).tolist()},
            "busy": 0.7,
            "median": 1.0,
            "used": 1.0,
            "users_later": 0.1,
        }
    return {"jobs": 1200, "moldable": 1200, "months": MONTHS, "offered": 0.7, "strategies": strategies}


def made_study(seed, effect, others=False):
    """Return the study, with other terms if given."""
    generator = np.random.default_rng(seed)
    options = Options(seeds=1, others=others)
    runs = malleate_runs(options, LOGS)
    return Results(options, runs, [result_of(run, generator, effect) for run in runs])
