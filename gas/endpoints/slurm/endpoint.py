"""A Slurm partition as an endpoint: plans with Slurm's own plans, and accepts jobs.

`gas.endpoints.tagging` explains why nothing is submitted twice. Specific to Slurm:

- After a submission without an answer (a timeout, a lost connection, an unreadable number), its job is searched for
  until `SETTLING_SECONDS` after Slurm answers again, as are the submissions of earlier calls; a sbatch that takes too
  long is terminated.
- A refusal counts only if no job has the tag: sbatch can fail after it has submitted.
- Slurm forgets ended jobs after MinJobAge; a job not found after that time may have run, so nothing is sent and the
  user is told.
- An error that arrives together with a job (as slurmrestd sends it) is an error: the job is cancelled.

Assumption: a request that has reached slurmctld is in its list of jobs `SETTLING_SECONDS` after it answers others.
"""

from __future__ import annotations

import copy
import hashlib
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from documents.fields import Fields
from gas.availability import Availability
from gas.collector import uncollected
from gas.endpoints.endpoint import InDoubt, JobDescription, Request, Standing, limits_from
from gas.endpoints.programs import own_groups, part_of_file, whole_path
from gas.endpoints.sending import NotSent, RefusedAs
from gas.endpoints.slurm.availability import SlurmAvailability
from gas.endpoints.slurm.choices import MOST, choices
from gas.endpoints.slurm.commands import TIMEOUT_SECONDS, CommandTransport, sbatch_line, shown_line
from gas.endpoints.slurm.directives import Directive, Script, from_variables, refuse_unknown, unknown
from gas.endpoints.slurm.interpretation import interpret, partition_of, partitions_of
from gas.endpoints.slurm.notation import words
from gas.endpoints.slurm.options import Options, Unit
from gas.endpoints.slurm.probing import probe
from gas.endpoints.slurm.reading import Reading
from gas.endpoints.slurm.reasons import why
from gas.endpoints.slurm.records import record_of
from gas.endpoints.slurm.sizing import shape_of, size_of, units_on
from gas.endpoints.slurm.submission import DECIDED, batch_of, options_from, options_of
from gas.endpoints.slurm.transport import Batch, Transport
from gas.endpoints.tagging import PATIENCE_SECONDS, Spans, TaggingEndpoint
from gas.endpoints.wording import name_without_tag, option_list, tag_of
from gas.errors import BadInput, Conflict, Forbidden, GasError, Infeasible, NotFound, Unreachable
from gas.planner import Limits
from gas.resources import Resources
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.order import queue
from gas.slurm.unasked import displaced, only_gpus
from speedup_models.model import Layout

if TYPE_CHECKING:
    from gas.prediction.history import History
    from gas.prediction.slurm import Queue

__all__ = ["SlurmEndpoint"]

SETTLING_SECONDS = 10.0
"""Seconds until a submission that has arrived appears in Slurm's list of jobs, like Slurm's MessageTimeout."""

SETTLED: Final = frozenset({"nodes", "tasks", "cpus_per_task"})
"""Placeholders filled in from Slurm's own variables when a job starts."""

HISTORY_DAYS = 90
"""Days of accounting that are read: enough for users' run times, and for eight weeks of arrivals."""


class SlurmEndpoint(TaggingEndpoint[Transport, Batch]):
    """A partition of a Slurm cluster.

    Parameters
    ----------
    name
        Its name in the configuration.
    transport
        Connection to Slurm.
    partition
        By default the cluster's default one. Several, separated by commas: Slurm uses the one where a job starts first.
    unit
        Unit of a request's processors: CPUs, tasks, whole nodes, or GPUs.
    reservation
        The reservation that jobs name.
    options
        Further sbatch options.
    limits
        Further limits of a request; those of the partition are added at each query.
    patience
        Seconds during which a submission without an answer is tried again.

    Attributes
    ----------
    limits
        The given limits, narrowed by the partition's at the latest query.
    is_local
        Whether it shares this machine's file system.
    shows_all
        Whether the latest answer showed the jobs of all users.
    configured_as
        Its configured name, even if this is one of its choices of account and QOS.
    reading
        The reader of Slurm's state, shared by all endpoints of the same Slurm.
    script
        The batch script of its jobs, with its options; None if they run commands.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        *,
        partition: str | None = None,
        unit: Unit = "cpus",
        reservation: str | None = None,
        options: Sequence[Directive] = (),
        limits: Limits | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        spans = Spans(resend=patience, settle=SETTLING_SECONDS, search=SETTLING_SECONDS)
        super().__init__(name, transport, partition, limits, patience, spans)
        self.shows_all = True
        self.partition, self.unit, self.reservation = partition, unit, reservation
        self.is_local = transport.is_local
        self._own_limits = self.limits
        self.reading = Reading(transport)
        self.configured_as = name
        self.script: Script | None = None
        self._cluster: Cluster | None = None
        self._fixed = False
        self._displaces = ""
        self._aside: tuple[str, ...] = ()
        self._options = tuple(options)
        self._whole = unit == "nodes"
        self._resources: Resources | None = None
        self.settles = SETTLED | ({"gpus"} if unit == "gpus" else set())

    @classmethod
    def configured(cls, name: str, fields: Fields) -> SlurmEndpoint:
        """Return the endpoint for a table in the configuration.

        Its keys are ``partition``, ``unit``, ``account``, ``qos``, ``reservation``, ``options`` (further sbatch
        options), ``patience`` and limits; for the commands also ``slurm_conf``, ``folder`` and ``timeout``; with
        ``url``, slurmrestd is used, and the keys are those of `gas.endpoints.slurm.rest`.
        """
        transport: Transport
        if "url" in fields:
            from gas.endpoints.slurm.rest import RestTransport

            transport = RestTransport.configured(name, fields)
        else:
            configuration, folder = fields.text("slurm_conf", None), fields.text("folder", None)
            timeout = fields.number("timeout", TIMEOUT_SECONDS, above=0, maximum=3600)
            configuration = None if configuration is None else whole_path(fields, "slurm_conf", configuration)
            folder = None if folder is None else whole_path(fields, "folder", folder)
            if configuration is not None and not Path(configuration).is_file():  # commands would use another one
                raise fields.fail("slurm_conf", f"there is no file {configuration}")
            transport = CommandTransport(name, configuration, timeout=timeout, folder=folder)
        options = options_from(option_list(fields, "sbatch", "--constraint=intel"), fields.where("options"))
        own = {key: fields.text(key, None) for key in ("account", "qos")}
        options += tuple(Directive(key, one, fields.where(key)) for key, one in own.items() if one is not None)
        endpoint = cls(
            name,
            transport,
            partition=fields.text("partition", None),
            unit=fields.text("unit", "cpus", choices=("cpus", "tasks", "nodes", "gpus")),
            reservation=fields.text("reservation", None),
            options=options,
            limits=limits_from(fields),
            patience=fields.number("patience", PATIENCE_SECONDS, minimum=0, maximum=86400),
        )
        fields.done()
        return endpoint

    # ------------------------------------------------------------------------------------------------ planning

    def availability(self) -> Availability:
        """Return the availability list, based on Slurm's own plans."""
        with uncollected():
            return self.read(self.reading.cluster(self.name))

    def read(self, cluster: Cluster) -> Availability:
        """Return the availability list of a cluster; sets `limits` and `remarks`."""
        options = self.job_options()
        self._cluster = cluster
        found = interpret(cluster, self.partition, user=self.transport.user, options=options, groups=self._groups())
        self.shows_all = cluster.others_visible is not False and found.unseen == 0
        self.limits = narrowed(self._own_limits, partitions_of(cluster, self.partition), options, cluster)
        self.remarks = (*cluster.cautions, *found.remarks, *self._aside, *options.remarks)
        if self.named and self._makes_gpus_of_processors:
            self.remarks += (
                'a size of an application that counts processors is a number of GPUs here; for CPUs, set unit = "cpus" '
                "in gas.toml",
            )
        self.unasked = self._unasked(cluster, options)
        return found.availability

    def _unasked(self, cluster: Cluster, options: Options) -> str:
        """Return why Gas does not choose it for jobs that do not name its partition or QOS."""
        if self._displaces:
            return self._displaces
        there = partitions_of(cluster, self.partition)
        requested = replace(options, unit="cpus") if self._makes_gpus_of_processors else options
        if self.named or requested.has_gpus or not all(only_gpus(cluster, one) for one in there):
            return ""
        if self._makes_gpus_of_processors:
            return "sizes are numbers of GPUs there, but the job requests none"
        return "all of its nodes have GPUs, but the job requests none"

    @property
    def _makes_gpus_of_processors(self) -> bool:
        """Whether only its configuration says that sizes count GPUs, not the job itself."""
        return self.unit == "gpus" and self._resources is None and self.script is None

    def queue(
        self, availability: Availability, requests: Sequence[tuple[int, int, Layout | None]], first: int
    ) -> Queue:
        """Return the queue to simulate forward to predict requests: size, walltime and layout of each."""
        from gas.prediction.slurm import Queue

        if not isinstance(availability, SlurmAvailability) or availability.cluster is None:
            raise BadInput(f"{self.name}: the queue is not known well enough to predict from; leave out --predict")
        jobs = tuple(availability.job(size, walltime, first, layout) for size, walltime, layout in requests)
        return Queue(availability.cluster, jobs, availability.unseen_until)

    def history(self) -> History:
        """Return the accounting of the partition's jobs in the last `HISTORY_DAYS`; may raise `LogError`."""
        from gas.prediction.history import History
        from workloads.sacct import parse_sacct

        cluster = self._cluster or self.transport.cluster(self.name)
        accounting = self.transport.accounting(partitions_of(cluster, self.partition)[0].name, HISTORY_DAYS)
        return History.of_accounting(parse_sacct(accounting, name="accounting", lenient=True))

    @property
    def target(self) -> str:
        """Return the target of submissions, which is equal for endpoints that submit alike, whatever their names."""
        return f"{self.transport.place}#{self.partition or ''}"

    def waits_for(self, native: Sequence[str]) -> tuple[str, str] | None:
        """Return the cluster and the option if jobs wait for others by number, which only this cluster knows."""
        inside = () if self.script is None else self.script.directives
        given = [one.value or "" for one in (*inside, *self._options) if one.name == "dependency"]
        by_number = given and any(map(str.isdigit, given[-1]))
        return (self.transport.address, f"--dependency={given[-1]}") if by_number else None

    def requesting(
        self,
        *,
        native: Sequence[str] = (),
        command: Script | None = None,
        script: Script | None = None,
        unit: Unit | None = None,
        resources: Resources | None = None,
        placed: bool = False,
    ) -> SlurmEndpoint:
        """Return this endpoint for jobs with further requests.

        Parameters
        ----------
        native
            Long options of sbatch, one word each.
        command
            A batch script that runs as a command: Gas decides its size, time and name; its other options apply.
        script
            A batch script that is submitted unchanged; the unit of its size is that of its own options, and partitions
            that it names replace the endpoint's.
        unit
            Unit of that script's size.
        resources
            Resources per unit, if the application states them.
        placed
            Whether the jobs are already in the queue, in any partition.

        Raises
        ------
        Infeasible
            The script names other partitions.
        BadInput
            It has options with which Gas cannot submit.
        """
        other = copy.copy(self)
        if resources is not None:
            other._resources = resources
            other._options = (*other._options, *options_of(resources))
            if resources.unit != "processors":
                other.unit, other._whole = resources.unit, resources.unit == "nodes"
                other.settles = SETTLED
            elif resources.cpus_per_task or resources.tasks_per_node:  # then the unit is the CPUs of tasks
                other.unit, other._whole = "cpus", False
        other._options = (*other._options, *options_from(native, "--native"))
        if command is not None:
            kept = [one for one in command.directives if one.name not in DECIDED]
            aside = dict.fromkeys(one.shown for one in command.directives if one.name in DECIDED)
            other._aside = (f"{command.path}: {', '.join(aside)} are replaced by the choice of Gas",) if aside else ()
            named = [one.value for one in kept if one.name == "partition"]
            other.partition = self.partition or (named[-1] if named else None)
            other._options = (*(one for one in kept if one.name != "partition"), *other._options)
        if script is not None:
            if isinstance(self.transport, CommandTransport) and unknown(script.directives):
                refuse_unknown(script.directives, self.transport.sbatch_help())
            other.script, other._whole = script, False
            other.unit = other._options_in(unit).unit
            own = words(script.value("partition") or "")
            other.named = self.named or bool(own)
            if not placed and self.partition is not None and own and not set(own) & set(self.partition.split(",")):
                raise Infeasible(f"{self.name}: is partition {self.partition}, but {script.path} names {','.join(own)}")
            other.partition = ",".join(own) or self.partition
            if len(own) > 1:  # the name of this endpoint may be that of one of them
                starts = f"partitions {','.join(own)}: Slurm starts the job in the one that can start it first"
                other._aside = (*other._aside, f"{script.path}: names {starts}")
            other.address = self.transport.address + (f"#{other.partition}" if other.partition else "")
        return other

    def choices(self) -> list[SlurmEndpoint]:
        """Return this endpoint with each other account and QOS that accepts the user's jobs, unless they are fixed.

        They come from the latest availability query.
        """
        if self._cluster is None or self._fixed:
            return []
        partitions, user = partitions_of(self._cluster, self.partition), self.transport.user
        groups = self._groups()
        there = choices(self._cluster, partitions, self.job_options(), user, groups=groups)
        if len(there) > MOST:
            left = f"{len(there) - MOST} of {len(there)} accounts and QOS are ignored: name one of them"
            self._aside = (*self._aside, left)
        found = []
        for one in there[:MOST]:
            if one.words:
                other = self.chosen([word.removeprefix("--") for word in one.words])
                lost = displaced(self._cluster, one.qos)
                other._displaces = f"its jobs preempt running jobs of QOS {', '.join(lost)}" if lost else ""
                found.append(other)
        return found

    def chosen(self, words: Sequence[str]) -> SlurmEndpoint:
        """Return this endpoint with an account and a QOS, as in `choices`: ``["account=abc", "qos=high"]``."""
        other = self.requesting(native=[f"--{word}" for word in words])
        other.name, other._fixed = "+".join([self.name, *words]), True
        return other

    def _groups(self) -> frozenset[str] | None:
        """Return the groups of the submitting user; None if the cluster's may differ from this machine's."""
        return own_groups(self.transport.user) if isinstance(self.transport, CommandTransport) else None

    def job_options(self) -> Options:
        """Return the options of all jobs, apart from size and walltime, from options, script and configuration."""
        return self._options_in(self.unit)

    def _options_in(self, unit: Unit | None) -> Options:
        inside = () if self.script is None else self.script.directives
        kept = list(from_variables(os.environ)) if isinstance(self.transport, CommandTransport) else []
        if self.script is None and (array := next((one for one in kept if one.name == "array"), None)) is not None:
            raise BadInput(f"{array.place}: makes job arrays, which Gas submits only as scripts; unset it")
        where = [("partition", self.partition), ("reservation", self.reservation)]
        named = [Directive(option, value, self.name) for option, value in where if value is not None]
        given = [*inside, *kept, *named, *self._options]
        found = Options.of(given, now=int(time.time()), unit=unit, whole=self._whole)
        return found if self._resources is None else replace(found, resources=self._resources)

    # ------------------------------------------------------------------------------------------------ acting

    def with_script(self, script: Script) -> SlurmEndpoint:
        """Return the endpoint with another script that has the same options."""
        other = copy.copy(self)
        other.script = script
        return other

    def batch(self, request: Request, job: JobDescription, key: str) -> Batch:
        """Return the submission."""
        own = self.requesting(native=job.native) if job.native else self
        return batch_of(request, job, key=key, options=own.job_options(), words=own.options(), script=self.script)

    def options(self) -> dict[str, str | None]:
        """Return the sbatch options of every job, without those in the script."""
        where = {"partition": self.partition, "reservation": self.reservation}
        named: dict[str, str | None] = {option: value for option, value in where.items() if value is not None}
        return named | {one.name: one.value for one in self._options}

    def preview(self, request: Request, job: JobDescription) -> str:
        """Return the submission as a command to type."""
        batch = self.batch(request, job, "preview")
        if self.script is not None:
            return f"{shown_line(batch, self.script.path)}\n"
        return f"{shown_line(batch)} << 'END'\n{batch.script}END\n"

    def line(self, request: Request, name: str) -> str:
        """Return the sbatch options of a request, for the user's own script."""
        job = JobDescription(name, ("true",))
        line = sbatch_line(replace(self.batch(request, job, "line"), name=name))
        return shlex.join(line if self.script is None else [*line, self.script.path])

    def _warn_of(self, batch: Batch, job: JobDescription) -> None:
        endpoint = self.requesting(native=job.native) if job.native else self
        for remark in (*self._aside, *endpoint.job_options().remarks):
            self.tell(remark)

    def _tagged(self, key: str) -> list[dict[str, Any]]:
        """Return the user's jobs with the tag of a key, ended ones too."""
        tag = tag_of(key)
        found: dict[int, Job] = {}
        for job in self.transport.jobs(user=self.transport.user):
            if name_without_tag(job.name)[1] == tag:
                id = job.id if job.array is None else job.array  # an array is one job
                if id not in found or job.id == id:
                    found[id] = replace(job, id=id)
        return [self._record(job) for job in found.values()]

    def _made_with_error(self, error: RefusedAs, key: str) -> dict[str, Any]:
        """Cancel a job that differs from what was requested."""
        try:
            self.transport.cancel(error.id)
        except Unreachable as problem:
            created = f"it created job {error.id} nevertheless, which could not be cancelled: {problem}"
            raise InDoubt(f"{error}; {created} (key {key})", key) from None
        raise BadInput(f"{error}; it created job {error.id} nevertheless, which was cancelled")

    def _unseen(self, id: int, batch: Batch) -> dict[str, Any]:
        size = batch.shape
        job = Job(
            id, batch.name, self.transport.user, "PENDING", (), size.tasks or size.nodes or 1, 1,
            time_limit=60 * size.minutes, least_nodes=size.nodes or 1, submitted=int(time.time()),
        )  # fmt: skip
        return self._record(job)

    def retention(self) -> int | None:
        """Return the seconds for which Slurm remembers ended jobs at least; None if unknown."""
        return self.transport.retention()

    def _record(self, job: Job) -> dict[str, Any]:
        return record_of(job, self.unit, self.transport.user)

    def job(self, id: int) -> dict[str, Any]:
        """Return a job with its current state, or raise `NotFound`."""
        return self._record(self._one(id))

    def _one(self, id: int) -> Job:
        found = [job for job in self.transport.jobs(ids=[id]) if job.id == id]
        if not found:
            raise NotFound(
                f"{self.name}: there is no job {id}; some minutes after a job has ended, only Slurm's accounting "
                "knows it (sacct)"
            )
        return found[0]

    def task(self, array: int, task: int) -> int:
        """Return the number of the job of one task, which is that of the array while it waits, or raise `NotFound`."""
        for job in self.transport.jobs(ids=[array]):
            if job.array == array and job.tasks is not None and any(task in each for each in job.tasks.ranges):
                return job.id
        raise NotFound(
            f"{self.name}: job {array} has no task {task}; some minutes after a task has ended, only Slurm's "
            "accounting knows it (sacct)"
        )

    def jobs(self, ended: int) -> list[dict[str, Any]]:
        """Return the last `ended` jobs that have ended and that Slurm remembers, then waiting and running ones."""
        own = set() if self.partition is None else set(self.partition.split(","))
        found = (job for job in self.transport.jobs() if not own or own.intersection(job.partitions))
        records = [self._record(job) for job in found]
        past = sorted((one for one in records if one["finished"] is not None), key=lambda one: int(one["finished"]))
        return past[len(past) - min(ended, len(past)) :] + [one for one in records if one["finished"] is None]

    def output(self, id: int, stream: Literal["stdout", "stderr"], limit: int, after: int | None = None) -> bytes:
        """Return a part of a job's output, from its file, which must be readable here."""
        job = self._one(id)
        if job.pending:
            raise Conflict(f"{self.name}: job {id} is waiting and has no output yet")
        path = job.stdout if stream == "stdout" else job.stderr
        if not path:
            raise NotFound(f"{self.name}: Slurm does not show where the output of job {id} is")
        return part_of_file(Path(path), limit, after, f"job {id} is {job.state.lower()}")

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job and return it."""
        self.transport.cancel(id)
        return self.job(id)

    def probe(self, requests: Sequence[Request]) -> list[int | None]:
        """Return the start that Slurm plans for a real job of each request; the jobs are cancelled."""
        options = self.job_options()
        shapes = [shape_of(options, one.processors, one.walltime, one.layout) for one in requests]
        return probe(self.transport, shapes, self.options(), tell=self.tell)

    def standing(self, id: int) -> Standing:
        """Return the state of a job, and the availability list for its place in the queue."""
        cluster = self.transport.cluster(self.name)
        found = next((job for job in cluster.jobs if job.id == id and job.pending), None) or self._one(id)
        availability = self._in_its_place(cluster, found) if found.pending else None
        record = self._record(found)
        record["nodes"] = found.least_nodes
        record["held"] = found.held or (found.pending and found.reason.startswith("Dependency"))  # in any shape
        return Standing(record, availability, fingerprint(cluster))

    def _in_its_place(self, cluster: Cluster, job: Job) -> SlurmAvailability:
        """Return the availability list for a waiting job's place in the queue."""
        chosen = partitions_of(cluster, self.partition)[0]
        if job.partitions and chosen.name not in job.partitions:
            chosen = partition_of(cluster, job.partitions[0])
        options = replace(self.job_options(), reservation=job.reservation)
        seen = interpret(
            ahead_of(cluster, job), chosen.name, user=self.transport.user, options=options, groups=self._groups()
        )
        self.limits = narrowed(self._own_limits, (chosen,), options, cluster)
        self.remarks = (*cluster.cautions, *seen.remarks)
        return seen.availability

    def queue_with(self, id: int, shapes: Sequence[tuple[int, int, Layout | None]], first: int) -> Queue:
        """Return the queue to simulate for predictions of a waiting job in these shapes; the first is its own."""
        from gas.prediction.slurm import Queue

        cluster = self.transport.cluster(self.name)
        job = next((one for one in cluster.jobs if one.id == id and one.pending), None)
        if job is None:
            raise Conflict(f"{self.name}: job {id} is no longer waiting")
        availability = self._in_its_place(cluster, job)
        shaped = [availability.job(size, walltime, first, layout) for size, walltime, layout in shapes]
        others = tuple(one for one in cluster.jobs if not (one.pending and one.id == id))
        since = None if job.submitted is None else max(job.submitted, job.eligible or 0)
        shapes_of_it = (None if one is None else in_place_of(job, one, shaped[0]) for one in shaped)
        jobs = tuple(None if one is None else replace(one, submitted=since) for one in shapes_of_it)
        return Queue(replace(cluster, jobs=others), jobs, availability.unseen_until)

    def why(self, id: int) -> dict[str, Any]:
        """Return why a waiting job waits, and what would make it start sooner (`gas.endpoints.slurm.reasons`)."""
        cluster = self.transport.cluster(self.name)
        found = next((job for job in cluster.jobs if job.id == id), None)
        if found is None or not found.pending:
            raise Conflict(f"{self.name}: job {id} is not waiting")
        groups = self._groups()
        return why(cluster, found, user=self.transport.user, groups=groups)

    def reshape(
        self, id: int, processors: int, walltime: int, *, start_by: int | None = None, layout: Layout | None = None
    ) -> dict[str, Any]:
        """Change the shape of a waiting job, which keeps its place in the queue."""
        before = self._one(id)
        if before.user and before.user != self.transport.user:
            raise Forbidden(f"{self.name}: job {id} belongs to {before.user}; only its owner may change it")
        if not before.pending:
            raise Conflict(f"{self.name}: job {id} is no longer waiting ({before.state.lower()})")
        if before.tasks is not None:
            raise BadInput(f"{self.name}: job {id} is an array, whose tasks cannot be changed one by one")
        if self.unit == "gpus" or before.gres_per_job or before.gres_per_node or before.gres_per_task:
            if layout is None or not layout.per_node or not before.gres_per_node:
                raise BadInput(
                    f"{self.name}: job {id} requests GPUs and cannot be reshaped; that needs a job that requests GPUs "
                    "per node, and gpus_per_node in the [resources] of its application file"
                )
        else:
            layout = None
        shape = shape_of(self.job_options(), processors, walltime, layout)
        problem: GasError | None = None
        try:
            self.transport.reshape(id, shape)
        except NotSent:
            raise
        except GasError as error:  # it may have just started, or the answer was lost
            problem = error
        try:
            after = self._one(id)
        except GasError as error:
            raise problem or error from None
        given = size_of(after, self.unit)
        if problem is not None and not after.pending:
            raise Conflict(f"{self.name}: job {id} is no longer waiting ({after.state.lower()})") from None
        if after.pending and (given, after.time_limit) != (processors, 60 * shape.minutes):
            if problem is not None:
                raise problem
            raise Conflict(
                f"{self.name}: job {id} should now request {processors} {self.unit} for {shape.minutes} minutes, but "
                f"requests {given} for {(after.time_limit or 0) // 60}; another of its options prevents the change"
            )
        return self._record(after)

    def reserve(self, name: str, processors: int, start: int, walltime: int, key: str | None = None) -> dict[str, Any]:
        """Refuse: only administrators make reservations on Slurm."""
        raise BadInput(
            f"{self.name}: only administrators can create reservations on Slurm (scontrol create reservation); gas "
            "submit --not-before submits a job that starts later"
        )


def ahead_of(cluster: Cluster, job: Job) -> Cluster:
    """Return a cluster without a waiting job and without the jobs that Slurm considers after it."""
    waiting = list(dict.fromkeys(record.job.id for record in queue(cluster)))
    behind = set(waiting[waiting.index(job.id) :]) if job.id in waiting else set()  # else it is the newest
    return replace(cluster, jobs=tuple(one for one in cluster.jobs if not (one.pending and one.id in behind)))


def in_place_of(job: Job, shape: Job, own: Job | None) -> Job:
    """Return a waiting job in another shape, with its priority adjusted to the new size.

    Parameters
    ----------
    shape, own
        The job as a new submission, in the new and in its present shape. If the latter is unknown, the priority stays.
    """
    if own is None:
        return replace(shape, priority=job.priority, priority_in=job.priority_in)

    def priority(name: str) -> int:
        more = shape.priority_in.get(name, shape.priority) - own.priority_in.get(name, own.priority)
        return max(1, job.priority_in.get(name, job.priority) + more)

    values = {name: priority(name) for name in shape.partitions}
    return replace(shape, priority=max(values.values(), default=job.priority), priority_in=values)


def fingerprint(cluster: Cluster) -> str:
    """Return a hash that changes with jobs, nodes or reservations."""
    jobs = [(j.id, j.state, j.start, j.planned_nodes, j.time_limit, j.cpus, j.priority) for j in cluster.jobs]
    jobs.sort(key=repr)
    nodes = [(node.name, node.why_not, node.reserved) for node in cluster.nodes]
    return hashlib.sha256(repr((jobs, nodes, cluster.reservations)).encode()).hexdigest()[:16]


def narrowed(limits: Limits, partitions: Sequence[Partition], options: Options, cluster: Cluster) -> Limits:
    """Return limits narrowed by those of partitions; with several partitions, the widest of theirs counts."""
    most: list[int | None] = []
    for one in partitions:
        there = set(one.nodes)
        sizes = sorted((units_on(node, options) for node in cluster.nodes if node.name in there), reverse=True)
        most.append(None if one.most_nodes is None else max(1, sum(sizes[: one.most_nodes])))
    processors = _least(limits.max_processors, _widest(most))
    walltime = _least(limits.max_walltime, _widest([one.longest for one in partitions]))
    return Limits(processors, walltime, limits.speed)


def _widest(limits: Sequence[int | None]) -> int | None:
    given = [one for one in limits if one is not None]
    return max(given) if given and len(given) == len(limits) else None


def _least(*limits: int | None) -> int | None:
    return min((one for one in limits if one is not None), default=None)
