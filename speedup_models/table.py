"""Measured execution times, unchanged or interpolated between measured counts."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from documents.fields import FieldError, Fields, finite_number, shown, whole_number
from speedup_models.constraints import MOST_PROCESSORS
from speedup_models.model import ModelError, processor_counts

__all__ = ["Table", "table_from_fields"]


@dataclass(frozen=True, slots=True)
class Table:
    """An application whose execution times were measured.

    On a measured count the answer is exactly the measured time. Between two measured counts there is an answer only
    with `interpolate`: a straight line through both neighbours on log-log axes, that is, a constant power of n from one
    measured count to the next. Outside the measured range there is never an answer. Times need not decrease with
    counts.

    Attributes
    ----------
    counts
        Measured processor counts, ascending.
    times
        Seconds on each of them, above 0.
    """

    counts: tuple[int, ...]
    times: tuple[float, ...]
    interpolate: bool = False

    def __post_init__(self) -> None:
        if not self.counts:
            raise ModelError("table of times: it is empty; give the time on at least one processor count")
        if len(self.counts) != len(self.times):
            raise ModelError(f"table of times: {len(self.counts)} counts but {len(self.times)} times")
        try:
            for count, time in zip(self.counts, self.times, strict=True):
                whole_number(count, "processor count", minimum=1, maximum=MOST_PROCESSORS)
                finite_number(time, f"time on {count} processors", above=0)
        except FieldError as error:
            raise ModelError(f"table of times: {error}") from None
        if list(self.counts) != sorted(set(self.counts)):
            raise ModelError(f"table of times: the counts {shown(self.counts)} do not ascend")

    @classmethod
    def of(cls, times: Mapping[int, float], *, interpolate: bool = False) -> Table:
        """Return the model of a mapping from processor counts, in any order, to seconds."""
        measured = sorted((operator.index(count), float(time)) for count, time in times.items())
        return cls(tuple(count for count, _ in measured), tuple(time for _, time in measured), interpolate)

    @property
    def name(self) -> str:
        """Return a name with the number of measurements."""
        if len(self.counts) == 1:
            return f"table of one time, on {self.counts[0]} processors"
        manner = "interpolated table" if self.interpolate else "table"
        return f"{manner} of {len(self.counts)} times, on {self.counts[0]} to {self.counts[-1]} processors"

    @property
    def constraint(self) -> None:
        """Return None: the table has measured sizes, but no constraint of the application."""
        return

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Return the measured counts; None with `interpolate`, where counts outside of their range get NaN."""
        return None if self.interpolate else self.counts

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the execution time in seconds on each count, NaN if it was not measured (or interpolated)."""
        n = processor_counts(processors)
        counts, times = np.array(self.counts, dtype=np.int64), np.array(self.times, dtype=np.float64)
        place = np.searchsorted(counts, n).clip(max=counts.size - 1)
        measured = counts[place] == n
        if not self.interpolate:
            return np.where(measured, times[place], np.nan)
        between = np.interp(np.log(n), np.log(counts), np.log(times), left=np.nan, right=np.nan)
        return np.where(measured, times[place], np.exp(between))


def table_from_fields(fields: Fields) -> Table:
    """Return the model of a [speedup] table with the keys times (count = seconds) and, optional, interpolate."""
    rows = fields.table("times")
    times: dict[int, float] = {}
    for key in rows.keys():  # noqa: SIM118  # Fields is no mapping
        # Leading zeros would allow one count to appear twice.
        if not re.fullmatch(r"[1-9][0-9]{0,9}", str(key)) or int(key) > MOST_PROCESSORS:
            raise FieldError(
                rows.place,
                f"{shown(key)} is not a processor count from 1 to {MOST_PROCESSORS}; "
                "write the times like { 16 = 812.0, 32 = 423.5 }",
            )
        times[int(key)] = rows.number(key, above=0)
    if not times:
        raise FieldError(rows.place, "is empty; give the time on at least one processor count")
    return Table.of(times, interpolate=fields.boolean("interpolate", False))
