"""A snapshot built from a scheduler's records of single jobs, for any policy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gas.availability import MOST_PROCESSORS
from gas.errors import BadInput
from gas.prediction.snapshot import Snapshot
from gas.profile.flat import NEVER, earliest_fit, empty_profile, free_during, take, with_room
from gas.times import LATEST, LONGEST

__all__ = ["Entry", "snapshot_from"]


class Entry(NamedTuple):
    """A running or waiting job, or a reservation; see `gas.prediction.snapshot.Snapshot` for its fields."""

    processors: int
    walltime: int
    start: int
    running: bool
    user: int = -1
    fixed: bool = False
    not_before: int | None = None
    submit: int | None = None
    name: int = -1


def snapshot_from(now: int, machine: int, entries: Iterable[Entry]) -> Snapshot:
    """Return the snapshot of entries in the order of the queue.

    A planned start in the past, or too early, is corrected. Plans that are rounded to minutes, or made for nodes while
    only processors are counted here, may exceed the machine. Then later jobs of the queue are moved to the first
    sufficient hole after their planned start. Running jobs and fixed ones keep their starts, and processors beyond the
    machine are cut off.

    Raises
    ------
    BadInput
        The entries do not make a snapshot.
    """
    placed: dict[int, Entry] = {}
    entries = list(entries)
    for number, limit, what in [
        (machine, MOST_PROCESSORS, "processors of the machine"),
        (abs(now), LATEST, "now"),
        *((e.processors, MOST_PROCESSORS, "processors of a job") for e in entries),
        *((e.walltime, LONGEST, "walltime of a job") for e in entries),
        *((abs(e.start), LATEST, "start of a job") for e in entries),
    ]:
        if number > limit:
            raise BadInput(f"{what} {number}: is above {limit}, the maximum")
    given = [e if e.running else e._replace(start=max(e.start, now, e.not_before or now)) for e in entries]
    given = [e for e in given if e.processors > 0]
    profile = empty_profile(machine, now, 16 + 2 * len(given))
    order = sorted(range(len(given)), key=lambda i: (not given[i].running, not given[i].fixed))  # stable
    for i in order:
        entry = given[i]
        begin = max(entry.start, now)
        end = max(entry.start + entry.walltime, now + 1)
        if entry.running or entry.fixed:
            free = int(free_during(profile, begin, end))
            if free < 1:
                continue
            entry = entry._replace(processors=min(entry.processors, free))
        else:
            begin = int(earliest_fit(profile, min(entry.processors, machine), entry.walltime, begin))
            if begin == NEVER:  # pragma: no cover  # pragma: no cover  # the last frame is that of the empty machine
                continue
            entry = entry._replace(processors=min(entry.processors, machine), start=begin)
            end = begin + entry.walltime
        profile = with_room(profile, 2)
        take(profile, begin, end, entry.processors)
        placed[i] = entry
    rows = [placed[i] for i in sorted(placed)]
    columns = np.array([(e.processors, e.walltime, e.start, e.user) for e in rows], np.int64).reshape(-1, 4).T
    processors, walltime, start, user = (np.ascontiguousarray(column) for column in columns)
    submit = np.array([min(e.start, now) if e.submit is None else e.submit for e in rows], np.int64)
    not_before = np.array([now if e.not_before is None else e.not_before for e in rows], np.int64)
    return Snapshot(
        now=now,
        machine=machine,
        processors=processors,
        walltime=walltime,
        start=start,
        running=np.array([e.running for e in rows], np.bool_),
        user=user,
        fixed=np.array([e.fixed for e in rows], np.bool_) if any(e.fixed for e in rows) else None,
        not_before=not_before if (not_before > now).any() else None,
        submit=None if all(e.submit is None for e in rows) else submit,
        name=None if all(e.name < 0 for e in rows) else np.array([e.name for e in rows], np.int64),
    )
