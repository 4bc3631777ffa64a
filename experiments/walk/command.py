"""The command ``gas experiment walk``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from experiments.framework.command import part_of, write_cost
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
from experiments.moldable.computing import study_of
from gas.cli.tables import note

__all__ = ["walk_command"]


def walk_command(
    traces: TracesOption = None,
    output: OutputOption = Path("walk"),
    seed: Annotated[int, whole_seed("Of the moments and benchmarks.")] = 0,
    runs: Annotated[int, whole_number("--runs", 2, help="Moments in each month.")] = 210,
    workers: WorkersOption = None,
    shard: ShardOption = None,
    dask: DaskOption = None,
) -> None:
    """Compare the paper's walk over the availability list with the exact planner.

    At the moments at which `gas experiment power` plans, how often the walk of Cirne and Berman's Fig. 4.3 chooses
    worse, by the list and as it comes out, and by how much. May be interrupted: what was computed is kept.

    With three logs and two processors it takes half a minute to a minute.
    """
    from experiments.moldable.months import Options
    from experiments.moldable.terms import BASE
    from experiments.walk.report import walk_report
    from experiments.walk.run import walk_run

    options = Options(seed, 1, runs, others=False)
    study = study_of(
        walk_run,
        (BASE,),
        options,
        traces,
        output=output,
        workers=workers,
        part=part_of(shard),
        dask=dask,
    )
    if study is None:
        return
    from experiments.framework.records import table_files
    from experiments.framework.report import write, write_files

    origin = origin_of(f"gas experiment walk --traces TRACES --seed {seed} --runs {runs}", walk_run)
    report = walk_report(study, origin)
    written = write(report, output, "walk")
    rows = [
        {"log": run.site.trace, "month": run.month, **outcome}
        for run, result in zip(study.runs, study.results, strict=True)
        for outcome in result["outcomes"]
    ]
    written += write_files(output, table_files("walk-outcomes", rows))
    written += write_cost("walk", walk_run, study.done, output=output)
    tell(report.lead)
    for path in written:
        note(f"gas: {path} written")
