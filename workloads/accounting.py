"""A log in the form of Slurm's accounting: ``sacct --parsable2`` under ``SLURM_TIME_FORMAT=%s``.

Instants are epoch seconds, which are independent of the reader's time zone. Only jobs that ran and ended are included:
sacct cannot state the duration of others. Users and accounts are named by their numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from workloads.log import FIELDS, PARTIAL, Log, LogError
from workloads.sacct import LATEST

__all__ = ["COLUMNS", "format_sacct", "without_field"]

COLUMNS = ("JobID", "User", "Account", "Partition", "Timelimit", "ElapsedRaw", "Submit", "Start", "End", "AllocCPUS")
"""The printed fields, followed by State."""

_KEPT = ("job", "submit", "wait", "run_time", "allocated_processors", "requested_time", "status", "user", "group",
         "partition")  # fmt: skip
_STATES = {1: "COMPLETED", 0: "FAILED", 5: "CANCELLED"}


def without_field(log: Log) -> list[str]:
    """Return in words which data of a log have no field in sacct."""
    sizes = log.allocated_processors, log.requested_processors
    asked_for_others = ((sizes[0] > 0) & (sizes[1] > 0) & (sizes[0] != sizes[1])).any()
    kept = (*_KEPT, *([] if asked_for_others else ["requested_processors"]))
    lost = [each.label for each in FIELDS if each.name not in kept and (getattr(log, each.name) != -1).any()]
    return [*lost, *(["the header"] if log.header.lines else [])]


def format_sacct(log: Log) -> tuple[bytes, Mapping[str, int]]:
    """Return the jobs of a log in sacct's form, and the number of skipped jobs by reason.

    Fractions of seconds are cut off.

    Raises
    ------
    LogError
        None of its jobs ran.
    """
    size = np.where(log.allocated_processors > 0, log.allocated_processors, log.requested_processors)
    left_out: Counter[str] = Counter()
    names = log.header.partitions
    lines = ["|".join((*COLUMNS, "State"))]
    whole = [np.trunc(column).astype(np.int64).tolist() for column in (log.submit, log.wait, log.run_time, size)]
    rest = (log.requested_time, log.job, log.user, log.group, log.partition, log.status)
    for submit, wait, ran, count, limit, job, user, group, partition, status in zip(
        *whole, *(column.tolist() for column in rest), strict=True
    ):
        begin = log.start_time + submit
        start = begin + wait
        why = _why_not(wait, ran, count, status)
        if not why and not (begin >= 0 and start + ran <= LATEST):
            why = "not between 1970 and 2106"
        if why:
            left_out[why] += 1
            continue
        cells = (job, _name("user", user), _name("account", group), names.get(partition, _name("partition", partition)))
        times = (_duration(int(limit)) if limit >= 1 else "UNLIMITED", ran, begin, start, start + ran)
        lines.append("|".join(map(str, (*cells, *times, count, _STATES.get(status, "UNKNOWN")))))
    if len(lines) == 1:
        reasons = ", ".join(f"{number:,} {why}" for why, number in left_out.items()) or "no jobs"
        way_out = "gas simulate LOG -o FILE.swf gives jobs starts"
        raise LogError(log.name, f"has no job that sacct could print ({reasons}); {way_out}")
    return ("\n".join(lines) + "\n").encode(), dict(left_out)


def _why_not(wait: int, ran: int, processors: int, status: int) -> str:
    if status in PARTIAL:
        return "partial execution of a job"
    if wait < 0:
        return "without a start"
    if ran < 0:
        return "without a run time"
    return "without processors" if processors < 1 else ""


def _name(kind: str, number: int) -> str:
    return f"{kind}{number}" if number >= 0 else ""


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text
