"""The study of estimates, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.estimates.claims import claims
from experiments.estimates.report import estimates_report
from experiments.estimates.results import TRACES, Options, Results, study_runs
from experiments.estimates.run import estimates_run
from experiments.estimates.tables import TABLES
from experiments.framework.options import FirstSeed, whole_number
from experiments.framework.study import Study

__all__ = ["STUDY"]


def estimates_options(
    seed: FirstSeed = 0,
    seeds: Annotated[int, whole_number("--seeds", 1, 1000, help="Number of seeds, for all logs and factors.")] = 10,
    others: Annotated[
        bool, typer.Option("--other-terms/--no-other-terms", help="Also run other rules and other models of estimates.")
    ] = True,
) -> Options:
    """Measure the errors in users' estimates, and their effects.

    Reproduces Tables 2, 3 and 4 and Fig. 8 and 9 of Mu'alem and Feitelson (2001, section 4) next to the published
    figures: the share of their estimates that jobs use, and backfilling with estimates up to f times too long, with
    doubled estimates and with estimates from history.

    With three logs and two processors it takes two to four minutes; with --seeds 1 --no-other-terms, up to one.
    """
    return Options(seed, seeds, others)


STUDY = Study(
    "estimates",
    estimates_options,
    traces=TRACES,
    own_logs=True,
    runs=lambda options, logs: (study_runs(options, logs), ()),
    run=estimates_run,
    summarise=Results.of,
    report=estimates_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"seeds": 1, "others": False},
)
