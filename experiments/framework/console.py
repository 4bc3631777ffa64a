"""Console output of studies: progress while they compute, and the verdicts at the end."""

from __future__ import annotations

import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from experiments.framework.claims import Claim
from experiments.framework.ledger import interrupts_blocked
from gas.cli.progress import progress
from gas.cli.tables import many, note, say
from gas.times import duration_text

__all__ = ["often_reported", "tell", "tell_claims", "tell_verdict"]

_OFTEN = 10.0
"""Seconds between two lines."""

_WIDEST = 120
"""Columns; longer lines are hard to read, however wide the terminal is."""

_VERDICT = 12
"""Columns of the longest verdict, "not resolved"."""


@contextmanager
def often_reported(runs: int) -> Iterator[Callable[[int], None]]:
    """Show the progress of a study while the block runs; the block calls the yielded function with the runs done.

    If standard error is not a terminal, a line appears every ten seconds even without progress: a single run may take
    longer than that, so the line gives the elapsed time.
    """
    what = f"simulating {many(runs, 'run')}"
    if Console(stderr=True).is_terminal:
        with progress(what) as show:
            yield lambda count: show(count / runs)
        return
    done, over, began = 0, threading.Event(), time.monotonic()

    def show_later(count: int) -> None:
        nonlocal done
        done = count

    def tell_now_and_then() -> None:
        while not over.wait(_OFTEN):
            note(f"gas: {what}: {done:,} done after {duration_text(round(time.monotonic() - began))}")

    thread = threading.Thread(target=tell_now_and_then, daemon=True)
    with interrupts_blocked():  # for the whole thread: only the main thread handles them, and it may have to defer them
        thread.start()
    try:
        yield show_later
    finally:
        over.set()
        thread.join()


def tell(text: str, hanging: int = 0) -> None:
    """Print a text of a report on standard output, without the marks of Markdown.

    On a terminal it is wrapped to the width, with all lines but the first indented by `hanging` columns; otherwise it
    is one line, for programs that search.
    """
    plain = text.replace("`", "")
    if sys.stdout.isatty():
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        plain = textwrap.fill(
            plain,
            max(width, 2 * hanging, 20),
            subsequent_indent=" " * hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
    say(plain)


def tell_verdict(holds: str, text: str) -> None:
    """Print whether a statement holds, and the statement."""
    tell(f"{holds:>{_VERDICT}}: {text}", _VERDICT + 2)


def tell_claims(found: Sequence[Claim]) -> None:
    """Print which statements hold; in quotes, as those that do not hold are no findings."""
    for claim in found:
        where = f"{claim.where}: " if claim.where else ""
        tell_verdict(claim.verdict, f'{where}"{claim.text}": {claim.here}')
