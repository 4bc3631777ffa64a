"""``gas status --follow``: what changes in a schedule, or becomes of a job, as it happens.

An S³ tells; others are asked every few seconds.
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

__all__ = ["follow"]

PAUSES = (1.0, 5.0)
"""Seconds between two questions to a scheduler that does not tell: after a change, and after a long time without."""

PATIENCE_SECONDS = 300.0
"""For how long such a scheduler is asked on that does not answer any more."""

REMEMBERED = 100
"""How many jobs that have ended are asked for, to learn how they did."""


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
    current = True  # whether everything that was missed has been read
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
                remark("some changes were missed; gas status shows how things stand")
            current = True
        if number is not None and (last := view.shown_jobs.get(number)) is not None and last["state"] in ENDED:
            report_end(last, quiet=True)
            return


def _poll(where: JobEndpoint, number: int | None, view: _View) -> None:
    """Follow a scheduler that does not tell, by asking it.

    Of a whole schedule, changes of nothing but an expected start are left out: there, all of them change all the time.
    """
    known: dict[int, str] = {}
    for round_, jobs in enumerate(_asked(where, number, known)):
        if number is None and round_ == 0:
            view.machine(ServiceEvent("machine", _standing(jobs), None))
        for job in jobs:
            told = describe(job if number is not None else {**job, "expected": None})
            if known.get(job["id"]) != told and (number is not None or round_ > 0):
                view.job(ServiceEvent("job", job, None))
            known[job["id"]] = told
        if number is not None and jobs[0]["state"] in ENDED:
            report_end(jobs[0], quiet=True)
            return


def _asked(where: JobEndpoint, number: int | None, known: dict[int, str]) -> Iterator[list[dict[str, Any]]]:
    """Yield the job, or all jobs of the schedule, now and again; `known` is what is known of each when this goes on."""
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
    """Return what has become of jobs that are not listed any more; nothing of those that are forgotten."""
    found = []
    for id in sorted(ids):
        try:
            found.append(where.job(id))
        except NotFound:
            remark(f"job {id} is not in the schedule any more; {where.name} does not remember how it ended")
    return found


def _standing(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how a machine stands, in the words of S³, as far as its jobs tell."""
    running = [job for job in jobs if job["state"] == "running"]
    return {
        "running": len(running),
        "in_use": sum(job["processors"] or 0 for job in running),
        "queued": sum(job["state"] == "queued" for job in jobs),
    }


class _View:
    """What has been printed, so that no line says the same as the one before it."""

    def __init__(self, scheduler: str, json: bool) -> None:
        self._scheduler = scheduler
        self._json = json
        self._machine: tuple[Any, ...] | None = None
        self.shown_jobs: dict[int, dict[str, Any]] = {}

    def job(self, event: ServiceEvent) -> None:
        """Print what has become of a job."""
        job = event.data
        before = self.shown_jobs.get(job["id"])
        self.shown_jobs[job["id"]] = job
        if self._json:
            self._print(event)
        elif before is None or describe(before) != describe(job):
            say(describe(job))

    def machine(self, event: ServiceEvent) -> None:
        """Print how the machine stands at first, and when its size changed or whether it accepts jobs."""
        machine = event.data
        if self._json:
            self._print(event)
            return
        facts = machine.get("processors"), machine.get("accepting")
        if facts != self._machine:
            stands = f"{machine.get('running')} jobs run on {machine.get('in_use')}, {machine.get('queued')} wait"
            closed = "" if machine.get("accepting", True) else "; it accepts nothing new"
            size = f"{machine['processors']} processors, " if "processors" in machine else ""
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
