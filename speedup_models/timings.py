"""Measured pairs of processors and seconds, and reading them from CSV."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Final, NamedTuple, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from documents.fields import FieldError, nearest, shown
from speedup_models.constraints import MOST_PROCESSORS
from speedup_models.model import ModelError, processor_counts

__all__ = ["COLUMNS", "Timings", "read_timings"]

COLUMNS: Final = ("processors", "seconds")

NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# one way only to read each digit: with two, a long row of them takes the square of its length

LONGEST_LINE: Final = 10_000
"""Characters; two numbers take fifty."""

MOST_TIMINGS: Final = 100_000


class Timings(NamedTuple):
    """Measured pairs, in ascending order of processors and then of seconds."""

    processors: NDArray[np.int64]
    seconds: NDArray[np.float64]

    @classmethod
    def of(cls, processors: ArrayLike, seconds: ArrayLike) -> Timings:
        """Return the pairs in order.

        Raises
        ------
        ModelError
            The lengths differ, or something is not a count or a time; the message names the first such pair.
        """
        counts, times = processor_counts(processors), np.asarray(seconds, dtype=np.float64)
        if counts.ndim != 1 or counts.shape != times.shape:
            raise ModelError(
                f"timings: {counts.size} processor counts but {times.size} times; one time for each count is needed"
            )
        wrong = ~(np.isfinite(times) & (times > 0))
        if wrong.any():
            raise ModelError(
                f"timings: {times[wrong][0]:g} s on {counts[wrong][0]} processors is not a time above 0; leave it out"
            )
        if counts.size and counts.max() > MOST_PROCESSORS:
            raise ModelError(
                f"timings: {counts.max()} processors is above {MOST_PROCESSORS}, the most that is possible"
            )
        order = np.lexsort((times, counts))
        return cls(counts[order], times[order])


def read_timings(source: str | Path | TextIO) -> Timings:
    """Return the timings in a CSV file with the columns processors and seconds, in either order.

    Empty lines and lines that start with ``#`` are skipped.

    Raises
    ------
    FieldError
        The file cannot be read, or something in it is wrong; the message names line and column.
    """
    if isinstance(source, (str, Path)):
        place = str(source)
        try:
            with Path(source).open(encoding="utf-8-sig", newline="") as stream:
                return _read(stream, place)
        except OSError as error:
            raise FieldError(place, f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise FieldError(place, "is not UTF-8 text; save it as CSV in UTF-8") from None
    name = getattr(source, "name", None)
    place = name if isinstance(name, str) and not name.startswith("<") else "standard input"
    try:
        return _read(source, place)
    except UnicodeDecodeError:
        raise FieldError(place, "is not UTF-8 text; save it as CSV in UTF-8") from None


def _read(stream: TextIO, place: str) -> Timings:
    header: list[str] = []
    counts: list[int] = []
    times: list[float] = []
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise FieldError(
                f"{place}: line {number}", f"is longer than {LONGEST_LINE:,} characters; is it a file of timings?"
            )
        if len(counts) == MOST_TIMINGS:
            raise FieldError(place, f"has more than {MOST_TIMINGS:,} timings, the most that is possible")
        text = line.removeprefix("\ufeff").strip()
        if not text or text.startswith("#"):
            continue
        here = f"{place}: line {number}"
        try:
            cells = [cell.strip() for cell in next(csv.reader([text], strict=True))]
        except csv.Error as error:
            raise FieldError(here, f"is not CSV: {error}") from None
        if not header:
            header = _header(cells, here)
            continue
        if len(cells) != len(header):
            raise FieldError(here, f"has {len(cells)} cells, and the header {len(header)}; write one of each")
        row = dict(zip(header, cells, strict=True))
        counts.append(_processors(row["processors"], f"{here}, column processors"))
        times.append(_seconds(row["seconds"], f"{here}, column seconds"))
    if not header:
        raise FieldError(place, 'is empty; write the header "processors,seconds" and one timing per line')
    if not counts:
        raise FieldError(place, "has a header but no timings; write one per line, like 16,812.0")
    return Timings.of(np.array(counts, dtype=np.int64), np.array(times))


def _header(cells: list[str], here: str) -> list[str]:
    """Return the header's column names, refused unless they are the two expected ones."""
    names = [cell.lower() for cell in cells]
    if sorted(names) == sorted(COLUMNS):
        return names
    expected = '"processors,seconds"'
    if all(NUMBER.fullmatch(cell) for cell in cells):
        raise FieldError(here, f"holds numbers, but the header is missing; put {expected} above them")
    if len(cells) == 1:
        raise FieldError(here, f"{shown(cells[0])} is not the header {expected}; separate the two by a comma")
    for i, name in enumerate(names):
        if name not in COLUMNS:
            hint = nearest(name, COLUMNS)
            raise FieldError(here, f"column {i + 1}, {shown(cells[i])}, is not known{hint}; the header is {expected}")
        if name in names[:i]:
            raise FieldError(here, f"column {name} is there twice; the header is {expected}")
    raise FieldError(here, f"is not the header {expected}")


def _processors(text: str, place: str) -> int:
    # At most ten digits: int() would take minutes for, and refuses, thousands of them.
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= MOST_PROCESSORS:
        raise FieldError(place, f"{shown(text)} is not a whole number from 1 to {MOST_PROCESSORS}")
    return int(text)


def _seconds(text: str, place: str) -> float:
    # float() would also take "nan", "inf" and "1_000".
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not (math.isfinite(value) and value > 0):
        raise FieldError(place, f"{shown(text)} is not a number of seconds above 0")
    return value
