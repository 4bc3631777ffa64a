"""The queue of an S³, by what its list of jobs shows everybody: sizes, walltimes, users, promises; no run times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gas.errors import Unreachable

if TYPE_CHECKING:  # imported where it is used: planning needs none of it
    from gas.prediction.entries import Entry
    from gas.prediction.snapshot import Snapshot

__all__ = ["snapshot_of"]


def snapshot_of(
    name: str, machine: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]], users: Mapping[str, int]
) -> Snapshot:
    """Return the snapshot of an S³. Reservations are fixed, and have their processors to their ends.

    Parameters
    ----------
    name
        What the user calls it.
    machine, jobs
        The answers to ``GET /v1/machine`` and, after it, ``GET /v1/jobs``.
    users
        Numbers of known users.

    Raises
    ------
    Unreachable
        They cannot be understood.
    """
    from gas.prediction.entries import snapshot_from

    now = _integer(name, machine, "now")
    active = [job for job in jobs if job.get("state") in ("queued", "reserved", "running")]
    now = max([now, *(_integer(name, job, "start") for job in active if job["state"] == "running")])
    entries = [_entry(name, job, users) for job in active]
    return snapshot_from(now, _integer(name, machine, "processors"), entries)


def _entry(name: str, job: Mapping[str, Any], users: Mapping[str, int]) -> Entry:
    from gas.prediction.entries import Entry

    running, reservation = job["state"] == "running", job.get("kind") == "reservation"
    start, walltime = _integer(name, job, "start" if running else "promise"), _integer(name, job, "walltime")
    if running and job.get("due") is not None:  # later than its walltime says if it could not be ended
        walltime = max(walltime, _integer(name, job, "due") - start)
    not_before = None if reservation or job.get("not_before") is None else _integer(name, job, "not_before")
    user = users.get(str(job.get("user")), -1)
    return Entry(_integer(name, job, "processors"), walltime, start, running, user, reservation, not_before)


def _integer(name: str, answer: Mapping[str, Any], key: str) -> int:
    value = answer.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreachable(f"{name}: answered {key} {value!r} where a whole number belongs; is it an S³ service?")
    return value
