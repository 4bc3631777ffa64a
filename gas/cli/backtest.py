"""``gas backtest``: what would have been predicted for the jobs of a log, and what came true."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from documents.extras import way_to_install
from gas.cli.logs import machine_of, read_log
from gas.cli.options import Json
from gas.cli.progress import progress
from gas.cli.selection import First, From, Month, Strict, Until, selected
from gas.cli.tables import check_outputs, many, print_json, print_table, remark, say, write_text
from gas.times import duration_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gas.prediction.backtest import Outcome
    from gas.prediction.recorded import RecordedQueue
    from gas.prediction.scores import Scores
    from workloads import Log

__all__ = ["backtest_command"]

_FAR_OFF = 0.5
"""Predictions are called poor if a smaller share is within a factor of two."""

_LEAST_HELD = 85.0
"""90% intervals are called too narrow if fewer of them, in per cent, contain the recorded start."""

_FEWEST = 20
"""Classes of fewer jobs are not judged: chance alone would do."""


def backtest_command(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="SWF, what sacct prints, CSV, Parquet or Batsim; plain or gzip; - for standard input. Jobs need a "
            "walltime, a wait and a run time.",
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
    json: Json = False,
) -> None:
    """Compare predicted starts with the recorded starts of a log.

    gas backtest sacct.txt --plot backtest.png

    For jobs throughout the log, the wait is predicted from the queue at their submission, as `gas plan --predict` does,
    and compared with the recorded wait, whichever scheduler made the log. Only what was known at each submission is
    used.
    """
    from gas.prediction.backtest import places_within
    from gas.prediction.recorded import RecordedQueue

    if all_jobs and jobs is not None:
        raise typer.BadParameter("--all and --jobs exclude each other")
    if plot is not None:
        from gas.pictures.canvas import picture_suffix

        picture_suffix(plot)
    check_outputs({"--output": output, "--plot": plot}, [log])
    part = selected(read_log(log, strict=strict), month, since, until, first)
    recorded = RecordedQueue(part, machine_of(part, processors))
    if recorded.left_out:
        remark(f"{part.name}: {many(recorded.left_out, 'job')} without walltime, wait or run time left out")
    for reason, count in recorded.jobs.skipped.items():
        remark(f"{part.name}: {many(count, 'job')} left out: {reason}")
    places = recorded.places(jobs) if all_jobs or jobs is not None else places_within(recorded)
    outcomes = _outcomes(recorded, places, samples, seed, threads or len(os.sched_getaffinity(0)))
    if output is not None:
        write_text(output, _table(outcomes))
    if plot is not None:
        from gas.pictures.backtest import draw_backtest

        draw_backtest(outcomes, plot, log=part)
    if json:
        print_json(_wire(part, recorded, outcomes))
    else:
        _show(part, recorded, outcomes)


def _outcomes(
    recorded: RecordedQueue, places: NDArray[np.intp], samples: int, seed: int, threads: int
) -> list[Outcome]:
    """Return the outcome of each place; an interruption costs only what was being simulated."""
    from gas.cli.partial_file import partial_file
    from gas.prediction.backtest import backtest

    kept = partial_file(recorded, places, remark, samples=samples, seed=seed)
    if kept:
        remark(f"{len(kept):,} of {len(places):,} submissions were simulated before an interruption; going on")
    _announce_compiling()
    outcomes: list[Outcome] = []
    done = False
    try:
        with progress(f"predicting {len(places):,} submissions") as show:
            for one in backtest(recorded, places, samples=samples, seed=seed, threads=threads, kept=kept):
                outcomes.append(one)
                show(len(outcomes) / len(places))
        done = True
    finally:
        if not done and kept.keeps:
            remark(f"{len(kept):,} of {len(places):,} submissions are simulated; repeat the command to go on")
        kept.close(done=done)
    return outcomes


def _announce_compiling() -> None:
    from gas.compiled import available, is_ready
    from gas.prediction.forward import follow_each

    if not available():
        remark(f"without numba this takes a hundred times as long: {way_to_install('sim')}")
    elif not is_ready(follow_each):
        remark("first use: compiling the predictor (up to a minute)")


def _show(log: Log, recorded: RecordedQueue, outcomes: Sequence[Outcome]) -> None:
    from gas.prediction.scores import NAMES, by_wait, scores_of

    inside = 100 * sum(one.inside for one in outcomes) / len(outcomes)
    raw = 100 * sum(one.raw_low <= one.wait <= one.raw_high for one in outcomes) / len(outcomes)
    say(f"{log.name}: {len(outcomes):,} of {many(len(recorded), 'submission')} predicted")
    say(f"90% intervals contain {inside:.1f}% of the recorded starts ({raw:.1f}% before correction by outcomes)")
    say()
    rows = [(words, *_cells(scores_of(outcomes, name))) for name, words in NAMES.items()]
    print_table(
        ["prediction", "jobs", "median error", "mean error", "≤ 1 min", "≤ 10 min", "factor 2"],
        rows,
        left=("prediction",),
        whole=("prediction",),
    )
    say()
    rows = []
    narrow: list[str] = []
    far: list[str] = []
    for bounds, part in by_wait(outcomes):
        found = scores_of(part, "median")
        held = 100 * sum(one.inside for one in part) / len(part)
        factor = found.within_factor_2
        rows.append((_class(bounds), f"{len(part):,}", _seconds(found.median_error), f"{held:.0f}%", _percent(factor)))
        if len(part) < _FEWEST:
            continue
        if held < _LEAST_HELD:
            narrow.append(_class(bounds))
        if factor is not None and factor < _FAR_OFF:
            far.append(_class(bounds))
    print_table(["recorded wait", "jobs", "median error", "in 90% interval", "factor 2"], rows, left=("recorded wait",))
    say()
    say("factor 2: of the jobs that waited for more than 10 minutes, those predicted within a factor of two")
    say(f"Classes of fewer than {_FEWEST} jobs are not assessed.")
    if narrow:
        say(f"Intervals are too narrow for jobs that waited: {'; '.join(narrow)}")
    if far:
        say(f"Fewer than half of the predictions are within a factor of two for jobs that waited: {'; '.join(far)}")


def _cells(found: Scores) -> tuple[str, ...]:
    return (
        f"{found.jobs:,}",
        _seconds(found.median_error),
        _seconds(found.mean_error),
        _percent(found.within_1_minute),
        _percent(found.within_10_minutes),
        _percent(found.within_factor_2),
    )


def _class(bounds: tuple[int, int | None]) -> str:
    first, end = bounds
    if end is None:
        return f"{duration_text(first)} or more"
    return f"under {duration_text(end)}" if first == 0 else f"{duration_text(first)} to {duration_text(end)}"


def _seconds(value: float | None) -> str:
    return "–" if value is None else duration_text(round(value))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}%"


def _wire(log: Log, recorded: RecordedQueue, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    from gas.prediction.ledger import INTERVAL
    from gas.prediction.scores import NAMES, by_wait, scores_of

    return {
        "schema": "gas.backtest/1",
        "log": log.name,
        "jobs": len(recorded),
        "left_out": recorded.left_out,
        "predicted": len(outcomes),
        "interval": INTERVAL,
        "inside": sum(one.inside for one in outcomes) / len(outcomes),
        "scores": {name: scores_of(outcomes, name).to_wire() for name in NAMES},
        "waits": [
            {
                "from": first,
                "until": end,
                "inside": sum(one.inside for one in part) / len(part),
                "scores": {name: scores_of(part, name).to_wire() for name in NAMES},
            }
            for (first, end), part in by_wait(outcomes)
        ],
    }


def _table(outcomes: Sequence[Outcome]) -> str:
    text = io.StringIO()
    rows = [{**asdict(one), "inside": int(one.inside)} for one in outcomes]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
