"""Availability of nodes from the published state of Slurm, and starts of jobs submitted now.

- Running jobs hold their CPUs until their time limit; jobs past it, or completing, a little longer.
- Planned jobs take whole nodes, even if jobs share nodes; waiting jobs without a published plan are planned as in
  Slurm's next cycle (`gas.slurm.forecast`).
- Reservations take whole nodes from all jobs that do not name them, except from users of a magnetic one.
- Jobs of all partitions count, as partitions may share nodes.

The spans of the availability are for display; starts come from Slurm's own search, which does not always find the
earliest possible one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from documents.fields import nearest, quoted
from gas.availability import Spans
from gas.endpoints.slurm.availability import SlurmAvailability
from gas.endpoints.slurm.caveats import caveats
from gas.endpoints.slurm.options import Options, Unit
from gas.endpoints.slurm.sizing import gpu_types, gpus_in, gres_of, units_on
from gas.errors import Infeasible, NotFound, WithoutGpus
from gas.profile.flat import ENDLESS
from gas.slurm.cluster import Cluster, Gres, Job, Partition, Reservation
from gas.slurm.features import with_counts
from gas.slurm.forecast import Forecast, forecast, reproduced
from gas.slurm.held_back import limits_in
from gas.slurm.order import Limits, Record, end_of
from gas.slurm.reservations import anywhere, attracts, end_for_others, is_open
from gas.slurm.table import span_of
from gas.slurm.why import Why
from gas.times import duration_text

__all__ = ["Interpretation", "interpret", "partition_of", "partitions_of"]

NO_GPUS = "no node with GPUs"

TRUSTED = 0.9
"""Share of Slurm's plans that Gas must reproduce for there to be no remark."""

OUTDATED = 0.6
"""If Gas reproduces less than this share of Slurm's plans, they are assumed to be outdated and are recomputed.

Of 1,630 probes on queues of 22.05, 24.11 and 26.05, 37 had fewer than 70% of plans reproduced: only recomputed plans
predicted 9 of them, both kinds 26, only the published plans none. Of 37 with 80 to 90% reproduced, only the published
plans predicted 15. With shared CPUs (OverSubscribe=FORCE:2) published plans predicted 16 of 20, and recomputed ones 5.
"""

WORTH_CHECKING = 1_000_000
"""Largest product of nodes and records for which Slurm's plans are recomputed to compare them: more takes seconds."""

LEFT_OUT = {
    Why.HELD: "held", Why.DEPENDENCY: "waiting for others", Why.LIMIT: "beyond a limit",
    Why.PARTITION: "beyond a limit", Why.CONSTRAINT: "beyond a limit",
}  # fmt: skip
"""What keeps a job from ever starting by itself."""


@dataclass(frozen=True)
class Interpretation:
    """The availability of a partition, and what planning needs.

    Attributes
    ----------
    unplanned
        Records without a plan, with the reason, in Slurm's order.
    unseen
        Units that hidden jobs hold now; they count as taken for as long as those jobs may run.
    plan_age
        Seconds since Slurm's last backfill cycle.
    placed
        Number of jobs and array tasks without a published plan that Gas has planned.
    remarks
        Remarks for the user, as sentences.
    forecast
        The plans of all jobs.
    reproduced
        Number of Slurm's plans that a computed cycle reproduces, and their total.
    """

    availability: SlurmAvailability
    unplanned: tuple[tuple[Record, Why], ...]
    unseen: int
    plan_age: int | None
    placed: int
    remarks: tuple[str, ...]
    forecast: Forecast
    reproduced: tuple[int, int]


def partition_of(cluster: Cluster, name: str | None = None) -> Partition:
    """Return the partition of this name, or the default one."""
    known = {partition.name: partition for partition in cluster.partitions}
    if name is not None:
        if name not in known:
            raise NotFound(f"{cluster.name} has no partition {quoted(name)}{nearest(name, known)}")
        return known[name]
    chosen = [one for one in cluster.partitions if one.default] or list(cluster.partitions)
    if len(chosen) != 1:
        raise NotFound(f"{cluster.name} has no default partition; give one of {', '.join(known)}")
    return chosen[0]


def partitions_of(cluster: Cluster, names: str | None = None) -> tuple[Partition, ...]:
    """Return the partitions with these comma-separated names, or the default one."""
    return tuple(partition_of(cluster, name) for name in (names.split(",") if names else [None]))


def interpret(
    cluster: Cluster,
    partition: str | None = None,
    unit: Unit = "cpus",
    *,
    user: str | None = None,
    reservation: str | None = None,
    options: Options | None = None,
    groups: frozenset[str] | None = None,
) -> Interpretation:
    """Return the availability of a partition, and the waiting jobs that will claim parts of it.

    Parameters
    ----------
    partition
        Its name; by default the cluster's default one. With several, separated by commas, jobs go to the one where they
        start first.
    unit
        Unit of a job, CPUs or whole nodes, if there are no options.
    user
        The submitting user, who may use their magnetic reservations.
    reservation
        The reservation that the job will name: the job gets only its nodes, while it lasts.
    options
        All options of the job, including the unit and the reservation.
    groups
        Names of the submitting user's groups.

    Raises
    ------
    NotFound
        There is no such partition or reservation.
    Infeasible
        It starts no jobs now, or no node of it does.
    """
    all_of_them = partitions_of(cluster, partition)
    open_ones = tuple(one for one in all_of_them if one.state in ("", "UP"))
    chosen = (open_ones or all_of_them)[0]
    where = f"{cluster.name}, partition {quoted(chosen.name)}"
    if not open_ones:
        raise Infeasible(f"{where} is {chosen.state}: it starts no jobs; choose another partition")
    if options is None:
        options = Options(unit, unit == "nodes", reservation=reservation or "")
    unit, reservation = options.unit, options.reservation or None
    own = _named(cluster, reservation)
    names = tuple(one.name for one in open_ones)
    new_job = Job(0, "", user or "", "PENDING", names, 1, 1, account=options.account, qos=options.qos)
    if own is not None and is_open(cluster, own, new_job) is False:
        named = f"{cluster.name}: reservation {quoted(own.name)}"
        raise Infeasible(f"{named} is not open to these jobs ({_closed_to(own)}); name another, or none")
    unseen_until = None if cluster.others_visible else cluster.now + (chosen.longest or cluster.scheduling.window)
    limits = limits_in(cluster, groups=groups)
    alike = _alike(cluster, limits)
    shared = any(one.sharing > 1 for one in cluster.partitions)  # not modelled, so Slurm's plans are better
    outdated = alike[1] > 2 and alike[0] < OUTDATED * alike[1] and not shared
    if outdated:
        cluster = without_plans(cluster)
    doubted = alike if not outdated and alike[1] > 2 and alike[0] < TRUSTED * alike[1] else None
    seen = forecast(cluster, unseen_until=unseen_until, limits=limits)
    state = seen.state
    # half a node is useless to a job that shares no nodes
    whole = options.whole or all(one.whole_nodes for one in open_ones)
    there = {name for one in open_ones for name in one.nodes}
    if own is not None and not anywhere(own):
        there &= set(own.nodes)
        if not there:
            raise Infeasible(f"{where} has no node of reservation {quoted(own.name)}")
    usable = np.flatnonzero(state.usable).tolist()
    units = {place: units_on(cluster.nodes[place], options) for place in usable if state.names[place] in there}
    at = {place: index for index, place in enumerate(place for place, count in units.items() if count > 0)}
    if not at and units:
        instead = _instead(cluster, units, options)
        raise (WithoutGpus if instead == NO_GPUS else Infeasible)(f"{where} has {instead}")
    if not at:
        raise Infeasible(f"{where} has no usable node: {_why_unusable(cluster, there)}")
    capacity = np.array([units[place] for place in at], np.int64)
    rows = list(_reserved(cluster, state.names, at, capacity, own, new_job))

    def taken(place: int, cpus: int, held: tuple[Gres, ...] | None) -> int:
        if whole or cpus >= state.machine.cpus[place]:  # no CPU is left, so no GPU can be used
            return units[place]
        if options.unit == "gpus" and held is not None:
            return gpus_in(held, gpu_types(options))
        return -(-cpus * units[place] // int(state.machine.cpus[place]))

    shown: Counter[int] = Counter()
    for number, job in enumerate(state.running_jobs):
        end = end_of(job, cluster.now)
        end = end if end > cluster.now else cluster.now + cluster.scheduling.resolution  # it should have ended
        first = int(state.running.first[number])
        for share in range(first, first + int(state.running.shares[number])):
            place = int(state.running.node[share])
            if place in at:
                count = taken(place, int(state.running.cpus[share]), gres_of(job, state.names[place]))
                shown[place] += count
                rows.append((at[place], cluster.now, end, count))
    unseen: dict[int, int] = {}
    for place in np.flatnonzero(state.unseen).tolist():
        if place in at:
            used = cluster.nodes[place].gres_used or None
            others = shown[place] if used and options.unit == "gpus" and not whole else 0  # GPU usage is of all jobs
            unseen[at[place]] = max(taken(place, int(state.unseen[place]), used) - others, 0)
    rows += [(node, cluster.now, unseen_until or ENDLESS, count) for node, count in unseen.items()]
    resolution = state.parameters.resolution
    for one in seen.plans:
        begin, end = span_of(one.start, one.limit, state.parameters.begin, resolution, state.rules.ends_up)
        places = one.places.tolist()
        rows += [(at[place], begin, end, int(capacity[at[place]])) for place in places if place in at]
    version = str(cluster.now if cluster.planned is None else cluster.planned)
    names = tuple(state.names[place] for place in at)
    availability = SlurmAvailability(
        cluster.name, "estimate", cluster.now, version, capacity, Spans.of(rows), names, cluster, options, open_ones,
        user or "", unseen_until, limits, groups, seen, doubted,
    )  # fmt: skip
    age = None if cluster.planned is None else max(cluster.now - cluster.planned, 0)
    remarks = (
        *_remarks(age, seen, alike, outdated, sum(unseen.values()), unit),
        *availability.unknown(),
        *caveats(cluster, chosen, gpus=options.has_gpus),
        *(f"{one} is not understood and is ignored" for one in state.unclear),
        *_own_counts(options),
    )
    own_placed = sum(not one.published for one in seen.plans)
    return Interpretation(availability, seen.unplanned, sum(unseen.values()), age, own_placed, remarks, seen, alike)


def _own_counts(options: Options) -> Iterator[str]:
    if with_counts(options.features):
        yield (
            f"the numbers of nodes per feature in the constraint {quoted(options.features)} are ignored: the job may "
            "start later than shown"
        )


def _instead(cluster: Cluster, places: Iterable[int], options: Options) -> str:
    """Return in words which requested resources no node has, and which nodes do have."""
    if options.unit != "gpus":
        return "no node has this many CPUs per task"
    kinds: Counter[str] = Counter()
    for place in places:
        kinds.update({one.type: one.count for one in cluster.nodes[place].gres if one.name == "gpu"})
    if not kinds:
        return NO_GPUS
    wanted = " or ".join(sorted(gpu_types(options)))
    there = ", ".join(f"{kind or 'without a type'} ({count})" for kind, count in sorted(kinds.items()))
    return f"no GPUs of type {wanted}; there are {there}"


def _why_unusable(cluster: Cluster, names: set[str]) -> str:
    """Return in words the states of nodes that no job can use."""
    states: Counter[str] = Counter()
    for one in cluster.nodes:
        if one.name in names:
            states[" and ".join(one.why_not) or ("reserved" if one.reserved else "otherwise unavailable")] += 1
    counted = ", ".join(f"{count} {state.lower().replace('_', ' ')}" for state, count in sorted(states.items()))
    passes = any("POWERING_DOWN" in state for state in states)
    return counted + ("; nodes that power down can soon be used again" if passes else "")


def _alike(cluster: Cluster, limits: Limits) -> tuple[int, int]:
    """Return the number of Slurm's plans that a cycle reproduces, and their total; (0, 0) if not checked.

    It is not checked at a large site, where it takes too long, or with hidden jobs, which change the plans.
    """
    waiting = sum(job.pending for job in cluster.jobs)
    if not cluster.others_visible or len(cluster.nodes) * waiting > WORTH_CHECKING:
        return 0, 0
    return reproduced(cluster, limits=limits)


def without_plans(cluster: Cluster) -> Cluster:
    """Return a cluster whose waiting jobs have no plan, but keep their begin times."""
    jobs = (
        replace(one, start=None, planned_nodes=()) if one.pending and one.planned_nodes else one for one in cluster.jobs
    )
    return replace(cluster, jobs=tuple(jobs))


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _remarks(
    age: int | None, seen: Forecast, alike: tuple[int, int], outdated: bool, unseen: int, unit: Unit
) -> Iterator[str]:
    if age is None:
        yield (
            "the age of Slurm's plans is not known, because sdiag shows no backfill cycle: plan again in some minutes, "
            "or probe Slurm (--probe)"
        )
    else:
        yield f"Slurm last planned its queue {duration_text(age)} ago"
    own = [one for one in seen.plans if not one.published]
    tasks = sum(one.listed and one.job.tasks is not None and one.job.start is not None for one in own)
    if len(own) > tasks:
        what = _counted(len(own) - tasks, "waiting job has", "waiting jobs have")
        yield f"{what} no plan by Slurm; Gas placed {'it' if len(own) - tasks == 1 else 'them'} itself"
    if tasks:
        what = _counted(tasks, "task of arrays has", "tasks of arrays have")
        yield f"{what} a plan that Slurm does not show; Gas placed {'it' if tasks == 1 else 'them'} itself"
    if seen.left:
        what = _counted(seen.left, "waiting job is", "waiting jobs are")
        them = "it is" if seen.left == 1 else "they are"
        yield f"{what} left out because {them} too far back in the queue, or never fit"
    if outdated:
        yield (
            f"of {alike[1]:,} plans that Slurm has published, Gas reproduces {alike[0]:,}: it assumes that "
            "they are outdated, as when a job has ended early, and plans all waiting jobs anew"
        )
    elif alike[1] > 2 and alike[0] < TRUSTED * alike[1]:
        yield f"of {alike[1]:,} plans of Slurm, Gas reproduces {alike[0]:,}: starts are less certain here"
    if unseen:
        many = {"cpus": "CPUs", "gpus": "GPUs"}.get(unit, unit)
        what = _counted(unseen, f"{many.removesuffix('s')} is", f"{many} are")
        yield f"{what} in use by hidden jobs (PrivateData): --probe shows starts"
    counts = Counter(dict.fromkeys(LEFT_OUT.values(), 0))
    jobs: set[int] = set()
    for record, why in seen.unplanned:
        if why in LEFT_OUT and record.job.id not in jobs:
            jobs.add(record.job.id)
            counts[LEFT_OUT[why]] += len(record.job.tasks) if record.job.tasks else 1
    for because, count in counts.items():
        if count:
            yield f"{_counted(count, 'job is', 'jobs are')} left out: {because}"


def _named(cluster: Cluster, reservation: str | None) -> Reservation | None:
    known = {one.name: one for one in cluster.reservations}
    if reservation is not None and reservation not in known:
        raise NotFound(f"{cluster.name} has no reservation {quoted(reservation)}{nearest(reservation, known)}")
    return None if reservation is None else known[reservation]


def _closed_to(reservation: Reservation) -> str:
    lists = {
        "Users": reservation.users, "Accounts": reservation.accounts, "AllowedPartitions": reservation.partitions,
        "QOS": reservation.qos,
    }  # fmt: skip
    restrictions = [f"{key}={','.join(names)}" for key, names in lists.items() if names]
    return ", ".join([*(["Flags=TIME_FLOAT: it never begins"] if reservation.floats else []), *restrictions])


def _reserved(
    cluster: Cluster,
    names: tuple[str, ...],
    at: dict[int, int],
    capacity: NDArray[np.int64],
    own: Reservation | None,
    new_job: Job,
) -> Iterator[tuple[int, int, int, int]]:
    places = {names[place]: index for place, index in at.items()}
    for one in cluster.reservations:
        if one is own or attracts(cluster, one, new_job):
            continue
        for name in one.nodes:
            if name in places:
                yield places[name], one.start, end_for_others(one), int(capacity[places[name]])
    if own is not None and not own.flexible:
        for index, units in enumerate(capacity.tolist()):
            yield index, cluster.now, own.start, units
            yield index, own.end, ENDLESS, units
