"""A Slurm as an endpoint: it is planned with by its own plans, and takes jobs.

Nothing is submitted twice for the reasons that `gas.endpoints.tagging` gives. Of Slurm's own there is to say:

- What was sent without an answer (a timeout, a torn connection, a number that cannot be read) is searched for until
  `SETTLING_SECONDS` after Slurm answers again, as is what an earlier call sent; sbatch is ended when it is given up.
- A refusal is believed only if there is no job of the tag: sbatch can fail after it has submitted.
- Slurm forgets ended jobs after MinJobAge; what is not found after that time may have run, so nothing is sent then, and
  that is said.
- An error that comes together with a job (slurmrestd does that) is an error: the job is cancelled.

What this rests on: a request that has reached slurmctld is in its list of jobs `SETTLING_SECONDS` after it answers
others.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from gas.endpoints.endpoint import InDoubt, JobDescription, Request, Standing, limits_from
from gas.endpoints.programs import end_of_file, whole_path
from gas.endpoints.sending import NotSent, RefusedAs
from gas.endpoints.slurm.commands import TIMEOUT_SECONDS, CommandTransport, sbatch_line, shown_line
from gas.endpoints.slurm.interpretation import Unit, _queue, interpret, partition_of
from gas.endpoints.slurm.probing import probe
from gas.endpoints.slurm.records import record_of
from gas.endpoints.slurm.submission import batch_of, options_from, shape_of
from gas.endpoints.slurm.transport import Batch, Transport
from gas.endpoints.tagging import PATIENCE_SECONDS, Spans, TaggingEndpoint
from gas.endpoints.wording import name_without_tag, option_list, tag_of
from gas.errors import BadInput, Conflict, Forbidden, GasError, NotFound, Unreachable
from gas.node_availability import Availability
from gas.planner import Limits
from gas.slurm.cluster import Cluster, Job, Partition
from speedup_models.fields import Fields

if TYPE_CHECKING:
    from gas.prediction.history import History
    from gas.prediction.snapshot import Snapshot

__all__ = ["SlurmEndpoint"]

SETTLING_SECONDS = 10.0
"""After how long a job is in Slurm's list, if what was sent has arrived at all; Slurm's own MessageTimeout."""

HISTORY_DAYS = 90
"""How far back accounting is asked: as far as habits last, and eight weeks of arrivals besides."""

PLACING = frozenset(
    {"burst-buffer", "constraint", "contiguous", "core-spec", "cores-per-socket", "dependency", "exclude", "exclusive",
     "gpus", "gpus-per-node", "gpus-per-task", "gres", "hold", "licenses", "mem", "mem-per-cpu", "mem-per-gpu",
     "mincpus", "nodelist", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "prefer",
     "sockets-per-node", "spread-job", "switches", "threads-per-core", "tmp"}
)  # fmt: skip
"""Options of sbatch that bear on which nodes a job gets, or when."""


class SlurmEndpoint(TaggingEndpoint[Transport, Batch]):
    """A partition of a Slurm.

    Parameters
    ----------
    name
        What the user calls it.
    transport
        How it is spoken to.
    partition
        By default the cluster's default one.
    unit
        What processors are: CPUs, or whole nodes.
    reservation
        One that jobs name.
    options
        Further options of sbatch, by their long names.
    limits
        What else bounds a request; the partition's own limits are added when it is asked.
    patience
        Seconds for which a submission is tried again that got no answer.

    Attributes
    ----------
    limits
        Those given, narrowed by the partition's when it was last asked.
    is_local
        Whether paths here mean the same there.
    shows_all
        Whether it showed the jobs of all users when it was last asked.
    queue_remarks
        What should be known of the latest `snapshot`.
    """

    policy: Final = "conservative-replan"
    """Slurm's backfill plans every job anew, in the order of the queue; see `gas.prediction.shortfall` for nodes."""
    plans_by_nodes: Final = True

    def __init__(
        self,
        name: str,
        transport: Transport,
        *,
        partition: str | None = None,
        unit: Unit = "cpus",
        reservation: str | None = None,
        options: Mapping[str, str | None] | None = None,
        limits: Limits | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        spans = Spans(resend=patience, settle=SETTLING_SECONDS, search=SETTLING_SECONDS)
        super().__init__(name, transport, partition, limits, patience, spans)
        self.shows_all = True
        self.queue_remarks: tuple[str, ...] = ()
        self.partition, self.unit, self.reservation = partition, unit, reservation
        self.is_local = transport.is_local
        self._own_limits = self.limits
        self._chosen = partition
        self._options = dict(options or {})

    @classmethod
    def configured(cls, name: str, fields: Fields) -> SlurmEndpoint:
        """Return the endpoint of a table.

        Its keys are ``partition``, ``unit``, ``account``, ``qos``, ``reservation``, ``options`` (more of sbatch's),
        ``patience`` and limits; for the commands ``slurm_conf``, ``folder`` and ``timeout``; with ``url``, slurmrestd
        is spoken to, and the keys are those of `gas.endpoints.slurm.rest`.
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
            if configuration is not None and not Path(configuration).is_file():  # the commands would look elsewhere
                raise fields.fail("slurm_conf", f"there is no file {configuration}")
            transport = CommandTransport(name, configuration, timeout=timeout, folder=folder)
        words = option_list(fields, "sbatch", "--constraint=intel")
        options = options_from(words, fields.where("options"))
        own = {key: fields.text(key, None) for key in ("account", "qos")}
        options |= {key: value for key, value in own.items() if value is not None}
        endpoint = cls(
            name,
            transport,
            partition=fields.text("partition", None),
            unit=fields.text("unit", "cpus", choices=("cpus", "nodes")),
            reservation=fields.text("reservation", None),
            options=options,
            limits=limits_from(fields),
            patience=fields.number("patience", PATIENCE_SECONDS, minimum=0, maximum=86400),
        )
        fields.done()
        return endpoint

    # ------------------------------------------------------------------------------------------------ planning

    def availability(self) -> Availability:
        """Return when which nodes are free, by Slurm's own plans."""
        return self.read(self.transport.cluster(self.name))

    def read(self, cluster: Cluster) -> Availability:
        """Return what a cluster's answers say; sets `limits` and `remarks`."""
        found = interpret(cluster, self.partition, self.unit, user=self.transport.user, reservation=self.reservation)
        self.shows_all = cluster.others_visible is not False and found.unseen == 0
        self.limits = narrowed(self._own_limits, partition_of(cluster, self.partition), self.unit, cluster)
        self.remarks = (*cluster.cautions, *found.remarks, *self._not_planned_with())
        return found.availability

    def snapshot(self, users: Mapping[str, int]) -> Snapshot:
        """Return who runs and who waits in the partition; sets `queue_remarks`. Accounts are not asked for."""
        from gas.endpoints.slurm.queue import snapshot_of

        if self.reservation is not None:
            raise BadInput(f"{self.name}: jobs of a reservation ({self.reservation}) are not predicted")
        cluster, user = self.transport.cluster(self.name), self.transport.user
        chosen = partition_of(cluster, self.partition)
        self._chosen = chosen.name
        seen = interpret(cluster, chosen.name, self.unit, user=user)
        counted = f"predicted by counts of {self.unit}; starts that Slurm plans later than these allow are guessed"
        self.queue_remarks = (counted, *(["jobs of other users are not shown"] if seen.unseen else []))
        return snapshot_of(cluster, chosen, seen, users, user=user)

    def history(self) -> History:
        """Return what accounting tells of the partition's jobs of the last `HISTORY_DAYS`; `LogError` if it can't."""
        from gas.prediction.history import History
        from workloads.sacct import parse_sacct

        chosen = self._chosen or partition_of(self.transport.cluster(self.name), self.partition).name
        said = self.transport.accounting(chosen, HISTORY_DAYS)
        return History.of_accounting(parse_sacct(said, name="accounting", lenient=True))

    def _not_planned_with(self) -> list[str]:
        """Return what the options ask for that bears on where a job goes, and that is not planned with."""
        found = sorted(self._options.keys() & PLACING)
        return [f"{', '.join(found)}: not planned with, so that jobs may start later than said"] if found else []

    # ------------------------------------------------------------------------------------------------ acting

    def batch(self, request: Request, job: JobDescription, key: str) -> Batch:
        """Return what is submitted."""
        options = {**self.options(), **options_from(job.native, "--native")}
        return batch_of(request, job, key=key, unit=self.unit, options=options)

    def options(self) -> dict[str, str | None]:
        """Return the options of sbatch that every job has."""
        where = {"partition": self.partition, "reservation": self.reservation}
        return {option: value for option, value in where.items() if value is not None} | self._options

    def preview(self, request: Request, job: JobDescription) -> str:
        """Return what would be submitted, as one would do it by hand."""
        batch = self.batch(request, job, "preview")
        return f"{shown_line(batch)} << 'END'\n{batch.script}END\n"

    def line(self, request: Request, name: str) -> str:
        """Return sbatch's words for a request, for a script of one's own."""
        job = JobDescription(name, ("true",))
        words = sbatch_line(replace(self.batch(request, job, "line"), name=name))
        return shlex.join(words)

    def _tell_of(self, batch: Batch, job: JobDescription) -> None:
        for option in sorted(batch.options.keys() - self.options().keys() & PLACING):
            self.tell(f"--{option} is not planned with: the job may start later")
        if job.command and has_directives(Path(job.directory or ".") / job.command[0]):
            self.tell(f"the #SBATCH lines of {job.command[0]} are not read; write --native=--option=value for each")

    def _tagged(self, key: str) -> list[dict[str, Any]]:
        """Return the user's jobs that bear the tag of a key; one that has ended has been the job."""
        tag = tag_of(key)
        found = self.transport.jobs(user=self.transport.user)
        return [self._record(job) for job in found if name_without_tag(job.name)[1] == tag]

    def _made_with_error(self, error: RefusedAs, key: str) -> dict[str, Any]:
        """Cancel a job that is not as it was asked for."""
        try:
            self.transport.cancel(error.id)
        except Unreachable as problem:
            told = f"the job {error.id} that it made all the same could not be cancelled: {problem}"
            raise InDoubt(f"{error}; {told} (key {key})", key) from None
        raise BadInput(f"{error}; the job {error.id} that it made all the same was cancelled")

    def _unseen(self, id: int, batch: Batch) -> dict[str, Any]:
        shape = batch.shape
        job = Job(
            id, batch.name, self.transport.user, "PENDING", (), shape.tasks or 0, 1,
            time_limit=60 * shape.minutes, least_nodes=shape.nodes or 1, submitted=int(time.time()),
        )  # fmt: skip
        return self._record(job)

    def memory(self) -> int | None:
        """Return for how many seconds Slurm remembers ended jobs at least, None if that is not known."""
        return self.transport.memory()

    def _record(self, job: Job) -> dict[str, Any]:
        return record_of(job, self.unit, self.transport.user)

    def job(self, id: int) -> dict[str, Any]:
        """Return what has become of a job, or raise `NotFound`."""
        return self._record(self._one(id))

    def _one(self, id: int) -> Job:
        found = [job for job in self.transport.jobs(ids=[id]) if job.id == id]
        if not found:
            raise NotFound(
                f"{self.name}: there is no job {id}; Slurm forgets jobs some minutes after they have ended, and then "
                "only its accounting knows them (sacct)"
            )
        return found[0]

    def jobs(self, ended: int) -> list[dict[str, Any]]:
        """Return the jobs in the schedule, after the latest `ended` ones that have ended and are remembered."""
        found = (job for job in self.transport.jobs() if self.partition is None or self.partition in job.partitions)
        records = [self._record(job) for job in found]
        past = sorted((one for one in records if one["finished"] is not None), key=lambda one: int(one["finished"]))
        return past[len(past) - min(ended, len(past)) :] + [one for one in records if one["finished"] is None]

    def output(self, id: int, stream: Literal["stdout", "stderr"], limit: int) -> bytes:
        """Return the end of what a job has written, from its file, which must be readable here."""
        job = self._one(id)
        if job.pending:
            raise Conflict(f"{self.name}: job {id} waits, and has written nothing yet")
        path = job.stdout if stream == "stdout" else job.stderr
        if not path:
            raise NotFound(f"{self.name}: Slurm does not say where the output of job {id} is")
        return end_of_file(Path(path), limit, f"job {id} is {job.state.lower()}")

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job and return it."""
        self.transport.cancel(id)
        return self.job(id)

    def probe(self, requests: Sequence[Request]) -> list[int | None]:
        """Return the start that Slurm plans for a real job of each request; the jobs are cancelled."""
        shapes = [shape_of(request.processors, request.walltime, self.unit) for request in requests]
        return probe(self.transport, shapes, self.options(), tell=self.tell)

    def standing(self, id: int) -> Standing:
        """Return how a job stands, and what it could get in its place of the queue."""
        cluster = self.transport.cluster(self.name)
        found = next((job for job in cluster.jobs if job.id == id), None) or self._one(id)
        availability = None
        if found.pending:
            chosen = partition_of(cluster, self.partition)
            if found.partitions and chosen.name not in found.partitions:
                chosen = partition_of(cluster, found.partitions[0])
            ahead, user, reservation = ahead_of(cluster, found), self.transport.user, found.reservation or None
            seen = interpret(ahead, chosen.name, self.unit, user=user, reservation=reservation)
            self.limits = narrowed(self._own_limits, chosen, self.unit, cluster)
            self.remarks = (*cluster.cautions, *seen.remarks)
            availability = seen.availability
        record = self._record(found)
        record["held"] = found.held or (found.pending and found.reason.startswith("Dependency"))  # whatever its shape
        return Standing(record, availability, fingerprint(cluster))

    def reshape(self, id: int, processors: int, walltime: int) -> dict[str, Any]:
        """Have a waiting job ask for another shape; its place in the queue stays."""
        before = self._one(id)
        if before.user and before.user != self.transport.user:
            raise Forbidden(f"{self.name}: job {id} is a job of {before.user}; only its owner may change it")
        if not before.pending:
            raise Conflict(f"{self.name}: job {id} does not wait any more ({before.state.lower()})")
        if before.tasks is not None:
            raise BadInput(f"{self.name}: job {id} is an array, whose tasks cannot be changed one by one")
        shape = shape_of(processors, walltime, self.unit)
        problem: GasError | None = None
        try:
            self.transport.reshape(id, shape)
        except NotSent:
            raise
        except GasError as error:  # perhaps it has started in this moment, or the answer got lost
            problem = error
        try:
            after = self._one(id)
        except GasError as error:
            raise problem or error from None
        given = after.least_nodes if self.unit == "nodes" else after.cpus
        if problem is not None and not after.pending:
            raise Conflict(f"{self.name}: job {id} does not wait any more ({after.state.lower()})") from None
        if after.pending and (given, after.time_limit) != (processors, 60 * shape.minutes):
            if problem is not None:
                raise problem
            raise Conflict(
                f"{self.name}: job {id} should ask for {processors} {self.unit} for {shape.minutes} minutes now, and "
                f"asks for {given} for {(after.time_limit or 0) // 60}; something else about it forbids the change"
            )
        return self._record(after)

    def reserve(self, name: str, processors: int, start: int, walltime: int, key: str | None = None) -> dict[str, Any]:
        """Refuse: reservations of a Slurm are its administrators'."""
        raise BadInput(
            f"{self.name}: reservations of a Slurm are made by its administrators (scontrol create reservation); "
            "gas submit --not-before submits a job that starts later"
        )


def ahead_of(cluster: Cluster, job: Job) -> Cluster:
    """Return a cluster without a waiting job and those that Slurm considers after it."""
    queue = [one.id for one in _queue(cluster)]
    behind = set(queue[queue.index(job.id) :]) if job.id in queue else set()  # else it is newer than all of them
    return replace(cluster, jobs=tuple(one for one in cluster.jobs if not (one.pending and one.id in behind)))


def fingerprint(cluster: Cluster) -> str:
    """Return what changes when jobs, nodes or reservations do."""
    jobs = [(j.id, j.state, j.start, j.planned_nodes, j.time_limit, j.cpus, j.priority) for j in cluster.jobs]
    jobs.sort(key=repr)
    nodes = [(node.name, node.why_not, node.reserved) for node in cluster.nodes]
    return hashlib.sha256(repr((jobs, nodes, cluster.reservations)).encode()).hexdigest()[:16]


def has_directives(path: Path) -> bool:
    """Return whether a file looks like a batch script with options for sbatch."""
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!" and b"\n#SBATCH " in file.read(8192)
    except OSError:
        return False


def narrowed(limits: Limits, partition: Partition, unit: Unit, cluster: Cluster) -> Limits:
    """Return limits with those of a partition of a cluster."""
    processors, walltime = limits.max_processors, limits.max_walltime
    if partition.most_nodes is not None:
        there = set(partition.nodes)
        sizes = sorted(
            (1 if unit == "nodes" else node.cpus for node in cluster.nodes if node.name in there), reverse=True
        )
        most = max(1, sum(sizes[: partition.most_nodes]))
        processors = min(processors or most, most)
    if partition.longest is not None:
        walltime = min(walltime or partition.longest, partition.longest)
    return Limits(processors, walltime, limits.speed)
