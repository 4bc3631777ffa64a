"""Measured pairs of a size and seconds, and reading them from CSV.

The header names what sizes count (processors, GPUs, nodes) and whether seconds are of the whole run or of a step.
"""

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
from speedup_models.model import ModelError, SizeUnit, processor_counts

__all__ = ["COLUMNS", "Timings", "read_timings"]

COLUMNS: Final = ("processors", "seconds")

SIZES: Final[dict[str, SizeUnit]] = {
    "processors": "processors", "procs": "processors", "cores": "processors", "cpus": "processors",
    "ranks": "processors", "tasks": "processors", "gpus": "gpus", "gpu": "gpus", "num_gpus": "gpus", "ngpus": "gpus",
    "world_size": "gpus", "nodes": "nodes", "num_nodes": "nodes", "nnodes": "nodes",
}  # fmt: skip
"""What a column of sizes may be called, and what it counts."""

TIMES: Final = {
    "seconds": False, "time": False, "runtime": False, "run_time": False, "elapsed": False, "wall_time": False,
    "seconds_per_step": True, "step_time": True, "time_per_step": True, "s/step": True, "sec/step": True,
    "seconds_per_iteration": True, "s/it": True,
}  # fmt: skip
"""What a column of times may be called, and whether they are of one step."""

NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# one way only to read each digit: with two, a long row of them takes the square of its length

LONGEST_LINE: Final = 10_000
"""Characters; two numbers take fifty."""

MOST_TIMINGS: Final = 100_000


class Timings(NamedTuple):
    """Measured pairs, in ascending order of processors and then of seconds.

    Attributes
    ----------
    processors
        Sizes, in `unit`.
    per_step
        Seconds are those of one step of many.
    """

    processors: NDArray[np.int64]
    seconds: NDArray[np.float64]
    unit: SizeUnit = "processors"
    per_step: bool = False

    def of_steps(self, steps: int) -> Timings:
        """Return the times of so many steps."""
        return self._replace(seconds=self.seconds * steps, per_step=False)

    @classmethod
    def of(
        cls, processors: ArrayLike, seconds: ArrayLike, unit: SizeUnit = "processors", *, per_step: bool = False
    ) -> Timings:
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
        return cls(counts[order], times[order], unit, per_step)


def read_timings(source: str | Path | TextIO) -> Timings:
    """Return the timings in a CSV file with a column of sizes and one of seconds (`SIZES`, `TIMES`), in either order.

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
    size = time = ""
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
            size, time = sorted(header, key=lambda name: name not in SIZES)
            continue
        if len(cells) != len(header):
            raise FieldError(here, f"has {len(cells)} cells, and the header {len(header)}; write one of each")
        row = dict(zip(header, cells, strict=True))
        counts.append(_processors(row[size], f"{here}, column {size}"))
        times.append(_seconds(row[time], f"{here}, column {time}"))
    if not header:
        raise FieldError(place, 'is empty; write the header "processors,seconds" and one timing per line')
    if not counts:
        raise FieldError(place, "has a header but no timings; write one per line, like 16,812.0")
    return Timings.of(np.array(counts, dtype=np.int64), np.array(times), SIZES[size], per_step=TIMES[time])


def _header(cells: list[str], here: str) -> list[str]:
    """Return the header's column names, refused unless they are the two expected ones."""
    names = [cell.lower() for cell in cells]
    if len(names) == 2 and len(set(names) & SIZES.keys()) == 1 and len(set(names) & TIMES.keys()) == 1:
        return names
    if len(set(names) & SIZES.keys()) > 1:
        raise FieldError(
            here,
            f"has two columns of sizes ({', '.join(name for name in names if name in SIZES)}); a fit takes one. Times "
            'by nodes and GPUs stand in an application file as they are: model = "layouts" (gas guide formats)',
        )
    expected = '"processors,seconds"'
    if all(NUMBER.fullmatch(cell) for cell in cells):
        raise FieldError(here, f"holds numbers, but the header is missing; put {expected} above them")
    if len(cells) == 1:
        raise FieldError(here, f"{shown(cells[0])} is not the header {expected}; separate the two by a comma")
    for i, name in enumerate(names):
        if name not in SIZES and name not in TIMES:
            hint = nearest(name, (*COLUMNS, "gpus", "nodes", "seconds_per_step"))
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
