"""Results on standard output, everything else on standard error.

All output of a command goes through here: text from a server, a file or another user must not control the terminal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gas.errors import BadInput, GasError
from gas.printable import as_line, escaped_json, many, printable

__all__ = [
    "OutputLost",
    "check_outputs",
    "draw_text",
    "many",
    "note",
    "picture_width",
    "print_json",
    "print_json_line",
    "print_table",
    "remark",
    "say",
    "show",
    "try_output",
    "wants_ascii",
    "wants_colour",
    "write_output",
    "write_text",
    "writing",
]

_FREE_WIDTH = 200  # of tables in a file or a pipe
_COLOURS = re.compile(r"(\x1b\[[0-9;]*m)")


class _Console(Console):
    """The console for tables; a closed output raises the same error as any other print."""

    def on_broken_pipe(self) -> None:
        """Raise the original error: rich would end the program with its own exit code."""
        raise


class OutputLost(GasError):
    """Standard output cannot be written."""


@contextmanager
def writing(otherwise: str) -> Iterator[None]:
    """Print within this context; if printing fails, standard error reports what was done or not done.

    Raises
    ------
    OutputLost
        Standard output is full, its reader has closed it, or it was never open.
    """
    if _is_closed():
        raise OutputLost(f"standard output is closed; {otherwise}; > /dev/null discards it")
    try:
        yield
    except OSError as error:
        raise OutputLost(f"standard output cannot be written ({error.strerror or error}); {otherwise}") from None


def _is_closed() -> bool:
    """Return whether the program was started without standard output: `gas.cli.main` then opens the null device."""
    try:
        return sys.stdout.name == os.devnull
    except AttributeError:  # a test's stream in memory
        return False


def try_output() -> None:
    """Write a blank before JSON, where it is allowed, to detect an unusable output in time."""
    if not sys.stdout.isatty():
        print(end=" ", flush=True)


def say(text: str = "", *, to: TextIO | None = None) -> None:
    """Print one or more lines of the result, by default to standard output."""
    print(printable(text), file=to or sys.stdout, flush=True)


def draw_text(picture: str) -> None:
    """Print a picture of characters; its colours stay."""
    parts = _COLOURS.split(picture)
    print("".join(part if i % 2 else printable(part) for i, part in enumerate(parts)), flush=True)


def show(*parts: Table) -> None:
    """Print tables whose cells come from Gas itself, not from a server, a file or another user."""
    _Console(highlight=False).print(*parts)


def write_output(data: bytes, *, raw: bool) -> None:
    """Write the output of a job: unchanged to files and pipes, and with `raw` also to a terminal."""
    if raw or not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    lines = data.decode(errors="replace").replace("\r\n", "\n").split("\t")
    print("\t".join(map(printable, lines)), end="", flush=True)


def note(text: str) -> None:
    """Print a line that is not part of the result; errors of this output are ignored."""
    with suppress(OSError):
        print(printable(text), file=sys.stderr, flush=True)


def remark(text: str) -> None:
    """Print a line of information next to the result, marked as coming from the program."""
    note(f"gas: {text}")


def print_json(document: Any) -> None:
    """Print one JSON object."""
    text = json.dumps(document, indent=2, ensure_ascii=wants_ascii(), allow_nan=False)
    print(escaped_json(text), flush=True)


def print_json_line(document: Any) -> None:
    """Print one JSON object in one line."""
    print(escaped_json(json.dumps(document, ensure_ascii=wants_ascii(), allow_nan=False)), flush=True)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    best: int | None = None,
    left: Sequence[str] = (),
    whole: Sequence[str] = (),
    to: TextIO | None = None,
) -> None:
    """Print a table; columns are aligned right except those in `left`, and the row `best` is highlighted.

    Parameters
    ----------
    columns
        Titles. A title may be broken at its line breaks; if there is room, a line break is a blank, or nothing after a
        hyphen.
    whole
        Columns that identify a row. If there are any, nothing in the table is cut: in a narrow terminal titles are
        broken, then blanks are removed and cells wrapped, and the remaining columns follow in another table, in which
        these columns are repeated. ``$COLUMNS`` limits such a table for any output.
    to
        Standard output if None.
    """
    out = to or sys.stdout
    columns = [printable(title) for title in columns]
    cells = [[as_line(cell) for cell in row] for row in rows]
    if not whole:
        wide = Console(file=out).width if out.isatty() else _FREE_WIDTH
        _print(out, wide, [_Column.flat(title, left) for title in columns], cells, best)
        return
    for number, (wide, gap, block) in enumerate(_blocks(columns, cells, left, whole, _width(out))):
        if number:
            print(file=out)
        _print(out, wide, list(block.values()), [[row[i] for i in block] for row in cells], best, gap)


class _Column(NamedTuple):
    title: str
    left: bool
    breaks: bool
    """Whether its cells may be wrapped at blanks."""

    @classmethod
    def flat(cls, title: str, left: Sequence[str]) -> _Column:
        return cls(title.replace("-\n", "").replace("\n", " "), title in left, title in left)

    def needs(self, cells: Iterable[str]) -> int:
        """Return the smallest width at which nothing is cut."""
        lines = [*self.title.split("\n"), *cells]
        return max(
            map(cell_len, (word for line in lines for word in line.split()) if self.breaks else lines), default=0
        )


_Block = dict[int, _Column]


def _blocks(
    titles: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str], whole: Sequence[str], width: int
) -> list[tuple[int, int, _Block]]:
    """Return the parts into which a table is split: width, blanks between columns and columns of each."""
    flat = {i: _Column.flat(title, left)._replace(breaks=False) for i, title in enumerate(titles)}
    broken = {i: column._replace(title=titles[i]) for i, column in flat.items()}
    keys = [i for i, title in enumerate(titles) if title in whole]
    squeezed = {i: column._replace(breaks=column.left and i not in keys) for i, column in broken.items()}

    def needs(block: _Block, gap: int) -> int:
        return sum(column.needs(row[i] for row in rows) + gap for i, column in block.items()) - gap

    for block, gap in ((flat, 2), (broken, 2), (squeezed, 1)):
        if needs(block, gap) <= width:
            return [(width, gap, block)]
    found: list[_Block] = [{}]
    for i in (i for i in squeezed if i not in keys):
        more = {k: column for k, column in squeezed.items() if k in (*keys, *found[-1], i)}
        if found[-1] and needs(more, 2) > width:
            found.append({k: column for k, column in squeezed.items() if k in (*keys, i)})
        else:
            found[-1] = more
    return [(max(width, needs(block, 2)), 2, block) for block in found]


def _print(
    out: TextIO, width: int, columns: Sequence[_Column], rows: Sequence[Sequence[str]], best: int | None, gap: int = 2
) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for column in columns:
        justify: Literal["left", "right"] = "left" if column.left else "right"
        table.add_column(Text(column.title), justify=justify, no_wrap=not column.breaks, vertical="top")
    for i, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold green" if i == best else None)
    _Console(file=out, width=width, highlight=False, soft_wrap=False).print(table)


def _width(out: TextIO) -> int:
    """Return the largest width of a table: $COLUMNS if set, else the width of the terminal."""
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given) > 0:
        return int(given)
    return Console(file=out).width if out.isatty() else _FREE_WIDTH


def wants_colour() -> bool:
    """Return whether standard output is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_ascii() -> bool:
    """Return whether standard output may lack characters beyond ASCII."""
    return "utf" not in (sys.stdout.encoding or "").lower()


def picture_width() -> int:
    """Return the largest width of a picture in the terminal."""
    return max(40, min(120, shutil.get_terminal_size((100, 24)).columns))


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path | None] = ()) -> None:
    """Refuse two outputs of the same name, and outputs that overwrite an input; `outputs` has files by option."""
    there = [Path(path) for path in inputs if path and Path(path).exists()]
    written: dict[Path, str] = {}
    for option, output in outputs.items():
        if not output or str(output) == "-":
            continue
        path = Path(output)
        if path.exists() and any(path.samefile(one) for one in there):
            raise BadInput(f"{option} {output}: would overwrite an input; give another name")
        if (other := written.setdefault(path.resolve(), option)) != option:
            raise BadInput(f"{other} and {option} {output}: name the same file; give each another")


def write_text(path: str, text: str) -> None:
    """Write a file that the user named."""
    try:
        from documents.whole_file import whole_file

        with whole_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
