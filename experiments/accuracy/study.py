"""The study of wrong performance models, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

from experiments.accuracy.claims import claims
from experiments.accuracy.report import TABLES, accuracy_report
from experiments.accuracy.results import ALL_TERMS, summarised
from experiments.accuracy.run import accuracy_run
from experiments.framework.options import OtherTerms, whole_number, whole_seed
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.moldable.months import Options, planned

__all__ = ["STUDY"]


def accuracy_options(
    seed: Annotated[int, whole_seed("Random seed of the replaced jobs, the benchmarks and the errors.")] = 0,
    runs: Annotated[int, whole_number("--runs", 2, help="Number of jobs replaced in each month.")] = 210,
    others: OtherTerms = True,
) -> Options:
    """Find how accurate a performance model must be.

    Plans the jobs of `gas experiment power` with execution times that are wrong by 0 to 3000%, and walltimes with a
    margin for this error; killed jobs are resubmitted with twice the walltime. Shows up to which error jobs still
    finish sooner than with the users' own requests (a question of Cirne and Berman 1999, section 6.1).

    With three logs and two processors it takes five to ten minutes.
    """
    return Options(seed, 1, runs, others)


STUDY = Study(
    "accuracy",
    accuracy_options,
    traces={site.trace for site in SITES},
    runs=lambda options, logs: planned(options, logs, ALL_TERMS if options.others else ALL_TERMS[:1]),
    run=accuracy_run,
    summarise=summarised,
    report=accuracy_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"runs": 30, "others": False},
    by_month=True,
    own_logs=True,
)
