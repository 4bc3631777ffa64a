"""The study of moldable and malleable jobs, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.framework.options import FirstSeed, Seeds, whole_number
from experiments.framework.study import Study
from experiments.malleate.claims import claims
from experiments.malleate.report import TABLES, malleate_report
from experiments.malleate.results import BASE, FULL_SEEDS, Options, malleate_runs, summarised
from experiments.malleate.run import malleate_run
from experiments.published import TRACES

__all__ = ["STUDY"]


def malleate_options(
    seed: FirstSeed = 0,
    seeds: Seeds = FULL_SEEDS,
    others: Annotated[
        bool, typer.Option("--other-terms/--no-other-terms", help="Also other costs, loads, speed-ups and estimates.")
    ] = True,
    cost: Annotated[
        int, whole_number("--cost", 0, 86400, help="Seconds without progress after each change of size.")
    ] = BASE.cost,
) -> Options:
    """Compare choosing sizes at submission with malleable jobs.

    Draws speed-ups for the jobs of real logs and lets 20 to 100% of them choose or change their sizes: as Slurm, OAR
    and Gas let jobs choose before they start, and as malleable jobs that grow and shrink while they run. Counts who
    ends later, too.

    With four logs and two processors it takes about 20 minutes; with --quick, one.
    """
    return Options(seed, seeds, others, cost)


STUDY = Study(
    "malleate",
    malleate_options,
    traces=set(TRACES),
    runs=lambda options, logs: (malleate_runs(options, logs), ()),
    run=malleate_run,
    summarise=summarised,
    report=malleate_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"seeds": 1, "others": False},
    by_month=True,
    own_logs=True,
)
