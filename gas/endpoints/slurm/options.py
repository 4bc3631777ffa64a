"""The sbatch options of jobs apart from size and walltime, parsed.

Plans take the supported options into account. `Options.unplanned` lists those that affect when or where a job starts
but are not supported. All options are submitted as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from documents.fields import quoted
from gas.endpoints.slurm.directives import Directive
from gas.endpoints.slurm.notation import node_names, tasks, words
from gas.errors import BadInput
from gas.resources import Resources
from gas.slurm.cluster import Gres, Tasks
from gas.slurm.features import with_counts
from gas.slurm.unasked import GPUS

__all__ = ["Options", "Unit", "instant_of", "megabytes", "minutes_of"]

Unit = Literal["cpus", "tasks", "nodes", "gpus"]
"""The unit of a size: CPUs, tasks (with the options' CPUs per task), nodes, or GPUs."""

UNPLANNED = frozenset(
    {"batch", "bb", "bbf", "cluster-constraint", "consolidate-segments", "core-spec", "cores-per-socket", "deadline",
     "delay-boot", "distribution", "extra-node-info", "gres-flags", "mcs-label",
     "network", "nodefile", "ntasks-per-socket", "oversubscribe", "power",
     "prefer", "resources", "segment", "sockets-per-node", "spread-job", "spread-segments", "switches", "thread-spec",
     "tmp", "tres-per-task", "use-min-nodes"}
)  # fmt: skip
"""Options that affect when or where a job starts, but that plans ignore."""

HARMLESS = frozenset(
    {"acctg-freq", "chdir", "comment", "container", "container-id", "cpu-freq", "error", "export", "export-file",
     "extra", "get-user-env", "gid", "gpu-bind", "gpu-freq", "ignore-pbs", "input", "kill-on-invalid-dep",
     "mail-type", "mail-user", "mem-bind", "no-kill", "no-requeue", "oom-kill-step", "open-mode", "output", "parsable",
     "profile", "propagate", "requeue", "signal", "stepmgr", "tres-bind", "uid", "umask", "verbose", "wait-all-nodes",
     "wckey"}
)  # fmt: skip
"""Options that affect neither when nor where a job starts."""

REFUSED = {
    "clusters": "Gas submits to the Slurm that it has queried",
    "help": "sbatch would submit nothing",
    "quiet": "sbatch would not print the job's number",
    "test-only": "sbatch would submit nothing",
    "usage": "sbatch would submit nothing",
    "version": "sbatch would submit nothing",
    "wait": "sbatch would not end before the job; gas submit --wait and gas wait wait for it",
    "wrap": "Gas writes the script itself",
}
"""Options with which Gas cannot submit or follow a job, with the reason."""

MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
"""sbatch accepts only one of these options."""


@dataclass(frozen=True)
class Options:
    """The options of every job, whatever its size.

    Many fields are also those of `gas.slurm.cluster.Job`. Here they are what a user wrote, and None without an option;
    there, what Slurm made of it.

    Attributes
    ----------
    unit
        The unit of a size.
    whole
        Whether jobs get whole nodes because of the unit.
    given
        All options as written, by long name, the last of each; None for those without a value.
    tasks, nodes, walltime
        The size in the options themselves: tasks, minimum and maximum of nodes, seconds.
    cpus_per_task, cpus_per_node, tasks_per_node, tasks_per_gpu, tasks_per_core, threads_per_core, cpus_per_gpu
        None if not given.
    gpus, gpus_per_node, gpus_per_task
        GPUs of a job, a node, or a task, by type; empty if not given.
    gres
        Generic resources per node (``--gres``), which may include GPUs.
    begin
        Epoch second before which no job starts.
    tasks_of_array
        Tasks of the job array; None if it is not an array.
    nice
        Reduction of the priority.
    unplanned
        Options that affect when or where a job starts, but that plans ignore.
    resources
        Resources per unit according to the application; None if only the options count.
    """

    unit: Unit = "cpus"
    whole: bool = False
    given: Mapping[str, str | None] = field(default_factory=dict)
    partitions: tuple[str, ...] = ()
    account: str = ""
    qos: str = ""
    reservation: str = ""
    name: str = ""
    tasks: int | None = None
    nodes: tuple[int, int | None] | None = None
    walltime: int | None = None
    shortest: int | None = None
    cpus_per_task: int | None = None
    cpus_per_node: int | None = None
    tasks_per_node: int | None = None
    tasks_per_gpu: int | None = None
    tasks_per_core: int | None = None
    threads_per_core: int | None = None
    cpus_per_gpu: int | None = None
    memory_per_node: int | None = None
    memory_per_cpu: int | None = None
    memory_per_gpu: int | None = None
    gpus: tuple[Gres, ...] = ()
    gpus_per_node: tuple[Gres, ...] = ()
    gpus_per_socket: tuple[Gres, ...] = ()
    gpus_per_task: tuple[Gres, ...] = ()
    gres: tuple[Gres, ...] = ()
    features: str = ""
    licences: Mapping[str, int] = field(default_factory=dict)
    exclusive: bool = False
    shared_with: str = ""
    required_nodes: tuple[str, ...] = ()
    excluded_nodes: tuple[str, ...] = ()
    dependency: str = ""
    begin: int | None = None
    contiguous: bool = False
    overcommit: bool = False
    reboot: bool = False
    hold: bool = False
    tasks_of_array: Tasks | None = None
    nice: int = 0
    unplanned: tuple[str, ...] = ()
    resources: Resources | None = None

    @classmethod
    def of(
        cls, found: Iterable[Directive], *, now: int, unit: Unit | None = None, whole: bool | None = None
    ) -> Options:
        """Return the meaning of options; a later option replaces an earlier one of the same name.

        Parameters
        ----------
        now
            Epoch second to which times like ``now+1hour`` are relative.
        unit
            The unit of a size; by default the unit in which the options give their own size.
        whole
            Whether jobs get whole nodes; by default if the given unit is nodes.

        Raises
        ------
        BadInput
            sbatch rejects the value of an option, or Gas cannot submit with the option; the message names the option
            and its source.
        """
        last: dict[str, Directive] = {}
        for one in found:
            last.pop(one.name, None)
            last[one.name] = one
        memory = [last[name] for name in last if name in MEMORY]
        if len(memory) > 1:  # even if one is in the script and another on the command line (22.05 to 26.05)
            raise _excluding(*memory[:2])
        if "cpus-per-task" in last and "cpus-per-gpu" in last:
            raise _excluding(last["cpus-per-task"], last["cpus-per-gpu"])
        values: dict[str, object] = {}
        unplanned = []
        for one in last.values():
            if one.name in REFUSED:
                raise BadInput(f"{one.place}: --{one.name} cannot be used: {REFUSED[one.name]}; leave it out")
            if one.name in UNDERSTOOD:
                try:
                    values |= UNDERSTOOD[one.name](one.value, now)
                except BadInput as error:
                    raise BadInput(f"{one.place}: {quoted(one.shown)}: {error}") from None
                except _NotPlanned:
                    unplanned.append(one.name)
            elif one.name not in HARMLESS:  # unknown options may have an effect
                unplanned.append(one.name)
        given = {name: one.value for name, one in last.items()}
        found_ = replace(cls(given=given), **values)  # type: ignore[arg-type]  # of the fields' own types
        chosen = unit or _own_unit(found_)
        found_._check_types()
        return replace(
            found_, unit=chosen, whole=(unit == "nodes") if whole is None else whole, unplanned=tuple(sorted(unplanned))
        )

    def _check_types(self) -> None:
        """Raise `BadInput` if some GPUs have a type and others do not: Slurm's ESLURM_INVALID_GRES_TYPE."""
        counted = (self.gpus, self.gpus_per_node, self.gpus_per_socket, self.gpus_per_task, self.gres)
        types = {one.type for some in counted for one in some if one.name == "gpu"}
        if "" in types and len(types) > 1:
            typed = ", ".join(sorted(types - {""}))
            raise BadInput(
                f"some GPUs have the type {typed} and others have none, which Slurm refuses; give all a type"
            )

    @property
    def has_gpus(self) -> bool:
        """Whether jobs request GPUs by any option."""
        counted = (self.gpus, self.gpus_per_node, self.gpus_per_socket, self.gpus_per_task)
        others = (self.tasks_per_gpu, self.cpus_per_gpu, self.memory_per_gpu)
        named = any(one.name in GPUS for one in self.gres) or "gpu" in (self.given.get("tres-per-task") or "")
        return self.unit == "gpus" or any(counted) or any(others) or named

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return remarks on planning with these options, as sentences."""
        return tuple(self._remarks())

    def _remarks(self) -> Iterator[str]:
        if self.unplanned:
            named = ", ".join(f"--{name}" for name in self.unplanned)
            yield f"{named}: ignored, so jobs may start later than shown"
        if self.tasks_of_array is not None:
            yield f"--array: the plan shows the first start among its {len(self.tasks_of_array):,} tasks"
        if self.dependency:
            yield f"--dependency={self.dependency}: jobs start only when it is met, which the plan ignores"


def _excluding(first: Directive, second: Directive) -> BadInput:
    """Return the error for two options of which sbatch accepts only one (22.05 to 26.05)."""
    return BadInput(
        f"{second.place}: --{second.name} and --{first.name} ({first.place}) exclude each other for sbatch; "
        "leave one of them out"
    )


class _NotPlanned(Exception):
    """The option is valid, but plans ignore it."""


def _own_unit(options: Options) -> Unit:
    """Return the unit in which a script gives its size: tasks, if it gives a range of nodes (``-N 2-4``) with them."""
    if options.gpus:
        return "gpus"
    if options.nodes is not None:
        least, most = options.nodes
        return "tasks" if options.tasks is not None and most != least else "nodes"
    per_node = bool(options.gpus_per_node) or any(one.name == "gpu" for one in options.gres)
    return "gpus" if per_node and options.tasks is None else "tasks"


# ------------------------------------------------------------------------------------------------------------- values


def megabytes(text: str) -> int:
    """Return the MB in ``500M``, ``16G`` or ``4096``, rounded up.

    Raises
    ------
    BadInput
        It is not an amount of memory.
    """
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)B?", text.strip().upper())
    if found is None:
        raise BadInput("is not an amount of memory; sbatch accepts 500M, 16G or megabytes")
    bytes_ = int(found[1]) << {"K": 10, "": 20, "M": 20, "G": 30, "T": 40}[found[2]]
    return -(-bytes_ >> 20)


def minutes_of(text: str) -> int | None:
    """Return the minutes of a time limit as sbatch reads it, rounded up; None for no limit.

    The forms are minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes and
    days-hours:minutes:seconds (sbatch(1), --time).

    Raises
    ------
    BadInput
        It is none of these.
    """
    if text.strip().upper() in ("UNLIMITED", "INFINITE", "-1"):
        return None
    found = re.fullmatch(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,4}))?(?::(\d{1,4}))?", text.strip())
    if found is None:
        raise BadInput("is not a time limit; sbatch accepts minutes, hours:minutes:seconds or days-hours")
    numbers = [int(number) for number in found.groups()[1:] if number is not None]
    if found[1] is not None:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    return -(-(((int(found[1] or 0) * 24 + hours) * 60 + minutes) * 60 + seconds) // 60)


_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_HOURS = {"midnight": 0, "noon": 12, "fika": 15, "teatime": 16}
_SECONDS = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}


def instant_of(text: str, now: int) -> int:
    """Return the epoch second of a time as sbatch reads it: local time, or ``uts`` (sbatch(1), --begin).

    Raises
    ------
    BadInput
        It is not a time.
    """
    given = text.strip().lower()
    if found := re.fullmatch(r"uts(\d{1,12})", given):
        return int(found[1])
    if found := re.fullmatch(r"now(?:\+(\d{1,9}) *([a-z]*?)s?)?", given):
        if (found[2] or "") not in _SECONDS:
            raise BadInput(
                f"{quoted(found[2])} is not a unit of time; sbatch accepts seconds, minutes, hours, days and weeks"
            )
        return now + int(found[1] or 0) * _SECONDS[found[2] or ""]
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0)
    if given in ("today", "tomorrow"):
        return int((today + timedelta(days=given == "tomorrow")).timestamp())
    clock = _CLOCK.fullmatch(given)
    if clock or given in _HOURS:
        try:
            hour, minute, second = (int(part or 0) for part in clock.groups()) if clock else (_HOURS[given], 0, 0)
            moment = today.replace(hour=hour, minute=minute, second=second)
        except ValueError:
            raise BadInput("is not a time of the day") from None
        return int((moment if moment.timestamp() > now else moment + timedelta(days=1)).timestamp())
    if re.match(r"\d{4}-\d{2}-\d{2}", given):
        try:
            return int(datetime.fromisoformat(text.strip().upper()).timestamp())
        except (ValueError, OverflowError):
            raise BadInput("is not a date and time; sbatch accepts 2026-11-22T08:00") from None
    if re.fullmatch(r"\d{6}|\d{1,2}[/.]\d{1,2}([/.]\d{2,4})?(-\S+)?|[\d:]+ ?[ap]m", given):
        raise _NotPlanned
    raise BadInput("is not a time; sbatch accepts 2026-11-22T08:00, 16:00 or now+1hour")


def _whole(text: str | None, least: int = 1) -> int:
    if text is None or not re.fullmatch(r"\d{1,10}", text.strip()) or int(text) < least:
        raise BadInput(f"is not a whole number of at least {least}")
    return int(text)


def _needed(text: str | None) -> str:
    if not text:
        raise BadInput("needs a value")
    return text


def _node_range(text: str) -> tuple[int, int | None]:
    """Return minimum and maximum of ``4`` or ``2-8`` nodes; the suffixes k and m mean powers of 1024."""
    found = re.fullmatch(r"(\d{1,9})([km]?)(?:-(\d{1,9})([km]?))?", text.strip().lower())
    if found is None:
        raise (
            _NotPlanned
            if re.fullmatch(r"[\d,:-]+", text.strip())
            else BadInput("is not a number of nodes, such as 4 or 2-8")
        )
    scale = {"": 1, "k": 1024, "m": 1024 * 1024}
    least = int(found[1]) * scale[found[2]]
    most = least if found[3] is None else int(found[3]) * scale[found[4]]
    if not 0 < least <= most:
        raise BadInput("is not a number of nodes, such as 4 or 2-8")
    return least, most


def _gpus(text: str) -> tuple[Gres, ...]:
    """Return the GPUs in ``4``, ``a100:4`` or ``a100:2,v100:1``; none for ``0``."""
    return tuple(found for found in map(_gpu, text.split(",")) if found.count)


def _gpu(text: str) -> Gres:
    kind, colon, count = text.strip().rpartition(":")
    if not colon and not text.strip().isdecimal():
        kind, count = text.strip(), "1"
    kind = kind.removeprefix("gpu:") if kind != "gpu" else ""
    if not re.fullmatch(r"\d{1,6}", count) or not re.fullmatch(r"[\w.-]*", kind):
        raise BadInput("is not a number of GPUs, such as 4 or a100:4")
    return Gres("gpu", kind, int(count))


def _gres(text: str) -> tuple[Gres, ...]:
    """Return the resources in ``gpu:a100:2,shard:4``."""
    if text.strip().lower() == "none":
        return ()
    found = []
    for one in text.split(","):
        parts = re.fullmatch(
            r"(?:gres[/:])?([A-Za-z][\w.-]*)(?:[:=]([A-Za-z][\w.-]*))?(?:[:=](\d{1,9})([KMGTkmgt]?))?", one
        )
        if parts is None:
            raise BadInput("is not a list of resources, such as gpu:2 or gpu:a100:2,shard:4")
        scale = 1024 ** " KMGT".index((parts[4] or " ").upper())
        found.append(Gres(parts[1], parts[2] or "", int(parts[3] or 1) * scale))
    return tuple(one for one in found if one.count)


def _licences(text: str) -> dict[str, int]:
    """Return the number of each licence in ``matlab:2,fluent@server``."""
    if re.search(r"[|;]", text):
        raise _NotPlanned
    found: dict[str, int] = {}
    for one in text.split(","):
        parts = re.fullmatch(r"([^:=,\s]+?)(?:[:=*](\d{1,9}))?", one.strip())
        if parts is None:
            raise BadInput("is not a list of licences, such as matlab:2,fluent")
        found[parts[1]] = found.get(parts[1], 0) + int(parts[2] or 1)
    return found


def _names(text: str) -> tuple[str, ...]:
    if "/" in text:  # a file with the list, which sbatch reads
        raise _NotPlanned
    return node_names(text)


def _constraint(text: str) -> str:
    """Return a constraint; in brackets, sbatch accepts & only in parentheses or with numbers of nodes (seen on all)."""
    inside = "".join(re.findall(r"\[([^\]]*)\]", text))
    if "&" in re.sub(r"\([^()]*\)", "", inside) and not with_counts(text):
        raise BadInput("has & in brackets, which sbatch accepts only in parentheses: [(a&b)|c]")
    return text


def _exclusive(text: str | None, now: int) -> dict[str, object]:
    if text is None or text.lower() in ("", "exclusive"):
        return {"exclusive": True}
    if text.lower() in ("user", "mcs"):
        return {"shared_with": text.lower()}
    raise _NotPlanned


def _hint(text: str | None, now: int) -> dict[str, object]:
    """Return the fields that hints imply (sbatch(1), --hint)."""
    given = set(words(_needed(text).lower()))
    if not given <= {"multithread", "nomultithread"}:
        raise _NotPlanned  # compute_bound and memory_bound allocate sockets and cores differently
    return {"threads_per_core": 1} if "nomultithread" in given else {}


def _nice(text: str | None, now: int) -> dict[str, object]:
    if text is None:
        return {"nice": 100}
    if not re.fullmatch(r"[+-]?\d{1,10}", text.strip()):
        raise BadInput("is not a whole number")
    return {"nice": int(text)}


def _limit(text: str | None) -> int | None:
    found = minutes_of(_needed(text))
    return None if not found else 60 * found


def _array(text: str | None, now: int) -> dict[str, object]:
    return {"tasks_of_array": tasks(_needed(text))}


def _as(name: str, read: Callable[[str], object]) -> Callable[[str | None, int], dict[str, object]]:
    return lambda text, now: {name: read(_needed(text))}


def _flag(name: str) -> Callable[[str | None, int], dict[str, object]]:
    return lambda text, now: {name: True}


def _priority(text: str | None, now: int) -> dict[str, object]:
    if _needed(text).strip().upper() != "TOP":
        raise _NotPlanned  # only operators may set it
    return {}


UNDERSTOOD: Mapping[str, Callable[[str | None, int], Mapping[str, object]]] = {
    "account": _as("account", str),
    "array": _array,
    "begin": lambda text, now: {"begin": instant_of(_needed(text), now)},
    "constraint": _as("features", _constraint),
    "contiguous": _flag("contiguous"),
    "overcommit": _flag("overcommit"),
    "cpus-per-gpu": _as("cpus_per_gpu", _whole),
    "cpus-per-task": _as("cpus_per_task", _whole),
    "dependency": _as("dependency", str),
    "exclude": _as("excluded_nodes", _names),
    "exclusive": _exclusive,
    "gpus": _as("gpus", _gpus),
    "gpus-per-node": _as("gpus_per_node", _gpus),
    "gpus-per-socket": _as("gpus_per_socket", _gpus),
    "gpus-per-task": _as("gpus_per_task", _gpus),
    "gres": _as("gres", _gres),
    "hint": _hint,
    "hold": _flag("hold"),
    "job-name": _as("name", str),
    "licenses": _as("licences", _licences),
    "mem": _as("memory_per_node", megabytes),
    "mem-per-cpu": _as("memory_per_cpu", megabytes),
    "mem-per-gpu": _as("memory_per_gpu", megabytes),
    "nice": _nice,
    "nodelist": _as("required_nodes", _names),
    "nodes": _as("nodes", _node_range),
    "ntasks": _as("tasks", _whole),
    "mincpus": _as("cpus_per_node", _whole),
    "ntasks-per-core": _as("tasks_per_core", _whole),
    "ntasks-per-gpu": _as("tasks_per_gpu", _whole),
    "ntasks-per-node": _as("tasks_per_node", _whole),
    "partition": lambda text, now: {"partitions": words(_needed(text))},
    "priority": _priority,
    "qos": _as("qos", str),
    "reboot": _flag("reboot"),
    "reservation": _as("reservation", str),
    "threads-per-core": _as("threads_per_core", _whole),
    "time": lambda text, now: {"walltime": _limit(text)},
    "time-min": lambda text, now: {"shortest": _limit(text)},
}
"""The meaning of each option: fields of `Options`."""
