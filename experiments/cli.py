"""``gas experiment``: studies on logs and models, each with a report."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gas.cli.progress import progress
from gas.cli.tables import note, say

if TYPE_CHECKING:
    from experiments.backfilling import Options, Study

__all__ = ["experiment_app"]

QUICK_LOADS = (0.5, 0.7, 0.9)
QUICK_JOBS = 21_000
SOURCES = ("workloads", "gas.simulation", "gas.s3", "gas.profile", "experiments.runs", "experiments.models")
"""What results depend on; another version of it computes anew."""

experiment_app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Studies on logs and models, each with a report.",
)


@experiment_app.callback()
def _studies() -> None:
    pass


@experiment_app.command("backfilling")
def backfilling_command(
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces", metavar="DIR", envvar="GAS_TRACES", help="The folder of the logs, under their archive names."
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the report goes; results are kept there too.")
    ] = Path("backfilling"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the models.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=256, help="Processes (default: one a processor).")
    ] = None,
    jobs_per_point: Annotated[
        int | None,
        typer.Option("--jobs-per-point", min=2100, metavar="N", help="Of a model at each load (default: the paper's)."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs of the models: a first look.")] = False,
) -> None:
    """Compare EASY and conservative backfilling.

    Reproduces Table 1, the overall means of Table 4, Fig. 4 and Fig. 5 of Mu'alem and Feitelson (2001) from the logs at
    hand, every figure beside the published one, as HTML, Markdown, CSV and Parquet. May be interrupted: what was
    computed is kept, and the next call goes on.
    """
    from experiments.backfilling import LOADS, Options

    loads = QUICK_LOADS if quick else LOADS
    options = Options(seed, loads, jobs_per_point or (QUICK_JOBS if quick else None))
    study = _backfilling(traces, output, options, workers or os.cpu_count() or 1)
    _report(study, output)


def _backfilling(traces: Path | None, output: Path, options: Options, workers: int) -> Study:
    """Return the study, with what is not kept yet computed."""
    from experiments.backfilling import Study, log_runs, model_runs
    from experiments.ledger import Configuration, Ledger, sources_version
    from experiments.logs import find_logs
    from experiments.runs import log_run, model_run

    logs, missing = find_logs(traces)
    for source in missing:
        where = f"in {traces}" if traces else "at hand (name a folder with --traces or GAS_TRACES)"
        note(f"gas: no log {source.stem}-*.swf.gz {where}: {source} is left out")
    for log in logs:
        for line in log.header.acknowledgements:
            note(f"log: {log.name}: {' '.join(line.split())}")
    of_logs, of_models = log_runs(logs), model_runs(options)
    ledger = Ledger(output / "runs", sources_version(SOURCES, ("numpy", "scipy")))
    files = {log.sha256: str(log.path) for log in logs}
    total = len(of_logs) + len(of_models)
    with progress("simulating") as show:

        def log_done(count: int, _: Configuration) -> None:
            show(count / total)

        def model_done(count: int, _: Configuration) -> None:
            show((len(of_logs) + count) / total)

        log_results = ledger.run(
            partial(log_run, files=files), [run.configuration for run in of_logs], workers=workers, progress=log_done
        )
        model_results = ledger.run(
            model_run, [run.configuration for run in of_models], workers=workers, progress=model_done
        )
    return Study(options, missing, of_logs, log_results, of_models, model_results)


def _report(study: Study, output: Path) -> None:
    from experiments.backfilling_report import backfilling_report
    from experiments.backfilling_tables import cell_rows, result_rows
    from experiments.records import table_files
    from experiments.report import write, write_files

    written = write(backfilling_report(study), output, "backfilling")
    written += write_files(output, table_files("results", result_rows(study)) | table_files("cells", cell_rows(study)))
    for claim in study.claims:
        verdict = "not tested" if claim.holds is None else "yes" if claim.holds else "no"
        say(f"{verdict:>10}  {claim.where}: {claim.text}: {claim.here}")
    for path in written:
        note(f"gas: {path} written")
