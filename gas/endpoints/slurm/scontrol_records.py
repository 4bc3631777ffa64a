"""scontrol's records of nodes, partitions, reservations and licences."""

from __future__ import annotations

from collections.abc import Mapping

from gas.endpoints.slurm.answer_records import Record, limit, whole
from gas.endpoints.slurm.notation import LONGEST, NOTHING, credible, duration, node_names, node_states, words
from gas.endpoints.slurm.resources import amounts, gres, licences, megabytes, per_gpu_defaults, weights
from gas.errors import Unreachable
from gas.slurm.cluster import Licence, Node, Partition, Reservation

__all__ = ["licence", "node", "partition", "reservation"]

CLOSING = ("RootOnly", "ReqResv", "AllocNodes")
"""Keys of a partition that keep jobs out."""


def node(record: Record) -> Node:
    """Return a node from ``scontrol -d show nodes``; without ``-d``, used GRES are not shown."""
    states = record.read("State", node_states)
    memory = _number(record, "RealMemory")
    used = record.values.get("GresUsed")
    found = Node(
        record.text("NodeName"),
        _number(record, "CPUEfctv") or record.number("CPUTot"),  # CPUEfctv excludes specialised cores
        record.number("CPUAlloc"),
        states.why_not,
        states.reserved,
        words(record.text("Partitions", "")),
        None if memory is None else max(memory - (_number(record, "MemSpecLimit") or 0), 0),
        _number(record, "AllocMem"),
        _number(record, "Sockets") or 1,
        _number(record, "CoresPerSocket"),
        _number(record, "ThreadsPerCore") or 1,
        frozenset(words(record.text("ActiveFeatures", ""))),
        record.read("Gres", gres) if "Gres" in record.values else (),
        () if used is None else record.read("GresUsed", gres),
        _number(record, "Weight") or 1,
        states.completing,
        states.rebooting,
        states.powered_down,
    )
    return credible(found, record.where)


def partition(record: Record, linear: bool) -> Partition:
    """Return a partition; `linear`: the cluster allocates whole nodes only."""
    exclusive = record.text("Exclusive", "") or ("USER" if record.text("ExclusiveUser", "") == "YES" else "")
    shared_with = exclusive.lower() if exclusive not in ("", "NO", "NODE") else ""
    memory_per_gpu, cpus_per_gpu = record.read("JobDefaults", per_gpu_defaults) if "JobDefaults" in record.values else (
        None, None,
    )  # fmt: skip
    return Partition(
        record.text("PartitionName"),
        record.read("Nodes", node_names),
        record.read("MaxTime", duration),
        record.read("DefaultTime", duration),
        record.number("MinNodes"),
        record.read("MaxNodes", limit),
        record.text("Default") == "YES",
        record.text("State"),
        record.number("PriorityTier"),
        linear or record.text("OverSubscribe") == "EXCLUSIVE" or exclusive == "NODE",  # the latter from 26.05
        record.understood("MaxCPUsPerNode", "UNLIMITED", limit),
        record.understood("OverSubscribe", "NO", lambda text: whole(text.partition(":")[2] or "1")),
        job_factor=_number(record, "PriorityJobFactor") or 0,
        qos=record.text("QoS", ""),
        allowed_accounts=_allowed(record, "AllowAccounts"),
        denied_accounts=_allowed(record, "DenyAccounts"),
        allowed_qos=_allowed(record, "AllowQos"),
        denied_qos=_allowed(record, "DenyQos"),
        allowed_groups=_allowed(record, "AllowGroups"),
        memory_per_cpu=_memory(record, "DefMemPerCPU"),
        memory_per_node=_memory(record, "DefMemPerNode"),
        most_memory_per_cpu=_memory(record, "MaxMemPerCPU"),
        most_memory_per_node=_memory(record, "MaxMemPerNode"),
        preempt_mode=record.text("PreemptMode", ""),
        billing_weights=record.read("TRESBillingWeights", weights) if "TRESBillingWeights" in record.values else {},
        tres=record.read("TRES", amounts) if "TRES" in record.values else {},
        selection=_unless_none(record.text("SelectTypeParameters", "")),
        overtime=record.understood("OverTimeLimit", "", _overtime),
        shared_with=shared_with,
        least_loaded=record.text("LLN", "NO") == "YES",
        memory_per_gpu=memory_per_gpu,
        cpus_per_gpu=cpus_per_gpu,
        most_cpus_of_socket=record.understood("MaxCPUsPerSocket", "UNLIMITED", limit),
        closed_by=tuple(
            f"{key}={value}" for key in CLOSING if (value := record.text(key, "NO")) not in ("NO", "ALL", *NOTHING)
        ),
    )


def reservation(record: Record, cores: Mapping[str, int]) -> Reservation:
    """Return a reservation; `cores` are the numbers of cores by node."""
    start, end = record.instant("StartTime"), record.instant("EndTime")
    if start is None or end is None:
        raise Unreachable(f"{record.where} has no times")
    nodes = record.read("Nodes", node_names)
    reserved = record.understood("CoreCnt", "0", whole)
    return Reservation(
        record.text("ReservationName"),
        start,
        end,
        nodes,
        words(record.text("Flags")),
        words(record.text("Users")),
        words(record.text("Accounts")),
        reserved if 0 < reserved < sum(cores.get(name, 0) for name in nodes) else None,
        words(record.text("Groups", "")),
        record.read("Licenses", licences) if "Licenses" in record.values else {},
        words(record.text("AllowedPartitions", "")),  # this and QOS from 25.11
        words(record.text("QOS", "")),
    )


def licence(record: Record) -> Licence:
    """Return the licences of one name; those used elsewhere beyond the share (LastDeficit) count as used."""
    used = record.number("Used") + (_number(record, "LastDeficit") or 0)
    return Licence(record.text("LicenseName"), record.number("Total"), used, _number(record, "Reserved") or 0)


def _number(record: Record, key: str) -> int | None:
    """Return a number that early versions may lack."""
    text = record.text(key, "")
    return None if text in NOTHING else record.number(key)


def _unless_none(text: str) -> str:
    return "" if text in NOTHING else text


def _allowed(record: Record, key: str) -> tuple[str, ...] | None:
    """Return the names in a list; None if there is none, or it means all."""
    found = words(record.text(key, ""))
    return None if not found or found == ("ALL",) else found


def _memory(record: Record, key: str) -> int | None:
    """Return MB; None for no limit, including 0."""
    text = record.text(key, "")
    return None if text in NOTHING else record.read(key, megabytes) or None


def _overtime(text: str) -> int | None:
    """Return seconds from minutes; None for the cluster's setting."""
    if text == "UNLIMITED":
        return LONGEST
    return None if text in NOTHING else 60 * whole(text)
