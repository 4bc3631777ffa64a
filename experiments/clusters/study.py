"""The study of many clusters, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

from experiments.clusters.report import TABLES, claims, clusters_report
from experiments.clusters.results import FULL, Options, Results, together_runs
from experiments.clusters.run import clusters_run
from experiments.framework.options import FirstSeed, whole_number
from experiments.framework.study import Study

__all__ = ["STUDY"]


def clusters_options(
    seed: FirstSeed = 0,
    clusters: Annotated[int, whole_number("--clusters", 1, 10_000, help="Number of clusters.")] = FULL,
    most: Annotated[int, whole_number("--most", 1, 1000, help="Number of clusters that a user can access.")] = 25,
) -> Options:
    """Show the gain from choosing among few or many clusters.

    Draws clusters from a model, and shows the gain of applications that can choose among 1, 5, 25 and more of them.
    """
    return Options(seed, clusters, most)


STUDY = Study(
    "clusters",
    clusters_options,
    traces=(),
    runs=together_runs,
    run=clusters_run,
    summarise=Results.of,
    report=clusters_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"clusters": 25, "most": 5},
    without_logs=True,
)
