"""Follows jobs: waits for the end of a job, passes on its output, and reports changes of a schedule.

An S³ sends events; other schedulers are polled every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from gas.agent.polling import Poll
from gas.agent.states import ENDED, describe
from gas.endpoints import JobEndpoint, S3Endpoint
from gas.endpoints.events import ServiceEvent
from gas.errors import NotFound
from gas.times import duration_text

__all__ = ["Change", "follow", "follow_output", "wait"]

WAITING_PAUSES = (0.1, 2.0)
"""Seconds between two polls of a job that is waited for: after a change, and after a long time without one."""

WAITING_PATIENCE = 1800
"""Seconds for which a scheduler that stops answering is retried while a job is waited for: enough for a restart."""

PAUSES = (1.0, 5.0)
"""Seconds between two polls of a followed scheduler without events."""

PATIENCE = 300.0
"""Seconds for which a followed scheduler without events is retried."""

PIECE = 2**20
"""Bytes of output that are read at once."""

WAITING = ("queued", "reserved")
"""States in which a job has written nothing yet."""

REMEMBERED = 100
"""How many ended jobs are requested, to learn how they ended."""


def wait(
    where: JobEndpoint,
    number: int,
    seconds: int | None = None,
    *,
    patience: int = WAITING_PATIENCE,
    report: Callable[[dict[str, Any]], object],
    remark: Callable[[str], object],
) -> dict[str, Any] | str:
    """Return a job when it has ended, or its state when the time is over.

    Parameters
    ----------
    seconds
        The longest wait; None waits without end.
    patience
        Seconds for which the scheduler is asked again if it stops answering.
    report
        Called with the job at each change of its state.
    remark
        Called when the scheduler does not answer for a while.

    Raises
    ------
    Unreachable
        There was no answer for `patience` seconds, or none to the first query.
    """
    limit = None if seconds is None else time.monotonic() + seconds
    poll, state = Poll(patience, remark, f"asking again for {duration_text(patience)}"), ""
    while True:
        before = state
        found: dict[str, Any] | None = None
        with poll.asking():
            found = where.job(number)
        if found is not None:
            state = str(found["state"])
            if state in ENDED:
                return found
            if state != before:
                report(found)
        poll.lengthen(WAITING_PAUSES, changed=state != before)
        left = poll.pause if limit is None else limit - time.monotonic()
        if left <= 0:
            return state or "unknown"
        time.sleep(min(poll.pause, left))  # the last poll is at the limit, not before


def follow_output(
    where: JobEndpoint,
    number: int,
    stream: Literal["stdout", "stderr"],
    write: Callable[[bytes], object],
    *,
    patience: int = WAITING_PATIENCE,
    remark: Callable[[str], object],
) -> dict[str, Any]:
    """Pass on the output of a job from its beginning, while the job writes it; return the job when it has ended.

    Parameters
    ----------
    write
        Called with each piece.
    patience, remark
        As for `wait`.

    Raises
    ------
    NotFound, Conflict
        There is no such job, or its output cannot be read here.
    Unreachable
        As for `wait`.
    """
    poll = Poll(patience, remark, f"asking again for {duration_text(patience)}")
    position, began, grown, missing = 0, None, False, False
    while True:
        ended: dict[str, Any] | None = None
        with poll.asking():
            job = where.job(number)
            if job["state"] not in WAITING:
                if began is not None and job["start"] != began:
                    remark(f"job {number} has restarted, and its output begins again")
                    position = 0
                began, grown = job["start"], False
                try:
                    while piece := where.output(number, stream, PIECE, position):
                        write(piece)
                        position, grown = position + len(piece), True
                except NotFound as absent:  # a node may take a moment to create the file, and longer to show it
                    if job["state"] in ENDED:
                        raise
                    if not missing:
                        remark(f"{absent}; Gas keeps looking until it has ended")
                    missing = True
            ended = job if job["state"] in ENDED else None
        if ended is not None:
            return ended
        poll.lengthen(WAITING_PAUSES, changed=grown)
        time.sleep(poll.pause)


class Change(NamedTuple):
    """An event of a schedule.

    Attributes
    ----------
    is_news
        Whether its text differs from the previous text about the same job, or about the machine.
    """

    event: ServiceEvent
    is_news: bool


def follow(where: JobEndpoint, number: int | None, remark: Callable[[str], None]) -> Iterator[Change]:
    """Yield the changes of a schedule without end, or the changes of one job until it has ended, its last state last.

    Raises
    ------
    Unreachable
        The scheduler does not answer.
    """
    if isinstance(where, S3Endpoint):
        where.tell = remark
        events = _sent(where, number, remark)
    else:
        events = _polled(where, number, remark)
    lines: dict[int, str] = {}
    machine: tuple[Any, ...] | None = None
    for event in events:
        if event.kind == "machine":
            facts = event.data.get("processors"), event.data.get("accepting")
            yield Change(event, facts != machine)
            machine = facts
            continue
        line = describe(event.data)
        yield Change(event, lines.get(event.data["id"]) != line)
        lines[event.data["id"]] = line
        if number is not None and event.data["state"] in ENDED:
            return


def _sent(where: S3Endpoint, number: int | None, remark: Callable[[str], object]) -> Iterator[ServiceEvent]:
    """Yield the events of a service, or those of one job and its present state if some may have been missed."""
    current = True  # whether all missed changes have been read
    seen = False
    for event in where.events():
        if event.kind == "reset":
            current = False
        elif event.kind == "job" and number in (None, event.data.get("id")):
            seen = True
            yield event
        elif event.kind == "machine":
            if number is None:
                yield event
                if not current:
                    remark("some changes were missed; gas status shows the current state")
            elif not seen or not current:
                seen = True
                yield ServiceEvent("job", where.job(number), event.id)
            current = True


def _polled(where: JobEndpoint, number: int | None, remark: Callable[[str], object]) -> Iterator[ServiceEvent]:
    """Yield the changes of a scheduler without events.

    For a whole schedule, changes of expected starts alone are left out: they change all the time.
    """
    known: dict[int, str] = {}
    for round_, jobs in enumerate(_asked(where, number, known, remark)):
        if number is None and round_ == 0:
            yield ServiceEvent("machine", _standing(jobs), None)
        for job in jobs:
            line = describe(job if number is not None else {**job, "expected": None})
            if known.get(job["id"]) != line and (number is not None or round_ > 0):
                yield ServiceEvent("job", job, None)
            known[job["id"]] = line


def _asked(
    where: JobEndpoint, number: int | None, known: dict[int, str], remark: Callable[[str], object]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the job, or all jobs of the schedule, at each poll; the caller records in `known` what it has passed on."""
    poll = Poll(PATIENCE, remark)
    active: set[int] = set()
    while True:
        before = dict(known)
        jobs: list[dict[str, Any]] | None = None
        with poll.asking():
            if number is not None:
                jobs = [where.job(number)]
            else:
                listed = where.jobs(REMEMBERED)
                jobs = [*listed, *_vanished(where, active - {job["id"] for job in listed}, remark)]
                active = {job["id"] for job in jobs if job["state"] not in ENDED}
        if jobs is not None:
            yield jobs
        poll.lengthen(PAUSES, changed=known != before)
        time.sleep(poll.pause)


def _vanished(where: JobEndpoint, ids: set[int], remark: Callable[[str], object]) -> list[dict[str, Any]]:
    """Return jobs that are no longer listed, with their outcomes, without those that the scheduler has forgotten."""
    found = []
    for id in sorted(ids):
        try:
            found.append(where.job(id))
        except NotFound:
            remark(f"job {id} has left the schedule; {where.name} no longer knows how it ended")
    return found


def _standing(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the state of a machine in the format of S³, as far as it follows from its jobs."""
    running = [job for job in jobs if job["state"] == "running"]
    return {
        "running": len(running),
        "in_use": sum(job["processors"] or 0 for job in running),
        "queued": sum(job["state"] == "queued" for job in jobs),
    }
