"""The study of classes of jobs, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

from experiments.framework.options import FirstSeed, Seeds, other_shares
from experiments.framework.results import Seeded
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.priorities.report import TABLES, Results, claims, month_runs, priorities_report
from experiments.priorities.run import priorities_run

__all__ = ["STUDY"]


def priorities_options(
    seed: FirstSeed = 0,
    seeds: Seeds = 1,
    others: Annotated[bool, other_shares("Also run with a quarter and half of the jobs urgent.")] = True,
) -> Seeded:
    """Show what urgent jobs gain, and other jobs lose, under S³.

    A share of the jobs of real logs are urgent: they are in a higher class, whose jobs S³ moves to earlier starts
    first. All promised starts hold (priorities: Cirne and Berman 1999, section 6.1).

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
