"""Plans of the next cycle of the backfill scheduler, and the outlook of jobs that are not submitted yet.

There are two passes. The first is the cycle as Slurm runs it: it shows which jobs get a plan, and why others get none.
The second goes on to plan jobs without a plan that will start at some time, for their expected starts; it runs only if
such jobs precede one of the requested jobs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gas.slurm.beyond import Beyond, plan_beyond
from gas.slurm.cluster import Cluster, Job
from gas.slurm.node_weights import alike_at_submission, set_weights, weights_stay
from gas.slurm.order import Limits, Record, queue
from gas.slurm.out_of_turn import out_of_turn
from gas.slurm.outlook import Outlook, outlook_of
from gas.slurm.passes import Pass, Planned, copied, plans_of, run_pass, with_published
from gas.slurm.preemption import Preempts, preempting
from gas.slurm.state import State, state_of
from gas.slurm.together import Together
from gas.slurm.why import Why, why_of

__all__ = ["Forecast", "forecast", "outlooks", "reproduced"]


@dataclass(frozen=True)
class Forecast:
    """The plans of the next cycle.

    Attributes
    ----------
    outlooks
        Of the requested jobs.
    plans
        Of waiting jobs.
    unplanned
        Records without a plan, with the reason.
    left
        Number of jobs and tasks that will start at some time but were left out.
    passes
        Results of the searches, which `forecast` reuses for other jobs (`known`).
    """

    state: State
    outlooks: tuple[Outlook, ...]
    plans: tuple[Planned, ...]
    unplanned: tuple[tuple[Record, Why], ...]
    left: int = 0
    passes: tuple[Pass, Beyond | None] | None = field(default=None, repr=False, compare=False)


def outlooks(cluster: Cluster, probes: Sequence[Job], **options: object) -> tuple[Outlook, ...]:
    """Return the outlook of jobs that are not submitted yet; the options are those of `forecast`."""
    return forecast(cluster, probes, rest=False, **options).outlooks  # type: ignore[arg-type]


def forecast(
    cluster: Cluster,
    probes: Sequence[Job] = (),
    *,
    limits: Limits | None = None,
    preempts: Preempts | None = None,
    pinned: bool = True,
    memory_counts: bool | None = None,
    unseen_until: int | None = None,
    beyond: bool = True,
    rest: bool = True,
    known: Forecast | None = None,
    submitted: bool = False,
) -> Forecast:
    """Return the plans of the next cycle, and the outlook of jobs that are not submitted yet.

    Parameters
    ----------
    probes
        Those jobs, each with its expected priority (0: last in its tier).
    limits
        Finds the limit that keeps a job from starting in a partition now.
    preempts
        Whether a waiting job in a partition may preempt a running one; by default as configured.
    pinned
        Whether published plans are used; else all are recomputed.
    memory_counts
        Whether memory is a consumable resource; by default according to SelectTypeParameters.
    unseen_until
        Epoch second until which hidden jobs hold their CPUs; None if all jobs are shown.
    beyond
        Also expect starts of jobs that Slurm does not plan at first.
    rest
        Also plan jobs behind the last probe, beyond Slurm's cycle.
    known
        The forecast of the same cluster with the same options but without probes: as probes do not affect other jobs,
        its searches are reused.
    submitted
        The submission of the probes sets the weights of nodes with which the cycle begins (`gas.slurm.node_weights`).
    """
    if probes and not submitted and weights_stay(cluster, probes):
        options = {
            "limits": limits, "preempts": preempts, "memory_counts": memory_counts, "unseen_until": unseen_until,
            "beyond": beyond,
        }  # fmt: skip
        return _made_anew(cluster, probes, pinned and not _alike_enough(cluster, options), options | {"rest": rest})
    before = None if known is None else known.state
    records = queue(
        cluster, probes, limits, use_plans=pinned, known=None if before is None else before.records
    )  # fmt: skip
    preempts = preempting(cluster) if preempts is None else preempts
    state = state_of(
        cluster, records, pinned=pinned, preempts=preempts, memory_counts=memory_counts, unseen_until=unseen_until,
        like=before,
    )  # fmt: skip
    set_weights(state, submitted=submitted)
    together = Together(cluster, records)
    if together.any:  # a cycle prefers these nodes for jobs that start now
        jobs: dict[tuple[int, int | None], Job] = {(one.id, None): one for one in state.running_jobs}
        state = replace(state, sets=together.behind(np.arange(len(records)), state.rows, state.sets, jobs))
    turn = out_of_turn(cluster, state) if probes else {}
    passes = None
    weighted = len(state.machine.near) > 0 and bool(state.rows.gres.any())  # each search changes weights for the next
    if known is not None and not weighted and _in_one_order(known.state.records, records):
        passes = known.passes
    did = run_pass(copied(state), known=None if passes is None else passes[0].found)
    first = did.plans
    plans = with_published(state, plans_of(state, first))
    second: Beyond | None = None
    if beyond:
        second = plan_beyond(state, did, None if passes is None else passes[1], rest=rest)
        plans += second.plans
    places: list[list[int]] = [[] for _ in probes]
    for at, record in enumerate(records):
        if record.probe is not None:
            places[record.probe].append(at)
    found = tuple(outlook_of(state, first, second, turn, its) for its in places)
    unplanned = tuple(
        (record, why)
        for at, record in enumerate(records)
        if record.probe is None and (why := why_of(record, int(first.state[at]))) is not None
    )
    return Forecast(state, found, tuple(plans), unplanned, 0 if second is None else second.left, (did, second))


def _made_anew(cluster: Cluster, probes: Sequence[Job], pinned: bool, options: dict[str, Any]) -> Forecast:
    """Return the forecast with all plans recomputed from the node weights that each probe's submission leaves."""
    groups: dict[Hashable, list[int]] = {}
    for number, job in enumerate(probes):
        groups.setdefault(alike_at_submission(job), []).append(number)
    found: dict[int, Outlook] = {}
    for members in groups.values():
        made = forecast(cluster, [probes[one] for one in members], pinned=pinned, submitted=True, **options)
        found |= dict(zip(members, made.outlooks, strict=True))
    return replace(made, outlooks=tuple(found[number] for number in range(len(probes))))


def _alike_enough(cluster: Cluster, options: dict[str, Any]) -> bool:
    """Return whether a computed cycle reproduces a third of the published starts; if not, it is not trusted.

    The published plans were made with unknown node weights.
    """
    key = "starts are alike enough"
    if key not in cluster.worked_out:
        made = forecast(cluster, **options | {"pinned": False, "beyond": False})
        starts = {(one.job.id, one.start // 60) for one in made.plans}
        there = [job for job in cluster.jobs if job.pending and job.start is not None and job.tasks is None]
        alike = sum(
            any((job.id, max(job.start or 0, cluster.now) // 60 + off) in starts for off in (-1, 0, 1)) for job in there
        )
        cluster.worked_out[key] = 3 * alike >= len(there)
    return bool(cluster.worked_out[key])


def _in_one_order(some: Sequence[Record], records: Sequence[Record]) -> bool:
    """Return whether records are the same, and in the same order, apart from probes."""
    without = [record for record in records if record.probe is None]
    return len(some) == len(without) and all(one is other for one, other in zip(some, without, strict=True))


def reproduced(cluster: Cluster, planned: Forecast | None = None, **options: object) -> tuple[int, int]:
    """Return the number of published plans that a computed cycle reproduces, and the number of published plans."""
    found = forecast(cluster, pinned=False, beyond=False, **options) if planned is None else planned  # type: ignore[arg-type]
    starts: dict[int, list[int]] = {}
    for one in found.plans:
        starts.setdefault(one.job.id, []).append(one.start)
    alike = total = 0
    for job in cluster.jobs:
        if job.pending and job.start is not None and job.planned_nodes:
            total += 1
            own = starts.get(job.id)
            if own:
                computed = min(own) if job.tasks is None or found.state.rules.first_task else max(own)
                alike += abs(computed - max(job.start, cluster.now)) <= cluster.scheduling.resolution
    return alike, total
