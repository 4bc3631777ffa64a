"""``gas audit``: whether a schedule, of whatever simulator, keeps the rules."""

from __future__ import annotations

from typing import Annotated

import typer

from gas.cli.logs import read_log
from gas.cli.options import Json
from gas.cli.tables import note, print_json, print_table, say
from gas.simulation.audit import Audit, Promise, audit
from gas.simulation.checks import Check
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
        typer.Option("--processors", "-p", min=1, help="Of the machine (else what the schedule, then the log, says)."),
    ] = None,
    promise: Annotated[
        Promise,
        typer.Option(
            "--promise",
            help="What the policy promises: starts in order (fcfs), no delay of the queue's head (easy), "
            "no start later than the recorded promise (conservative).",
        ),
    ] = "none",
    overrun: Annotated[
        Overrun | None,
        typer.Option("--overrun", help="What became of jobs that outlive their estimate (else what fits the log)."),
    ] = None,
    json: Json = False,
) -> None:
    """Check a schedule: no job lost, machine never oversubscribed, promises kept.

    The exit code is 0 if every rule holds, 1 if one is broken, and 2 if one that was asked for cannot be told.
    """
    if schedule == log == "-":
        raise typer.BadParameter("the schedule and the log cannot both come from standard input")
    given = read_schedule(schedule)
    found = audit(
        given,
        processors=processors,
        promise=promise,
        log=None if log is None else read_log(log),
        overrun=overrun,
    )
    for remark in found.remarks:
        note(f"gas: {given.name}: {remark}")
    if json:
        print_json(found.to_wire())
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(1 if found.violations else 2)


def _show(found: Audit) -> None:
    untold = sum(check.violations is None for check in found.checks)
    broken = [check for check in found.checks if check.violations]
    verdict = f"{_many(found.violations, 'violation')} of {_many(len(broken), 'rule')}" if broken else "no violation"
    if untold:
        verdict += f"; {_many(untold, 'rule')} cannot be told"
    say(f"{found.name}: {_many(found.jobs, 'job')} on {_many(found.processors, 'processor')}: {verdict}")
    say()
    print_table(
        ["rule", "checked", "violations", "first, and remarks"],
        [(check.rule, *_cells(check)) for check in found.checks],
        left=("rule", "first, and remarks"),
    )


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}" + ("" if count == 1 else "s")


def _cells(check: Check) -> tuple[str, str, str]:
    violations = "?" if check.violations is None else str(check.violations)
    said = [check.first.message if check.first else "", check.remark]
    return str(check.checked), violations, "; ".join(text for text in said if text)
