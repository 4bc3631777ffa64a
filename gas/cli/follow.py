"""``gas status --follow``: changes of a schedule or of a job, printed as they happen."""

from __future__ import annotations

from typing import Any

from gas.agent.following import follow
from gas.agent.states import describe
from gas.cli.states import report_end
from gas.cli.tables import print_json_line, remark, say
from gas.endpoints import JobEndpoint
from gas.endpoints.events import ServiceEvent
from gas.printable import many

__all__ = ["follow_and_print"]


def follow_and_print(where: JobEndpoint, number: int | None, *, json: bool) -> None:
    """Print a line for each change: of one job until it has ended, otherwise of the schedule until Ctrl-C.

    Raises
    ------
    JobFailed
        The job has ended and did not complete.
    Unreachable
        The scheduler does not answer.
    """
    last: dict[str, Any] = {}
    for event, is_news in follow(where, number, remark):
        last = event.data
        if json:
            _print(where.name, event)
        elif is_news:
            say(_machine_text(where.name, event.data) if event.kind == "machine" else describe(event.data))
    report_end(last, quiet=True)


def _machine_text(scheduler: str, machine: dict[str, Any]) -> str:
    stands = f"{machine.get('running')} jobs run on {machine.get('in_use')}, {machine.get('queued')} wait"
    closed = "" if machine.get("accepting", True) else "; new jobs are refused"
    size = f"{many(machine['processors'], 'processor')}, " if "processors" in machine else ""
    return f"{scheduler}: {size}{stands}{closed}"


def _print(scheduler: str, event: ServiceEvent) -> None:
    print_json_line(
        {
            "schema": "gas.event/1",
            "scheduler": scheduler,
            "id": event.id,
            "event": event.kind,
            "data": event.data,
        }
    )
