"""Slurm job scripts, and the requests of a job besides size and walltime, which plans take into account."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from documents.fields import FieldError
from gas.agent.schedulers import Scheduler
from gas.application import Application
from gas.endpoints import Endpoint
from gas.errors import BadInput, GasError, Infeasible
from gas.planner import counts_processors

__all__ = ["Asking", "command_script", "for_jobs"]

MOST_BYTES = 4 * 2**20
"""The largest script that Slurm takes by default (slurm.conf(5), max_script_size)."""


@runtime_checkable
class Asking(Protocol):
    """A scheduler that can plan requests besides size and walltime."""

    name: str

    def requesting(self, **more: Any) -> Endpoint:
        """Return the scheduler for jobs with these further requests."""


@runtime_checkable
class Numbering(Protocol):
    """A scheduler whose jobs may wait for others by their numbers."""

    def waits_for(self, native: Sequence[str]) -> tuple[str, str] | None:
        """Return the cluster and the option; None if its jobs wait for no numbers."""


def for_jobs(
    schedulers: Sequence[Scheduler],
    native: Sequence[str] = (),
    command: Any = None,
    script: Any = None,
    unit: str | None = None,
    *,
    application: Application | None = None,
    placed: bool = False,
) -> list[Scheduler]:
    """Return the schedulers for jobs with further requests; for one that cannot plan them, its name and the error.

    Partitions that a script excludes are left out.

    Parameters
    ----------
    native
        Options of the scheduler itself.
    command
        A Slurm job script that is run as a command.
    script
        A Slurm job script that is submitted as it is.
    unit
        The unit of its sizes; None for the unit of the script's own size.
    application
        The application, if its requests are more than a number of processors.
    placed
        Whether the jobs are already in the queue.

    Raises
    ------
    BadInput
        Jobs on several clusters would wait for jobs by their numbers, which are those of one cluster.
    """
    asked: dict[str, Any] = {"native": native, "command": command, "script": script, "unit": unit}
    if placed:
        asked["placed"] = True
    if application is not None and application.asks_for_more:
        asked["resources"] = application.resources
    found = [one if isinstance(one, tuple) else _for_job(one, asked, application) for one in schedulers]
    wrong = [one[1] for one in found if isinstance(one, tuple)]
    if found and len(wrong) == len(found) and isinstance(wrong[0], GasError | FieldError):
        raise wrong[0]
    waiting = dict(its for one in found if (its := _waits_for(one, native)) is not None)
    if len(waiting) > 1:
        raise BadInput(
            f"{next(iter(waiting.values()))}: the numbers are those of jobs on one cluster; on another one they belong "
            "to other jobs; name only the cluster of these jobs (-e NAME)"
        )
    if script is None:
        return found
    targets: set[str] = set()  # two partitions of one Slurm in the script count as one
    kept: list[Scheduler] = []
    for one in found:
        if isinstance(one, tuple):
            kept += [] if isinstance(one[1], Infeasible) else [one]
        elif (target := one.target) not in targets:
            targets.add(target)
            kept.append(one)
    return kept


def _waits_for(one: object, native: Sequence[str]) -> tuple[str, str] | None:
    return one.waits_for(native) if isinstance(one, Numbering) else None


def _for_job(endpoint: Endpoint, asked: dict[str, Any], application: Application | None) -> Scheduler:
    if isinstance(endpoint, Asking):
        try:
            return endpoint.requesting(**asked)
        except (GasError, FieldError) as error:
            return endpoint.name, error
    if application is not None and "resources" in asked:
        return endpoint.name, BadInput(counts_processors(endpoint.name, application))
    if asked["script"] is not None:
        return endpoint.name, BadInput(f"{endpoint.name}: accepts no Slurm job scripts ({asked['script'].path})")
    return endpoint


def command_script(command: Sequence[str], directory: str | None) -> Any:
    """Return the Slurm job script that a command runs; None if it runs none, or a script without options."""
    from gas.endpoints.slurm.directives import Script, is_script

    path = Path(directory or ".") / command[0] if command else None
    try:
        if path is None or not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        text = path.read_bytes().decode(errors="replace")
    except OSError:
        return None
    if not is_script(text) or "\n#SBATCH" not in text:
        return None
    return Script.of(text, command[0])
