"""A log in memory: one array per field of the Standard Workload Format, with its header.

Fields have three kinds. A *measure* (a time or an amount of memory) may have a fraction and is float64. A *count* (of
processors) and an *identity* (job, user, queue, …) are whole numbers, int64; if a log violates the format with a
fraction, a count column is kept as float64 so that nothing is lost, and an identity is an error. -1 means unknown.

A column that is unknown for every job is a single -1 that numpy shows as many (stride 0), so it takes no memory: most
logs have about ten of the 18 columns. It is read, sliced and compared like any other.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from documents.fields import Unusable
from workloads.header import Epoch, Header

__all__ = ["COLUMNS", "FIELDS", "LARGEST", "PARTIAL", "Field", "Log", "LogError", "is_unknown", "unknown"]

Integers: TypeAlias = NDArray[np.int64]
Measures: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

LARGEST = 2**53
"""The largest number of a field: up to here float64 represents every whole number."""

PARTIAL = (2, 3, 4)
"""The status of a partial execution: to be continued; the last part, completed or failed."""


class Field(NamedTuple):
    """One of the 18 fields of a line."""

    number: int
    """Its position, from 1."""
    name: str
    """The name of its column in a `Log`."""
    label: str
    """Its name in messages."""
    kind: Literal["measure", "count", "identity"]

    def __str__(self) -> str:
        return f"{self.label} (field {self.number})"


FIELDS = (
    Field(1, "job", "job number", "identity"),
    Field(2, "submit", "submit time", "measure"),
    Field(3, "wait", "wait time", "measure"),
    Field(4, "run_time", "run time", "measure"),
    Field(5, "allocated_processors", "allocated processors", "count"),
    Field(6, "cpu_time", "average CPU time", "measure"),
    Field(7, "used_memory", "used memory", "measure"),
    Field(8, "requested_processors", "requested processors", "count"),
    Field(9, "requested_time", "requested time", "measure"),
    Field(10, "requested_memory", "requested memory", "measure"),
    Field(11, "status", "status", "identity"),
    Field(12, "user", "user", "identity"),
    Field(13, "group", "group", "identity"),
    Field(14, "executable", "executable", "identity"),
    Field(15, "queue", "queue", "identity"),
    Field(16, "partition", "partition", "identity"),
    Field(17, "preceding_job", "preceding job", "identity"),
    Field(18, "think_time", "think time", "measure"),
)
"""The fields of version 2.2 in the order of a line."""

COLUMNS = tuple(each.name for each in FIELDS)
"""The names of their columns."""


class LogError(Unusable):
    """A log that cannot be used; the message names the log, the line and the field as far as they are known."""

    def __init__(self, log: str, problem: str, *, line: int | None = None, at_field: Field | None = None) -> None:
        place = log if line is None else f"{log}, line {line}"
        super().__init__(f"{place}, {at_field}: {problem}" if at_field else f"{place}: {problem}")
        self.log = log
        self.problem = problem
        self.line = line
        self.field = at_field.name if at_field else None

    def __reduce__(self) -> tuple[Any, ...]:
        # Copying and unpickling exceptions calls their class with the message alone.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Log:
    """The jobs of a log in order of submission, with times in seconds and counts in processors; arrays are read-only.

    `from_columns` makes one from arrays, `workloads.swf.read_swf` from a file.
    """

    job: Integers
    submit: Measures
    """Seconds since second 0 of the log (`start_time`)."""
    wait: Measures
    run_time: Measures
    allocated_processors: Counts
    cpu_time: Measures
    """Average over the processors."""
    used_memory: Measures
    """Kilobytes per processor."""
    requested_processors: Counts
    requested_time: Measures
    """The user's estimate."""
    requested_memory: Measures
    """Kilobytes per processor."""
    status: Integers
    """1 completed, 0 failed, 5 cancelled; 2, 3, 4 partial executions."""
    user: Integers
    group: Integers
    executable: Integers
    queue: Integers
    partition: Integers
    preceding_job: Integers
    think_time: Measures
    header: Header = field(default_factory=Header)
    name: str = "log"
    """Name of the log in messages."""
    warnings: tuple[str, ...] = ()
    """What a user should know before relying on the log."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Malformed lines left out by a lenient reader, counted by reason."""

    def __len__(self) -> int:
        return len(self.job)

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, ArrayLike], *, header: Header | None = None, name: str = "log", copy: bool = True
    ) -> Log:
        """Return the log with these columns; without "job", jobs are numbered from 1; other missing columns are -1.

        Parameters
        ----------
        copy
            False takes over writable arrays of the right type instead of copying them; they become read-only.

        Raises
        ------
        LogError
            A column is not in SWF or invalid there, or columns have unequal length.
        """
        given = _checked_names(columns, name)
        length = max((array.size for array in given.values()), default=0)
        wrong = [key for key, array in given.items() if array.shape != (length,)]
        if wrong:
            raise LogError(name, f'column "{wrong[0]}" has shape {given[wrong[0]].shape}, expected ({length},)')
        given.setdefault("job", np.arange(1, length + 1, dtype=np.int64))
        typed: dict[str, Any] = {}
        for each in FIELDS:
            values = given.pop(each.name, None)
            typed[each.name] = unknown(each, length) if values is None else _typed(values, each, name, copy=copy)
        return cls(**typed, header=header or Header(), name=name)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the 18 columns by name, in the order of a line."""
        return {each.name: getattr(self, each.name) for each in FIELDS}

    def with_columns(self, **columns: ArrayLike) -> Log:
        """Return the log with some columns replaced, for example `requested_time` by the estimates of a model."""
        given = _checked_names(columns, self.name)
        changed: dict[str, Any] = {}
        for each in FIELDS:
            if each.name in given:
                values = given[each.name]
                if values.shape != (len(self),):
                    raise LogError(self.name, f'column "{each.name}" has shape {values.shape}, expected ({len(self)},)')
                changed[each.name] = _typed(values, each, self.name)
        return replace(self, **changed)

    def with_header(self, header: Header) -> Log:
        """Return the log with another header."""
        return replace(self, header=header)

    def select(self, rows: ArrayLike) -> Log:
        """Return the log of some rows only (indices or a mask), with the same header."""
        index = np.asarray(rows)
        if index.size == 0 and index.dtype != bool:
            index = index.astype(np.int64)  # an empty list would become floats
        rows_left = index.size if index.dtype != bool else int(np.count_nonzero(index))
        selected: dict[str, Any] = {}
        for each in FIELDS:
            column = getattr(self, each.name)
            # Always index the job numbers, so that an invalid index is an error.
            known = each.name == "job" or not is_unknown(column)
            selected[each.name] = _frozen(column[index]) if known else unknown(each, rows_left)
        return replace(self, **selected)

    @property
    def epoch(self) -> Epoch:
        """The date and time of second 0, and the assumptions on which it is based (also among `warnings`)."""
        return self.header.epoch

    @property
    def start_time(self) -> int:
        """Second 0 of the log, in seconds since 1970-01-01 00:00 UTC."""
        return self.epoch.start

    @property
    def zone(self) -> tzinfo:
        """The time zone of the machine."""
        return self.epoch.zone

    @property
    def acknowledgements(self) -> tuple[str, ...]:
        """The people to thank; print this with every result from the log."""
        return self.header.acknowledgements


def unknown(field: Field, length: int) -> NDArray[Any]:
    """Return the column of a field without known values: all -1, without using memory."""
    value = np.array(-1.0 if field.kind == "measure" else -1)
    return np.broadcast_to(value, (length,))


def is_unknown(column: NDArray[Any]) -> bool:
    """Return whether a column of a log is -1 everywhere and takes no memory."""
    return column.size > 0 and column.strides == (0,)


def _checked_names(columns: Mapping[str, ArrayLike], log: str) -> dict[str, NDArray[Any]]:
    """Return the columns as arrays; raise for names that a log does not have."""
    strange = [key for key in columns if key not in COLUMNS]
    if strange:
        raise LogError(log, f'"{strange[0]}" is not a column; known: {", ".join(COLUMNS)}')
    return {key: np.asarray(values) for key, values in columns.items()}


def _typed(values: NDArray[Any], column: Field, log: str, *, copy: bool = True) -> NDArray[Any]:
    """Return a column in the type of its kind, without loss."""
    if values.dtype.kind not in "iuf":
        raise LogError(log, f"{values.dtype} is not a type of numbers", at_field=column)
    if values.size == 0:
        return np.empty(0, dtype=np.float64 if column.kind == "measure" else np.int64)
    if not (values.min() >= -LARGEST and values.max() <= LARGEST):  # also false for NaN
        at = int(np.flatnonzero(~((values >= -LARGEST) & (values <= LARGEST)))[0])
        raise LogError(log, f"{values[at]} in row {at} is not a number within ±2**53", at_field=column)
    if values[0] == -1 and (values == -1).all():
        return unknown(column, values.size)
    if column.kind == "measure":
        measured = values.astype(np.float64, copy=copy or not values.flags.writeable)
        measured += 0.0  # turns -0.0 into 0.0
        return _frozen(measured)
    whole = values.astype(np.int64, copy=copy)
    if values.dtype.kind != "f" or np.array_equal(whole, values):
        return _frozen(whole)
    if column.kind == "count":
        return _frozen(values.astype(np.float64, copy=copy))
    at = int(np.flatnonzero(whole != values)[0])
    raise LogError(log, f"{values[at]} in row {at} is not a whole number", at_field=column)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
