"""The replay of a log, as the command line finds it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from experiments.framework.options import FirstSeed, Seeds
from experiments.framework.study import Study
from experiments.replay.report import replay_report
from experiments.replay.results import TABLES, Replayed
from experiments.replay.run import replay_run
from experiments.replay.scenarios import BASE, Asked, Options, scenarios
from gas.cli.selection import From, Month, Units, Until
from workloads import Overrun

__all__ = ["STUDY"]

Walltimes: TypeAlias = Annotated[
    str,
    typer.Option(
        "--walltimes",
        metavar="W[,...]",
        help="Walltimes: perfect (the run times), f=2 (up to twice the run times), or corrected (EASY only).",
    ),
]


def replay_options(
    file: Annotated[Path, typer.Argument(metavar="LOG", help="A log in any format that gas convert reads.")],
    policy: Annotated[str, typer.Option("--policy", metavar="P[,...]", help="As for gas simulate.")] = BASE.policy,
    processors: Annotated[
        int | None,
        typer.Option("--processors", "-p", metavar="N", min=1, help="Size of the machine (default: as in the log)."),
    ] = None,
    machine: Annotated[
        str, typer.Option("--machine", metavar="SIZE[,...]", help="Other sizes: processors, or % of the real size.")
    ] = BASE.machine,
    walltimes: Walltimes = BASE.walltimes,
    moldable: Annotated[
        str, typer.Option("--moldable", metavar="SHARE[,...]", help="Share of the jobs whose size Gas chooses.")
    ] = BASE.moldable,
    overrun: Annotated[
        Overrun, typer.Option("--overrun", help="Jobs that reach their walltime: extend or kill them.")
    ] = "extend",
    unit: Units = "cpus",
    month: Month = None,
    since: From = None,
    until: Until = None,
    seed: FirstSeed = 0,
    seeds: Seeds = 3,
) -> Options:
    """Replay a log under other policies, machines and walltimes.

    Simulates the jobs of the log as they were submitted, with one change at a time. The report compares each schedule
    with the recorded one: waits, utilization, and which jobs would have ended later.

    A year of 30,000 jobs takes a few minutes, mostly for moldable jobs (--moldable 0% omits them).
    """
    asked = Asked(policy, machine, walltimes, moldable)
    return asked.options(file, processors, overrun, unit, tuple(month or ()), since, until, seed, seeds)


STUDY = Study(
    "replay",
    replay_options,
    traces=(),
    runs=scenarios,
    run=replay_run,
    summarise=Replayed.of,
    report=replay_report,
    tables=TABLES,
    named_logs=lambda options: [options.log],
    failed=lambda study: study.failed,
    program="gas replay",
)
