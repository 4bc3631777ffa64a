"""``gas backtest``: what would have been predicted for the jobs of a log, and what came true."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from documents.extras import way_to_install
from gas.cli.logs import machine_of, read_log
from gas.cli.options import Json
from gas.cli.progress import progress
from gas.cli.selection import First, From, Month, Strict, Until, selected
from gas.cli.tables import check_outputs, many, print_json, print_table, remark, say, write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gas.cli.backtest_report import Extent
    from gas.cli.partial_file import PartialFile
    from gas.prediction.backtest import Outcome
    from gas.prediction.classes import JobClass
    from gas.prediction.recorded import RecordedQueue
    from gas.prediction.savings import Savings

__all__ = ["backtest_command"]


def backtest_command(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="SWF, what sacct prints, CSV, Parquet or Batsim; plain or gzip; - for standard input. Jobs need a "
            "wait and a run time.",
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
        int | None,
        typer.Option(
            "--processors",
            "-p",
            metavar="N",
            min=1,
            max=2**31 - 1,
            help="Processors of the machine (default: as in the header).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed of the simulations.")] = 0,
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, max=1024, help="Threads (default: one for each processor)."),
    ] = None,
    month: Month = None,
    since: From = None,
    until: Until = None,
    first: First = None,
    strict: Strict = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write each prediction and outcome as CSV.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw predictions and outcomes, .png, .svg or .pdf.")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", "-r", metavar="FILE", help="Write the report with pictures as HTML.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare predicted starts with the recorded starts of a log.

    gas backtest sacct.txt --processors 1024 --report backtest.html

    For jobs throughout the log, the wait is predicted from the queue at their submission, as `gas plan --predict` does,
    and compared with the recorded wait, whichever scheduler made the log. Only what was known at each submission is
    used. After an interruption, the same command goes on where it was.
    """
    from gas.cli.backtest_report import Extent, report_of, wire_of
    from gas.cli.partial_file import partial_file
    from gas.prediction.backtest import JOBS, places_within
    from gas.prediction.classes import classes_of
    from gas.prediction.recorded import RecordedQueue
    from gas.report.rendering import html, template

    if all_jobs and jobs is not None:
        raise typer.BadParameter("--all and --jobs exclude each other")
    if plot is not None:
        from gas.pictures.canvas import picture_suffix

        picture_suffix(plot)
    check_outputs({"--output": output, "--plot": plot, "--report": report}, [log])
    if report is not None:
        template()  # or hours pass before it is said that jinja2 is missing
    part = selected(read_log(log, strict=strict), month, since, until, first)
    recorded = RecordedQueue(part, machine_of(part, processors))
    for reason, count in recorded.jobs.skipped.items():
        remark(f"{part.name}: {many(count, 'job')} left out: {reason}")
    places = recorded.places(jobs) if all_jobs or jobs is not None else places_within(recorded)
    possible = len(recorded.places(None))
    longest = int(recorded.waiting(places).max())
    extent = Extent(
        len(recorded),
        recorded.unlimited,
        recorded.left_out,
        possible,
        possible if all_jobs else jobs or JOBS,
        samples,
        longest,
    )
    threads = threads or len(os.sched_getaffinity(0))
    kept = partial_file(recorded, places, remark, samples=samples, seed=seed)
    done = False
    try:
        outcomes = _outcomes(recorded, places, samples, seed, threads, kept)
        savings = _savings(recorded, places, outcomes, seed, threads)
        classes = classes_of(recorded, places, outcomes)
        if output is not None:
            write_text(output, _table(outcomes))
        if plot is not None:
            from gas.pictures.backtest import draw_backtest

            draw_backtest(outcomes, plot, log=part)
        if report is not None:
            page = report_of(part, extent, outcomes, classes, savings)
            write_text(report, html(page))
        if json:
            print_json(wire_of(part, extent, outcomes, classes, savings))
        else:
            _show(extent, outcomes, classes, savings)
        done = True
    finally:
        if not done and kept.keeps:
            remark(f"{len(kept):,} of {len(places):,} submissions are simulated; repeat the command to go on")
        kept.close(done=done)


def _outcomes(
    recorded: RecordedQueue, places: NDArray[np.intp], samples: int, seed: int, threads: int, kept: PartialFile
) -> list[Outcome]:
    """Return the outcome of each place; what was simulated before an interruption is not simulated again."""
    from gas.prediction.backtest import backtest

    if kept:
        remark(f"{len(kept):,} of {len(places):,} submissions were simulated before an interruption; going on")
    _announce_compiling()
    outcomes: list[Outcome] = []
    with progress(f"predicting {len(places):,} submissions") as show:
        for one in backtest(recorded, places, samples=samples, seed=seed, threads=threads, kept=kept):
            outcomes.append(one)
            show(len(outcomes) / len(places))
    return outcomes


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


def _show(extent: Extent, outcomes: Sequence[Outcome], classes: Sequence[JobClass], savings: Savings) -> None:
    from gas.cli.backtest_report import bad_sentences, good_sentences, tables_of
    from gas.cli.savings_report import savings_sentences

    for sentences in (good_sentences(outcomes, classes), bad_sentences(classes), savings_sentences(savings)):
        for sentence in sentences:
            say(sentence)
    for sentence in extent.sentences(outcomes):
        say(sentence)
    for table in tables_of(outcomes, classes):
        left = [column.title for column in table.columns if column.left]
        say()
        print_table(
            [column.title for column in table.columns],
            [[cell.text for cell in row] for row in table.cells],
            left=left,
            whole=left,
        )
    say()
    say("factor 2: of the jobs that waited for more than 10 minutes, those predicted within a factor of two")
    say("Gas nearer: jobs for which Gas was nearer than the best simple prediction")
    say("!: below the bound beyond doubt; ± is half of a 90% interval over parts of the log")


def _table(outcomes: Sequence[Outcome]) -> str:
    text = io.StringIO()
    rows = [{**asdict(one), "inside": int(one.inside)} for one in outcomes]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
