"""Generated logs: header, acknowledgements, the constants of the model, and the requested load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workloads.header import Header
from workloads.load import submit_at_load
from workloads.log import Log

__all__ = ["check_request", "constants_text", "generated_log"]


def check_request(jobs: int, processors: int) -> None:
    """Raise for no jobs, or for no machine."""
    if jobs < 1:
        raise ValueError(f"{jobs} jobs cannot be generated; give 1 or more")
    if processors < 1:
        raise ValueError(f"a machine of {processors} processors can run nothing; give 1 or more")


def generated_log(
    name: str,
    *,
    submit: NDArray[np.float64],
    sizes: NDArray[np.int64],
    run_times: NDArray[Any],
    machine: int,
    load: float | None,
    computer: str,
    thanks: Sequence[str],
    notes: Iterable[str],
    entries: Iterable[tuple[str, object]] = (),
    columns: dict[str, ArrayLike] | None = None,
) -> Log:
    """Return the log of generated jobs, sorted by submission, at the requested load.

    Second 0 is the midnight of 1 January 1970 in UTC by the header.

    Parameters
    ----------
    name
        Name of the generator and of the log.
    submit
        Seconds; fractions are cut off.
    run_times
        Whole seconds.
    machine
        Its processors.
    load
        The offered load to reach by scaling interarrival times; None for that of the model.
    computer, thanks, notes, entries
        For the header: the generator, acknowledgements, notes, and keys of the model.
    columns
        Further columns by name.

    Notes
    -----
    Arrays are not copied: the caller must not use them afterwards.
    """
    seconds = submit_at_load(submit, sizes, run_times, machine, load) if load is not None else np.trunc(submit)
    scaling = "as the model gives it" if load is None else f"scaled to {load:g} by interarrival times"
    header = Header.of(
        [
            ("Version", "2.2"),
            ("Computer", computer),
            *(("Acknowledge", line) for line in thanks),
            ("MaxJobs", len(sizes)),
            ("MaxRecords", len(sizes)),
            ("UnixStartTime", 0),
            ("TimeZoneString", "UTC"),
            ("MaxNodes", machine),
            ("MaxProcs", machine),
            *entries,
            ("Note", f"made by a model; load {scaling}"),
            *(("Note", note) for note in notes),
        ]
    )
    given: dict[str, ArrayLike] = {
        "submit": seconds,
        "run_time": run_times,
        "allocated_processors": sizes,
        "requested_processors": sizes,
        **(columns or {}),
    }
    return Log.from_columns(given, header=header, name=name, copy=False)


def constants_text(constants: Any) -> str:
    """Return the fields of a dataclass of numbers as one line, ``name value, …``."""
    if not is_dataclass(constants):
        raise TypeError(f"{constants!r} has no fields")
    values = ((each.name, getattr(constants, each.name)) for each in fields(constants))
    return ", ".join(f"{key} {value:.10g}" if isinstance(value, float) else f"{key} {value}" for key, value in values)
