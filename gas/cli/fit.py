"""``gas fit``: fit speed-up models to timings; the result as a table, JSON, a picture and an application file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gas.cli import fit_report
from gas.cli.options import LARGEST_MACHINE
from gas.cli.tables import check_outputs, note, print_json_line
from gas.errors import BadInput
from speedup_models.fitting import fit as fit_models
from speedup_models.fitting import read_timings
from speedup_models.goodput import LARGEST_BATCH
from speedup_models.layout_fit import Run, fit_layouts
from speedup_models.proposal import application_text, layout_text
from speedup_models.timings import Timings

__all__ = ["fit"]


class Choice(StrEnum):
    """Which model to write into the application file."""

    AUTO = "auto"
    DOWNEY = "downey"
    AMDAHL = "amdahl"
    TABLE = "table"
    GOODPUT = "goodput"
    LAYOUTS = "layouts"


ON_NODES = {Choice.GOODPUT, Choice.LAYOUTS}
"""Models that depend on the layout of a size over nodes."""


def fit(
    timings: Annotated[
        Path,
        typer.Argument(
            metavar="TIMINGS",
            help="CSV with a header like processors,seconds or gpus,nodes,seconds_per_step; - for standard input.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write an application file (TOML).")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw timings and fits: .png, .svg or .pdf.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the application (default: the name of the timings file)."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=2**53, help="Steps of the whole run, if the timings are per step."),
    ] = None,
    samples: Annotated[
        float | None,
        typer.Option(metavar="N", min=0, help="Samples (images, tokens, nanoseconds) that the whole run processes."),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_BATCH,
            help="Samples per step, over all GPUs, in the run to be planned.",
        ),
    ] = None,
    max_batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_BATCH,
            help="Largest batch that the plan may choose; needs --noise-scale.",
        ),
    ] = None,
    noise_scale: Annotated[
        float | None, typer.Option(metavar="N", min=0, help="Gradient noise scale, in samples.")
    ] = None,
    gpus_per_node: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=LARGEST_MACHINE,
            help="GPUs (or processors) per node, if each measured run filled its nodes.",
        ),
    ] = None,
    model: Annotated[
        Choice, typer.Option(help="Model to write; auto takes the better fit, or the timings if none fits.")
    ] = Choice.AUTO,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the bootstrap.")] = 0,
    bootstrap: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Number of bootstrap samples for the confidence intervals; 0 for none."),
    ] = 200,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the application file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fit speed-up models to timings.

    gas fit timings.csv -o app.toml

    Fits Downey's model and Amdahl's law to measured execution times, reports which fits better and which sizes are
    worth requesting, and writes an application file. The file allows sizes like the measured ones (only powers of two,
    for example). If no model fits, the file contains the timings themselves.

    gas fit steps.csv --steps 50000 -o train.toml

    Timings with columns for nodes or batch sizes, such as gpus,nodes,local_batch,step_time, are fitted with AdaptDL's
    goodput model. `gas guide fit` lists the accepted column names.
    """
    for option, value in (("--samples", samples), ("--noise-scale", noise_scale)):
        if value is not None and not value <= sys.float_info.max:
            raise BadInput(f"{option} {value:g}: is not a finite number")
    check_outputs({"--output": output, "--plot": plot}, [timings])
    if plot is not None:
        from gas.pictures.canvas import picture_suffix

        picture_suffix(plot)
    source = sys.stdin if str(timings) == "-" else timings
    pairs = read_timings(source)
    if gpus_per_node is not None:
        pairs = pairs.on_nodes_of(gpus_per_node)
    chosen = None if model is Choice.AUTO else model.value
    called = name if name is not None else "application" if source is sys.stdin else timings.stem
    if model in ON_NODES or (model is Choice.AUTO and pairs.is_laid_out):
        run = Run(steps, samples, batch, max_batch, noise_scale)
        _fit_layouts(pairs, run, chosen, called, output, plot, intervals=bootstrap > 0, force=force, as_json=as_json)
        return
    for option, value in (("--batch", batch), ("--max-batch", max_batch), ("--noise-scale", noise_scale)):
        if value is not None:
            raise BadInput(f"{option} {value:g}: the timings have no batches; leave it out")
    pairs = pairs.of_run(steps, samples)
    report = fit_models(pairs.processors, pairs.seconds, seed=seed, bootstrap=bootstrap, unit=pairs.unit)
    # Made before anything is written: an unusable name must not leave a picture behind.
    text = application_text(report, called, chosen) if output is not None else ""
    if plot is not None:
        from gas.pictures.fit import draw_fit

        draw_fit(report, plot)
    problem = _written(output, text, force=force)
    if as_json:
        print_json_line(fit_report.document(report, called, chosen))
    else:
        fit_report.show_curve(report, chosen)
    _conclude(output, problem, fit_report.title(report, chosen), report.warnings)


def _fit_layouts(
    pairs: Timings,
    run: Run,
    chosen: str | None,
    called: str,
    output: Path | None,
    plot: Path | None,
    *,
    intervals: bool,
    force: bool,
    as_json: bool,
) -> None:
    report = fit_layouts(pairs, run, intervals=intervals)
    name = chosen or report.better
    report.model(name)  # an unusable name is refused before anything is written
    text = layout_text(report, called, chosen)
    if plot is not None:
        from gas.pictures.front import draw_front

        draw_front(report, name, plot)
    problem = _written(output, text, force=force)
    if as_json:
        print_json_line(fit_report.layout_document(report, called, name))
    else:
        fit_report.show_layouts(report, name)
    _conclude(output, problem, fit_report.TITLES[name], report.warnings)


def _written(output: Path | None, text: str, *, force: bool) -> BadInput | None:
    """Write the application file if requested, before anything is printed: printing may end the program.

    The problem is returned: if the file exists already, the fit is still shown and drawn.
    """
    if output is not None:
        try:
            with output.open("w" if force else "x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except FileExistsError:
            return BadInput(f"{output}: exists already and was not changed; give another name or add --force")
        except OSError as error:
            return BadInput(f"{output}: cannot be written: {error.strerror}")
    return None


def _conclude(output: Path | None, problem: BadInput | None, title: str, warnings: Sequence[str]) -> None:
    """Print remarks on a fit, and what became of the application file."""
    for warning in warnings:
        note(f"Warning: {warning}")
    if problem is not None:
        raise problem
    if output is not None:
        note(f"{output}: written, {title}")
