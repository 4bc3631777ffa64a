"""Reservations: those that attract a job, and the licences that others keep from it.

A magnetic reservation adds a record of each job that it attracts, as if the job named it; the job's other records still
keep off its nodes (reservation.c, job_resv_append_magnetic).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from documents.fields import quoted
from gas.printable import many
from gas.slurm.cluster import Cluster, Job, Licence, Reservation

__all__ = [
    "NEVER_OVER", "anywhere", "attracts", "end_for_others", "enough_licences_from", "is_open", "kept_licences",
    "may_start_in", "short_of_cores", "unseen_reserved", "with_magnetic",
]  # fmt: skip

NEVER_OVER = 200_000_000_000
"""An epoch second in the far future."""


def with_magnetic(cluster: Cluster, job: Job, partition: str) -> Iterator[Job]:
    """Yield a job, and the job in each magnetic reservation that is open to it in a partition."""
    yield job
    if not job.reservation and job.leader is None:
        there = replace(job, partitions=(partition,))
        for one in cluster.reservations:
            if one.end > cluster.now and attracts(cluster, one, there):
                yield replace(job, reservation=one.name)


def anywhere(reservation: Reservation) -> bool:
    """Return whether jobs of a reservation may use other nodes; a reservation of licences has none (ANY_NODES)."""
    return reservation.flexible or "ANY_NODES" in reservation.flags


def end_for_others(reservation: Reservation) -> int:
    """Return when the nodes of a reservation become free for all; `NEVER_OVER` for a floating one (TIME_FLOAT)."""
    return NEVER_OVER if reservation.floats else reservation.end


def may_start_in(cluster: Cluster, name: str, now: int, until: int = 0) -> bool:
    """Return whether jobs of a reservation may start now: it is active and lasts until `until`, or is flexible."""
    own = _named(cluster, name)
    return own is not None and now < own.end and (own.flexible or (own.start <= now and until <= own.end))


def short_of_cores(cluster: Cluster, job: Job) -> str:
    """Return a message if the reservation of a job has too few cores for it; else empty."""
    own = _named(cluster, job.reservation)
    if own is None or own.cores is None or own.flexible:
        return ""
    cpus = own.cores * max((node.core_cpus for node in cluster.nodes if node.name in own.nodes), default=1)
    if job.cpus <= cpus:
        return ""
    return f"reservation {quoted(own.name)} holds {many(cpus, 'CPU')}, and {job.cpus:,} are requested"


def _named(cluster: Cluster, name: str) -> Reservation | None:
    return next((one for one in cluster.reservations if one.name == name), None) if name else None


def attracts(cluster: Cluster, reservation: Reservation, job: Job) -> bool:
    """Return whether a reservation is magnetic, and known to be open to a job in one of its partitions."""
    return "MAGNETIC" in reservation.flags and is_open(cluster, reservation, job) is True


def is_open(cluster: Cluster, reservation: Reservation, job: Job) -> bool | None:
    """Return whether a job may use a reservation (reservation.c, _valid_job_access_resv); None if unknown."""
    accounting = cluster.accounting
    user = job.user or ("" if accounting is None else accounting.user)
    account = job.account if accounting is None else accounting.account_of(job.account, user)
    own = None if accounting is None else accounting.association(account, "", user)
    accounts, qos = [account], [job.qos]
    if accounting is not None and own is not None:
        if cluster.settings is None or cluster.settings.associations_enforced is not False:
            accounts += accounting.line(account)
        qos = [job.qos or accounting.default_qos(own)]
    found = [
        not reservation.floats,
        _listed(reservation.users, [user]),
        _listed(reservation.accounts, accounts),
        _listed(reservation.partitions, job.partitions),
        _listed(reservation.qos, qos),
        None if reservation.groups else True,
    ]
    return False if False in found else None if None in found else True


def _listed(names: Collection[str], wanted: Collection[str]) -> bool | None:
    """Return whether a list admits any of the names, or with minus signs bars none; None if no name is known."""
    known = {name for name in wanted if name}
    barred = {name[1:] for name in names if name.startswith("-")}
    if not names or not known:
        return None if names else True
    return not known & barred if barred else bool(known & set(names))


def kept_licences(cluster: Cluster, name: str, begin: int, end: int, own: str = "") -> int:
    """Return the number of licences that other reservations hold in a span (reservation.c, job_test_lic_resv)."""
    there = (one for one in cluster.reservations if one.name != own and one.start < end and one.end > begin)
    return sum(one.licences.get(name, 0) for one in there)


def unseen_reserved(cluster: Cluster, licence: Licence) -> int:
    """Return the number of licences that hidden reservations hold now."""
    now = cluster.now
    return max(licence.reserved - kept_licences(cluster, licence.name, now, now + 1), 0)


def enough_licences_from(cluster: Cluster, job: Job, name: str, limit: int, room: int) -> int | None:
    """Return from when reservations leave a job enough of `room` licences while it would run; None for never."""
    wanted = job.licences.get(name, 0)
    for begin in sorted({cluster.now, *(one.end for one in cluster.reservations if one.end > cluster.now)}):
        if wanted + kept_licences(cluster, name, begin, begin + limit, job.reservation) <= room:
            return begin
    return None
