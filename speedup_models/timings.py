"""Measured sizes and seconds, and reading them from CSV.

The header names what sizes count (processors, GPUs, nodes), what the seconds measure (the whole run, a step, a sample)
and, if it matters, the layout of a size over nodes and the number of samples per step (`columns`).
"""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Final, NamedTuple, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from documents.fields import FieldError, shown
from speedup_models.columns import Column, Each, column, problem
from speedup_models.constraints import MOST_PROCESSORS
from speedup_models.model import ModelError, SizeUnit, processor_counts

__all__ = ["Timings", "read_timings"]

NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# only one way to read each digit: with two, a long row of digits takes quadratic time

LONGEST_LINE: Final = 10_000
"""Characters; two numbers need fifty."""

MOST_TIMINGS: Final = 100_000

SHORTEST: Final = 1e-15
LONGEST: Final = 1e15
"""Largest number of seconds of a run or a part of it; larger ones cannot be measured times."""


class Timings(NamedTuple):
    """Measured sizes and seconds, in ascending order of sizes and then of seconds.

    Attributes
    ----------
    processors
        Sizes, in `unit`.
    each
        What the seconds measure.
    nodes
        Number of nodes of each size; None if unknown.
    local
        Samples on each GPU at a time; None if unknown.
    accumulated
        Number of additional such shares computed in a step before gradients were exchanged.
    devices
        Type of GPU of each; empty if unknown.
    """

    processors: NDArray[np.int64]
    seconds: NDArray[np.float64]
    unit: SizeUnit = "processors"
    each: Each = "run"
    nodes: NDArray[np.int64] | None = None
    local: NDArray[np.float64] | None = None
    accumulated: NDArray[np.float64] | None = None
    devices: tuple[str, ...] = ()

    @property
    def batch(self) -> NDArray[np.float64] | None:
        """Return the samples per step over all GPUs; None if unknown."""
        if self.local is None:
            return None
        return np.asarray(self.processors * self.local * (1 + self._accumulated))

    @property
    def is_laid_out(self) -> bool:
        """Whether the layouts of sizes are known."""
        return self.nodes is not None or self.local is not None

    @property
    def _accumulated(self) -> NDArray[np.float64]:
        return np.zeros(len(self.seconds)) if self.accumulated is None else self.accumulated

    def of_run(self, steps: int | None = None, samples: float | None = None) -> Timings:
        """Return the times of a run with a given number of steps or of samples.

        Raises
        ------
        ModelError
            The length of the run is not given.
        """
        count = {"run": None, "step": steps, "sample": samples}[self.each]
        if self.each == "run":
            if steps is not None or samples is not None:
                given = f"--steps {steps}" if steps is not None else f"--samples {samples:g}"
                raise ModelError(f"{given}: times are of the whole run; leave it out")
            return self
        if steps is not None and samples is not None:
            raise ModelError(f"--steps {steps} and --samples {samples:g}: give only one of them")
        batch = self.batch
        if count is not None:
            seconds = self.seconds * count
        elif self.each == "step" and samples is not None and batch is not None:
            seconds = self.seconds * samples / batch
        elif self.each == "sample" and steps is not None and batch is not None:
            seconds = self.seconds * steps * batch
        elif self.each == "step":
            also = ", and without a column of batches --samples does not" if samples is not None else ""
            raise ModelError(f"times are of one step; give the number of steps of the run with --steps{also}")
        else:
            also = ", and without a column of batches --steps does not" if steps is not None else ""
            raise ModelError(f"rates are of samples; give the number of samples of the run with --samples{also}")
        return self._replace(seconds=seconds, each="run")

    def of_step(self) -> Timings:
        """Return the times of a step, if its number of samples is known."""
        batch = self.batch
        if self.each != "sample" or batch is None:
            return self
        return self._replace(seconds=self.seconds * batch, each="step")

    def on_nodes_of(self, most: int) -> Timings:
        """Return the timings with each size on the fewest nodes of a given number of units."""
        return self._replace(nodes=-(-self.processors // most))

    def with_batch(self, batch: int) -> Timings:
        """Return the timings with a given number of samples in each step, over all GPUs."""
        return self._replace(local=batch / (self.processors * (1 + self._accumulated)))

    @classmethod
    def of(
        cls, processors: ArrayLike, seconds: ArrayLike, unit: SizeUnit = "processors", *, each: Each = "run"
    ) -> Timings:
        """Return pairs in order.

        Raises
        ------
        ModelError
            The lengths differ, or a value is not a count or a time; the message names the first such pair.
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
            raise ModelError(f"timings: {counts.max()} processors is above {MOST_PROCESSORS}, the maximum")
        order = np.lexsort((times, counts))
        return cls(counts[order], times[order], unit, each)


def read_timings(source: str | Path | TextIO) -> Timings:
    """Return the timings in a CSV file whose header names its columns (`columns`), in any order.

    Empty lines and lines that start with ``#`` are skipped.

    Raises
    ------
    FieldError
        The file cannot be read or is invalid; the message names line and column.
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
    header: list[Column] = []
    rows: list[_Row] = []
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise FieldError(
                f"{place}: line {number}", f"is longer than {LONGEST_LINE:,} characters; is it a file of timings?"
            )
        if len(rows) == MOST_TIMINGS:
            raise FieldError(place, f"has more than {MOST_TIMINGS:,} timings, the maximum")
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
        rows.append(_row(dict(zip(header, cells, strict=True)), here))
    if not header:
        raise FieldError(place, 'is empty; write the header "processors,seconds" and one timing per line')
    if not rows:
        raise FieldError(place, "has a header but no timings; write one per line, like 16,812.0")
    rows.sort()
    time = next(one for one in header if one.role == "time")
    roles = {one.role for one in header}
    batched = bool(roles & {"batch", "local_batch"})
    return Timings(
        np.array([row.size for row in rows], np.int64),
        np.array([row.seconds for row in rows]),
        _unit(header),
        time.each,
        np.array([row.nodes for row in rows], np.int64)
        if ("nodes" in roles and len(roles & OF_SIZE) > 1) or roles >= {"size", "per_node"}
        else None,
        np.array([row.local for row in rows]) if batched else None,
        np.array([float(row.accumulated) for row in rows]) if "accumulation" in roles else None,
        tuple(row.device for row in rows) if "type" in roles else (),
    )


class _Row(NamedTuple):
    size: int
    seconds: float
    nodes: int
    local: float
    accumulated: int
    device: str


def _row(cells: dict[Column, str], here: str) -> _Row:
    counts = {
        one.role: _count(text, f"{here}, column {one.name}")
        for one, text in cells.items()
        if one.role not in ("time", "type", "unused")
    }
    size, nodes, each = (counts.get(role) for role in ("size", "nodes", "per_node"))
    if size is None:
        size = (nodes or 1) * (each or 1)
    elif each is not None:
        size_of_nodes = size // each if size >= each else 1
        if nodes is not None and nodes * each != size:
            raise FieldError(here, f"has a total of {size}, which is not {nodes} nodes of {each}")
        if size > each and size % each:
            raise FieldError(here, f"has a total of {size}, which are not whole nodes of {each}")
        nodes = size_of_nodes
    if size > MOST_PROCESSORS:
        raise FieldError(here, f"has {nodes} nodes of {each}, more than {MOST_PROCESSORS} in total")
    if nodes is not None and nodes > size:
        raise FieldError(here, f"has a total of {size} on {nodes} nodes; each node has at least one")
    accumulated = counts.get("accumulation", 1) - 1
    local = float(counts.get("local_batch", 0))
    if "batch" in counts:
        local = counts["batch"] / (size * (accumulated + 1))
        if local < 1:
            raise FieldError(here, f"has a batch of {counts['batch']} for {size} GPUs, less than a sample for each")
    time, text = next((one, text) for one, text in cells.items() if one.role == "time")
    value = _seconds(text, f"{here}, column {time.name}", "a rate" if time.rate else "a number of seconds")
    device = next((text for one, text in cells.items() if one.role == "type"), "")
    seconds = time.factor / value if time.rate else value * time.factor
    if not SHORTEST <= seconds <= LONGEST:
        limits = f"a time is from {SHORTEST:g} to {LONGEST:g} s"
        raise FieldError(f"{here}, column {time.name}", f"{shown(text)} is {seconds:.3g} s; {limits}")
    return _Row(size, seconds, nodes or 1, local, accumulated, device)


OF_SIZE: Final = {"size", "nodes", "per_node"}


def _unit(header: list[Column]) -> SizeUnit:
    """Return what sizes count: the unit of a column of sizes or of units per node, otherwise nodes."""
    for role in ("size", "per_node"):
        for one in header:
            if one.role == role:
                return one.unit
    return "nodes"


def _header(cells: list[str], here: str) -> list[Column]:
    """Return the meanings of the columns; raise unless they include a size and a time."""
    expected = '"processors,seconds"'
    if all(NUMBER.fullmatch(cell) for cell in cells):
        raise FieldError(here, f"holds numbers, but the header is missing; put {expected} above them")
    if len(cells) == 1:
        if any(map(column, re.split(r"[;|\s]+", cells[0]))):
            raise FieldError(here, f"{shown(cells[0])} is not the header {expected}; separate columns by commas")
        raise FieldError(here, f"{shown(cells[0])} is not a header such as {expected}; give timings as a CSV file")
    found: list[Column] = []
    for i, name in enumerate(cells):
        one = column(name)
        if one is None:
            raise FieldError(here, f"column {i + 1}, {problem(name)}")
        if name.lower() in [cell.lower() for cell in cells[:i]]:
            raise FieldError(here, f"column {name} occurs twice; keep one of them")
        same = [other.name for other in found if other.role == one.role != "unused"]
        if same:
            what = {"size": "sizes", "time": "times"}.get(one.role, "the same")
            raise FieldError(here, f"has two columns of {what} ({same[0]}, {name}); keep one of them")
        found.append(one)
    roles = {one.role for one in found}
    if roles >= {"batch", "local_batch"}:
        raise FieldError(here, "has the batch over all GPUs and that on each; keep one of them")
    if not roles & {"size", "nodes"}:
        raise FieldError(here, f"has no column of sizes; write {expected}, or gpus or nodes in its place")
    if "time" not in roles:
        raise FieldError(here, f"has no column of times; write {expected}, or seconds_per_step or samples/s")
    return found


def _count(text: str, place: str) -> int:
    # At most ten digits: int() would take minutes for thousands of them before refusing them.
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= MOST_PROCESSORS:
        raise FieldError(place, f"{shown(text)} is not a whole number from 1 to {MOST_PROCESSORS}")
    return int(text)


def _seconds(text: str, place: str, what: str) -> float:
    # float() would also accept "nan", "inf" and "1_000".
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not (math.isfinite(value) and value > 0):
        raise FieldError(place, f"{shown(text)} is not {what} above 0")
    return value
