"""The study of classes of jobs, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.framework.options import FirstSeed, Seeds
from experiments.framework.results import Seeded
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.priorities.report import TABLES, Results, claims, month_runs, priorities_report
from experiments.priorities.run import priorities_run

__all__ = ["STUDY"]


def priorities_options(
    seed: FirstSeed = 0,
    seeds: Seeds = 1,
    others: Annotated[
        bool, typer.Option("--other-shares/--no-other-shares", help="Also a quarter and half of the jobs urgent.")
    ] = True,
) -> Seeded:
    """Show what a higher class of jobs gains under S³, and what it costs others.

    A share of the jobs of real logs are of a higher class, which S³ moves first to starts that become free. All
    promised starts hold (priorities: Cirne and Berman 1999, section 6.1).

    With three logs and two processors it takes about a minute.
    """
    return Seeded(seed, seeds, others)


STUDY = Study(
    "priorities",
    priorities_options,
    traces={site.trace for site in SITES},
    runs=month_runs,
    run=priorities_run,
    summarise=Results.of,
    report=priorities_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"others": False},
    by_month=True,
    own_logs=True,
)
