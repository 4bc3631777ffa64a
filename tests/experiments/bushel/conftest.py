"""The study of the made-up logs, run once, and one with made-up results."""

import pytest
from study_runs import study_once

from experiments.bushel.results import Options, Results, bushel_runs
from experiments.framework.logs import find_logs

MONTHS = [f"{year}-{month:02}" for year in (1997, 1998) for month in range(1, 13)]
SHORT = ("--seeds", 1, "--no-other-terms")


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study with one worker: its folder, and what it printed."""
    return study_once(tmp_path_factory, "bushel", made_logs, *SHORT)


@pytest.fixture
def figures():
    """A function that makes up a result."""

    def of(gas, static, percent):
        worlds = {"before": 90.0, "static": static, "gas": gas}
        sums = {"moldable": 10 * percent, "loses": 2 * percent, "requested_before": 1.0}
        sums |= {f"moldable_{world}": 10 * percent * worlds[world] for world in ("static", "gas")}
        sums["others"] = 1000
        sums |= {f"others_{world}": 1000 * took for world, took in worlds.items()}
        sums["requested_static"] = 1 - percent / 100
        return {
            "months": MONTHS, "by_month": {name: [value] * len(MONTHS) for name, value in sums.items()},
            "jobs": 1000, "moldable": 10 * percent, "choices": 2.0, "load_ratio": 1.0, "loses": 2 * percent,
            "requested_load_ratio": 1 - percent / 100, "gas": {"mean": gas}, "static": {"mean": static},
            "others": worlds, "others_wait": worlds, "all": worlds, "gas_work": 1, "static_work": 1,
            "utilization": {"before": 0.7, "static": 0.65, "gas": 0.6}, "by_user": {"gas": gas, "static": static},
        }  # fmt: skip

    return of


@pytest.fixture
def made_study(made_logs):
    """A function that makes up the results of all runs by a function for one run."""

    def of(result_of, *, others=False):
        options = Options(seeds=1, others=others)
        runs = bushel_runs(options, find_logs(made_logs)[0])
        return Results(options, runs, [result_of(run) for run in runs])

    return of
