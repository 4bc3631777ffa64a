"""Dependencies: the jobs that a job waits for (sbatch(1), --dependency)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Dependency", "Others", "cannot_be_met", "dependencies_of", "fulfilled", "fulfilled_from", "successes"]


@dataclass(frozen=True)
class Dependency:
    """One condition.

    Attributes
    ----------
    kind
        afterany, afterok, afternotok, after or singleton; others are not supported.
    job, task
        The job whose start or end it waits for; without a task, all tasks of an array.
    delay
        Seconds after that job's start.
    """

    kind: str
    job: int = 0
    task: int | None = None
    delay: int = 0


Others = Callable[[int, int | None], tuple[int | None, int | None]]
"""Start and end of a job or task (for an array, of all its tasks); None if not reached yet."""

Failed = Callable[[int, int | None], bool]

_ONE = re.compile(r"(\d+)(?:_(\d+|\*))?(?:\+(\d+))?")


def dependencies_of(text: str) -> tuple[tuple[Dependency, ...], bool]:
    """Return the conditions of a job, and whether a single one suffices.

    Slurm shows their states: ``afterany:12(unfulfilled),afterok:13_*(unfulfilled)``; separated by question marks
    instead of commas, one suffices.
    """
    if not text or text in ("(null)", "None"):
        return (), False
    found = []
    for part in re.split(r"[,?]", re.sub(r"\([^)]*\)", "", text)):
        kind, _, rest = part.strip().partition(":")
        if not rest:
            found.append(Dependency(kind))
        for one in filter(None, rest.split(":")):
            match = _ONE.fullmatch(one)
            if match is None:
                found.append(Dependency(f"{kind}:{one}"))
            else:
                task = int(match[2]) if match[2] and match[2] != "*" else None
                found.append(Dependency(kind, int(match[1]), task, 60 * int(match[3] or 0)))
    return tuple(found), "?" in text


def cannot_be_met(text: str) -> bool:
    """Return whether Slurm shows that conditions can no longer hold: ``afterok:12(failed)``."""
    failed = ["(failed)" in part for part in re.split(r"[,?]", text)]
    return all(failed) if "?" in text else any(failed)


def successes(text: str) -> list[str]:
    """Return the jobs and tasks on whose success the conditions depend; none if another condition suffices."""
    found, any_of = dependencies_of(text)
    on_success = [one for one in found if one.kind in ("afterok", "aftercorr") and one.job]
    if any_of and len(on_success) < len(found):
        return []
    return [f"{one.job}" if one.task is None else f"{one.job}_{one.task}" for one in on_success]


def fulfilled(
    found: tuple[Dependency, ...],
    any_of: bool,
    now: int,
    others: Others,
    alone: bool,
    failed: Failed = lambda job, task: False,
) -> bool:
    """Return whether the conditions hold (job_scheduler.c, test_job_dependency).

    Parameters
    ----------
    failed
        Whether a job, or one of its tasks, has failed; by default none has.
    alone
        Whether no other job of the same user and name runs, or was submitted before and waits (singleton).
    """
    if not found:
        return True
    held = (_holds(one, now, others, alone, failed) for one in found)
    return any(held) if any_of else all(held)


def fulfilled_from(found: tuple[Dependency, ...], any_of: bool, now: int, others: Others) -> int | None:
    """Return the epoch second from which the conditions hold if all jobs succeed; None if unknown.

    Parameters
    ----------
    others
        Known or expected starts and ends.
    """
    instants = [_holds_from(one, others) for one in found]
    known = [max(one, now) for one in instants if one is not None]
    if any_of and known:
        return min(known)
    return max(known, default=now) if len(known) == len(instants) else None


def _holds_from(one: Dependency, others: Others) -> int | None:
    if one.kind not in ("after", "afterany", "afterok") or not one.job:
        return None
    started, ended = others(one.job, one.task)
    if one.kind == "after":
        return None if started is None else started + one.delay
    return ended


def _holds(one: Dependency, now: int, others: Others, alone: bool, failed: Failed) -> bool:
    if one.kind == "singleton":
        return alone
    if one.kind == "afternotok" and one.job:
        ended = others(one.job, one.task)[1]
        return ended is not None and ended <= now and failed(one.job, one.task)
    if one.kind == "afterok" and failed(one.job, one.task):
        return False
    since = _holds_from(one, others)
    return since is not None and since <= now
