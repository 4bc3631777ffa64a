"""``gas experiment``: studies on logs and models, each with a report."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.bushel.command import bushel_command
from experiments.estimates.command import estimates_command
from experiments.framework.console import tell, tell_verdict, told_often
from experiments.framework.options import OutputOption, TracesOption, WorkersOption, whole_number, whole_seed
from experiments.power.command import power_command
from experiments.prediction.command import prediction_command
from experiments.supercomputers.command import supercomputers_command
from experiments.walk.command import walk_command
from experiments.walltime.command import walltime_command
from gas.cli.logs import courtesy
from gas.cli.tables import note

if TYPE_CHECKING:
    from experiments.backfilling.results import Options, Study

__all__ = ["experiment_app"]

QUICK_LOADS = (0.5, 0.7, 0.9)
QUICK_JOBS = 21_000
QUICK_HELP = "Few and short runs of the models: a first look, labelled so; 6 to 20 s instead of 20 to 40 s."
experiment_app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Studies on logs and models, each with a report.",
)


@experiment_app.callback()
def _studies() -> None:
    pass


experiment_app.command("power")(power_command)
experiment_app.command("bushel")(bushel_command)
experiment_app.command("walk")(walk_command)
experiment_app.command("supercomputers")(supercomputers_command)
experiment_app.command("estimates")(estimates_command)
experiment_app.command("walltime")(walltime_command)
experiment_app.command("prediction")(prediction_command)


@experiment_app.command("backfilling")
def backfilling_command(
    traces: TracesOption = None,
    output: OutputOption = Path("backfilling"),
    seed: Annotated[int, whole_seed("Of the models.")] = 0,
    workers: WorkersOption = None,
    jobs_per_point: Annotated[
        int | None,
        whole_number("--jobs-per-point", 2100, help="Of a model at each load (default: the paper's)."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help=QUICK_HELP)] = False,
) -> None:
    """Compare EASY and conservative backfilling.

    Reproduces Table 1, the overall means of Table 4, Fig. 4 and Fig. 5 of Mu'alem and Feitelson (2001) from the logs at
    hand, every figure beside the published one, as HTML, Markdown, CSV and Parquet. May be interrupted: what was
    computed is kept, and the next call goes on.

    With five logs and two processors it takes 20 to 40 s, with --quick 6 to 20 s; the first time the simulator is
    compiled, which takes half a minute more.
    """
    from experiments.backfilling.results import LOADS, Options

    loads = QUICK_LOADS if quick else LOADS
    options = Options(seed, loads, jobs_per_point or (QUICK_JOBS if quick else None))
    study = _backfilling(traces, output, options, workers or os.cpu_count() or 1)
    chosen = [f"--traces TRACES --seed {seed}"]
    chosen += [f"--jobs-per-point {jobs_per_point}"] if jobs_per_point else []
    chosen += ["--quick"] if quick else []
    _report(study, output, " ".join(["gas experiment backfilling", *chosen]))


def _backfilling(traces: Path | None, output: Path, options: Options, workers: int) -> Study:
    """Return the study, with what is not kept yet computed."""
    from experiments.backfilling.results import Study, change_runs, log_runs, model_runs
    from experiments.backfilling.run import study_run
    from experiments.framework.compiling import compile_simulator
    from experiments.framework.dependencies import version_of
    from experiments.framework.ledger import Ledger
    from experiments.framework.logs import find_logs

    logs, missing, left_out = find_logs(traces)
    for words in left_out:
        note(f"gas: left out: {words}")
    for source in missing:
        where = f"in {traces}" if traces else "at hand (name a folder with --traces or GAS_TRACES)"
        note(f"gas: no log {source.stem}-*.swf.gz {where}: {source} is left out")
    for log in logs:
        if thanks := courtesy(log.header.acknowledgements):
            note(f"log: {log.name}, {thanks}")
    of_logs, of_models, of_changes = log_runs(logs), model_runs(options), change_runs(options)
    ledger = Ledger(output / "runs", version_of(study_run))
    files = {log.sha256: str(log.path) for log in logs}
    run = partial(study_run, files=files)
    configurations = [one.configuration for one in of_logs]
    configurations += [one.configuration for one in of_models]
    configurations += [one.configuration for one in of_changes]
    if any(ledger.find(run, one) is None for one in configurations):
        compile_simulator()
    with told_often("simulating") as show:
        results = ledger.run(
            run, configurations, workers=workers, progress=lambda count, _: show(count / len(configurations))
        )
    logs_end, models_end = len(of_logs), len(of_logs) + len(of_models)
    return Study(
        options,
        missing,
        of_logs,
        results[:logs_end],
        of_models,
        results[logs_end:models_end],
        of_changes,
        results[models_end:],
        left_out,
    )


def _report(study: Study, output: Path, command: str) -> None:
    from experiments.backfilling.claims import claims, headline
    from experiments.backfilling.method import form
    from experiments.backfilling.report import backfilling_report
    from experiments.backfilling.run import study_run
    from experiments.backfilling.tables import cell_rows, result_rows
    from experiments.framework.origin import origin_of
    from experiments.framework.records import table_files
    from experiments.framework.report import write, write_files

    written = write(backfilling_report(study, origin_of(command, study_run)), output, "backfilling")
    written += write_files(output, table_files("results", result_rows(study)) | table_files("cells", cell_rows(study)))
    if banner := form(study.options):
        tell(banner)
    found = claims(study)
    for claim in found:
        untold = "reported" if claim.reported else "not tested"
        verdict = untold if claim.holds is None else "yes" if claim.holds else "no"
        if {claim.holds, claim.shared} == {True, False}:
            verdict = "mixed"  # the line says which is which
        tell_verdict(verdict, f"{claim.where}: {claim.text}: {claim.here}")
    tell(headline(found))
    for path in written:
        note(f"gas: {path} written")
