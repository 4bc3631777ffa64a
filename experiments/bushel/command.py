"""The command ``gas experiment bushel``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.framework.command import computed, logs_at_hand, part_of, tell_claims, write_cost
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
    from experiments.bushel.results import Bushels

__all__ = ["bushel_command"]


def bushel_command(
    traces: TracesOption = None,
    output: OutputOption = Path("bushel"),
    seed: Annotated[int, whole_seed("The first one.")] = 0,
    seeds: Annotated[int, whole_number("--seeds", 1, 1000, help="How many, on the paper's terms.")] = 3,
    others: Annotated[
        bool, typer.Option("--other-terms/--no-other-terms", help="Other opponents, data sets and policies, too.")
    ] = True,
    workers: WorkersOption = None,
    shard: ShardOption = None,
    dask: DaskOption = None,
) -> None:
    """Compare Gas with static requests when many jobs are moldable.

    Replaces 5 to 50% of the jobs of real logs by NAS benchmarks and reproduces Tables 5.8 to 5.17 of Cirne and Berman
    (1999), every figure beside the published one, with what becomes of all other jobs; and makes up to all jobs
    moldable by drawn speed-ups, which leaves the load as it was. May be interrupted: what was computed is kept, and the
    next call goes on.

    With three logs and two processors it takes 10 to 15 minutes, with --no-other-terms --seeds 1 three to five.
    """
    from experiments.bushel.results import Bushels, Options, bushel_runs
    from experiments.bushel.run import bushel_run
    from experiments.framework.sites import SITES

    part = part_of(shard)
    options = Options(seed, seeds, others)
    logs, absent = logs_at_hand(traces, {site.trace for site in SITES})
    runs = bushel_runs(options, logs)
    if not runs:
        raise BadInput("none of the logs has a month that the paper took; give others by --traces")
    configurations = [run.configuration for run in runs]
    results = computed(bushel_run, configurations, logs, output=output, workers=workers, part=part, dask=dask)
    if results is not None:
        if not any(result["moldable"] for result in results):
            raise BadInput("no log has jobs that can give way, or be moldable: all are too large, or there is none")
        command = f"gas experiment bushel --traces TRACES --seed {seed} --seeds {seeds}"
        _report(Bushels(options, runs, results, absent), output, command + ("" if others else " --no-other-terms"))


def _report(study: Bushels, output: Path, command: str) -> None:
    from experiments.bushel.claims import beyond, claims
    from experiments.bushel.report import banner, bushel_report
    from experiments.bushel.results import OPPONENTS
    from experiments.bushel.run import bushel_run
    from experiments.framework.records import table_files
    from experiments.framework.report import write, write_files

    written = write(bushel_report(study, origin_of(command, bushel_run)), output, "bushel")
    rows = [
        {"log": run.site.trace, "moldable_by": run.kind.name, "percent": run.percent, "seed": run.seed} | _flat(result)
        for run, result in zip(study.runs, study.results, strict=True)
    ]
    written += write_files(output, table_files("bushel-results", rows))
    done = [(run.log.name, run.configuration, result) for run, result in zip(study.runs, study.results, strict=True)]
    written += write_cost("bushel", bushel_run, done, output=output)
    if words := banner(study):
        tell(words)
    for title, found in (
        *((f"static requests: {words}", claims(study, opponent)) for opponent, words in OPPONENTS.items()),
        ("beyond the paper", beyond(study)),
    ):
        tell(f"{title}:")
        tell_claims(found)
    for path in written:
        note(f"gas: {path} written")


def _flat(result: dict[str, object]) -> dict[str, object]:
    """Return a result with one name for each figure; classes of improvement factors are in the report."""
    flat: dict[str, object] = {}
    for name, value in result.items():
        if isinstance(value, dict):
            flat |= {f"{name}_{inner.replace(' ', '_')}": figure for inner, figure in value.items()}
        elif not isinstance(value, list):
            flat[name] = value
    return flat
