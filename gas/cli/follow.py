"""``gas status --follow``: changes of a schedule or of a job as they happen.

An S³ sends events; other schedulers are polled every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from gas.agent.polling import Poll
from gas.agent.states import ENDED, describe
from gas.cli.states import report_end
from gas.cli.tables import print_json_line, remark, say
from gas.endpoints import JobEndpoint, S3Endpoint
from gas.endpoints.events import ServiceEvent
from gas.errors import NotFound
from gas.printable import many

__all__ = ["follow"]

PAUSES = (1.0, 5.0)
"""Seconds between two polls of a scheduler without events: after a change, and after a long time without one."""

PATIENCE_SECONDS = 300.0
"""How long a polled scheduler that has stopped answering is retried."""

REMEMBERED = 100
"""How many ended jobs are requested, to learn how they ended."""


def follow(where: JobEndpoint, number: int | None, *, json: bool) -> None:
    """Print a line for each change; of one job, until it has ended, else until Ctrl-C.

    Raises
    ------
    JobFailed
        The job has ended and did not complete.
    Unreachable
        The scheduler does not answer.
    """
    view = _View(where.name, json)
    if not isinstance(where, S3Endpoint):
        _poll(where, number, view)
        return
    where.tell = remark
    current = True  # whether all missed changes have been read
    for event in where.events():
        if event.kind == "reset":
            current = False
        elif event.kind == "job" and number in (None, event.data.get("id")):
            view.job(event)
        elif event.kind == "machine":
            if number is None:
                view.machine(event)
            elif view.shown_jobs.get(number) is None or not current:
                view.job(ServiceEvent("job", where.job(number), event.id))
            if number is None and not current:
                remark("some changes were missed; gas status shows the current state")
            current = True
        if number is not None and (last := view.shown_jobs.get(number)) is not None and last["state"] in ENDED:
            report_end(last, quiet=True)
            return


def _poll(where: JobEndpoint, number: int | None, view: _View) -> None:
    """Follow a scheduler without events by polling it.

    For a whole schedule, changes of expected starts alone are not printed: they change all the time.
    """
    known: dict[int, str] = {}
    for round_, jobs in enumerate(_asked(where, number, known)):
        if number is None and round_ == 0:
            view.machine(ServiceEvent("machine", _standing(jobs), None))
        for job in jobs:
            line = describe(job if number is not None else {**job, "expected": None})
            if known.get(job["id"]) != line and (number is not None or round_ > 0):
                view.job(ServiceEvent("job", job, None))
            known[job["id"]] = line
        if number is not None and jobs[0]["state"] in ENDED:
            report_end(jobs[0], quiet=True)
            return


def _asked(where: JobEndpoint, number: int | None, known: dict[int, str]) -> Iterator[list[dict[str, Any]]]:
    """Yield the job, or all jobs of the schedule, at each poll; the caller keeps what it has printed in `known`."""
    poll = Poll(PATIENCE_SECONDS, remark)
    active: set[int] = set()
    while True:
        before = dict(known)
        jobs: list[dict[str, Any]] | None = None
        with poll.asking():
            if number is not None:
                jobs = [where.job(number)]
            else:
                listed = where.jobs(REMEMBERED)
                jobs = [*listed, *_vanished(where, active - {job["id"] for job in listed})]
                active = {job["id"] for job in jobs if job["state"] not in ENDED}
        if jobs is not None:
            yield jobs
        poll.lengthen(PAUSES, changed=known != before)
        time.sleep(poll.pause)


def _vanished(where: JobEndpoint, ids: set[int]) -> list[dict[str, Any]]:
    """Return jobs that are no longer listed, as they ended; those that the scheduler has forgotten are left out."""
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


class _View:
    """What has been printed, so that no line repeats the one before it."""

    def __init__(self, scheduler: str, json: bool) -> None:
        self._scheduler = scheduler
        self._json = json
        self._machine: tuple[Any, ...] | None = None
        self.shown_jobs: dict[int, dict[str, Any]] = {}

    def job(self, event: ServiceEvent) -> None:
        """Print a job if its description has changed."""
        job = event.data
        before = self.shown_jobs.get(job["id"])
        self.shown_jobs[job["id"]] = job
        if self._json:
            self._print(event)
        elif before is None or describe(before) != describe(job):
            say(describe(job))

    def machine(self, event: ServiceEvent) -> None:
        """Print the machine at first, and when its size or its accepting of jobs has changed."""
        machine = event.data
        if self._json:
            self._print(event)
            return
        facts = machine.get("processors"), machine.get("accepting")
        if facts != self._machine:
            stands = f"{machine.get('running')} jobs run on {machine.get('in_use')}, {machine.get('queued')} wait"
            closed = "" if machine.get("accepting", True) else "; new jobs are refused"
            size = f"{many(machine['processors'], 'processor')}, " if "processors" in machine else ""
            say(f"{self._scheduler}: {size}{stands}{closed}")
        self._machine = facts

    def _print(self, event: ServiceEvent) -> None:
        document = {
            "schema": "gas.event/1",
            "scheduler": self._scheduler,
            "id": event.id,
            "event": event.kind,
            "data": event.data,
        }
        print_json_line(document)
