"""The study of the paper's walk, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

from experiments.framework.options import whole_number, whole_seed
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.moldable.months import Options, planned, summarised
from experiments.walk.report import TABLES, walk_report
from experiments.walk.run import walk_run

__all__ = ["STUDY"]


def walk_options(
    seed: Annotated[int, whole_seed("Random seed of the moments and benchmarks.")] = 0,
    runs: Annotated[int, whole_number("--runs", 2, help="Moments in each month.")] = 210,
) -> Options:
    """Compare the paper's search with the exact planner.

    Plans at the moments of `gas experiment power`, and counts how often the walk over the availability list (Cirne and
    Berman 1999, Fig. 4.3) chooses a worse request, by promised and by true finishes, and by how much.

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
    quick={"runs": 30},
    by_month=True,
    own_logs=True,
)
