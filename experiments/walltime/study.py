"""The study of walltime adjustment, as the command line finds it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.framework.logs import log_in
from experiments.framework.study import Study
from experiments.walltime.claims import claims
from experiments.walltime.report import walltime_report
from experiments.walltime.results import INTREPID, TRACES, Options, Results, study_runs
from experiments.walltime.run import walltime_run
from experiments.walltime.tables import TABLES

__all__ = ["STUDY"]


def walltime_options(
    intrepid: Annotated[
        Path | None, typer.Option("--intrepid", metavar="FILE", help="Log of Intrepid, if its file has another name.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Quick first look: only two windows of history, and only the paper's schedules."),
    ] = False,
) -> Options:
    """Correct users' walltimes by their history, and compare.

    Reproduces Table 2 and Fig. 1 to 11 and 13 to 17 of Tang et al. (2013) as far as the available logs allow, with
    every figure beside the published one: how accurate walltimes become if they are adjusted to what similar jobs used,
    and how EASY schedules with them, if waiting and running jobs (regular) or only waiting jobs (selective) are
    adjusted, with the queue ordered by WFP or FCFS. The log of the paper, of the machine Intrepid, is used if it is
    available (--intrepid, or ANL-Intrepid-2009-*.swf.gz in the folder). KTH-SP2 and SDSC-SP2 are used as well, or in
    its place.

    With two logs and two processors the whole study takes 2 to 4 minutes, with --quick about one.
    """
    return Options(quick, intrepid)


STUDY = Study(
    "walltime",
    walltime_options,
    own_logs=True,
    traces=TRACES,
    runs=lambda options, logs: (study_runs(options, logs), ()),
    run=walltime_run,
    summarise=Results.of,
    report=walltime_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    more_logs=[INTREPID],
    named_logs=lambda options: [log_in(options.intrepid, INTREPID)] if options.intrepid else [],
)
