"""The command ``gas experiment walltime``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.framework.command import computed, logs_at_hand, part_of, write_study
from experiments.framework.options import DaskOption, OutputOption, ShardOption, TracesOption, WorkersOption
from experiments.framework.origin import origin_of

if TYPE_CHECKING:
    from experiments.walltime.results import Study

__all__ = ["walltime_command"]


def walltime_command(
    traces: TracesOption = None,
    output: OutputOption = Path("walltime"),
    intrepid: Annotated[
        Path | None, typer.Option("--intrepid", metavar="FILE", help="Intrepid's log, under whatever name.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two windows, and the paper's schedules alone: a first look.")
    ] = False,
    workers: WorkersOption = None,
    shard: ShardOption = None,
    dask: DaskOption = None,
) -> None:
    """Correct users' walltimes by history, and see what it does.

    Reproduces Table 2 and Fig. 1 to 11 and 13 to 17 of Tang et al. (2013) as far as the logs at hand allow: how
    accurate walltimes are that were adjusted by what similar jobs used, and what EASY makes of them, for waiting and
    running jobs (regular) or waiting ones alone (selective), under WFP and FCFS; every figure beside the published one.
    The paper's log, of Intrepid, is taken if it is at hand (--intrepid, or ANL-Intrepid-2009-*.swf.gz among the
    others); KTH-SP2 and SDSC-SP2 stand in for it. May be interrupted: what was computed is kept, and the next call
    goes on.

    With two logs and two processors the whole study takes 2 to 4 minutes, with --quick about one.
    """
    from experiments.framework.logs import log_in
    from experiments.walltime.results import INTREPID, TRACES, Options, Study, study_runs
    from experiments.walltime.run import walltime_run

    options = Options(quick)
    named = [log_in(intrepid, INTREPID)] if intrepid else []
    logs, absent = logs_at_hand(traces, TRACES, [INTREPID], named)
    runs = study_runs(options, logs)
    results = computed(
        walltime_run,
        [run.configuration for run in runs],
        logs,
        output=output,
        workers=workers,
        part=part_of(shard),
        dask=dask,
    )
    if results is None:
        return
    chosen = (" --intrepid FILE" if intrepid else "") + (" --quick" if quick else "")
    _report(Study(options, runs, results, absent), output, f"gas experiment walltime --traces TRACES{chosen}")


def _report(study: Study, output: Path, command: str) -> None:
    from experiments.walltime.claims import claims
    from experiments.walltime.report import walltime_report
    from experiments.walltime.run import walltime_run
    from experiments.walltime.tables import accuracy_rows, gain_rows, month_rows, published_rows

    tables = {"accuracy": accuracy_rows, "gains": gain_rows, "months": month_rows, "published": published_rows}
    write_study(
        "walltime",
        walltime_report(study, origin_of(command, walltime_run)),
        {name: rows(study) for name, rows in tables.items()},
        claims(study),
        of_configuration=walltime_run,
        done=study.done,
        output=output,
    )
