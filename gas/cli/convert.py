"""``gas convert``: convert a log between any two formats that Gas knows."""

from __future__ import annotations

from typing import Annotated

import typer

from gas.cli.logs import check_readable, read_log
from gas.cli.options import processors_option
from gas.cli.selection import (
    First,
    From,
    Month,
    ScaleLoad,
    Strict,
    Units,
    Until,
    check_load,
    scaled,
    selected,
)
from gas.cli.tables import check_outputs, many, note, write_output
from gas.errors import BadInput
from workloads import Log, LogError, rigid_jobs
from workloads.accounting import without_field
from workloads.formats import FORMATS, SUFFIXES, Format, format_log, format_named
from workloads.load import with_interarrivals

__all__ = ["convert_command"]


def convert_command(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="SWF, output of sacct --parsable2, CSV, Parquet or a Batsim workload, recognised by content (plain "
            "or gzip); - for standard input.",
        ),
    ],
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUTPUT",
            help="Output file. Its suffix chooses the format: .swf, .sacct, .csv, .parquet, .json (Batsim), also "
            "with .gz; - for standard output.",
        ),
    ],
    into: Annotated[
        Format | None, typer.Option("--to", help="Format of the output, if its name has no known suffix.")
    ] = None,
    processors: Annotated[int | None, processors_option("Processors of the machine, for the header.")] = None,
    unit: Units = "cpus",
    month: Month = None,
    since: From = None,
    until: Until = None,
    first: First = None,
    scale_load: ScaleLoad = None,
    strict: Strict = False,
) -> None:
    """Convert a log between SWF, sacct, CSV, Parquet and Batsim.

    gas convert history.txt history.swf --processors 4096

    SWF is the Standard Workload Format of the Parallel Workloads Archive. Gas skips malformed lines, and reports how
    many and which. Values for which the output format has no field are lost. The sacct and Batsim formats need a run
    time and processors for each job, sacct also a start; jobs without these are skipped and counted.

    To get a history from Slurm (you need permission to see the jobs of all users):

    \b
    SLURM_TIME_FORMAT=%s sacct -aXP -S now-180days \\
      -o JobID,User,Account,Partition,Timelimit,Elapsed,Submit,Eligible,Start,End,AllocCPUS,State \\
      > history.txt
    """
    found = into or (None if output == "-" else format_named(output))
    if found is None:
        names = f"{output}: unknown suffix; use {', '.join(SUFFIXES)}, or"
        what = "standard output has no suffix that chooses a format;" if output == "-" else names
        raise BadInput(f"{what} choose one with --to: {', '.join(FORMATS)}")
    check_load(scale_load)
    packed = output.endswith(".gz")
    if packed and found == "parquet":
        raise BadInput(f"{output}: Parquet is compressed already; leave .gz out")
    if log != "-":
        check_readable([log])
    check_outputs({"": output}, [log])
    whole = read_log(log, strict=strict, unit=unit)
    part = selected(whole, month, since, until, first)
    if processors is not None:
        part = part.with_header(part.header.with_value("MaxProcs", processors))
    if scale_load is not None:
        part = _at_load(part, scale_load)
    data, left_out = format_log(part, found, packed=packed)
    for reason, count in left_out.items():
        note(f"gas: {part.name}: {count:,} of {many(len(part), 'job')} left out: {reason}")
    if found == "batsim" and not (part.header.max_procs or part.header.max_nodes):
        note(
            f"gas: {part.name}: has no machine size; the size of the largest job is used instead (--processors sets it)"
        )
    if found == "sacct" and (lost := without_field(part)):
        note(f"gas: {part.name}: not kept in the sacct format: {', '.join(lost)}; swf, csv and parquet keep them")
    _write(data, output)
    malformed = sum(whole.skipped.values())
    written = len(part) - sum(left_out.values())
    what = f"{many(written, 'job')} written as {found}"
    note(f"gas: {output}: {what}" + (f"; {many(malformed, 'malformed line')} left out" if malformed else ""))


def _at_load(log: Log, load: float) -> Log:
    """Return a log with interarrival times scaled to this offered load, and tell of it."""
    try:
        _, before, factor = scaled(rigid_jobs(log), load)
    except LogError as error:
        raise BadInput(f"--scale-load {load:g}: {error} (--processors)") from None
    note(f"gas: {log.name}: load scaled from {before:.3f} to {load:g}; recorded waits are left out")
    said = f"Interarrival times multiplied by {factor:.6g}: offered load {load:g} instead of {before:.6g}"
    return with_interarrivals(log, factor, said)


def _write(data: bytes, output: str) -> None:
    from documents.whole_file import whole_file

    if output == "-":
        write_output(data, raw=True)
        return
    try:
        with whole_file(output) as file:
            file.write(data)
    except OSError as error:
        raise BadInput(f"{output}: cannot be written: {error.strerror}") from None
