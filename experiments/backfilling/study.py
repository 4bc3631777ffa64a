"""The study of backfilling, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.backfilling.claims import claims
from experiments.backfilling.report import backfilling_report
from experiments.backfilling.results import LOADS, Options, planned, summarised
from experiments.backfilling.run import study_run
from experiments.backfilling.tables import TABLES
from experiments.framework.claims import headline
from experiments.framework.options import whole_number, whole_seed
from experiments.framework.study import Study
from experiments.published import TRACES

__all__ = ["STUDY"]

QUICK_LOADS = (0.5, 0.7, 0.9)
QUICK_JOBS = 21_000
QUICK_HELP = "Quick first look: fewer and shorter runs of the models (8 to 25 s instead of 30 to 60 s)."


def backfilling_options(
    seed: Annotated[int, whole_seed("Random seed of the models.")] = 0,
    jobs_per_point: Annotated[
        int | None,
        whole_number("--jobs-per-point", 2100, 10_000_000, help="Jobs of each model and load (default: the paper's)."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help=QUICK_HELP)] = False,
) -> Options:
    """Compare EASY and conservative backfilling.

    Reproduces Table 1, the overall means of Table 4 and Fig. 4 to 7 of Mu'alem and Feitelson (2001) from the logs in
    the folder. Reports and tables show each figure next to the published one.

    Five logs on two processors take 30 to 60 s, with --quick 8 to 25 s. The first run compiles the simulator, which
    takes about 15 s more.
    """
    return Options(seed, QUICK_LOADS if quick else LOADS, jobs_per_point or (QUICK_JOBS if quick else None))


STUDY = Study(
    "backfilling",
    backfilling_options,
    traces=TRACES,
    own_logs=True,
    runs=planned,
    run=study_run,
    summarise=summarised,
    report=backfilling_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    headline=lambda study: headline(claims(study)),
    without_logs=True,
)
