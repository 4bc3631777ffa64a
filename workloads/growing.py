"""The columns of a log during reading, some thousands of jobs at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.log import FIELDS, unknown

__all__ = ["GrowingColumns"]


class GrowingColumns:
    """The columns of a log by field names; a column without known values takes no memory."""

    def __init__(self) -> None:
        self.length = 0
        self._capacity = 0
        self._known: dict[str, NDArray[Any]] = {}

    def append(self, columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Add jobs; missing columns are unknown, identities have no fractions."""
        start, self.length = self.length, self.length + len(next(iter(columns.values())))
        if self.length > self._capacity:
            self._capacity = self.length + self.length // 8
            for column in self._known.values():
                column.resize(self._capacity, refcheck=False)  # large ones grow without a copy
                column[start:] = -1
        for field in FIELDS:
            values = columns.get(field.name)
            if values is None:
                continue
            if field.name not in self._known:
                if (values == -1).all():
                    continue
                kind = np.float64 if field.kind == "measure" else np.int64
                self._known[field.name] = np.full(self._capacity, -1, dtype=kind)
            column = self._known[field.name]
            if field.kind == "count" and column.dtype == np.int64 and (values != np.trunc(values)).any():
                column = self._known[field.name] = column.astype(np.float64)
            column[start : self.length] = values

    def backwards(self) -> int | None:
        """Return the index of the first job submitted in an earlier second than the one before; None if there is none.

        Simulated time is in whole seconds; within a second, the order of the file is kept.
        """
        second = self._seconds()
        found = np.flatnonzero(second[1:] < second[:-1])
        return int(found[0]) + 1 if found.size else None

    def number(self, place: int) -> int:
        """Return the number of a job, -1 if it has none."""
        return int(self._known["job"][place]) if "job" in self._known else -1

    def sort(self) -> None:
        """Put the jobs in the order of submission."""
        order = np.argsort(self._seconds(), kind="stable")
        for name, column in self._known.items():
            self._known[name] = column[order]

    def _seconds(self) -> NDArray[np.float64]:
        submit = self._known.get("submit")
        return np.full(self.length, -1.0) if submit is None else np.trunc(submit[: self.length])

    def taken(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, without those that are unknown."""
        for column in self._known.values():
            column.resize(self.length, refcheck=False)
        return {"job": unknown(FIELDS[0], self.length), **self._known}
