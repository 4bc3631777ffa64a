"""The command ``gas experiment estimates``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.framework.command import computed, logs_at_hand, part_of, write_study
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

if TYPE_CHECKING:
    from experiments.estimates.results import Study

__all__ = ["estimates_command"]


def estimates_command(
    traces: TracesOption = None,
    output: OutputOption = Path("estimates"),
    seed: Annotated[int, whole_seed("The first one.")] = 0,
    seeds: Annotated[int, whole_number("--seeds", 1, 1000, help="How many, for all logs and factors.")] = 10,
    others: Annotated[
        bool, typer.Option("--other-terms/--no-other-terms", help="Other rules and models of estimates, too.")
    ] = True,
    workers: WorkersOption = None,
    shard: ShardOption = None,
    dask: DaskOption = None,
) -> None:
    """How wrong users' estimates are, and what that does.

    Reproduces Tables 2, 3 and 4 and Fig. 8 and 9 of Mu'alem and Feitelson (2001, section 4) from the logs at hand,
    every figure beside the published one: how much of what they ask for jobs use, backfilling with estimates that are
    up to f times too long, twice the users' own, and estimates from history. May be interrupted: what was computed is
    kept, and the next call goes on.

    With three logs and two processors the whole study takes two to four minutes, with --seeds 1
    --no-other-terms up to one.
    """
    from experiments.estimates.results import TRACES, Options, Study, study_runs
    from experiments.estimates.run import estimates_run

    options = Options(seed, seeds, others)
    logs, absent = logs_at_hand(traces, TRACES)
    runs = study_runs(options, logs)
    results = computed(
        estimates_run,
        [run.configuration for run in runs],
        logs,
        output=output,
        workers=workers,
        part=part_of(shard),
        dask=dask,
    )
    if results is None:
        return
    chosen = f"--seed {seed} --seeds {seeds}" + ("" if others else " --no-other-terms")
    _report(Study(options, runs, results, absent), output, f"gas experiment estimates --traces TRACES {chosen}")


def _report(study: Study, output: Path, command: str) -> None:
    from experiments.estimates.claims import claims
    from experiments.estimates.report import estimates_report
    from experiments.estimates.run import estimates_run
    from experiments.estimates.tables import count_rows, doubling_rows, mean_rows, run_rows

    tables = {"counts": count_rows, "means": mean_rows, "doubling": doubling_rows, "runs": run_rows}
    write_study(
        "estimates",
        estimates_report(study, origin_of(command, estimates_run)),
        {name: rows(study) for name, rows in tables.items()},
        claims(study),
        of_configuration=estimates_run,
        done=study.done,
        output=output,
    )
