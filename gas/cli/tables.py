"""Results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gas.errors import BadInput

__all__ = ["note", "picture_width", "print_json", "print_table", "say", "wants_ascii", "wants_colour", "write_text"]


def say(text: str = "") -> None:
    """Print a line of the result."""
    print(text, flush=True)


def note(text: str) -> None:
    """Print a line that is not part of the result."""
    print(text, file=sys.stderr, flush=True)


def print_json(document: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False), flush=True)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, best: int | None = None, left: Sequence[str] = ()
) -> None:
    """Print a table; columns are aligned right but those named in `left`, and the row `best` stands out."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=column not in left)
    for i, row in enumerate(rows):
        table.add_row(*(Text(cell) for cell in row), style="bold green" if i == best else None)
    wide = None if sys.stdout.isatty() else 200
    Console(width=wide, highlight=False, soft_wrap=False).print(table)


def wants_colour() -> bool:
    """Return whether standard output is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_ascii() -> bool:
    """Return whether standard output cannot show block characters."""
    return "utf" not in (sys.stdout.encoding or "").lower()


def picture_width() -> int:
    """Return how wide a picture in the terminal may be."""
    return max(40, min(120, shutil.get_terminal_size((100, 24)).columns))


def write_text(path: str, text: str) -> None:
    """Write a file that the user named."""
    try:
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123  # may be /dev/stdout
            file.write(text)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
