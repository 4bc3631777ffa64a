"""``gas audit``: whether a schedule, of whatever simulator, keeps the rules."""

from __future__ import annotations

from typing import Annotated

import typer

from gas.cli.logs import read_log
from gas.cli.options import Json
from gas.cli.selection import First, From, Lenient, Month, Until, selected
from gas.cli.tables import many, note, print_json, print_table, say
from gas.errors import BadInput
from gas.simulation.audit import Audit, Claim, audit
from gas.simulation.files import read_schedule
from workloads import Overrun

__all__ = ["audit_command"]


def audit_command(
    schedule: Annotated[
        str,
        typer.Argument(
            metavar="SCHEDULE",
            help="SWF, the CSV of Batsim and evalys, or lines of id, submit, start, end; plain or gzip; "
            "- is standard input.",
        ),
    ],
    log: Annotated[
        str | None, typer.Option("--log", metavar="LOG", help="The log that was simulated, to be checked against.")
    ] = None,
    processors: Annotated[
        int | None,
        typer.Option(
            "--processors",
            "-p",
            min=1,
            max=2**31 - 1,
            help="Of the machine (else what the schedule, then the log, says).",
        ),
    ] = None,
    promise: Annotated[
        Claim,
        typer.Option(
            "--promise",
            help="What the policy promises: starts in order (fcfs), no delay of the queue's head (easy), "
            "no start later than the recorded promise (conservative), which only a CSV has (gas simulate -o FILE.csv "
            "writes it), never SWF. conservative-static, s3 and s3-1999 mean what "
            "conservative means; conservative-replan promises nothing.",
        ),
    ] = "none",
    overrun: Annotated[
        Overrun | None,
        typer.Option("--overrun", help="What became of jobs that outlive their estimate (else what fits the log)."),
    ] = None,
    month: Month = None,
    since: From = None,
    until: Until = None,
    first: First = None,
    scale_load: Annotated[
        float | None, typer.Option("--scale-load", metavar="L", help="To what load the log was scaled.")
    ] = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Check a schedule: no job lost, machine never oversubscribed, promises kept.

    If only a part of the log was simulated, or under another load, the same options as for `gas simulate` say so.
    The exit code is 0 if every rule holds, 1 if one is broken, and 2 if one that was asked for cannot be told.
    """
    if schedule == log == "-":
        raise typer.BadParameter("the schedule and the log cannot both come from standard input")
    if log is None:
        _refuse_without_log(
            {
                "--month": bool(month),
                "--from": since is not None,
                "--until": until is not None,
                "--first": first is not None,
                "--scale-load": scale_load is not None,
                "--lenient": lenient,
            }
        )
    try:
        given = read_schedule(schedule)
        part = None if log is None else selected(read_log(log, lenient=lenient), month, since, until, first)
        found = audit(given, processors=processors, promise=promise, log=part, load=scale_load, overrun=overrun)
    except MemoryError:
        raise BadInput(
            f"{schedule}: takes more memory than this machine has; audit a part of it, or use a larger machine"
        ) from None
    for remark in found.remarks:
        note(f"gas: {given.name}: {remark}")
    if json:
        print_json(found.to_wire())
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(1 if found.violations else 2)


def _refuse_without_log(options: dict[str, bool]) -> None:
    used = [name for name, is_used in options.items() if is_used]
    if used:
        raise BadInput(f"{used[0]}: is about the log that was simulated; name it too (--log LOG)")


def _show(found: Audit) -> None:
    """Print the verdict, a table of the rules, and below it what takes more words, so that nothing is cut."""
    untold = sum(check.violations is None for check in found.checks)
    broken = [check for check in found.checks if check.violations]
    verdict = f"{many(found.violations, 'violation')} of {many(len(broken), 'rule')}" if broken else "no violation"
    if untold:
        verdict += f"; {many(untold, 'rule')} cannot be told"
    say(f"{found.name}: {many(found.jobs, 'job')} on {many(found.processors, 'processor')}: {verdict}")
    say()
    print_table(
        ["check", "checked", "violations", "rule"],
        [
            (
                check.check,
                f"{check.checked:,}",
                "?" if check.violations is None else f"{check.violations:,}",
                check.rule,
            )
            for check in found.checks
        ],
        left=("check", "rule"),
        whole=("check",),
    )
    told = [
        *((check.check, f"first: {check.first.message}") for check in found.checks if check.first),
        *((check.check, check.remark) for check in found.checks if check.remark),
    ]
    if told:
        say()
    for name, text in told:
        say(f"{name}: {text}")
