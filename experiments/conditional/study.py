"""The study of conditional backfilling, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

from experiments.conditional.claims import claims
from experiments.conditional.report import TABLES, conditional_report
from experiments.conditional.results import Results, month_runs
from experiments.conditional.run import conditional_run
from experiments.framework.options import FirstSeed, Seeds, other_shares
from experiments.framework.results import Seeded
from experiments.framework.sites import SITES
from experiments.framework.study import Study

__all__ = ["STUDY"]


def conditional_options(
    seed: FirstSeed = 0,
    seeds: Seeds = 1,
    others: Annotated[bool, other_shares("Also run with a notice for half and all of the jobs.")] = True,
) -> Seeded:
    """Show the cost of asking before a job is moved.

    S³ offers earlier starts to a share of the jobs of real logs instead of moving them (conditional backfilling: Cirne
    and Berman 1999, section 6.1). Shows the cost for these jobs, and for the others.

    With three logs and two processors it takes about five minutes.
    """
    return Seeded(seed, seeds, others)


STUDY = Study(
    "conditional",
    conditional_options,
    traces={site.trace for site in SITES},
    runs=month_runs,
    run=conditional_run,
    summarise=Results.of,
    report=conditional_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"others": False},
    by_month=True,
    own_logs=True,
)
