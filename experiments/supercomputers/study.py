"""The study of several supercomputers, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.framework.options import FirstSeed, Seeds, whole_number
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.supercomputers.claims import claims
from experiments.supercomputers.report import supercomputers_report
from experiments.supercomputers.results import Options, summarised, trial_runs
from experiments.supercomputers.run import supercomputers_run
from experiments.supercomputers.tables import TABLES

__all__ = ["STUDY"]


def supercomputers_options(
    seed: FirstSeed = 0,
    seeds: Seeds = 3,
    percent: Annotated[int, whole_number("--percent", 1, 50, help="Percentage of jobs that are moldable.")] = 10,
    months: Annotated[int, whole_number("--months", 1, 11, help="Number of months of each log.")] = 4,
    others: Annotated[
        bool, typer.Option("--other-settings/--no-other-settings", help="Also vary applications and estimates.")
    ] = True,
) -> Options:
    """Compare choosing one machine with submitting to all.

    Moldable jobs choose among two or three machines, each with a month of its own log (Cirne and Berman 1999, 6.2 ii).
    Shows the gain of users who choose a machine with Gas. Also shows what users gain who submit to all machines and
    keep the job that starts first, what other users lose, and which charge per submission would deter this.

    With three logs and two processors it takes five to ten minutes; with --no-other-settings --seeds 1, two minutes.
    """
    return Options(seed, seeds, percent, months, others)


STUDY = Study(
    "supercomputers",
    supercomputers_options,
    traces={site.trace for site in SITES},
    own_logs=True,
    runs=trial_runs,
    run=supercomputers_run,
    summarise=summarised,
    report=supercomputers_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"seeds": 1, "months": 1, "others": False},
    by_month=True,
)
