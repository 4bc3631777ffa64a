"""The command ``gas experiment supercomputers``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.framework.command import computed, logs_at_hand, part_of, write_cost
from experiments.framework.console import tell
from experiments.framework.options import (
    DaskOption,
    OutputOption,
    ShardOption,
    TracesOption,
    WorkersOption,
    whole_number,
    whole_seed,
)
from experiments.framework.origin import origin_of
from gas.cli.tables import note
from gas.errors import BadInput

if TYPE_CHECKING:
    from experiments.supercomputers.results import Study

__all__ = ["supercomputers_command"]


def supercomputers_command(
    traces: TracesOption = None,
    output: OutputOption = Path("supercomputers"),
    seed: Annotated[int, whole_seed("The first one.")] = 0,
    seeds: Annotated[int, whole_number("--seeds", 1, 1000, help="How many.")] = 3,
    percent: Annotated[int, whole_number("--percent", 1, 50, help="Jobs of each machine that are applications.")] = 10,
    months: Annotated[int, whole_number("--months", 1, 11, help="Of each log.")] = 4,
    others: Annotated[
        bool, typer.Option("--other-settings/--no-other-settings", help="More applications, and other estimates, too.")
    ] = True,
    workers: WorkersOption = None,
    shard: ShardOption = None,
    dask: DaskOption = None,
) -> None:
    """Choose among several supercomputers, or submit to all of them.

    Puts moldable applications in front of two or three machines, each with a month of its own log (Cirne and Berman
    1999, section 6.2 ii): what Gas gains by choosing among them, what submitting everywhere and withdrawing the losers
    gains its user and costs everybody, and the charge for submissions from which on it does not pay. May be
    interrupted: what was computed is kept, and the next call goes on.

    With three logs and two processors it takes five to ten minutes, with --no-other-settings --seeds 1 two.
    """
    from experiments.framework.sites import SITES
    from experiments.supercomputers.results import Options, Study, trial_runs
    from experiments.supercomputers.run import supercomputers_run

    options = Options(seed, seeds, percent, months, others)
    logs, absent = logs_at_hand(traces, {site.trace for site in SITES})
    runs, left_out = trial_runs(options, logs)
    results = computed(
        supercomputers_run,
        [run.configuration for run in runs],
        logs,
        output=output,
        workers=workers,
        part=part_of(shard),
        dask=dask,
    )
    if results is None:
        return
    if not any(result["applications"] for result in results):
        raise BadInput("no machine has jobs that can give way to applications; name other logs by --traces")
    chosen = f"--seed {seed} --seeds {seeds} --percent {percent} --months {months}"
    chosen += "" if others else " --no-other-settings"
    _report(Study(options, runs, results, absent, left_out), output, chosen)


def _report(study: Study, output: Path, chosen: str) -> None:
    from experiments.framework.records import table_files
    from experiments.framework.report import write, write_files
    from experiments.supercomputers.report import supercomputers_report
    from experiments.supercomputers.results import run_rows
    from experiments.supercomputers.run import supercomputers_run

    origin = origin_of(f"gas experiment supercomputers --traces TRACES {chosen}", supercomputers_run)
    report = supercomputers_report(study, origin)
    written = write(report, output, "supercomputers")
    written += write_files(output, table_files("supercomputers-runs", run_rows(study)))
    done = [
        (
            " + ".join(place.site.trace for place in run.places),
            run.configuration,
            {
                "jobs": result["applications"] + sum(one["rigid"] for one in result["machines"]),
                "moldable": result["applications"],
            },
        )
        for run, result in zip(study.runs, study.results, strict=True)
    ]
    written += write_cost("supercomputers", supercomputers_run, done, output=output)
    if report.banner:
        tell(report.banner)
    tell(report.lead)
    for path in written:
        note(f"gas: {path} written")
