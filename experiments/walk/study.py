"""The study of the paper's walk, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

from experiments.framework.options import whole_number, whole_seed
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.moldable.months import Options, planned, summarised
from experiments.walk.report import TABLES, claims, walk_report
from experiments.walk.run import walk_run

__all__ = ["STUDY"]


def walk_options(
    seed: Annotated[int, whole_seed("Random seed of the submission times and benchmarks.")] = 0,
    runs: Annotated[int, whole_number("--runs", 2, help="Number of submission times in each month.")] = 210,
) -> Options:
    """Compare the search of Cirne & Berman with the exact one.

    Plans the jobs of `gas experiment power`, and counts how often the walk over the availability list (Cirne and Berman
    1999, Fig. 4.3) chooses a worse request than the exact planner, by promised and by actual finish times.

    With three logs and two processors it takes half a minute to a minute.
    """
    return Options(seed, 1, runs, others=False)


STUDY = Study(
    "walk",
    walk_options,
    traces={site.trace for site in SITES},
    runs=planned,
    run=walk_run,
    summarise=summarised,
    report=walk_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"runs": 30},
    by_month=True,
    own_logs=True,
)
