"""``gas backtest``: compare predicted starts with the recorded starts of a log."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from documents.extras import way_to_install
from gas.cli.logs import machine_of, read_log
from gas.cli.options import Json, processors_option
from gas.cli.progress import progress
from gas.cli.selection import First, From, Month, Strict, Until, selected
from gas.cli.tables import check_outputs, many, print_json, print_table, remark, say, write_text
from gas.errors import BadInput, outcome_of
from workloads import LogError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gas.cli.backtest_report import Backtested
    from gas.cli.partial_file import PartialFile
    from gas.prediction.backtest import Elsewhere, Outcome, Simulated
    from gas.prediction.recorded import RecordedQueue
    from gas.prediction.savings import Savings
    from gas.report.blocks import Table
    from workloads import Log

__all__ = ["backtest_command"]


def backtest_command(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help="SWF, sacct output, CSV, Parquet or Batsim, plain or gzip; - for standard input; or a folder of such "
            "files. Jobs need a wait and a run time.",
        ),
    ],
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", metavar="N", min=1, help="Number of jobs to predict, spread evenly over the log (default: 2000)."
        ),
    ] = None,
    all_jobs: Annotated[bool, typer.Option("--all", help="Predict every job.")] = False,
    samples: Annotated[
        int,
        typer.Option("--samples", metavar="N", min=1, max=10_000, help="Simulations of the queue for each prediction."),
    ] = 100,
    processors: Annotated[
        int | None, processors_option("Processors of the machine (default: as in the header).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed of the simulations.")] = 0,
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, max=1024, help="Threads (default: one for each processor)."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", metavar="ADDRESS", help="Simulate on the workers of this Dask scheduler: tcp://HOST:8786."
        ),
    ] = None,
    month: Month = None,
    since: From = None,
    until: Until = None,
    first: First = None,
    strict: Strict = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write each prediction and its outcome as CSV."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw predictions and outcomes: .png, .svg or .pdf."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", "-r", metavar="FILE", help="Write the report with pictures as HTML."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare predicted starts with the recorded starts of a log.

    gas backtest sacct.txt --processors 1024 --report backtest.html

    Predicts the waits of jobs throughout the log, as `gas plan --predict` does, and compares them with the recorded
    waits. Each prediction uses only what was known when the job was submitted. The log may come from any scheduler.
    After an interruption, the same command continues.

    Several logs, or the logs of a folder, are processed in turn; a summary table follows. In the names of output files,
    {trace} is replaced by the name of the log. Gas reports and skips logs that it cannot use, and exits with the code
    of the first failure. It lists and ignores other files in a folder.
    """
    from gas.cli.backtest_report import wire_of
    from gas.cli.log_files import files_for, log_files
    from gas.report.rendering import template

    if all_jobs and jobs is not None:
        raise typer.BadParameter("--all and --jobs cannot be used together")
    if plot is not None:
        from gas.pictures.canvas import picture_suffix

        picture_suffix(plot)
    if logs.count("-") > 1:
        raise BadInput("-: standard input can be read only once")
    paths = log_files(logs)
    wanted = {"--output": output, "--plot": plot, "--report": report}
    columns = [files_for(name, option, paths) for option, name in wanted.items()]
    files = [_Files(*each) for each in zip(*columns, strict=True)]
    for each in files:
        check_outputs(dict(zip(wanted, each, strict=True)), paths)
    if report is not None:
        template()  # otherwise a missing jinja2 would be reported only after hours
    threads = threads or len(os.sched_getaffinity(0))
    asked = _Asked(jobs, all_jobs, samples, processors, seed, threads, dask, month, since, until, first, strict)
    with ExitStack() as until_all:
        if paths == logs and len(paths) == 1:
            show = (lambda found: print_json(wire_of(*found))) if json else _show
            _backtested(paths[0], asked, files[0], until_all, show=show)
            return
        code = _each(paths, [path in logs for path in paths], asked, files, until_all, json=json)
    if code:
        raise typer.Exit(code)


@dataclass(frozen=True)
class _Asked:
    """The options for each log."""

    jobs: int | None
    all_jobs: bool
    samples: int
    processors: int | None
    seed: int
    threads: int
    dask: str | None
    month: list[str] | None
    since: str | None
    until: str | None
    first: int | None
    strict: bool


class _Files(NamedTuple):
    """The output files for one log."""

    output: str | None
    plot: str | None
    report: str | None


class _NoLog(Exception):
    """A file in a folder that is not a log."""


def _each(
    paths: Sequence[str],
    named: Sequence[bool],
    asked: _Asked,
    files: Sequence[_Files],
    until_all: ExitStack,
    *,
    json: bool,
) -> int:
    """Backtest one log after the other, and return the exit code of the first unusable log."""
    from gas.cli.backtest_report import summary_of, wire_of

    done: list[Backtested] = []
    failed: list[dict[str, str]] = []
    passed_over: list[dict[str, str]] = []
    code, show = 0, (lambda found: None) if json else _show
    for number, path in enumerate(paths):
        if not json:
            say(f"{chr(10) * bool(number)}{path}:")
        try:
            done.append(_backtested(path, asked, files[number], until_all, show=show, sure=named[number]))
        except _NoLog as why:
            passed_over.append({"path": path, "why": str(why).partition(";")[0]})
        except Exception as error:
            outcome = outcome_of(error)
            if outcome is None and os.environ.get("GAS_DEBUG"):
                raise
            what = str(error) if outcome else f"internal error ({type(error).__name__}: {error}); please report it"
            what = what.removeprefix(f"{path}: ").removeprefix(f"{Path(path).name}: ")
            remark(f"{path}: {what}")
            failed.append({"path": path, "error": what})
            code = code or (1 if outcome is None else outcome.exit_code)
    if not done and not failed:
        first = passed_over[0]
        raise BadInput(f"none of {many(len(paths), 'file')} is a log; the first, {first['path']}: {first['why']}")
    if json:
        wire = {"schema": "gas.backtests/1", "logs": [wire_of(*one) for one in done]}
        print_json({**wire, "failed": failed, "passed_over": passed_over})
        return code
    say()
    _show_table(summary_of(done))
    for words, those in (("skipped", failed), ("no log", passed_over)):
        for one in those:
            say(f"{words}: {one['path']}: {one.get('error') or one['why']}")
    return code


def _backtested(
    path: str,
    asked: _Asked,
    files: _Files,
    until_all: ExitStack,
    *,
    show: Callable[[Backtested], None],
    sure: bool = True,
) -> Backtested:
    """Backtest one log, and write the requested output.

    Parameters
    ----------
    until_all
        Simulated results are kept until this context is left, and beyond if it is left by an error.

    Raises
    ------
    _NoLog
        The file is not a log, and does not claim to be one.
    """
    from gas.cli.backtest_report import Backtested, report_of
    from gas.cli.backtest_words import Extent
    from gas.cli.log_files import is_said_to_be_log
    from gas.cli.partial_file import partial_file
    from gas.prediction.backtest import JOBS
    from gas.prediction.classes import classes_of
    from gas.prediction.recorded import RecordedQueue
    from gas.report.rendering import html

    try:
        log = read_log(path, strict=asked.strict)
    except (BadInput, LogError) as error:
        if sure or is_said_to_be_log(path):
            raise
        raise _NoLog(str(error).removeprefix(f"{Path(path).name}: ")) from None
    part = selected(log, asked.month, asked.since, asked.until, asked.first)
    recorded = RecordedQueue(part, _machine(part, asked.processors))
    for reason, count in recorded.jobs.skipped.items():
        remark(f"{part.name}: {many(count, 'job')} left out: {reason}")
    places = recorded.places(None if asked.all_jobs else asked.jobs or JOBS)
    possible = len(recorded.places(None))
    overfull, most_used = recorded.overfull()
    extent = Extent(
        len(recorded), recorded.unlimited, recorded.left_out, possible, asked.samples, recorded.jobs.machine,
        most_used, overfull,
    )  # fmt: skip
    if extent.doubt:
        remark(f"{part.name}: {extent.doubt}")
    kept = partial_file(recorded, places, remark, samples=asked.samples, seed=asked.seed)
    try:
        outcomes = _outcomes(recorded, places, asked, kept)
        savings = _savings(recorded, places, outcomes, asked.seed, asked.threads)
        classes = classes_of(recorded, places, outcomes)
        found = Backtested(part, extent, outcomes, classes, savings)
        if files.output is not None:
            write_text(files.output, _table(outcomes))
        if files.plot is not None:
            from gas.pictures.backtest import draw_backtest

            draw_backtest(outcomes, files.plot, log=part)
        if files.report is not None:
            write_text(files.report, html(report_of(*found)))
        show(found)
    except BaseException:
        if kept.keeps:
            remark(f"{len(kept):,} of {len(places):,} submissions are simulated; repeat the command to continue")
        kept.close(done=False)
        raise
    until_all.push(lambda kind, *_: kept.close(done=kind is None))
    return found


def _machine(log: Log, processors: int | None) -> int:
    """Return the processors of a machine: as given, as in the header, or the largest number in use at once."""
    from workloads.load import most_in_use

    try:
        return machine_of(log, processors)
    except BadInput:
        if not (used := most_in_use(log)):
            raise
        remark(
            f"{log.name}: has no machine size; Gas assumes {used:,} processors, the most in use at once "
            "(--processors sets it)"
        )
        return used


def _outcomes(recorded: RecordedQueue, places: NDArray[np.intp], asked: _Asked, kept: PartialFile) -> list[Outcome]:
    """Return the outcome of each place; results from before an interruption are reused."""
    from gas.prediction.backtest import backtest

    samples, seed, threads = asked.samples, asked.seed, asked.threads

    if kept:
        remark(f"{len(kept):,} of {len(places):,} submissions were simulated before an interruption; continuing")
    _announce_compiling()
    outcomes: list[Outcome] = []
    workers = nullcontext() if asked.dask is None else _on_workers(asked.dask, recorded, samples, seed)
    with workers as elsewhere, progress(f"predicting {len(places):,} submissions") as show:
        for one in backtest(
            recorded, places, samples=samples, seed=seed, threads=threads, kept=kept, elsewhere=elsewhere
        ):
            outcomes.append(one)
            show(len(outcomes) / len(places))
    return outcomes


@contextmanager
def _on_workers(address: str, recorded: RecordedQueue, samples: int, seed: int) -> Iterator[Elsewhere]:
    """Yield the simulator on the workers of a Dask scheduler, to which the log is sent once."""
    from gas.dask_workers import dask_client
    from gas.prediction.backtest import simulated_part

    with dask_client(address) as client:
        log = client.scatter(recorded, broadcast=True)

        def elsewhere(parts: Sequence[list[int]]) -> Iterator[list[Simulated]]:
            tasks = [client.submit(simulated_part, log, part, samples, seed, pure=False) for part in parts]
            for task in tasks:
                yield task.result()

        yield elsewhere


def _savings(
    recorded: RecordedQueue, places: NDArray[np.intp], outcomes: Sequence[Outcome], seed: int, threads: int
) -> Savings:
    from gas.prediction.savings import choices, places_of_choices, savings_of

    chosen = []
    of = places_of_choices(recorded, places)
    with progress(f"choosing for {many(len(of), 'job')}") as show:
        for one in choices(recorded, of, seed=seed, threads=threads):
            chosen.append(one)
            show(len(chosen) / len(of))
    return savings_of(recorded, places, outcomes, chosen)


def _announce_compiling() -> None:
    from gas.compiled import available, is_ready
    from gas.prediction.forward import follow_each

    if not available():
        remark(f"without numba this takes a hundred times as long: {way_to_install('sim')}")
    elif not is_ready(follow_each):
        remark("first use: compiling the predictor (up to a minute)")


def _show(found: Backtested) -> None:
    from gas.cli.backtest_report import tables_of
    from gas.cli.backtest_words import bad_sentences, good_sentences
    from gas.cli.savings_report import savings_sentences

    _, extent, outcomes, classes, savings = found
    poor = bad_sentences(classes, more=extent.more_than(outcomes))
    for sentences in (good_sentences(outcomes, classes), poor, savings_sentences(savings)):
        for sentence in sentences:
            say(sentence)
    for sentence in extent.sentences(outcomes):
        say(sentence)
    for table in tables_of(outcomes, classes):
        say()
        _show_table(table)
    say()
    say(
        "mean error, median error: distance of predicted and recorded start; ≤ 1 min: share of the jobs with that error"
    )
    say(
        "90% intervals held: share of the intervals that contained the recorded start; median width: of these intervals"
    )
    say(
        "factor 2: of the jobs that waited for more than 10 minutes, the share whose wait was predicted within a "
        "factor of two, after adding a minute to both waits"
    )
    say("Gas nearer: where Gas and the best simple prediction differ, the share of the jobs for which Gas was closer")
    say("!: significantly below the bound; ± is half of a 90% interval over parts of the log")


def _show_table(table: Table) -> None:
    titles, left = [column.title for column in table.columns], [column.title for column in table.columns if column.left]
    print_table(titles, [[cell.text for cell in row] for row in table.cells], left=left, whole=left)


def _table(outcomes: Sequence[Outcome]) -> str:
    text = io.StringIO()
    rows = [{**asdict(one), "inside": int(one.inside)} for one in outcomes]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
