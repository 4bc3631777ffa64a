"""OAR by its commands: oarnodes and oarstat for queries; oarsub and oardel for changes.

They are the same for all users, on every frontend. They run as the user ``oar``, so the user who started them cannot
always end them: a hanging command is then left alone.
"""

from __future__ import annotations

import os
import shlex
import socket
import time
from collections.abc import Mapping, Sequence

from documents.fields import quoted
from gas.endpoints.oar.answers import (
    KILLED_ALREADY,
    NOT_YOURS,
    errors_of,
    jobs_of,
    joined,
    parsed,
    records_of,
    resources_of,
    submitted_as,
    usage_in,
)
from gas.endpoints.oar.machine import Job, Machine, Resource, Usage
from gas.endpoints.oar.order import WINDOW_SECONDS, needs_usage
from gas.endpoints.oar.submission import Batch, arguments_of
from gas.endpoints.oar.transport import NO_DATABASE
from gas.endpoints.programs import Finished, Programs, user_name
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.errors import BadInput, Conflict, Forbidden, Unreachable

__all__ = ["TIMEOUT_SECONDS", "CommandTransport"]

TIMEOUT_SECONDS = 30.0
"""oarstat queries the database some ten times per job, so it takes seconds if many jobs wait."""

MISSING = "OAR's commands are on its frontends (or name, in the endpoint's table, their `folder`, or its API's `url`)"
DAY = 86400
SLACK_SECONDS = 3600
AHEAD_SECONDS = 3 * 366 * 86400
"""Seconds before and after now for which the Gantt chart is read."""

NO_SERVER = 2
"""Exit status of oardel if it has recorded the request but could not notify OAR's server."""


class CommandTransport:
    """The commands of one OAR.

    Parameters
    ----------
    name
        Its name for the user.
    properties
        A condition on the resources that count, in SQL, as in oarsub's ``-p``.
    timeout
        Seconds to wait for each command.
    folder
        Folder of the commands, if not in ``PATH``.
    """

    def __init__(
        self,
        name: str,
        *,
        properties: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        folder: str | None = None,
    ) -> None:
        self.name = name
        self.address = f"oar://{socket.gethostname()}"  # its commands do not name their OAR
        self.user = user_name()
        self._properties = properties
        self.timeout = 3 * timeout  # the state is read by two commands, or up to five
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("OAR", "GAS_"))}
        environment = kept | {"TZ": "UTC"}  # the time zone in which oarstat reads times
        self.programs = Programs(name, environment, MISSING, timeout=timeout, folder=folder)

    def machine(self, name: str, queue: str = "default") -> Machine:
        """Return the published state: the Gantt chart, and further data of jobs."""
        now = int(time.time())
        window = ", ".join(
            time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(instant))
            for instant in (now - SLACK_SECONDS, now + AHEAD_SECONDS)
        )
        source = f"{self.name}: oarstat --gantt"
        chart = parsed(self._run(["oarstat", "-J", "--gantt", window]), source)
        if not isinstance(chart, Mapping) or not {"resources", "jobs"} <= chart.keys():
            raise Unreachable(f"{source}: returned no Gantt chart; is it OAR?")
        resources = resources_of(records_of(chart["resources"], source), source)
        planned = jobs_of(records_of(chart["jobs"], source), source)
        if self._properties is not None:
            meant = {one.id for one in self._meant(self._properties)}
            resources = tuple(one for one in resources if one.id in meant)
        jobs = joined(planned, self.active_jobs())
        usage = self._usage(now, queue) if needs_usage(jobs, queue, self.user) else None
        return Machine(name, now, resources, jobs, self.user, usage)

    def _meant(self, properties: str) -> Sequence[Resource]:
        """Return the resources that satisfy a condition.

        oarnodes returns nothing, without an error, if the database does not understand it.
        """
        found = self._resources(properties)
        if not found and not self._resources(f"({properties}) OR 1 = 1"):
            raise BadInput(
                f"{self.name}: OAR's database does not understand the condition {quoted(properties)} (`properties` in "
                "its table); write SQL on the properties that oarnodes shows, texts in single quotes: cluster = 'fast'"
            )
        return found

    def _resources(self, properties: str) -> tuple[Resource, ...]:
        source = f"{self.name}: oarnodes"
        answer = self._run(["oarnodes", "-J", "--sql", properties])
        return resources_of(records_of(parsed(answer, source), source), source)

    def _usage(self, now: int, queue: str) -> Usage:
        """Return the usage by users of a queue in the window of its fair share."""
        first = now - WINDOW_SECONDS
        name = queue.replace("'", "''")
        rows = f"queue_name = '{name}' AND window_start >= {first} AND window_start < {now}"
        days = ", ".join(time.strftime("%Y-%m-%d", time.gmtime(at)) for at in (first - 2 * DAY, now + 2 * DAY))
        table = self._run(["oarstat", "--accounting", days, "--sql", rows])
        return usage_in(table, f"{self.name}: oarstat --accounting")

    def preview(self, batch: Batch) -> str:
        """Return the command line that would submit a job."""
        return f"{shlex.join(arguments_of(batch))}\n"

    def job(self, id: int) -> Job | None:
        """Return a job, also one that has ended; None if there is none."""
        return next((job for job in self._stat("-j", str(id)) if job.id == id), None)

    def active_jobs(self) -> tuple[Job, ...]:
        """Return all jobs that have not ended."""
        return tuple(job for job in self._stat() if job.active)

    def ended_jobs(self, count: int) -> tuple[Job, ...]:
        """Return the jobs of the highest numbers that have ended."""
        if count < 1:
            return ()
        return self._stat("--sql", f"state IN ('Terminated', 'Error') ORDER BY job_id DESC LIMIT {count:d}")

    def tagged_jobs(self, tag: str) -> tuple[Job, ...]:
        """Return the user's jobs whose names end with a tag, also those that have ended."""
        user = self.user.replace("'", "''")
        jobs = self._stat("--sql", f"job_user = '{user}' AND job_name LIKE '%.{tag}'")
        return tuple(job for job in jobs if job.name.endswith(f".{tag}"))

    def submit(self, batch: Batch) -> int:
        """Submit a job and return its number."""
        status, out, err = self._finish(arguments_of(batch), sends=True)
        id = submitted_as(out)
        problem = _problem_in(err.strip() or out, status)
        if status == 0 and id is not None:
            return id
        if id is not None:
            raise RefusedAs(f"{self.name}: oarsub created job {id}, but ended with: {problem}", id)
        if status == 0:
            raise Unclear(f"{self.name}: oarsub did not print the number of the job: {problem}", over=True)
        if NO_DATABASE.search(out + err):
            raise NotSent(f"{self.name}: oarsub: {problem}")
        if status < 0 or not (out + err).strip():
            raise Unclear(f"{self.name}: oarsub: {problem}", over=True)
        raise BadInput(f"{self.name}: oarsub refuses: {problem}")

    def cancel(self, id: int) -> None:
        """Request the end of a job, which comes a moment later."""
        status, out, err = self._finish(["oardel", str(id)])
        problem = _problem_in(err or out, status)
        if status == 0 or KILLED_ALREADY in err:
            return
        if NOT_YOURS in err:
            raise Forbidden(f"{self.name}: job {id} is not yours or does not exist ({problem})")
        if status == NO_SERVER:
            raise Conflict(f"{self.name}: the cancellation of job {id} is recorded, but OAR's server does not respond")
        raise Unreachable(f"{self.name}: oardel: {problem}")

    # ------------------------------------------------------------------------------------------------ running

    def _stat(self, *words: str) -> tuple[Job, ...]:
        source = f"{self.name}: oarstat"
        return jobs_of(records_of(parsed(self._run(["oarstat", "-J", "-f", *words]), source), source), source)

    def _run(self, command: Sequence[str]) -> str:
        """Return the output of a query command."""
        status, out, err = self._finish(command)
        if status != 0:
            raise Unreachable(f"{self.name}: {command[0]}: {_problem_in(err or out, status)}")
        return out

    def _finish(self, command: Sequence[str], *, sends: bool = False) -> Finished:
        return self.programs.run(command, sends=sends)


def _problem_in(words: str, status: int) -> str:
    """Return the error message of a command, or else its exit status."""
    ended = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
    return errors_of(words) or ended
