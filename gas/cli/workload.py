"""``gas workload``: generate logs by workload models, in SWF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, cast

import typer

from gas.cli.generators import Request, check_model, generated
from gas.cli.logs import read_log
from gas.cli.selection import check_load
from gas.cli.tables import check_outputs, many, note, print_json
from gas.errors import BadInput
from gas.times import duration_text

if TYPE_CHECKING:
    from workloads import Log

__all__ = ["workload_command", "write_log"]


def workload_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="lublin, jann, downey or feitelson.")],
    jobs: Annotated[int, typer.Option("--jobs", "-n", metavar="N", help="Number of jobs.")] = 10_000,
    processors: Annotated[
        int | None,
        typer.Option(
            "--processors", "-p", metavar="N", help="Processors of the machine (default: 128; jann: as in the log)."
        ),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option("--load", metavar="L", help="Scale interarrival times to this offered load (default: unscaled)."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Random seed: the same seed gives the same bytes.")
    ] = 0,
    estimates: Annotated[
        str,
        typer.Option(
            "--estimates",
            metavar="E",
            help="Run-time estimates: exact, f=FACTOR (up to FACTOR times too long), mualem-feitelson or none.",
        ),
    ] = "exact",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Output file: SWF, or by its suffix .csv, .parquet or .json (Batsim), also with .gz; - for "
            "standard output.",
        ),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(
            "--types", metavar="T[,T]", help="lublin: job types to generate: batch, interactive (default: both)."
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option("--variant", metavar="V", help="feitelson: F, Fs (smaller jobs), Fl (longer jobs) or Fsl (both)."),
    ] = None,
    arrivals: Annotated[
        str | None, typer.Option("--arrivals", metavar="A", help="downey, feitelson: poisson or uniform-log.")
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="S",
            help="downey: average, power-of-two, or uniform (from 1 to the average parallelism).",
        ),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(
            "--fit", metavar="LOG", help="jann: fit the model to this log (default: fitted to CTC's SP2, 1996)."
        ),
    ] = None,
    ranges: Annotated[
        str | None, typer.Option("--ranges", metavar="R", help="jann, with --fit: powers-of-two or multiples-of-five.")
    ] = None,
    model_file: Annotated[
        str | None, typer.Option("--model", metavar="FILE", help="jann: use a model saved by --save-model.")
    ] = None,
    save_model: Annotated[
        str | None, typer.Option("--save-model", metavar="FILE", help="jann: save the fitted model (TOML).")
    ] = None,
    constants: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set a constant of the model; lublin: TYPE.NAME=VALUE."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw run times by size: .png, .svg or .pdf.")
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option("--compare", metavar="LOG", help="With --plot: also draw this log, for comparison."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as one JSON object.")] = False,
) -> None:
    """Generate a log from a workload model.

    gas workload lublin -n 1000 --load 0.7 -o log.swf

    Without -o, --json, --plot and --save-model, the log goes to standard output.

    gas workload estimates MODEL LOG replaces the run-time estimates of a log (see gas workload estimates --help).
    """
    given = {
        "types": types,
        "variant": variant,
        "arrivals": arrivals,
        "sizes": sizes,
        "fit": fit,
        "ranges": ranges,
        "model": model_file,
        "save-model": save_model,
        "set": constants or None,
    }
    own = {option: value for option, value in given.items() if value is not None}
    request = Request(check_model(model, own), jobs, processors, load, seed, estimates, own)
    check_load(load, "--load")
    if compare and plot is None:
        raise BadInput("--compare: needs --plot FILE")
    if output == "-" and as_json:
        raise BadInput("-o - and --json: both write to standard output; write the log to a file")
    if plot is not None:
        _drawable(plot)
    check_outputs({"-o": output, "--plot": plot, "--save-model": save_model}, [fit, model_file, *(compare or [])])
    thanked: set[str] = set()
    logs = [read_log(path, thanked=thanked) for path in compare or []]  # early, so that errors come at once
    log = generated(request)
    if output is None and not (as_json or plot or save_model):
        output = "-"
    if output is not None:
        write_log(log, output)
    if plot is not None:
        from gas.pictures.run_times import draw_run_times

        title = f"{log.header.computer or log.name}: run times by size"
        draw_run_times([log, *logs], plot, title=title)
        note(f"{plot}: written")
    summary = _summary(log, request)
    if as_json:
        print_json(summary)
    else:
        _note_summary(summary)


def _drawable(plot: str) -> None:
    if Path(plot).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise BadInput(f"{plot}: the name of a picture must end in .png, .svg or .pdf")


def write_log(log: Log, output: str) -> None:
    """Write a log to a file in the format of its name, by default SWF; to standard output (``-``) as SWF."""
    import gzip

    from documents.whole_file import whole_file
    from workloads import write_swf
    from workloads.formats import format_log, format_named

    if output == "-":
        write_swf(log, output)
        return
    kind = format_named(output)
    try:
        with whole_file(output) as file:
            if kind in ("csv", "parquet", "batsim"):
                file.write(format_log(log, kind, packed=output.endswith(".gz"))[0])
            elif output.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packer:
                    write_swf(log, cast(BinaryIO, packer))
            else:
                write_swf(log, file)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BadInput(f"{output}: cannot be written: {error.strerror}") from None


def _summary(log: Log, request: Request) -> dict[str, Any]:
    from workloads import offered_load, rigid_jobs

    jobs = rigid_jobs(log)
    size = jobs.processors
    return {
        "schema": "gas.workload/1",
        "model": request.model,
        "jobs": len(jobs),
        "processors": jobs.machine,
        "load": offered_load(jobs),
        "seed": request.seed,
        "estimates": request.estimates,
        "span": int(jobs.submit[-1] - jobs.submit[0]),
        "mean_run_time": float(jobs.run_time.mean()),
        "longest_run_time": int(jobs.run_time.max()),
        "mean_processors": float(size.mean()),
        "largest_job": int(size.max()),
        "serial": float((size == 1).mean()),
        "power_of_two": float((size & (size - 1) == 0).mean()),
        "command": request.command(),
    }


def _note_summary(summary: dict[str, Any]) -> None:
    note(
        f"{summary['model']}: {many(summary['jobs'], 'job')} for {many(summary['processors'], 'processor')} over "
        f"{duration_text(summary['span'])}, load {summary['load']:.3f}"
    )
    note(
        f"run time {duration_text(round(summary['mean_run_time']))} on average, "
        f"{duration_text(summary['longest_run_time'])} at most; "
        f"{summary['mean_processors']:.1f} processors on average, {summary['largest_job']:,} at most; "
        f"{summary['serial']:.0%} serial, {summary['power_of_two']:.0%} on a power of two (1 included)"
    )
