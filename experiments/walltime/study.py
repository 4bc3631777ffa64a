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
        bool, typer.Option("--quick", help="A first look: only two windows of history and the paper's schedules.")
    ] = False,
) -> Options:
    """Correct users' walltimes from their history, and compare.

    Reproduces Table 2 and Fig. 1 to 11 and 13 to 17 of Tang et al. (2013) next to the published figures, as far as the
    logs allow. Adjusts walltimes to the run times of similar jobs, and shows how accurate they become. Shows the effect
    on EASY if the walltimes of waiting and running jobs are adjusted (regular) or only of waiting jobs (selective), in
    a queue ordered by WFP or FCFS. The logs are KTH-SP2, SDSC-SP2 and, if available (--intrepid, or
    ANL-Intrepid-2009-*.swf.gz in the folder), the paper's log of Intrepid.

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
