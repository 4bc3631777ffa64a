"""The batch job of a request: its script, its shape in Slurm's units, its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from documents.fields import quoted
from gas.endpoints.endpoint import JobDescription, Request
from gas.endpoints.slurm.directives import Directive, Script, from_words
from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.sizing import shape_of
from gas.endpoints.slurm.transport import Batch
from gas.endpoints.wording import checked_name, long_options, shell_word, tag_of
from gas.errors import BadInput
from gas.placeholders import VARIABLES, variable
from gas.resources import Resources
from speedup_models.model import Layout

__all__ = ["DECIDED", "batch_of", "options_from", "options_of"]

OWN_OPTIONS = frozenset(
    {"array", "chdir", "cluster-constraint", "clusters", "export-file", "help", "job-name", "nodes", "ntasks",
     "parsable", "partition", "quiet", "reservation", "test-only", "time", "usage", "version", "wait", "wrap"}
)  # fmt: skip
"""Options of sbatch with which the job would differ from the plan, or sbatch's answer could not be read."""

DECIDED = frozenset({"job-name", "nodes", "ntasks", "time"})
"""Options of a script run as a command that are replaced by those of the plan."""

REPLACED = ("output", "error", "input")
"""Options whose values may contain the job's name (``%x``), which Slurm would expand with the tag."""


def options_from(words: Iterable[str], where: str) -> tuple[Directive, ...]:
    """Return options of sbatch from words such as ``--account=abc`` or ``--exclusive``.

    Raises
    ------
    BadInput
        It is not a long option, or one that Gas sets.
    """
    found: list[Directive] = []
    for name, value in long_options(words, where, "sbatch", "--account=abc"):
        short_for = [own for own in sorted(OWN_OPTIONS) if own.startswith(name)]
        if short_for and name != "export":  # sbatch accepts abbreviations
            decided = "" if name == short_for[0] else f" (--{short_for[0]})"
            raise BadInput(
                f"{where}: --{name}{decided} is decided by Gas; leave it out (partition and reservation belong in "
                "the endpoint's table)"
            )
        found += from_words([f"--{name}" if value is None else f"--{name}={value}"], where)
    return tuple(found)


def options_of(resources: Resources) -> Iterator[Directive]:
    """Yield the options for an application's resources that do not depend on the size."""
    names = {"memory_per_processor": "mem-per-cpu", "memory_per_gpu": "mem-per-gpu", "memory_per_node": "mem"}
    if resources.memory is not None:
        key, megabytes = resources.memory
        yield Directive(names[key], f"{megabytes}M", f"[resources] {key}")
    for key, name in (("cpus_per_gpu", "cpus-per-gpu"), ("cpus_per_task", "cpus-per-task")):
        count = resources.cpus_per_gpu if key == "cpus_per_gpu" else resources.cpus_per_task
        if count is not None:
            yield Directive(name, str(count), f"[resources] {key}")


def batch_of(
    request: Request,
    job: JobDescription,
    *,
    key: str,
    options: Options,
    words: Mapping[str, str | None],
    script: Script | None = None,
) -> Batch:
    """Return the batch job of a request: the user's script, a command, or a sleep of `run_time` seconds.

    Parameters
    ----------
    options
        All options apart from the size, and the unit of the size.
    words
        Options given with the script, not in it.
    """
    for name in job.environment:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise BadInput(f"--env {quoted(name)}: is not the name of a variable; use letters, digits and _")
    plain = checked_name(job.name)
    own = dict(words)
    inside = {} if script is None else {one.name: one.value for one in script.directives}
    for name in REPLACED:
        value = own.get(name, inside.get(name))
        if (
            value is not None
            and (named := re.sub(r"(?<!%)((?:%%)*)%x", lambda found: found[1] + plain, value)) != value
        ):
            own[name] = named
    begin = max((at for at in (request.not_before, options.begin) if at is not None), default=None)
    if options.begin is not None:
        own.pop("begin", None)
    return Batch(
        name=f"{plain}.{tag_of(key)}",
        script=_script(request, job, options) if script is None else script.text,
        shape=shape_of(options, request.processors, request.walltime, request.layout),
        options=own,
        directory=job.directory,
        not_before=begin,
        directives=inside,
    )


TASKS = """\
tasks=$(($(echo "${SLURM_TASKS_PER_NODE:-0}" | sed "s/(x/*/g; s/)//g; s/,/+/g")))
[ "$tasks" -gt 0 ] && export SLURM_NTASKS=$tasks SLURM_NPROCS=$tasks"""
"""If a job is reshaped while it waits, its SLURM_NTASKS, which srun uses, stays as submitted; its SLURM_TASKS_PER_NODE,
such as 4(x5),2, is its allocation."""

WALLTIME = """\
if [ -z "$SLURM_JOB_END_TIME" ]; then  # before Slurm 23.02
    limit=$(squeue -h -j "$SLURM_JOB_ID" -o %l 2> /dev/null)
    days=0
    case $limit in *-*) days=${limit%%-*} limit=${limit#*-} ;; esac
    seconds=0
    for part in $(echo "$limit" | tr : " "); do seconds=$((60 * seconds + ${part#0})); done
    GAS_WALLTIME=$((86400 * days + seconds))
else
    GAS_WALLTIME=$((SLURM_JOB_END_TIME - SLURM_JOB_START_TIME))
fi 2> /dev/null
[ "${GAS_WALLTIME:-0}" -gt 0 ] 2> /dev/null ||"""
"""A job may be reshaped while it waits, so its script queries its time limit."""


def _script(request: Request, job: JobDescription, options: Options) -> str:
    """Return the script of a job, which takes its size at the start from Slurm's variables."""
    if job.run_time is not None:
        return f"#!/bin/sh\nexec sleep {job.run_time}\n"
    own = {name: value for name, value in job.environment.items() if name not in VARIABLES}
    known = _values(request, options)
    names = [*known, "walltime"]
    command = " ".join(shell_word(word, names) for word in job.template or job.command)
    lines = [
        "#!/bin/sh",
        *(f"export {name}={shlex.quote(value)}" for name, value in sorted(own.items())),
        TASKS,
        *(f"{variable(name)}={value}" for name, value in known.items()),
        f"{WALLTIME} GAS_WALLTIME={request.walltime}",
        f"export {' '.join(map(variable, names))}",
        f"exec {command}",
    ]
    return "\n".join([*lines, ""])


def _values(request: Request, options: Options) -> dict[str, str]:
    """Return the values of placeholders by name: shell expressions for the size of the job."""
    resources, size = options.resources, request.processors
    given = '"${%s:-%s}"'
    found = {"nodes": given % ("SLURM_JOB_NUM_NODES", 1)}
    if resources is not None and resources.unit != "processors":  # most values are fixed at submission
        fixed = {name: str(value) for name, value in resources.values(size, request.layout).items()}
        found["cpus_per_task"] = given % ("SLURM_CPUS_PER_TASK", 1)
        if "gpus_per_node" in fixed:
            own = _of_nodes(resources, request.layout)  # in order of dependence
            return own if "cpus_per_task" in own else {**own, "cpus_per_task": found["cpus_per_task"]}
        return found | fixed
    found["processors"] = _processors(size, options)
    found["tasks"] = given % ("SLURM_NTASKS", size // ((options.cpus_per_task or 1) if options.unit == "cpus" else 1))
    found["cpus_per_task"] = given % ("SLURM_CPUS_PER_TASK", options.cpus_per_task or 1)
    return found | ({"gpus": str(size)} if options.unit == "gpus" else {})


def _of_nodes(resources: Resources, layout: Layout | None) -> dict[str, str]:
    """Return the values of placeholders for a job with a layout of nodes and GPUs per node."""
    nodes, each = (0, 0) if layout is None else (layout.nodes, layout.per_node)
    found = {"nodes": f'"${{SLURM_JOB_NUM_NODES:-{nodes}}}"', "gpus_per_node": f'"${{SLURM_GPUS_ON_NODE:-{each}}}"'}
    found["gpus"] = "$((GAS_NODES * GAS_GPUS_PER_NODE))"
    found["tasks"] = '"$GAS_GPUS"' if resources.unit == "gpus" else '"$GAS_NODES"'
    if resources.tasks_per_node is not None:
        found["tasks"] = f"$((GAS_NODES * {resources.tasks_per_node}))"
    if resources.cpus_per_gpu is not None:
        found["processors"] = f"$((GAS_GPUS * {resources.cpus_per_gpu}))"
        found["cpus_per_task"] = "$((GAS_PROCESSORS > GAS_TASKS ? GAS_PROCESSORS / GAS_TASKS : 1))"
    return found


def _processors(size: int, options: Options) -> str:
    """Return a shell expression for the size of a job when it starts."""
    per_task = (options.cpus_per_task or 1) if options.unit == "cpus" else 1
    if options.unit == "gpus":  # fixed at submission
        return str(size)
    if per_task > 1:
        return f"$((${{SLURM_NTASKS:-{size // per_task}}} * {per_task}))"
    given = "SLURM_JOB_NUM_NODES" if options.unit == "nodes" else "SLURM_NTASKS"
    return f'"${{{given}:-{size}}}"'
