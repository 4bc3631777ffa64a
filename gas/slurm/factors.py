"""The factors of a job's priority, each from 0 to 1, and which are unknown (priority_multifactor.c)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gas.slurm.accounting import Accounting
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.demand import allocated, minutes, requested
from gas.slurm.extent import extent_of
from gas.slurm.fair_share import factor
from gas.slurm.settings import FACTORS, Settings

__all__ = ["Factors", "Part", "configured"]


@dataclass(frozen=True)
class Part:
    """One term of a priority: the job's factor, from 0 to 1, and the resulting points."""

    name: str
    factor: float
    weight: float

    @property
    def points(self) -> float:
        """Its contribution to the priority."""
        return self.factor * self.weight


class Factors:
    """The factors of one job in one partition.

    Attributes
    ----------
    unknown
        Unpublished values on which they depend, in words; it grows as factors are requested.
    """

    def __init__(
        self, cluster: Cluster, settings: Settings, job: Job, partition: Partition, qos: str, account: str
    ) -> None:
        self.cluster, self.settings, self.job, self.partition = cluster, settings, job, partition
        self.unknown: list[str] = []
        accounting = cluster.accounting
        self.accounting = accounting if settings.with_accounting is not False else Accounting(job.user)
        account = account or job.account or (accounting.default_account if accounting is not None else "")
        found = accounting.association(account, partition.name, job.user or None) if accounting is not None else None
        self.association = found
        qos = qos or job.qos
        if not qos and accounting is not None and found is not None:
            qos = accounting.default_qos(found)
        self.qos = qos

    def parts(self, waited: int, *, given: bool) -> list[Part]:
        """Return the terms, for the requested or for the allocated resources."""
        weights = self.settings.weights
        without = self.settings.with_accounting is False
        age = min(waited / self.settings.max_age, 1.0) if self.settings.max_age else float(waited > 0)
        values = {
            "age": 0.0 if without else age,
            "association": self._association() if weights["association"] else 0.0,
            "fair share": self._fair_share() if weights["fair share"] and not without else 0.0,
            "size": self._size(given=given) if weights["size"] else 0.0,
            "partition": self._partition() if weights["partition"] else 0.0,
            "QOS": self._qos() if weights["QOS"] and not without else 0.0,
        }
        parts = [Part(name, values[name], weights[name]) for name in FACTORS if weights[name]]
        parts += self._resources()
        if self.settings.site_factor:
            self.unknown.append(f"the term of the site's own plug-in ({self.settings.site_factor})")
        return parts

    def fair_share(self) -> float | None:
        """Return the fair-share factor of the job's account; None if unknown."""
        if self.association is None or self.accounting is None:
            return None
        return factor(self.accounting, self.association, self.settings)

    def qos_factor(self) -> float | None:
        """Return the priority of the job's QOS relative to the largest one; None if unknown."""
        known = self.accounting.qos if self.accounting is not None else {}
        if self.qos not in known:
            return None
        return known[self.qos].priority / max(1, *(one.priority for one in known.values()))

    def _raw(self, flag: str) -> bool:
        """Whether a factor is not divided by its largest value.

        scontrol prints NO_NORMAL_ALL if any of the NO_NORMAL flags is set, so which one is unknown (seen on 22.05 to
        26.05).
        """
        flags = self.settings.priority_flags
        if "NO_NORMAL_ALL" in flags and flag not in flags:
            self.unknown.append("the largest values by which factors are divided (NO_NORMAL_... is set)")
        return bool(flags & {flag, "NO_NORMAL_ALL"})

    def _association(self) -> float:
        if self.association is None or self.accounting is None:
            self.unknown.append("the priority of your association")
            return 0.0
        if self._raw("NO_NORMAL_ASSOC"):
            return float(self.association.priority)
        if not self.accounting.shares_complete:
            self.unknown.append("the highest priority of all associations")
        highest = max((one.priority for one in self.accounting.associations), default=0)
        return self.association.priority / highest if highest else 0.0

    def _fair_share(self) -> float:
        known = self.fair_share()
        if known is None:
            self.unknown.append("the user's fair share")
        return known or 0.0

    def _partition(self) -> float:
        if self._raw("NO_NORMAL_PART"):
            return float(self.partition.job_factor)
        return self.partition.job_factor / max(1, *(one.job_factor for one in self.cluster.partitions))

    def _qos(self) -> float:
        known = self.accounting.qos if self.accounting is not None else {}
        if self.qos not in known:
            if known or self.qos:
                self.unknown.append(f"the priority of QOS {self.qos or '(the default)'}")
            return 0.0
        if self._raw("NO_NORMAL_QOS"):
            return float(known[self.qos].priority)
        highest = max(one.priority for one in known.values())
        return known[self.qos].priority / highest if highest else 0.0

    def _size(self, *, given: bool) -> float:
        """Return the job size factor (slurm.conf(5), PriorityWeightJobSize, PriorityFavorSmall).

        It counts the nodes requested (at least 1), not the nodes needed.
        """
        nodes = len(self.cluster.nodes)
        cpus = sum(node.cpus for node in self.cluster.nodes)
        if not nodes or not cpus:
            self.unknown.append("the size of the cluster")
            return 0.0
        wanted = requested(self.cluster, self.job, self.partition)
        own = (allocated(self.cluster, self.job, self.partition) if given else wanted).amounts["cpu"]
        if "SMALL_RELATIVE_TO_TIME" in self.settings.priority_flags:
            limit = minutes(replace(self.job, time_limit=self.job.time_limit), self.partition)
            limit = 2**32 - 1 if limit is None else max(limit, 1)
            small = max(wanted.least_nodes * cpus / nodes, own) / limit / cpus
            value = 1 - small if self.settings.favour_small else small
        elif self.settings.favour_small:
            value = ((nodes - wanted.least_nodes) / nodes + (cpus - own) / cpus) / 2
        else:
            value = (wanted.least_nodes / nodes + own / cpus) / 2
        return min(max(value, 0.0), 1.0)

    def _resources(self) -> list[Part]:
        """Return the terms of PriorityWeightTRES, which count the request even after the job has been tried."""
        weights = self.settings.tres_weights
        if not weights:
            return []
        wanted = requested(self.cluster, self.job, self.partition).amounts
        there = configured(self.cluster, self.partition)
        raw = self._raw("NO_NORMAL_TRES")
        return [
            Part(name, wanted.get(name, 0) / (1 if raw else there[name]) if raw or there.get(name) else 0.0, weight)
            for name, weight in weights.items()
            if weight
        ]


def configured(cluster: Cluster, partition: Partition) -> Mapping[str, float]:
    """Return the total of each resource in a partition: as published, else summed over its nodes."""
    if partition.tres:
        return partition.tres
    nodes = extent_of(cluster, partition).nodes.values()
    found = {"cpu": float(sum(node.cpus for node in nodes)), "node": float(len(nodes))}
    found["mem"] = float(sum(node.memory or 0 for node in nodes))
    for node in nodes:
        for one in node.gres:
            found[f"gres/{one.name}"] = found.get(f"gres/{one.name}", 0) + one.count
    return found
