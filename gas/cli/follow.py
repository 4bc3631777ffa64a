"""``gas status --follow``: what changes in a schedule, or becomes of a job, as it happens."""

from __future__ import annotations

import json as json_text
from typing import Any

from gas.cli.states import ENDED, describe, report_end
from gas.cli.tables import note, say
from gas.endpoints import JobEndpoint, S3Endpoint
from gas.endpoints.events import ServiceEvent
from gas.errors import BadInput

__all__ = ["follow"]


def follow(where: JobEndpoint, number: int | None, *, json: bool) -> None:
    """Print a line for each change; of one job, until it has ended, else until Ctrl-C.

    Raises
    ------
    JobFailed
        The job has ended and did not complete.
    BadInput
        The scheduler tells nobody of changes.
    """
    if not isinstance(where, S3Endpoint):
        raise BadInput(f"{where.name}: cannot be followed; use gas wait")
    where.tell = lambda text: note(f"gas: {text}")
    view = _View(where.name, json)
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
                note("gas: some changes were missed; gas status shows how things stand")
            current = True
        if number is not None and (last := view.shown_jobs.get(number)) is not None and last["state"] in ENDED:
            report_end(last, quiet=True)
            return


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
            closed = "" if machine.get("accepting") else "; it accepts nothing new"
            say(f"{self._scheduler}: {machine.get('processors')} processors, {stands}{closed}")
        self._machine = facts

    def _print(self, event: ServiceEvent) -> None:
        document = {
            "schema": "gas.event/1",
            "scheduler": self._scheduler,
            "id": event.id,
            "event": event.kind,
            "data": event.data,
        }
        print(json_text.dumps(document, ensure_ascii=False, allow_nan=False), flush=True)
