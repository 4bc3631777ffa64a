"""The names of jobs in a table: mostly numbers, which are stored without texts, even for ten million jobs."""

from __future__ import annotations

import contextlib
import re
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput

__all__ = ["JobNames"]


class JobNames:
    """The names of the jobs in a file: numbers after a common stem, as long as there are no others."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._of_all: tuple[str, str] | None = None  # workload and stem of all numbers
        self._texts: list[tuple[str, str]] | None = None  # workload and name of each job, unless all are such numbers

    def add(self, cells: Sequence[str], workloads: Sequence[str], place: tuple[str, Sequence[int]]) -> None:
        """Add the names of some jobs and of their workloads; `place` is the file and the line of each.

        Raises
        ------
        BadInput
            A job has no name.
        """
        names = [cell.strip() for cell in cells]
        empty = next((row for row, name in enumerate(names) if not name), None)
        if empty is not None:
            raise BadInput(f"{place[0]}, line {place[1][empty]}: the job has no number")
        workloads = [cell.strip() for cell in workloads]
        stem = names[0][: names[0].rfind("!") + 1]
        of_all = self._of_all or (workloads[0], stem)
        of_stem = set(workloads) == {of_all[0]} and stem == of_all[1] and all(name.startswith(stem) for name in names)
        if self._texts is None and of_stem:
            numbers = [name[len(stem) :] for name in names]
            with contextlib.suppress(ValueError, OverflowError):
                found = array("q", map(int, numbers))
                # "007" and "+7" are names that a message must not change.
                if list(map(str, found)) == numbers and max(map(abs, found)) < 10**15:
                    self._numbers.extend(found)
                    self._of_all = of_all
                    return
        self._texts = self._texts or self._as_texts()
        self._texts += zip(workloads, names, strict=True)

    def _as_texts(self) -> list[tuple[str, str]]:
        workload, stem = self._of_all or ("", "")
        return [(workload, f"{stem}{number}") for number in self._numbers]

    def taken(self) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
        """Return the numbers of the jobs, and their names if these differ."""
        if self._texts is None:
            return np.asarray(memoryview(self._numbers)), None
        names = [name for _, name in self._texts]
        if len({workload for workload, _ in self._texts}) > 1:  # a number is unique within its workload only
            names = [name if "!" in name else f"{workload}!{name}" for workload, name in self._texts]
        prefixes = {name.rpartition("!")[0] for name in names}
        numbers = [name.rpartition("!")[2] for name in names] if len(prefixes) == 1 else names
        if all(re.fullmatch(r"[+-]?\d{1,15}(\.0*)?", number, re.ASCII) for number in numbers):
            return np.array([int(number.partition(".")[0]) for number in numbers], dtype=np.int64), None
        return np.arange(1, len(names) + 1, dtype=np.int64), tuple(names)
