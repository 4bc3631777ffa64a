"""The QOS, the association and the accounts whose limits hold for a job, one after the other, and what they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from gas.slurm.accounting import Amounts, Bounds, Qos, Use
from gas.slurm.cluster import Job
from gas.slurm.release import Counted
from gas.slurm.standing import Standing
from speedup_models.fields import quoted as quoted_text

__all__ = ["Level", "levels", "part_of", "use_of"]

quoted = lru_cache(4096)(quoted_text)  # the same few names again and again


@dataclass(frozen=True)
class Level:
    """A QOS or an association: its limits, its use and its jobs."""

    name: str
    bounds: Bounds
    use: Use | None
    counts: Callable[[Job], bool]
    prefix: str
    is_user: bool = False
    qos: Qos | None = None
    used_minutes: Amounts | None = None


def levels(case: Standing) -> Iterator[Level]:
    """Yield the levels in the order in which Slurm tests them."""
    for one in case.qos:
        yield Level(f"QOS {quoted(one.name)}", one.bounds, one.use, case.of_qos(one), "QOS", qos=one)
    for association in case.chain:
        own = f"your association with account {quoted(association.account)}"
        name = own if association.user else f"account {quoted(association.account)}"
        counts = case.of_association(association)
        yield Level(
            name, association.bounds, association.use, counts, "Assoc", bool(association.user),
            used_minutes=association.used_minutes,
        )  # fmt: skip


def use_of(case: Standing, level: Level) -> Use:
    """Return what is in use of a level: as it is published, else as far as jobs are shown."""
    if level.use is not None:
        return level.use
    found = _counted_use(case, case.counted(level.counts), level.counts)
    bounds = level.bounds
    if bounds.group_wall is not None or (bounds.group_tres_minutes and level.used_minutes is None):
        case.unknown.append(f"how much of its limits of minutes {level.name} has used up (not published)")
    return found if level.used_minutes is None else replace(found, tres_minutes=level.used_minutes)


def _counted_use(case: Standing, counted: Counted, counts: Callable[[Job], bool]) -> Use:
    if case.cluster.others_visible is False:
        case.unknown.append("what others use of limits (their jobs are not shown)")
    resources = {name for _, amounts in counted.jobs for name in amounts}
    waiting = sum((len(job.tasks) if job.tasks else 1) for job in case.cluster.jobs if job.pending and counts(job))
    return Use(
        counted.number(),
        counted.number() + waiting,
        {name: counted.amount(name) for name in resources},
        run_minutes={name: counted.remaining(name, case.cluster.now) for name in resources},
    )


def part_of(case: Standing, qos: Qos, *, user: bool) -> tuple[Use, Callable[[Job], bool], str]:
    """Return what a user or an account has of a QOS, which jobs count, and in whose name."""
    base = case.of_qos(qos)
    if user:
        counts: Callable[[Job], bool] = lambda job: base(job) and job.user == case.user  # noqa: E731
        whose, known = "you", qos.use_by_user.get(case.user)
    else:
        counts = lambda job: base(job) and job.account == case.account  # noqa: E731
        whose, known = f"account {quoted(case.account)}", qos.use_by_account.get(case.account)
    if known is None and qos.use is not None:
        known = Use()  # who is not named there has no jobs
    return known or _counted_use(case, case.counted(counts), counts), counts, whose
