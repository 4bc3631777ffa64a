"""Options that choose which jobs of a log take part, alike in all commands that read logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workloads import Log

__all__ = ["First", "From", "Lenient", "Month", "Until", "selected"]

Month = Annotated[
    list[str] | None, typer.Option("--month", metavar="YYYY-MM", help="Only jobs submitted in this month.")
]
From = Annotated[str | None, typer.Option("--from", metavar="DATE", help="Only jobs submitted at or after this.")]
Until = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Only jobs submitted before this.")]
First = Annotated[int | None, typer.Option("--first", min=1, metavar="N", help="Only the first N of these.")]
Lenient = Annotated[bool, typer.Option("--lenient", help="Leave malformed lines out and count them.")]


def selected(log: Log, months: Sequence[str] | None, since: str | None, until: str | None, first: int | None) -> Log:
    """Return the part of a log that the options name."""
    from workloads.selection import between, first_jobs, in_months

    if months:
        log = in_months(log, months)
    if since is not None or until is not None:
        log = between(log, since, until)
    return log if first is None else first_jobs(log, first)
