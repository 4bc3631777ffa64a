"""``gas fit``: fit speed-up models to timings; the result as a table, JSON, a picture and an application file."""

from __future__ import annotations

import math
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gas.cli.tables import note, print_json_line, say, show
from gas.errors import BadInput
from speedup_models.estimates import percent
from speedup_models.fitting import FitReport, ModelFit, ModelName, application_text, read_timings
from speedup_models.fitting import fit as fit_models

__all__ = ["fit", "report_document"]


class Choice(StrEnum):
    """Which model to write into the application file."""

    AUTO = "auto"
    DOWNEY = "downey"
    AMDAHL = "amdahl"


def fit(
    timings: Annotated[
        Path,
        typer.Argument(
            help="CSV with the header processors,seconds (or gpus, nodes; seconds_per_step); - for standard input."
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write an application file (TOML).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw timings and fits: .png, .svg or .pdf.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the application (default: that of the timings file).")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of the whole run, where times are those of one step.")
    ] = None,
    model: Annotated[Choice, typer.Option(help="Model to write; auto takes the better fit.")] = Choice.AUTO,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    bootstrap: Annotated[int, typer.Option(min=0, help="Bootstrap samples for the intervals; 0 for none.")] = 200,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the application file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fit speed-up models to timings.

    gas fit timings.csv -o app.toml

    Fits Downey's model and Amdahl's law to measured execution times, reports which fits better, and writes an
    application file, whose sizes are of the kind that was measured (powers of two, say).

    gas fit steps.csv --steps 50000 -o train.toml

    The header gpus,seconds_per_step says what was measured; the run is that many steps.
    """
    if output is not None and output.exists() and not force:
        raise _exists(output)
    if plot is not None:
        from gas.pictures.canvas import picture_suffix

        picture_suffix(plot)
    source = sys.stdin if str(timings) == "-" else timings
    pairs = read_timings(source)
    if pairs.per_step and steps is None:
        raise BadInput(f"{timings}: has times of one step; say with --steps how many the whole run takes")
    if steps is not None:
        if not pairs.per_step:
            raise BadInput(f"--steps {steps}: {timings} has times of the whole run; leave --steps out")
        pairs = pairs.of_steps(steps)
    report = fit_models(pairs.processors, pairs.seconds, seed=seed, bootstrap=bootstrap, unit=pairs.unit)
    chosen: ModelName | None = None if model is Choice.AUTO else "downey" if model is Choice.DOWNEY else "amdahl"
    called = name if name is not None else "application" if source is sys.stdin else timings.stem
    # Made before anything is written: a name that cannot be used leaves no picture behind.
    text = application_text(report, called, chosen) if output is not None else ""
    if plot is not None:
        from gas.pictures.fit import draw_fit

        draw_fit(report, plot)
    if output is not None:
        _write(output, text, force=force)
        note(f"{output}: written, {report.of(chosen or report.better).title}")
    for warning in report.warnings:
        note(f"Warning: {warning}")
    if as_json:
        print_json_line(report_document(report, called, chosen))
    else:
        _show(report)


def report_document(report: FitReport, name: str, model: ModelName | None = None) -> dict[str, Any]:
    """Return a fit as a ``gas.fit/1`` object.

    An interval is null if there is none; its high end is null, and ``unbounded`` true, if the timings set no limit.
    """
    counts = report.timings.processors
    return {
        "schema": "gas.fit/1",
        "name": name,
        "timings": len(counts),
        "processors": sorted(set(counts.tolist())),
        "models": {fitted.name: _model_document(fitted) for fitted in (report.downey, report.amdahl)},
        "better": report.better,
        "written": model or report.better,
        "decided": report.decided,
        "verdict": report.verdict,
        "warnings": list(report.warnings),
        "seed": report.seed,
        "bootstrap": report.bootstrap,
    }


def _model_document(fitted: ModelFit) -> dict[str, Any]:
    parameters = {}
    for key, estimate in fitted.parameters.items():
        unbounded = estimate.high is not None and math.isinf(estimate.high)
        parameters[key] = {
            "value": estimate.value,
            "low": estimate.low,
            "high": None if unbounded else estimate.high,
            "unbounded": unbounded,
        }
    return {
        "parameters": parameters,
        "identifiable": fitted.identifiable,
        "error": fitted.error,
        "aicc": fitted.aicc,
        "cv_error": fitted.cv_error,
    }


def _show(report: FitReport) -> None:
    from rich import box
    from rich.table import Table

    parameters = Table(box=box.SIMPLE_HEAD)
    for title in ("model", "parameter", "value", "95% interval"):
        parameters.add_column(title, justify="right" if title == "value" else "left")
    quality = Table(box=box.SIMPLE_HEAD)
    for title in ("model", "error of the fit", "error on left-out counts", "AICc"):
        quality.add_column(title, justify="left" if title == "model" else "right")
    for fitted in (report.downey, report.amdahl):
        title = f"{fitted.title}{' *' if fitted.name == report.better else ''}"
        for i, (key, estimate) in enumerate(fitted.parameters.items()):
            unit = " (s)" if key == "sequential_time" else ""
            parameters.add_row("" if i else title, key + unit, f"{estimate.value:.4g}", estimate.interval())
        parameters.add_section()
        aicc = "-" if fitted.aicc is None else f"{fitted.aicc:.1f}"
        quality.add_row(title, percent(fitted.error), percent(fitted.cv_error), aicc)
    show(parameters, quality)
    say(f"* {report.verdict}")


def _exists(output: Path) -> BadInput:
    return BadInput(f"{output}: exists already; give another name or add --force")


def _write(output: Path, text: str, *, force: bool) -> None:
    try:
        # "x" refuses a file that came to be since the fit began.
        with output.open("w" if force else "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise _exists(output) from None
    except OSError as error:
        raise BadInput(f"{output}: cannot be written: {error.strerror}") from None
