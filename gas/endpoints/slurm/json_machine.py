"""Nodes, partitions, reservations and licences in the answers of slurmrestd (see `json_answers`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gas.endpoints.slurm.json_entries import Entry
from gas.endpoints.slurm.notation import LATEST, LONGEST, NOTHING, credible, node_states
from gas.endpoints.slurm.resources import amounts, gres, licences, per_gpu_defaults, weights
from gas.slurm.cluster import Licence, Node, Partition, Reservation

__all__ = ["licence", "node", "partition", "reservation"]


def node(entry: Entry) -> Node:
    """Return a node."""
    states = [*entry.texts("state"), *entry.texts("state_flags", default=())]
    meaning = node_states(*states)
    memory = entry.number("real_memory", default=None)
    found = Node(
        entry.text("name"),
        entry.number("effective_cpus", default=None) or _effective(entry) or entry.sure("cpus"),
        entry.number("alloc_cpus", default=None),
        meaning.why_not,
        meaning.reserved,
        entry.texts("partitions", default=()),
        None if memory is None else max(memory - (entry.number("specialized_memory", default=None) or 0), 0),
        entry.number("alloc_memory", default=None),
        entry.number("sockets", default=None) or 1,
        entry.number("cores", default=None),
        entry.number("threads", default=None) or 1,
        frozenset(entry.texts("active_features", default=())),
        entry.understood(gres, "gres"),
        entry.understood(gres, "gres_used"),
        entry.number("weight", default=None) or 1,
        meaning.completing,
        meaning.rebooting,
        meaning.powered_down,
    )
    return credible(found, entry.where)


def _effective(entry: Entry) -> int:
    """Return the CPUs without specialised cores, which v0.0.38 shows only in the node's TRES."""
    return int(entry.understood(amounts, "tres").get("cpu", 0))


def partition(entry: Entry) -> Partition:
    """Return a partition; up to v0.0.38 it does not show whether jobs get whole nodes."""
    flags = entry.texts("flags", default=None) if "flags" in entry.value else None
    exclusive = entry.text("partition/exclusive", default="").upper()  # from 26.05, where all shares are 0
    shares = entry.number("maximums/oversubscribe/jobs", "maximums/shares", default=None)
    memory_per_gpu, cpus_per_gpu = per_gpu_defaults(entry.text("defaults/job", default=""))
    return Partition(
        entry.text("name"),
        entry.names("nodes/configured", "nodes"),
        entry.minutes("maximums/time", "max_time_limit"),
        entry.minutes("defaults/time", "default_time_limit") or None,
        entry.number("minimums/nodes", "min nodes per job", "min_nodes_per_job") or 0,
        entry.number("maximums/nodes", "maximum_nodes_per_job"),
        None if flags is None else "default" in (flag.lower() for flag in flags),
        "+".join(entry.texts("partition/state", "state", default=())).upper(),
        entry.number("priority/tier", "priority_tier", default=1) or 1,
        exclusive == "NODE" if exclusive else shares == 0,
        entry.number("maximums/cpus_per_node", "max_cpus_per_node", "maximum_cpus_per_node", default=None),
        # the highest bit is that of OverSubscribe=FORCE
        max((shares or 1) & 0x7FFF, 1),
        job_factor=entry.number("priority/job_factor", "priority_job_factor", default=None) or 0,
        qos=entry.text("qos/assigned", default="") if isinstance(entry.find("qos", default=""), Mapping) else
        entry.text("qos", default=""),
        allowed_accounts=_allowed(entry, "accounts/allowed", "allowed_accounts"),
        denied_accounts=_allowed(entry, "accounts/deny", "denied_accounts"),
        allowed_qos=_allowed(entry, "qos/allowed", "allowed_qos"),
        denied_qos=_allowed(entry, "qos/deny", "denied_qos"),
        allowed_groups=_allowed(entry, "groups/allowed", "allowed_groups"),
        memory_per_cpu=_limit(entry, "defaults/partition_memory_per_cpu", "default_memory_per_cpu"),
        memory_per_node=_limit(entry, "defaults/partition_memory_per_node", "default_memory_per_node"),
        most_memory_per_cpu=_limit(entry, "maximums/partition_memory_per_cpu", "maximum_memory_per_cpu"),
        most_memory_per_node=_limit(entry, "maximums/partition_memory_per_node", "maximum_memory_per_node"),
        # up to v0.0.38 it is "disabled" for partitions without one of their own (seen)
        preempt_mode=_mode(entry.texts("preempt_mode", default=())),
        billing_weights=entry.understood(weights, "tres/billing_weights", "billing_weights"),
        tres=entry.understood(amounts, "tres/configured", *_early_tres(entry)),
        selection=",".join(one for one in entry.texts("select_type", default=()) if one not in NOTHING),
        overtime=_overtime(entry),
        shared_with=exclusive.lower() if exclusive in ("USER", "MCS", "TOPO") else "",
        memory_per_gpu=memory_per_gpu,
        cpus_per_gpu=cpus_per_gpu,
        most_cpus_of_socket=entry.number("maximums/cpus_per_socket", default=None),
        closed_by=_closed_by(entry, flags or ()),
    )  # fmt: skip


def _closed_by(entry: Entry, flags: Sequence[str]) -> tuple[str, ...]:
    """Return what keeps jobs out of a partition; flags are published up to v0.0.38 only."""
    known = {"root_only": "RootOnly=YES", "reservation_required": "ReqResv=YES"}
    hosts = _allowed(entry, "nodes/allowed_allocation", "allowed_allocation_nodes")
    found = [meaning for flag, meaning in known.items() if flag in (one.lower() for one in flags)]
    return (*found, *(() if hosts is None else (f"AllocNodes={','.join(hosts)}",)))


def _early_tres(entry: Entry) -> tuple[str, ...]:
    return () if isinstance(entry.find("tres", default=None), Mapping) else ("tres",)


def _allowed(entry: Entry, *paths: str) -> tuple[str, ...] | None:
    found = entry.texts(*paths, default=())
    return None if not found or found == ("ALL",) else found


def _limit(entry: Entry, *paths: str) -> int | None:
    """Return MB; None for no limit, including 0."""
    return entry.number(*paths, default=None) or None


def _mode(modes: tuple[str, ...]) -> str:
    """Return a PreemptMode as in slurm.conf; empty for the cluster's."""
    words = [mode.upper() for mode in modes if mode.upper() not in ("CLUSTER_GLOBAL", "UNSET")]
    return ",".join("OFF" if word == "DISABLED" else word for word in words)


def _overtime(entry: Entry) -> int | None:
    value = entry.find("maximums/over_time_limit", "over_time_limit", default=None)
    if isinstance(value, Mapping) and value.get("infinite"):
        return LONGEST
    minutes = entry.number("maximums/over_time_limit", "over_time_limit", default=None)
    return None if minutes is None else 60 * minutes


def reservation(entry: Entry, cores: Mapping[str, int]) -> Reservation:
    """Return a reservation; `cores` are the numbers of cores by node."""
    nodes, reserved = entry.names("node_list"), entry.number("core_count", default=None) or 0
    return Reservation(
        entry.text("name"),
        min(entry.sure("start_time"), LATEST),
        min(entry.sure("end_time"), LATEST),
        nodes,
        tuple(flag.upper() for flag in entry.texts("flags", default=())),
        entry.texts("users", default=()),
        entry.texts("accounts", default=()),
        reserved if 0 < reserved < sum(cores.get(name, 0) for name in nodes) else None,
        entry.texts("groups", default=()),
        entry.understood(licences, "licenses"),
    )


def licence(entry: Entry) -> Licence:
    """Return the licences of one name; those used elsewhere beyond the share (LastDeficit) count as used."""
    used = (entry.number("Used") or 0) + (entry.number("LastDeficit", default=None) or 0)
    return Licence(
        entry.text("LicenseName"), entry.number("Total") or 0, used, entry.number("Reserved", default=None) or 0
    )
