"""``gas logs``: the output of a job, also while it runs."""

from __future__ import annotations

import codecs
from contextlib import suppress
from typing import Annotated, Literal

import typer

from gas.agent.schedulers import job_of
from gas.cli.completion import AnyJob
from gas.cli.options import ConfigFile, Json, OneEndpoint, only
from gas.cli.states import report_end
from gas.cli.tables import many, print_json, remark, write_output
from gas.endpoints import JobEndpoint
from gas.errors import BadInput, GasError

__all__ = ["logs_command"]


def logs_command(
    job: AnyJob,
    endpoint: OneEndpoint = None,
    stderr: Annotated[bool, typer.Option("--stderr", help="Print the job's standard error instead.")] = False,
    follows: Annotated[
        bool, typer.Option("--follow", "-f", help="Print all output as the job writes it, until the job has ended.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option("--bytes", min=1, max=2**24, help="Print at most the last N bytes (default: 1 MiB).", metavar="N"),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Pass control sequences (such as colours) to the terminal.")
    ] = False,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Print the output of a job.

    gas logs 12 --stderr

    gas logs 12 --follow

    On a terminal, control sequences are shown as text unless --raw is given; files and pipes get the output unchanged.
    With --follow, the exit code is that of gas wait, and no output is lost if the scheduler restarts.
    """
    if follows and (json or limit is not None):
        raise BadInput(f"{'--json' if json else '--bytes'}: --follow prints all output as it is; leave out one of them")
    where, number = job_of(job, only(endpoint), config, tasks=not follows)
    stream: Literal["stdout", "stderr"] = "stderr" if stderr else "stdout"
    if follows:
        from gas.agent.following import follow_output

        characters = codecs.getincrementaldecoder("utf-8")("surrogateescape")  # a piece may end within a character

        def write(piece: bytes) -> None:
            write_output(characters.decode(piece).encode(errors="surrogateescape"), raw=raw)

        ended = follow_output(where, number, stream, write, remark=remark)
        write_output(characters.decode(b"", final=True).encode(errors="surrogateescape"), raw=raw)
        report_end(ended, quiet=True)
        return
    output = where.output(number, stream, limit or 2**20)
    if json:
        text = output.decode(errors="replace")
        print_json({"schema": "gas.output/1", "id": number, "stream": stream, "text": text})
        return
    write_output(output, raw=raw)
    if not output and not stderr:
        _point_to_errors(where, number)
    if len(output) == (limit or 2**20):
        remark(f"only the last {len(output):,} bytes are shown; --bytes N shows more")


def _point_to_errors(where: JobEndpoint, number: int) -> None:
    """Print a note if a job without output has written to its standard error."""
    errors = b""
    with suppress(GasError):  # a scheduler may have no such file
        errors = where.output(number, "stderr", 2**20)
    if errors:
        least = "at least " if len(errors) == 2**20 else ""
        remark(f"standard output is empty; standard error has {least}{many(len(errors), 'byte')}: --stderr")
