"""Where Slurm may deviate from Gas's plans, in sentences: for a partition, its reservations and its queue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from documents.fields import quoted
from gas.endpoints.slurm.notation import NOTHING
from gas.endpoints.slurm.setting_answers import seconds
from gas.endpoints.slurm.topology import chosen_by_switches
from gas.errors import BadInput
from gas.slurm.cluster import Cluster, Partition, Reservation
from gas.slurm.demand import asks_for_gres
from gas.slurm.node_weights import weights_unknown
from gas.slurm.preemption import within_qos
from gas.slurm.versions import Rules, release_of
from gas.times import duration_text

__all__ = ["caveats"]


RECURRING = frozenset({"HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY"})

OTHERS = frozenset({"mcs", "topo"})
"""Kinds of sharing whose members Gas does not know."""

UNSET = frozenset({*NOTHING, "", "none"})

FEDERATED = 1 << 26
"""Numbers of jobs of a federation begin with that of their cluster, from the 27th bit on (Slurm's federation guide)."""

UNORDERED = frozenset({*NOTHING, "none", "default", "flat"})
"""Topologies in which nodes are ordered by name only (22.05 to 26.05)."""


def caveats(cluster: Cluster, partition: Partition, *, gpus: bool = True) -> Iterator[str]:
    """Yield what may make jobs of a partition start at other times than planned, if it applies.

    Parameters
    ----------
    gpus
        Whether the jobs to be planned request GPUs. Remarks on GPUs appear for them, and if a waiting job requests any.
    """
    there = set(partition.nodes)
    near = [one for one in cluster.partitions if there.intersection(one.nodes)]
    here = {one.name for one in near}
    yield from _of_schedulers(cluster, here)
    yield from _of_settings(cluster)
    if off := sum(one.powered_down and one.usable for one in cluster.nodes if one.name in there):
        which = "1 node is" if off == 1 else f"{off:,} nodes are"
        later = _booting(cluster.values.get("ResumeTimeout", ""))
        yield f"{which} powered down: a job on such a node begins when it has booted, {later} later than shown"
    topology = cluster.values.get("TopologyPlugin", "")
    if cluster.switches is None and topology.rpartition("/")[2] not in UNORDERED:
        why = "Gas cannot read" if chosen_by_switches(cluster.values) else "Gas does not model"
        yield (
            f"Slurm chooses nodes by a topology ({quoted(topology)}) that {why}: jobs that share nodes, and jobs that "
            "need several switches, may start at other times than shown"
        )
    if sharing := {one.name: one.sharing for one in near if one.sharing > 1}:
        where = f"partition{'s' if len(sharing) > 1 else ''} {', '.join(map(quoted, sharing))}"
        when = "earlier" if partition.name in sharing else "at other times"
        yield (
            f"in {where} up to {max(sharing.values())} jobs may share a CPU (OverSubscribe), which Gas ignores: jobs "
            f"may start {when} than shown"
        )
    if (most := partition.most_cpus_of_socket) is not None:
        yield (
            f"jobs of partition {quoted(partition.name)} get at most {most} CPUs of a socket (MaxCPUsPerSocket), which "
            "Gas ignores: jobs may start later than shown"
        )
    kept = [one for one in cluster.reservations if one.end > cluster.now and there.intersection(one.nodes)]
    if partial := [one for one in kept if one.cores is not None]:
        yield f"only some cores of {_named(partial)} are reserved; Gas treats the whole nodes as reserved"
    if recurring := [one for one in kept if RECURRING.intersection(one.flags)]:
        yield (
            f"{_named(recurring)} recurs: Slurm, and so Gas, plans with its next occurrence only; jobs that would run "
            "into a later one start later than shown"
        )
    if floating := [one for one in kept if one.floats]:
        yield (
            f"{_named(floating)} moves ahead with time (TIME_FLOAT): a job that would reach into it never starts on "
            "its nodes, though Slurm plans it there"
        )
    release = release_of(cluster.version)
    if release is not None and release < (23, 2, 0) and (flexible := [one for one in kept if one.flexible]):
        yield (  # seen on 22.05: one of six such starts was predicted
            f"Slurm {cluster.version} plans jobs of {_named(flexible)} (FLEX) in ways that Gas does not model: they, "
            "and jobs behind them, may start at other times than shown"
        )
    if any(job.pending and within_qos(cluster, job.qos) and here.intersection(job.partitions) for job in cluster.jobs):
        yield (  # seen: three of six starts on 26.05, one of six on 24.11
            "waiting jobs may preempt jobs of lower priority in their QOS (PreemptMode=WITHIN): a new job may change "
            "the order of all, and start at another time than shown"
        )
    if of_groups := [one for one in kept if one.groups and "MAGNETIC" in one.flags]:
        yield (
            f"{_named(of_groups)} attracts jobs of members of groups (MAGNETIC), which Gas ignores: such jobs may "
            "start earlier than shown"
        )
    if (own := [one for one in cluster.reservations if one.licences and one.end > cluster.now]) and (
        "bf_licenses" in cluster.scheduling.parameters
    ):
        yield f"the licences of {_named(own)} count as reserved only while it is active (bf_licenses)"
    suspended = sum(job.state == "SUSPENDED" for job in cluster.jobs if there.intersection(job.nodes))
    if suspended:
        what = "1 job is" if suspended == 1 else f"{suspended:,} jobs are"
        yield f"{what} suspended: when {'it ends' if suspended == 1 else 'they end'} is not known"
    choosy = [one for one in cluster.jobs if one.shared_with in OTHERS and here.intersection(one.partitions)]
    if choosy or any(one.shared_with in OTHERS for one in near):
        yield (
            "some jobs share nodes only with jobs of the same label or topology (--exclusive=mcs, ExclusiveTopo), "
            "which Gas ignores: jobs may start at other times than shown"
        )
    gpus = gpus or any(job.pending and here.intersection(job.partitions) and asks_for_gres(job) for job in cluster.jobs)
    flags = frozenset() if cluster.settings is None else cluster.settings.selection_parameters
    if gpus and "ENFORCE_BINDING_GRES" in flags and any(node.gres for node in cluster.nodes if node.name in there):
        yield (
            "jobs get GPUs only with cores near them (ENFORCE_BINDING_GRES), which Gas ignores: jobs with GPUs may "
            "start later than shown"
        )
    shared = {one.name for node in cluster.nodes if node.name in there for one in node.gres} & {"mps", "shard"}
    if shared:
        yield (
            f"{' and '.join(sorted(shared))} and whole GPUs are counted separately: if both are in use, jobs "
            "with either may start later than shown"
        )
    odd = cluster.switches is not None or any(one.gres for one in cluster.nodes if one.name in there)
    linear = cluster.settings is not None and cluster.settings.selection == "linear"
    sizes = {one.cpus for one in cluster.nodes if one.name in there}
    if linear and len(sizes) > 1 and not Rules.of(cluster.version).future:
        # seen on 22.05 in three of four such queues, not on 24.11 and 26.05: it retries the same start endlessly
        yield (
            f"with select/linear and nodes of different sizes, the search of Slurm {cluster.version} may not end, so "
            "that it plans only the first jobs"
        )
    if linear and odd:
        yield (
            "Gas does not model select/linear with switches or generic resources: jobs "
            "may start at other times, and on other nodes, than shown"
        )
    waiting = [job for job in cluster.jobs if job.pending and job.unclear and here.intersection(job.partitions)]
    if waiting:
        words = ", ".join(dict.fromkeys(quoted(word) for job in waiting[:3] for word in job.unclear))
        what = "1 waiting job has options" if len(waiting) == 1 else f"{len(waiting):,} waiting jobs have options"
        yield f"{what} that Gas does not support and ignores: {words}"
    if (
        gpus
        and not Rules.of(cluster.version).fresh_weights
        and any(
            one.sockets > 1 and any(kind.name == "gpu" for kind in one.gres)
            for one in cluster.nodes
            if one.name in there
        )
    ):
        yield (
            f"Slurm {cluster.version} prefers nodes whose free cores are near free GPUs (Cores= in gres.conf), which "
            "is not published: where GPUs have cores of their own, jobs may start at other times than shown"
        )
    if weights_unknown(cluster):
        yield (
            f"Slurm {cluster.version} chooses nodes with GPUs by weights left by the job tried before; at a site of "
            "this size Gas relies on the published plans: a new job may start at another time than shown"
        )


def _of_schedulers(cluster: Cluster, here: set[str]) -> Iterator[str]:
    given = cluster.scheduling.parameters
    builtin = cluster.values.get("SchedulerType", "").rpartition("/")[2] == "builtin"
    if builtin or given.get("bf_interval") == "-1":
        yield (
            f"Slurm does not backfill here ({'SchedulerType=sched/builtin' if builtin else 'bf_interval=-1'}): no job "
            "starts before those ahead of it in the queue, which Gas ignores: jobs may start later than shown"
        )
    held = (one for one in cluster.jobs if one.pending and one.reason.startswith(("QOS", "Assoc")))
    if "assoc_limit_stop" in given and any(here.intersection(one.partitions) for one in held):
        yield (
            "Slurm plans jobs that exceed a limit now as if they start in some minutes (assoc_limit_stop), and Gas as "
            "if they start now: jobs may start at other times than shown"
        )


def _of_settings(cluster: Cluster) -> Iterator[str]:
    """Yield what settings that Gas does not model may change."""
    values, settings = cluster.values, cluster.settings
    labels = values.get("MCSPlugin", "").rpartition("/")[2]
    if labels not in UNSET and "select" in re.split(r"[,:|\s]+", values.get("MCSParameters", "").lower()):
        yield (
            f"jobs share nodes only with jobs of the same label (MCSPlugin={labels}, MCSParameters=select), which Gas "
            "ignores: jobs may start later than shown"
        )
    if (stages := values.get("BurstBufferType", "").rpartition("/")[2]) not in UNSET:
        yield (
            f"jobs with a burst buffer (BurstBufferType={stages}) start only when their data are there, which Gas "
            "ignores: they may start later than shown, and other jobs at other times"
        )
    if any(job.pending and job.id >= FEDERATED for job in cluster.jobs):
        yield (
            "some jobs are from a federation: they may start on other clusters, which Gas ignores; then other jobs "
            "start earlier than shown"
        )
    if settings is not None and (settings.usage_reset or "NONE") not in ("NONE", "NOW"):
        yield (
            f"usage is reset at times (PriorityUsageResetPeriod={settings.usage_reset}), which Gas does not foresee: "
            "then the order of the queue changes, and limits on used minutes let jobs start"
        )
    if (most := cluster.scheduling.parameters.get("max_rpc_cnt", "0")) not in ("0", ""):
        yield (
            f"while slurmctld handles {most} requests or more at once (max_rpc_cnt), it starts no jobs, which Gas does "
            "not foresee: under such load jobs start later than shown"
        )


def _booting(limit: str) -> str:
    """Return in words how long nodes take to boot; `limit` is ResumeTimeout as printed."""
    with suppress(BadInput):
        if (longest := seconds(limit)) is not None:
            return f"up to {duration_text(longest)} (ResumeTimeout)"
    return "minutes"


def _named(reservations: list[Reservation]) -> str:
    names = ", ".join(quoted(one.name) for one in reservations[:3]) + (", ..." if len(reservations) > 3 else "")
    return f"reservation{'' if len(reservations) == 1 else 's'} {names}"
