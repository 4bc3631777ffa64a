"""Free processors over time in a terminal: time to the right, processors upward, the best candidate drawn in.

    availability_picture   the picture, as text
    readable_horizon       the number of seconds from now that are worth showing
    least_free             the processors that stay free throughout each column
    time_ticks, tick_text  round time steps and their labels
    request_text           a candidate in words (machine_text: a machine)

All but the first serve `gas.pictures.plan` too, so that both kinds of picture show the same range of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from gas.availability import Availability, AvailabilityList
from gas.errors import BadInput
from gas.planner import UNIT_NOUNS, Candidate
from gas.printable import many
from gas.times import duration_text, relative_text

__all__ = [
    "LOWEST",
    "NARROWEST",
    "availability_picture",
    "least_free",
    "machine_text",
    "readable_horizon",
    "request_text",
    "tick_text",
    "time_ticks",
]

NARROWEST = 20
"""The smallest width of a picture: the axis of the largest machine takes 11 columns of it."""

LOWEST = 2
"""The smallest height of a picture."""

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400

_IDLE_HORIZON = _HOUR  # without changes and plans, any range of time will do

_MOST_TICKS = 12

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_SHADE = "▒"
_ASCII_EIGHTHS = " ...:::::"  # rounded: a dot is lower than half a character
_ASCII_SHADE = "#"

# Cyan and yellow are distinct with any colour vision, on dark and on light terminals.
_FREE, _BEST, _BEST_ON_FREE = "36", "33", "33;46"

Cell = tuple[str, str]  # one character, and its SGR code ("" for the terminal's own colour)


def availability_picture(
    availability: Availability,
    *,
    width: int,
    height: int = 12,
    colour: bool,
    horizon: int | None = None,
    candidates: Sequence[Candidate] = (),
    best: Candidate | None = None,
    called: str = "best",
    ascii: bool = False,
) -> str:
    """Return a picture of free processors in ``height + 3`` lines, none wider than `width`.

    The height of a column is the smallest number of free processors during its time; heights are rounded down to an
    eighth of a line, but even one free processor is visible. The best candidate is a rectangle from its start to its
    finish, at least one column wide, as high as its processors, drawn from the axis up over the free processors.

    Parameters
    ----------
    availability
        For lists with node identity, the counts over all nodes are drawn.
    width
        Columns of the terminal, at least 20.
    height
        Lines for the machine, at least 2; below them come the axis, its labels and the legend.
    colour
        Whether to use ANSI colours. Without them the best candidate is shaded.
    horizon
        Seconds from the list's instant to show; None for `readable_horizon`.
    candidates
        All candidates of the planner; they affect only the default horizon. Candidates of other schedulers (also the
        best one) are ignored.
    called
        Name of the best candidate in the legend.
    ascii
        Whether to use only ASCII characters.

    Raises
    ------
    BadInput
        Width, height or horizon is too small.
    """
    if width < NARROWEST:
        raise BadInput(f"width {width}: a picture needs at least {NARROWEST} columns")
    if height < LOWEST:
        raise BadInput(f"height {height}: a picture needs at least {LOWEST} lines")
    if horizon is not None and horizon < 1:
        raise BadInput(f"horizon {horizon}: must be at least 1 s")
    if best is not None and best.scheduler != availability.scheduler:
        best = None
    own = [c for c in candidates if c.scheduler == availability.scheduler]
    availability = availability.counts
    now, machine = availability.now, availability.processors
    span = readable_horizon([availability], now, own, best) if horizon is None else horizon

    margin = len(str(machine))
    columns = width - margin - 1
    levels = _eighths(least_free(availability, now, span, columns), machine, height)
    rectangle = range(0)
    best_level = 0
    if best is not None and best.start - now < span:
        rectangle = _columns_of(best, now, span, columns)
        best_level = int(_eighths(np.array([best.processors]), machine, height)[0])

    half_line = height - round(machine // 2 * height / machine) if machine > 1 and height >= 4 else None
    lines = []
    for line in range(height):
        label = str(machine) if line == 0 else str(machine // 2) if line == half_line else ""
        stroke = ("+" if ascii else "┤") if label else ("|" if ascii else "│")
        row = height - 1 - line
        cells = [
            _cell(level - 8 * row, best_level - 8 * row if column in rectangle else 0, row, colour, ascii)
            for column, level in enumerate(levels.tolist())
        ]
        lines.append(label.rjust(margin) + stroke + _text(cells, colour))
    axis, labels = _time_axis(span, columns, ascii)
    lines.append("0".rjust(margin) + ("+" if ascii else "└") + axis)
    lines.append((" " * (margin + 1) + labels).rstrip())
    lines.append(_legend(availability, span, best, called, len(rectangle) > 0, width, colour, ascii))
    return "\n".join(lines)


def readable_horizon(
    lists: Iterable[AvailabilityList], now: int, candidates: Sequence[Candidate] = (), best: Candidate | None = None
) -> int:
    """Return the number of seconds from `now` that are worth showing.

    Usually everything is shown: the last change of every list and the finish of every candidate. If that takes more
    than twice the time of the most important parts, only these are shown: the best candidate, those that finish within
    three times its turn-around time, and the lists until at least 95% of their last number of processors stay free,
    but at most six times that turn-around time, so that the best candidate does not shrink to a line. Either way a
    tenth is added.
    """
    last_change, settled = 0, 0
    for one in lists:
        last_change = max(last_change, int(one.starts[-1]) - now)
        low = np.flatnonzero(one.free < 0.95 * int(one.free[-1]))
        if low.size:
            settled = max(settled, int(one.starts[low[-1] + 1]) - now)
    everything = max([last_change, *(c.finish - now for c in candidates)])
    core = settled
    if best is not None:
        turnaround = best.finish - now
        near = [t for t in (c.finish - now for c in candidates) if t <= 3 * turnaround]
        core = max([turnaround, min(settled, 6 * turnaround), *near])
        everything = max(everything, turnaround)
    shown = everything if everything <= 2 * core or core <= 0 else core
    return -(-shown * 11 // 10) if shown > 0 else _IDLE_HORIZON


def least_free(availability: AvailabilityList, now: int, span: int, columns: int) -> NDArray[np.int64]:
    """Return the processors that stay free throughout each of `columns` equal parts of ``[now, now + span)``.

    `now` is not before the list's own instant. The edges of the parts need not be whole seconds.
    """
    starts = availability.starts - now
    begins = np.array([i * span // columns for i in range(columns)], np.int64)
    ends = np.array([-(-(i + 1) * span // columns) for i in range(columns)], np.int64)
    first = np.searchsorted(starts, begins, "right") - 1
    behind = np.searchsorted(starts, ends, "left")
    bounds = np.column_stack([first, behind]).ravel()
    padded = np.append(availability.free, availability.free[-1])  # reduceat does not accept an index behind the end
    least: NDArray[np.int64] = np.minimum.reduceat(padded, bounds)[::2]
    return least


def time_ticks(span: int, most: int) -> list[int]:
    """Return at most `most` instants in ``[0, span)``, from 0 on, in the smallest suitable round step."""
    for step in _steps():
        if -(-span // step) <= most:
            return list(range(0, span, step))
    raise AssertionError("steps grow without end")


def tick_text(seconds: int) -> str:
    """Return the label of a tick, exact and without zeros: ``now``, ``+1m30s``, ``+1d12h``, ``+2y`` (of 365 days)."""
    if seconds == 0:
        return "now"
    text, rest = "+", seconds
    for unit, size in (("y", _YEAR), ("d", _DAY), ("h", _HOUR), ("m", _MINUTE), ("s", 1)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text


def request_text(candidate: Candidate, now: int) -> str:
    """Return ``64 processors, starts in 12m00s, finishes in 27m05s``."""
    start, finish = relative_text(candidate.start, now), relative_text(candidate.finish, now)
    if start == finish:  # both rounded to the same hour
        finish = f"{duration_text(candidate.execution_time)} later"
    return f"{candidate.size_text}, starts {start}, finishes {finish}"


def machine_text(count: int, candidates: Sequence[Candidate]) -> str:
    """Return the size of a machine in the unit of its candidates: ``32 GPUs``."""
    return many(count, UNIT_NOUNS[candidates[0].unit] if candidates else "processor")


def _steps() -> Iterator[int]:
    """Yield round steps in seconds, ascending, without end."""
    yield from (1, 2, 5, 10, 15, 30)
    yield from (m * _MINUTE for m in (1, 2, 5, 10, 15, 30))
    yield from (h * _HOUR for h in (1, 2, 3, 6, 12))
    yield from (d * _DAY for d in (1, 2, 5, 10, 20, 50, 100))
    years = _YEAR
    while True:
        yield from (years, 2 * years, 5 * years)
        years *= 10


def _eighths(free: NDArray[np.int64], machine: int, height: int) -> NDArray[np.int64]:
    """Return processors as eighths of a line, rounded down, but at least 1 for one processor."""
    return np.maximum(free * (8 * height) // machine, np.minimum(free, 1))


def _columns_of(best: Candidate, now: int, span: int, columns: int) -> range:
    """Return the columns nearest to a candidate's start and finish, at least one."""
    first = min((2 * (best.start - now) * columns + span) // (2 * span), columns - 1)
    behind = min((2 * (best.finish - now) * columns + span) // (2 * span), columns)
    return range(first, max(behind, first + 1))


def _cell(free: int, best: int, row: int, colour: bool, ascii: bool) -> Cell:
    """Return one character; `free` and `best` are in eighths above the bottom of this row (row 0 is the lowest)."""
    free = min(max(free, 0), 8)
    if colour and not ascii and best > 0:
        return _EIGHTHS[min(best, 8)], _BEST_ON_FREE if best < 8 == free else _BEST
    if best >= 4 or (best > 0 and row == 0):  # the best candidate is rounded: one meaning per character
        return _ASCII_SHADE if ascii else _SHADE, _BEST
    return (_ASCII_EIGHTHS if ascii else _EIGHTHS)[free], _FREE if free else ""


def _text(cells: Iterable[Cell], colour: bool) -> str:
    """Return the characters without trailing blanks, with one colour code per run of the same colour."""
    text = ""
    for code, run in groupby(cells, key=lambda cell: cell[1]):
        characters = "".join(character for character, _ in run)
        text += f"\x1b[{code}m{characters}\x1b[0m" if colour and code else characters
    return text.rstrip()


def _time_axis(span: int, columns: int, ascii: bool) -> tuple[str, str]:
    """Return the axis and the line of labels, with at least two blanks between labels."""
    for most in range(min(max(columns // 4, 1), _MOST_TICKS), 0, -1):
        axis = ["-" if ascii else "─"] * columns
        labels = ""
        for tick in time_ticks(span, most):
            label, column = tick_text(tick), tick * columns // span
            at = min(max(column - len(label) // 2, 0), columns - len(label))
            if labels and at < len(labels) + 2:
                break
            labels = labels.ljust(at) + label
            axis[column] = "+" if ascii else "┬"
        else:
            return "".join(axis), labels
    raise AssertionError("one label always has room")


def _legend(
    availability: AvailabilityList,
    span: int,
    best: Candidate | None,
    called: str,
    drawn: bool,
    width: int,
    colour: bool,
    ascii: bool,
) -> str:
    """Return the longest legend that fits."""
    now = availability.now
    free_mark = (_ASCII_EIGHTHS if ascii else _EIGHTHS)[8], _FREE
    best_mark = (_ASCII_SHADE if ascii else _EIGHTHS[8] if colour else _SHADE), _BEST
    tail = int(availability.starts[-1]) - now
    more = f" (still changes until +{duration_text(tail)}, not shown)" if tail >= span else ""
    if best is None:
        endings = [f" free during the whole column{more}", f" free{more}", " free"]
        return _text([free_mark, *_plain(next(e for e in endings if len(e) < width))], colour)
    size = best.size_text
    full = f"{called}: {request_text(best, now)}"
    brief = f"{size}, +{duration_text(best.start - now)} to +{duration_text(best.finish - now)}"
    cells: list[Cell] = []
    for free, words in ((f" free{more}  ", full), (" free  ", full), (" free  ", brief), ("", brief), ("", size)):
        cells = [free_mark, *_plain(free)] if free else []
        cells += [best_mark, *_plain(f" {words}")] if drawn else _plain(f"{words} (outside)")
        if len(cells) <= width:
            break
    return _text(cells[:width], colour)


def _plain(text: str) -> list[Cell]:
    return [(character, "") for character in text]
