"""The study of moldable and malleable jobs, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

from experiments.framework.options import FirstSeed, OtherTerms, Seeds, whole_number
from experiments.framework.study import Study
from experiments.malleate.claims import claims
from experiments.malleate.report import malleate_report
from experiments.malleate.results import BASE, FULL_SEEDS, Options, malleate_runs, summarised
from experiments.malleate.run import malleate_run
from experiments.malleate.tables import TABLES
from experiments.published import TRACES

__all__ = ["STUDY"]


def malleate_options(
    seed: FirstSeed = 0,
    seeds: Seeds = FULL_SEEDS,
    others: OtherTerms = True,
    cost: Annotated[int, whole_number("--cost", 0, 86400, help="Seconds that a change of size takes.")] = BASE.cost,
) -> Options:
    """Compare choosing sizes at submission with malleable jobs.

    Draws speed-ups for the jobs of real logs. A share of the jobs choose sizes as with Slurm, OAR or Gas, or grow and
    shrink while they run.

    With five logs and two processors it takes about half an hour.
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
    paper=True,
)
