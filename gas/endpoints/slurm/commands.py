"""Slurm by its commands: scontrol, squeue and sdiag for queries; sbatch, scancel and scontrol for changes.

They work for every user on every login node, and find their Slurm by themselves or by ``SLURM_CONF``.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from documents.fields import quoted
from gas.endpoints.programs import Programs, user_name
from gas.endpoints.sending import NotSent, Unclear
from gas.endpoints.slurm import command_line
from gas.endpoints.slurm.accounting_answers import queries, read_accounting, with_accounting
from gas.endpoints.slurm.command_line import OPTIONAL
from gas.endpoints.slurm.directives import VARIABLES
from gas.endpoints.slurm.kept_answers import KeptAnswers
from gas.endpoints.slurm.refusals import kind_of
from gas.endpoints.slurm.topology import TOPOLOGY, chosen_by_switches, read_switches
from gas.endpoints.slurm.transport import ACCOUNTED, Batch, Shape
from gas.errors import BadInput, Conflict, Forbidden, GasError, NotFound, Unreachable
from gas.printable import many
from gas.slurm.cluster import Cluster, Job

__all__ = ["CommandTransport"]

TIMEOUT_SECONDS = 30.0
"""Seconds to wait: a large site's squeue takes some; Slurm's commands give up after several MessageTimeouts of 10 s."""

ACCOUNTING_SECONDS = 10.0
"""Seconds to wait for slurmdbd: planning is possible without it."""

MISSING = "Slurm's commands are on its login nodes (if they are not in PATH, set `folder` in the endpoint's table)"

NEVER_FORGETS = 10**9
"""Seconds that jobs are remembered if MinJobAge is 0."""

KEPT = frozenset(
    {*VARIABLES, "SLURM_CONF", "SBATCH_EXPORT", "SBATCH_OUTPUT", "SBATCH_ERROR", "SBATCH_INPUT", "SBATCH_OPEN_MODE",
     "SBATCH_GET_USER_ENV", "SBATCH_COMMENT", "SBATCH_SIGNAL", "SBATCH_DEBUG", "SBATCH_ACCTG_FREQ", "SBATCH_CONTAINER",
     "SBATCH_CONTAINER_ID", "SBATCH_GPU_BIND", "SBATCH_GPU_FREQ", "SBATCH_NO_KILL", "SBATCH_PROFILE",
     "SBATCH_WAIT_ALL_NODES"}
)  # fmt: skip
"""The user's environment variables that are passed on: plans consider them, or they affect no start."""


class CommandTransport:
    """The commands of one Slurm.

    Parameters
    ----------
    name
        What the user calls it.
    configuration
        Its slurm.conf, if not the one that the commands find by themselves.
    timeout
        Seconds to wait for a command, and for all commands of one query together.
    folder
        Folder of the commands, if not in ``PATH``.
    """

    def __init__(
        self,
        name: str,
        configuration: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        folder: str | None = None,
    ) -> None:
        self.name = name
        self.address = f"slurm:{configuration or os.environ.get('SLURM_CONF') or name}"
        self.place = f"{configuration or os.environ.get('SLURM_CONF') or ''} {folder or ''}"
        self.user = user_name()
        self.timeout = timeout
        self.is_local = True  # login nodes usually share their files
        # inside a job, sbatch would take missing options from that job's environment
        kept = {
            key: value
            for key, value in os.environ.items()
            if key in KEPT or not key.startswith(("SLURM_", "SQUEUE_", "SBATCH_", "SCONTROL_", "SACCT_"))
        }
        if configuration is not None:
            kept["SLURM_CONF"] = configuration
        asking = {**kept, **command_line.ENVIRONMENT}
        self.programs = Programs(name, asking, MISSING, timeout=timeout, folder=folder)
        self._kept: KeptAnswers[str] = KeptAnswers()
        self._accounting: KeptAnswers[tuple[str, str]] = KeptAnswers()
        self.sending = Programs(name, kept, MISSING, timeout=timeout, folder=folder)  # jobs inherit this environment

    def sbatch_help(self) -> str:
        """Return sbatch's description of its options, including those of plugins."""
        return self.programs.run(["sbatch", "--help"]).out

    def cluster(self, name: str) -> Cluster:
        """Return the published state."""
        deadline = time.monotonic() + self.timeout
        mark = secrets.token_hex(8)
        answers: dict[str, str] = {}
        failed: dict[str, str] = {}
        for kind, command in sorted(command_line.commands(mark).items(), key=lambda one: one[0] in OPTIONAL):
            try:
                answers[kind] = self._kept.get(kind, partial(self._ask, command, deadline))
            except GasError as error:
                may_be_hidden = kind in ("nodes", "partitions") and isinstance(error, Forbidden)
                if kind not in OPTIONAL and not may_be_hidden:
                    raise
                failed[kind] = str(error)
        cluster = command_line.read_cluster(answers, name=name, mark=mark, failed=failed)
        if chosen_by_switches(cluster.values):
            with suppress(GasError):  # `caveats` reports that switches are unknown
                ask = partial(self._ask, TOPOLOGY, deadline)
                cluster = replace(cluster, switches=read_switches(self._kept.get("topology", ask)))
        limited = cluster.settings is not None and bool(cluster.settings.limits_enforced)  # the accounts of jobs
        pending = any(job.pending for job in cluster.jobs)
        if cluster.jobs and (limited or pending or command_line.unclear_shares(cluster)):
            try:
                cluster = command_line.detailed(cluster, self._details(deadline))
            except GasError as error:
                cluster = replace(cluster, cautions=(*cluster.cautions, f"{command_line.NO_DETAILS} ({error})"))
        return self._with_accounting(cluster, deadline)

    def _with_accounting(self, cluster: Cluster, deadline: float) -> Cluster:
        """Return the cluster with accounts, QOS and limits, if slurmdbd keeps them."""
        if cluster.settings is None or not cluster.settings.with_accounting:
            return cluster
        answers: dict[str, str] = {}
        failures: dict[str, str] = {}
        for kind, query in queries(self.user).items():
            if kind == "config":
                continue
            answer = partial(self._answer_or_error, query.command, deadline)
            found, error = self._accounting.get(kind, answer, query.lifetime)
            (failures if error else answers)[kind] = error or found
        return with_accounting(cluster, read_accounting(answers, self.user, failures))

    def _answer_or_error(self, command: Sequence[str], deadline: float) -> tuple[str, str]:
        """Return an answer, or why there is none; both are cached, as slurmdbd may be down for long."""
        try:
            return self._ask(command, min(deadline, time.monotonic() + ACCOUNTING_SECONDS)), ""
        except GasError as error:
            return "", str(error)

    def jobs(self, *, user: str | None = None, ids: Collection[int] = ()) -> tuple[Job, ...]:
        """Return the jobs of a user, or with these numbers, including recently ended ones; unknown ones are omitted."""
        mark = secrets.token_hex(8)
        query = [*command_line.commands(mark)["jobs"], "-t", "all", *([] if user is None else ["-u", user])]
        if ids:
            query += ["-j", ",".join(str(id) for id in ids)]
        try:
            jobs = command_line.read_jobs(self._ask(query), mark=mark)
        except NotFound:
            return ()
        # squeue has no exit codes, output files, or GPUs per task or job
        kinds: list[tuple[str, ...]] = [("job", str(id)) for id in ids]
        if not ids and user is None and jobs and self._has_gpus():
            kinds = [("jobs",)]
        with suppress(NotFound, Forbidden):
            details = "".join(self._ask((*command_line.DETAILS[:-1], *one)) for one in kinds)
            jobs = command_line.with_details(jobs, details) if kinds else jobs
        return jobs

    def cluster_name(self) -> str:
        """Return the cluster's own name."""
        found = re.search(r"^ClusterName *= *(\S+)", self._config(), re.MULTILINE)
        return "slurm" if found is None else found[1]

    def retention(self) -> int | None:
        """Return the seconds for which ended jobs are remembered at least (MinJobAge)."""
        found = re.search(r"^MinJobAge *= *(\d+)", self._config(), re.MULTILINE)
        return None if found is None else int(found[1]) or NEVER_FORGETS

    def submit(self, batch: Batch) -> int:
        """Submit a job and return its number."""
        printed = self._run(sbatch_line(batch), batch.script, sends=True)
        found = re.match(r"(\d+)(;|\s|$)", printed)
        if found is None:
            raise Unclear(f"{self.name}: sbatch printed {quoted(printed.strip()[:200])} instead of a number")
        return int(found[1])

    def cancel(self, id: int) -> None:
        """Cancel a job; one that has ended is left alone."""
        if not self.jobs(ids=[id]):  # scancel does not report unknown jobs
            raise NotFound(f"{self.name}: there is no job {id} (any more)")
        try:
            self._ask(["scancel", str(id)])
        except Conflict:
            return

    def accounting(self, partition: str, days: int) -> bytes:
        """Return sacct's output for a partition's jobs of the last days; other users' jobs only if shown."""
        command = ["sacct", "-aXP", "-r", partition, "-S", f"now-{days}days", "-o", ACCOUNTED]
        done = self.programs.run(command)
        if done.status != 0:
            problem = _problem_in(done.err, done.status)
            raise BadInput(f"{self.name}: its accounting is not available (sacct: {problem})")
        return done.out.encode()

    def reshape(self, id: int, shape: Shape) -> None:
        """Change size and time limit of a waiting job."""
        record = self._ask(("scontrol", "-o", "-d", "show", "job", str(id)))
        if re.search(r" HetJobId=\d", record):
            raise BadInput(f"{self.name}: job {id} is heterogeneous and cannot be reshaped")
        others = dict(shape.others)
        if tasks := others.pop("ntasks-per-node", None):
            shown = re.search(r" NtasksPerN:B:S:C=(\d+):", record)
            if shown is None or shown[1] != tasks:
                has = "no number of tasks" if shown is None or shown[1] == "0" else many(int(shown[1]), "task")
                raise BadInput(f"{self.name}: job {id} has {has} per node and cannot be given {tasks}")
        gpus = others.pop("gpus-per-node", None)
        if others:
            raise BadInput(f"{self.name}: job {id} requests GPUs and cannot be reshaped")
        if gpus is None and re.search(r" CPUs/Task=(?!1 |N/A )", record):
            raise BadInput(f"{self.name}: job {id} has several CPUs per task and cannot be reshaped")
        if shape.nodes is None and _asks_for_nodes(record):
            raise BadInput(f"{self.name}: job {id} requests a number of nodes; its number of CPUs cannot be changed")
        if gpus is not None:
            counts = [f"NumNodes={shape.nodes}-{shape.nodes}", f"NumTasks={shape.tasks}", f"Gres=gpu:{gpus}"]
        elif shape.nodes is not None:
            counts = [f"NumNodes={shape.nodes}-{shape.nodes}", f"NumTasks={shape.nodes}", f"NumCPUs={shape.nodes}"]
        else:
            counts = [f"NumCPUs={shape.tasks}", f"NumTasks={shape.tasks}"]
        self._run(["scontrol", "update", f"jobid={id}", *counts, f"TimeLimit={shape.minutes}"], sends=True)

    # ------------------------------------------------------------------------------------------------ running

    def _details(self, deadline: float) -> str:
        """Return scontrol's details of the jobs; if nodes are hidden, without their shares of each node."""
        try:
            return self._ask(command_line.DETAILS, deadline)
        except Forbidden:
            return self._ask([word for word in command_line.DETAILS if word != "-d"], deadline)

    def _has_gpus(self) -> bool:
        return re.search(r"^GresTypes *=.*\bgpu\b", self._config(), re.MULTILINE) is not None

    def _config(self) -> str:
        return self._kept.get("config", partial(self._ask, command_line.COMMANDS["config"]))

    def _ask(self, command: Sequence[str], deadline: float | None = None) -> str:
        return self._run(command, deadline=deadline)

    def _run(
        self, command: Sequence[str], text: str = "", *, sends: bool = False, deadline: float | None = None
    ) -> str:
        """Return the output of a command; `sends`: the command creates or changes a job."""
        called = " ".join(command[:3]) if command[0] == "scontrol" else command[0]
        programs = self.sending if command[0] == "sbatch" else self.programs
        done = programs.run(command, text, called=called, sends=sends, deadline=deadline)
        if done.status != 0:
            raise self._refusal(f"{self.name}: {called}", done.status, done.err, sends=sends)
        return done.out

    def _refusal(self, called: str, status: int, words: str, *, sends: bool) -> GasError:
        problem = _problem_in(words, status)
        kind = (Unclear if sends else Unreachable) if status < 0 else kind_of(words, sends=sends, acts=sends)
        if kind is NotSent:
            return NotSent(f"{called}: {problem}; is slurmctld up?")
        return kind(f"{called} refuses: {problem}" if kind is BadInput else f"{called}: {problem}")


def _asks_for_nodes(record: str) -> bool:
    """Return whether a job requests a number of nodes, from scontrol's output.

    From some release after 24.11 (seen on 26.05, whose records have SLUID= or Exclusive=), jobs without such a request
    show a range too, from the nodes that their CPUs need to one per task.
    """
    nodes = re.search(r" NumNodes=(\d+)-(\d+) ", record)
    if nodes is None or nodes[1] == "1":
        return False
    tasks = re.search(r" NumTasks=(\d+) ", record)
    own_range = re.search(r" (?:SLUID|Exclusive)=", record) and tasks is not None and tasks[1] == nodes[2] != nodes[1]
    return not own_range


def _problem_in(words: str, status: int) -> str:
    """Return the error message of a command, each line once and without the command's name."""
    lines = [re.sub(r"^\w+: (error: )?", "", line).strip() for line in words.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines)) or f"exit status {status}"


def sbatch_line(batch: Batch) -> list[str]:
    """Return the sbatch command for a job, which reads the script from standard input."""
    shape = batch.shape
    line = ["sbatch", "--parsable", f"--job-name={batch.name}", f"--time={shape.minutes}"]
    options = {**batch.options, **dict(shape.others)}
    if shape.nodes is not None:
        line.append(f"--nodes={shape.nodes}-{shape.nodes}")
        if shape.whole and "exclusive" not in options:
            line.append("--exclusive")
    if shape.tasks is not None:
        line.append(f"--ntasks={shape.tasks}")
    if batch.directory is not None:
        line.append(f"--chdir={batch.directory}")
    if batch.not_before is not None:
        line.append(f"--begin=uts{batch.not_before}")
    return line + [f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()]


def shown_line(batch: Batch, *words: str) -> str:
    """Return the command to type, followed by the script that it reads."""
    return shlex.join([*sbatch_line(batch), *words])
