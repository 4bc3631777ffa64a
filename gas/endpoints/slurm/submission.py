"""From what is to run to a batch job: its script, its shape in Slurm's units, its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from gas.endpoints.endpoint import JobDescription, Request
from gas.endpoints.slurm.transport import Batch, Shape
from gas.endpoints.wording import TOLD, checked_name, long_options, shell_word, tag_of
from gas.errors import BadInput
from speedup_models.fields import quoted

__all__ = ["batch_of", "options_from", "shape_of", "whole_minutes"]

OWN_OPTIONS = frozenset(
    {"array", "begin", "chdir", "cluster-constraint", "clusters", "cpus-per-gpu", "cpus-per-task", "export-file",
     "help", "job-name", "nodes", "ntasks", "parsable", "partition", "quiet", "reservation", "test-only", "time",
     "time-min", "usage", "version", "wait", "wrap"}
)  # fmt: skip
"""Options of sbatch by which a job would not be the one that was planned, or not be told of."""


def whole_minutes(walltime: int) -> int:
    """Return the minutes of a time limit that lets a job run for so many seconds."""
    return -(-walltime // 60)


def shape_of(processors: int, walltime: int, unit: str) -> Shape:
    """Return the shape of a request for so many processors, which are CPUs or nodes, for so many seconds."""
    if unit == "nodes":
        return Shape(None, processors, whole_minutes(walltime))
    return Shape(processors, None, whole_minutes(walltime))


def options_from(words: Iterable[str], where: str) -> dict[str, str | None]:
    """Return options of sbatch from ``--account=abc`` or ``--exclusive``, one word each.

    Raises
    ------
    BadInput
        It is no long option, or one that Gas sets.
    """
    options: dict[str, str | None] = {}
    for name, value in long_options(words, where, "sbatch", "--account=abc"):
        short_for = [own for own in sorted(OWN_OPTIONS) if own.startswith(name)]
        if short_for and name != "export":  # sbatch takes beginnings of names too
            decided = "" if name == short_for[0] else f" (--{short_for[0]})"
            raise BadInput(
                f"{where}: --{name}{decided} is what Gas decides; leave it out (partition and reservation stand in the "
                "endpoint's table)"
            )
        options[name] = value
    return options


def batch_of(request: Request, job: JobDescription, *, key: str, unit: str, options: Mapping[str, str | None]) -> Batch:
    """Return the batch job that runs a command on what was chosen, or nothing for `run_time` seconds."""
    for name in job.environment:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise BadInput(f"--env {quoted(name)}: is no name of a variable; use letters, digits and _")
    return Batch(
        name=f"{checked_name(job.name)}.{tag_of(key)}",
        script=_script(request, job, unit),
        shape=shape_of(request.processors, request.walltime, unit),
        options=options,
        directory=job.directory,
        not_before=request.not_before,
    )


TASKS = """\
tasks=$(($(echo "${SLURM_TASKS_PER_NODE:-0}" | sed "s/(x/*/g; s/)//g; s/,/+/g")))
[ "$tasks" -gt 0 ] && export SLURM_NTASKS=$tasks SLURM_NPROCS=$tasks"""
"""A waiting job may be given another shape. Its SLURM_NTASKS, which srun goes by, stays as it was submitted; its
SLURM_TASKS_PER_NODE, such as 4(x5),2, is what it got."""

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
"""A waiting job may be given another shape, so that its script asks for how long it may run."""


def _script(request: Request, job: JobDescription, unit: str) -> str:
    """Return the script of a job; its size is what Slurm says when it starts."""
    if job.run_time is not None:
        return f"#!/bin/sh\nexec sleep {job.run_time}\n"
    given = "SLURM_JOB_NUM_NODES" if unit == "nodes" else "SLURM_NTASKS"
    own = {name: value for name, value in job.environment.items() if name not in TOLD}
    command = " ".join(map(shell_word, job.template or job.command))
    lines = [
        "#!/bin/sh",
        *(f"export {name}={shlex.quote(value)}" for name, value in sorted(own.items())),
        TASKS,
        f'GAS_PROCESSORS="${{{given}:-{request.processors}}}"',
        f"{WALLTIME} GAS_WALLTIME={request.walltime}",
        "export GAS_PROCESSORS GAS_WALLTIME",
        f"exec {command}",
    ]
    return "\n".join([*lines, ""])
