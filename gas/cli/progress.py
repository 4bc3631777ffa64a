"""A progress bar on standard error, for what takes longer than a moment."""

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
"""Seconds between two lines."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar while the block runs; the block calls what it is given with the share that is done.

    Where standard error is not a terminal, as in a batch job, a line a minute says how far it is.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _told_now_and_then(what)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(as_line(what), total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _told_now_and_then(what: str) -> Callable[[float], None]:
    last = time.monotonic()

    def tell(share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= _OFTEN:
            last = time.monotonic()
            note(f"gas: {what}: {100 * share:.0f}%")

    return tell
