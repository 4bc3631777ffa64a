"""A progress bar on standard error, for commands that take seconds or longer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gas.cli.tables import note
from gas.printable import as_line

__all__ = ["progress"]

_OFTEN = 60.0
"""Seconds between two lines if there is no terminal."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar while the block runs; the block calls the function it gets with the fraction that is done.

    If standard error is not a terminal, as in a batch job, one line per minute is printed instead.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines_each_minute(what)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(as_line(what), total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _lines_each_minute(what: str) -> Callable[[float], None]:
    last = time.monotonic()

    def show(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _OFTEN:
            last = time.monotonic()
            note(f"gas: {what}: {100 * share:.0f}%")

    return show
