"""``gas audit``: check a schedule of any simulator against the rules of scheduling."""

from __future__ import annotations

from typing import Annotated

import typer

from gas.cli.logs import read_log
from gas.cli.options import Json, processors_option
from gas.cli.selection import First, From, Month, Strict, Until, check_load, selected
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
            "- for standard input.",
        ),
    ],
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="LOG", help="Compare with this log, from which the schedule was simulated."),
    ] = None,
    processors: Annotated[
        int | None, processors_option("Processors of the machine (default: as in the schedule, else as in the log).")
    ] = None,
    promise: Annotated[
        Claim,
        typer.Option(
            "--promise",
            help="Guarantee to check: starts in order of submission (fcfs), no delay of the first job in the queue "
            "(easy), no start after the promised one (conservative, conservative-static, s3, s3-1999). Promised "
            "starts are in the CSV that gas simulate -o FILE.csv writes, not in SWF. conservative-replan guarantees "
            "nothing.",
        ),
    ] = "none",
    overrun: Annotated[
        Overrun | None,
        typer.Option(
            "--overrun", help="How jobs that exceed their estimate were treated (default: whichever fits the log)."
        ),
    ] = None,
    month: Month = None,
    since: From = None,
    until: Until = None,
    first: First = None,
    scale_load: Annotated[
        float | None, typer.Option("--scale-load", metavar="L", help="The offered load to which the log was scaled.")
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Check that a schedule is valid and keeps its promises.

    gas audit schedule.csv --log log.swf.gz --promise s3

    The rules are: no job is lost, the machine is never oversubscribed, and promises are kept. Repeat the options of
    `gas simulate` that selected jobs or scaled the load. Exit codes: 0 if all rules hold, 1 if one is violated, 2 if a
    requested rule cannot be checked.
    """
    check_load(scale_load)
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
                "--strict": strict,
            }
        )
    try:
        # No reference to the log is kept here: the audit frees it before it computes figures.
        found = audit(
            read_schedule(schedule),
            processors=processors,
            promise=promise,
            log=None if log is None else selected(read_log(log, strict=strict), month, since, until, first),
            load=scale_load,
            overrun=overrun,
        )
    except MemoryError:
        raise BadInput(
            f"{schedule}: needs more memory than this machine has; audit a part of it, or use a larger machine"
        ) from None
    for remark in found.remarks:
        note(f"gas: {found.name}: {remark}")
    if json:
        print_json(found.to_wire())
    else:
        _show(found)
    if not found.ok:
        raise typer.Exit(1 if found.violations else 2)


def _refuse_without_log(options: dict[str, bool]) -> None:
    used = [name for name, is_used in options.items() if is_used]
    if used:
        raise BadInput(f"{used[0]}: applies to the simulated log; give it with --log LOG")


def _show(found: Audit) -> None:
    """Print the verdict, a table of the rules, and below it the first violations and all remarks."""
    unchecked = sum(check.violations is None for check in found.checks)
    broken = [check for check in found.checks if check.violations]
    verdict = f"{many(found.violations, 'violation')} of {many(len(broken), 'rule')}" if broken else "no violation"
    if unchecked:
        verdict += f"; {many(unchecked, 'rule')} cannot be checked"
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
    say()
    say(_figures(found))
    details = [
        *((check.check, f"first: {check.first.message}") for check in found.checks if check.first),
        *((check.check, check.remark) for check in found.checks if check.remark),
    ]
    if details:
        say()
    for name, text in details:
        say(f"{name}: {text}")


def _figures(found: Audit) -> str:
    """Return the metrics in lines; `gas simulate` explains them."""
    figures = found.figures
    if figures is None:
        return "metrics: none, as no job started on a known number of processors"
    shown = [
        ("wait", figures.mean_wait, "{:,.0f} s on average"),
        ("median wait", figures.median_wait, "{:,.0f} s"),
        ("95% wait at most", figures.wait_95, "{:,.0f} s"),
        ("bounded slowdown", figures.mean_bounded_slowdown, "{:,.2f} on average"),
        ("utilization", figures.utilization, "{:.1%}"),
        ("makespan", found.makespan, "{:,} s"),
    ]
    lines = [f"{name}: {form.format(value)}" for name, value, form in shown if value is not None]
    if figures.skipped:
        lines.append(f"metrics exclude {many(figures.skipped, 'job')} of unknown size, or ended before the start")
    return "\n".join(lines)
