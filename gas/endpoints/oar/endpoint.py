"""An OAR as an endpoint: plans with OAR's own Gantt chart, and accepts jobs of one shape or of several.

`gas.endpoints.tagging` explains why nothing is submitted twice. Specific to OAR:

- OAR keeps its jobs for ever, so a job that is not found never existed, unless it is still in transit.
- A submission that certainly was not sent (no program, no connection, no database) is an error at once, and may go to
  another scheduler.
- An error with the number of a job (oarsub cannot notify OAR's server of the new job, and wrongly reports that it is
  killed) is no error if the job exists and waits: the server finds it by itself.
- oarsub writes the job into OAR's database by itself. Once it has ended without printing a number, with or without an
  error, it will write nothing more: the tag decides, and if it is not found, nothing was submitted.
- An oarsub that has not answered in time (it may hang on the database, and cannot be ended if it runs as another user),
  or an HTTP request without an answer, may still create its job. The tag is searched for until the patience ends.
- A job can arrive later than a repetition with its key only if oarsub hangs for longer than that takes. Then two jobs
  have one tag; they are counted after every submission.
- Of the jobs with one tag, those that have not ended count, as OAR resubmits some jobs by itself.

OAR's starts are estimates, so `start_by` is ignored.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from documents.fields import Fields, quoted
from gas.availability import Availability
from gas.endpoints import tagging
from gas.endpoints.endpoint import InDoubt, JobDescription, Request, limits_from
from gas.endpoints.oar.chart import SECURITY_TIME, SHORTEST_HOLE, Chart
from gas.endpoints.oar.commands import TIMEOUT_SECONDS, CommandTransport
from gas.endpoints.oar.hierarchy import Hierarchy
from gas.endpoints.oar.interpretation import Rules, interpret
from gas.endpoints.oar.machine import Job
from gas.endpoints.oar.quotas import FILE, Quota, quotas_of
from gas.endpoints.oar.records import record_of, units_of
from gas.endpoints.oar.submission import Batch, batch_of, name_before_tag, options_from
from gas.endpoints.oar.transport import Transport
from gas.endpoints.programs import part_of_file, whole_path
from gas.endpoints.sending import RefusedAs
from gas.endpoints.tagging import PATIENCE_SECONDS, Spans, TaggingEndpoint
from gas.endpoints.wording import option_list, tag_of
from gas.errors import BadInput, NotFound, Unreachable
from gas.planner import Limits
from gas.times import duration_text, iso_time

__all__ = ["OarEndpoint"]

QUERIES_OF_CANCELLED = 5
"""Number of queries of a cancelled job before its state is reported."""


class OarEndpoint(TaggingEndpoint[Transport, Batch]):
    """A queue of an OAR.

    Parameters
    ----------
    name
        Its name in the configuration.
    transport
        Connection to OAR.
    resource
        The unit of a request's processors: ``resource_id``, ``core``, ``nodes``, or another property of the site's
        resources, or levels of them such as ``host/core=4`` (`gas.endpoints.oar.hierarchy`).
    queue
        By default OAR's own choice.
    options
        Further options of oarsub, by their long names.
    moldable
        Whether OAR receives all shapes and decides by itself; else it receives the chosen one.
    rules
        The rules of its scheduler (`gas.endpoints.oar.interpretation`); queue, project and types are filled in.
    quotas_file
        File with its quotas; None for the file of OAR's server, if that is readable here.
    limits
        Limits of a request.
    patience
        Seconds for which a job is searched for if it is unknown whether it was submitted.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        *,
        resource: str = "resource_id",
        queue: str | None = None,
        options: tuple[tuple[str, str | None], ...] = (),
        moldable: bool = False,
        rules: Rules | None = None,
        quotas_file: str | None = None,
        limits: Limits | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        super().__init__(name, transport, queue, limits, patience, Spans(resend=0.0, settle=0.0, search=patience))
        self.moldable = moldable
        self.resource = resource
        self._options = options if queue is None else (("queue", queue), *options)
        kinds = tuple(str(value).split("=")[0] for option, value in options if option == "type" and value)
        place = "besteffort" if "besteffort" in kinds else "default"
        self._rules = replace(
            Rules() if rules is None else rules,
            queue=place if queue is None else queue,
            project=str(dict(options).get("project") or "default"),
            kinds=tuple(sorted(kinds)),
        )
        self._quotas_file = quotas_file

    @classmethod
    def configured(cls, name: str, fields: Fields) -> OarEndpoint:
        """Return the endpoint of a table of the configuration.

        Its keys are ``resource``, ``queue``, ``project``, ``properties`` (a condition in SQL), ``options`` (further
        oarsub options), ``moldable``, ``security_time``, ``shortest_hole``, ``standby``, ``queues`` (all of the site's,
        the highest priority first), ``policy`` ("fifo" or "fair share", if jobs do not show it), ``quotas`` (a file),
        ``patience`` and limits; for the commands also ``folder`` and ``timeout``; with ``url``, the REST API is used,
        and the keys are those of `gas.endpoints.oar.rest`.
        """
        properties = fields.text("properties", None)
        transport: Transport
        if "url" in fields:
            from gas.endpoints.oar.rest import RestTransport

            transport = RestTransport.configured(name, fields, properties)
        else:
            timeout = fields.number("timeout", TIMEOUT_SECONDS, above=0, maximum=3600)
            folder = fields.text("folder", None)
            folder = None if folder is None else whole_path(fields, "folder", folder)
            transport = CommandTransport(name, properties=properties, timeout=timeout, folder=folder)
        resource = fields.text("resource", "resource_id")
        try:
            Hierarchy.of(resource)
        except BadInput as error:
            raise fields.fail("resource", str(error)) from None
        policy = fields.text("policy", None)
        if policy not in (None, "fifo", "fair share"):
            raise fields.fail("policy", f'{quoted(policy)} is neither "fifo" nor "fair share"')
        queues = _queues(fields)
        quotas_file = fields.text("quotas", None)
        words = option_list(fields, "oarsub", "--type=besteffort")
        options = options_from(words, fields.where("options"))
        for option, value in (("project", fields.text("project", None)), ("property", properties)):
            if value is not None:
                options = (*options, (option, value))
        endpoint = cls(
            name,
            transport,
            resource=resource,
            queue=fields.text("queue", None),
            options=options,
            moldable=fields.boolean("moldable", False),
            rules=Rules(
                Chart(
                    fields.integer("security_time", SECURITY_TIME, minimum=0, maximum=86400),
                    fields.integer("shortest_hole", SHORTEST_HOLE, minimum=0, maximum=86400),
                ),
                standby=fields.boolean("standby", False),
                policy=policy,
                priorities=None if queues is None else {one: -place for place, one in enumerate(queues)},
            ),
            quotas_file=None if quotas_file is None else whole_path(fields, "quotas", quotas_file),
            limits=limits_from(fields),
            patience=fields.number("patience", PATIENCE_SECONDS, minimum=0, maximum=86400),
        )
        fields.done()
        return endpoint

    # ------------------------------------------------------------------------------------------------ planning

    def availability(self) -> Availability:
        """Return the availability by OAR's Gantt chart; sets `remarks`."""
        quotas, remarks = self._quotas()
        machine = self.transport.machine(self.name, self._rules.queue)
        found = interpret(machine, self.resource, replace(self._rules, quotas=quotas))
        self.remarks = (*remarks, *found.remarks)
        return found.availability

    def _quotas(self) -> tuple[tuple[Quota, ...] | None, tuple[str, ...]]:
        """Return the quotas of the site, None if they cannot be read, and a remark on them."""
        named = self._quotas_file
        if named is None and not isinstance(self.transport, CommandTransport):
            return None, ()
        try:
            text = Path(named or FILE).read_text("utf-8", "replace")
        except OSError as error:
            if named is None:
                return None, ()
            raise BadInput(f"{self.name}: its quotas cannot be read from {named}: {error.strerror}") from None
        try:
            return quotas_of(text, named or FILE), ()
        except BadInput as error:
            return None, (f"the quotas of its scheduler are not understood: {error}",)

    # ------------------------------------------------------------------------------------------------ acting

    def batch(self, request: Request, job: JobDescription, key: str) -> Batch:
        """Return the submission."""
        native = options_from(job.native, "--native")
        if ("type", "besteffort") in native and not self._rules.besteffort:
            raise BadInput(
                '--native: --type=besteffort changes the plan; write queue = "besteffort" in the endpoint\'s table'
            )
        if any(option == "hold" for option, _ in native):
            raise BadInput(
                "--native: a held job (--hold) has no start to plan; submit it without --hold, then use oarhold"
            )
        options = (*self._options, *native)
        return batch_of(request, job, key=key, resource=self.resource, options=options, moldable=self.moldable)

    def waits_for(self, native: Sequence[str]) -> tuple[str, str] | None:
        """Return the cluster and the option if jobs wait for others by number, which only this cluster knows."""
        own = [f"--{option}={value}" for option, value in self._options]
        given = [word for word in (*own, *native) if word.startswith("--anterior=")]
        return (self.address, given[-1]) if given else None

    def preview(self, request: Request, job: JobDescription) -> str:
        """Return the submission as text, with all shapes from which OAR may choose."""
        return self.transport.preview(self.batch(request, job, "preview"))

    def shown_name(self, job: JobDescription) -> str:
        """Return the name under which a job is shown, without its tag."""
        return name_before_tag(job.name)

    def _tagged(self, key: str) -> list[dict[str, Any]]:
        """Return the user's jobs with the tag of a key that have not ended; else the latest of them."""
        jobs = self.transport.tagged_jobs(tag_of(key))
        return [self._record(job) for job in [job for job in jobs if job.active] or jobs[-1:]]

    def _made_with_error(self, error: RefusedAs, key: str) -> dict[str, Any]:
        """Return the job, or raise the error if there is no such job, or it has ended already."""
        try:
            made = self.transport.job(error.id)
        except Unreachable as problem:
            raise InDoubt(f"{error}; and Gas cannot find out whether this created a job: {problem}", key) from None
        if made is None or not made.active:
            raise BadInput(f"{error}; no part of the job will run")
        self.tell(f"{error}; but the job exists and waits")
        return self._record(made)

    def _unseen(self, id: int, batch: Batch) -> dict[str, Any]:
        return self._record(Job(id, batch.name, self.transport.user, "Waiting", walltime=batch.shapes[0].walltime))

    def _record(self, job: Job) -> dict[str, Any]:
        return record_of(job, self.resource, self.transport.user)

    def job(self, id: int) -> dict[str, Any]:
        """Return a job with its current state, or raise `NotFound`."""
        return self._record(self._one(id))

    def _one(self, id: int) -> Job:
        found = self.transport.job(id)
        if found is None:
            raise NotFound(f"{self.name}: there is no job {id}")
        return found

    def jobs(self, ended: int = 0) -> list[dict[str, Any]]:
        """Return the `ended` jobs that have ended and have the highest numbers, then the jobs in the schedule."""
        past = self.transport.ended_jobs(ended)
        there = self.transport.active_jobs()
        now_there = {job.id for job in there}
        return [self._record(job) for job in (*(job for job in past if job.id not in now_there), *there)]

    def output(
        self, id: int, stream: Literal["stdout", "stderr"] = "stdout", limit: int = 2**20, after: int | None = None
    ) -> bytes:
        """Return a part of a job's output, from its file, which must be readable here."""
        job = self._one(id)
        file = job.stdout if stream == "stdout" else job.stderr
        if not file:
            raise NotFound(f"{self.name}: OAR does not report where the output of job {id} is")
        return part_of_file(Path(job.directory) / file, limit, after, f"job {id} is {job.state}")

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job and return it; it may take a moment to end."""
        job = self._one(id)
        if not job.active:
            return self._record(job)
        self.transport.cancel(id)
        for _ in range(QUERIES_OF_CANCELLED):
            job = self._one(id)
            if not job.active:
                break
            time.sleep(tagging.PAUSE_SECONDS)
        return self._record(job)

    def why_unchanged(self, id: int) -> str:
        """Return why a waiting job cannot be reshaped, and what can be done instead."""
        job = self._one(id)
        if len(job.wanted) < 2:
            return (
                f"{self.name}: OAR cannot change waiting jobs; cancel job {id} and submit another (gas submit). With "
                "moldable = true in its table, OAR itself chooses among all shapes until a job starts"
            )
        unit = Hierarchy.of(self.resource).name
        shapes = ", ".join(
            f"{units_of(one, self.resource) or '?'} {unit} for {duration_text(one.walltime)}" for one in job.wanted
        )
        at = "" if job.expected is None else f"; with its present shapes it starts at {iso_time(job.expected)}"
        return (
            f"{self.name}: job {id} has {len(job.wanted)} shapes ({shapes}); until it starts, OAR itself chooses the "
            f"one that ends first at every change of the queue{at}. gas wait follows it; other shapes need another "
            "job (gas submit)"
        )

    def reserve(self, name: str, processors: int, start: int, walltime: int, key: str | None = None) -> dict[str, Any]:
        """Refuse: Gas makes no advance reservations on OAR."""
        raise BadInput(f"{self.name}: Gas cannot make OAR reservations; use oarsub -r 'YYYY-MM-DD hh:mm:ss'")


def _queues(fields: Fields) -> list[str] | None:
    """Return the names of the site's queues in a table, None if it has none."""
    names = fields.value("queues", None)
    if names is None:
        return None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise fields.fail("queues", 'must be a list of queues, highest priority first: ["admin", "default"]')
    if len(set(names)) < len(names):
        raise fields.fail("queues", "names a queue twice")
    return names
