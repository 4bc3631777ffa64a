"""Applies the limits of accounts and QOS to the records of a queue as jobs start and end."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gas.slurm.accounting import Bounds
from gas.slurm.cluster import Cluster, Job, Node, Partition
from gas.slurm.demand import Demand, allocated
from gas.slurm.extent import extent_of
from gas.slurm.levels import levels
from gas.slurm.limits import Access, access_of, bindings_of
from gas.slurm.order import Record
from gas.slurm.reasons import by_nodes, with_nodes
from gas.slurm.standing import Standing
from gas.slurm.verdict import FREE, Binding

__all__ = ["Restraints"]

Key = tuple[int, int | None]
FREELY = 0, False, False


class Restraints:
    """The records that limits hold back; results are cached until a job that counts for a limit starts or ends.

    Attributes
    ----------
    count
        Whether there are any limits.
    """

    def __init__(self, cluster: Cluster, records: Sequence[Record]) -> None:
        self.cluster, self.records = _uncounted(cluster), records
        self.count = self._count()
        self._verdicts: dict[int, tuple[int, bool, bool]] = {}
        self._at = cluster.now
        self._bounds: dict[tuple[int, str], frozenset[Hashable]] = {}
        # what does not change while jobs start and end, for all copies
        self._cases: dict[int, tuple[Standing, Access]] = {}
        self._extents = {("extent", one.name): extent_of(self.cluster, one) for one in cluster.partitions}
        self._nodes: dict[tuple[str, int], Node] = {}
        self._held: dict[int, tuple[Job, Mapping[str, float]]] = {}
        self._dated, self._coupled = self._kinds()

    def copied(self) -> Restraints:
        """Return an independent copy."""
        other = copy.copy(self)
        other._verdicts, other._held = self._verdicts.copy(), self._held.copy()
        return other

    def _count(self) -> bool:
        settings, accounting = self.cluster.settings, self.cluster.accounting
        if settings is None or accounting is None or not settings.limits_enforced:
            return False
        bounds = [one.bounds for one in accounting.associations] + [one.bounds for one in accounting.qos.values()]
        return any(one != Bounds() for one in bounds)

    def limited(self, index: NDArray[np.int64], now: int, jobs: Mapping[Key, Job]) -> NDArray[np.int8]:
        """Return how a limit of an account or a QOS holds each record back, given the running jobs.

        0: not at all; 1: by a limit checked before node selection; 2: by one on resources, checked after it; 3: by one
        of these that depends on the chosen nodes, so that `exceeds` decides.
        """
        return self.verdicts(index, now, jobs)[0]

    def verdicts(
        self, index: NDArray[np.int64], now: int, jobs: Mapping[Key, Job]
    ) -> tuple[NDArray[np.int8], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the result of `limited`, the records held if their nodes are busy, and those without a later plan.

        If no nodes are chosen, all nodes that a job needs count, even those already used under the same limit; and if
        its nodes are busy, the CPUs that it requests count (acct_policy.c, _get_unique_job_node_cnt; seen on 22.05,
        24.11 and 26.05).
        """
        found = np.zeros((3, len(index)), np.int8)
        if self.count:
            if self._dated and self._at != now:
                self._verdicts, self._at = {}, now
            current = None
            for row, at in enumerate(index.tolist()):
                if at not in self._verdicts:
                    current = current or self._with(now, jobs)
                    self._verdicts[at] = self._verdict(current, at) if self._bounded(at) else FREELY
                found[:, row] = self._verdicts[at]
        return found[0], found[1] > 0, found[2] > 0

    def exceeds(self, at: int, cpus: Mapping[str, int], now: int, jobs: Mapping[Key, Job]) -> bool:
        """Return whether a limit keeps a record from starting on the chosen nodes, with its CPUs on each.

        Slurm checks resources at this point (acct_policy.c, acct_policy_job_runnable_post_select): whole nodes may
        differ in size, and a node shared by several jobs counts once.
        """
        if not self.count or not self._bounded(at):
            return False
        record = self.records[at]
        current = self._with(now, jobs)
        given = allocated(current, record.job, record.partition, dict(cpus))
        return bool(self._bindings(current, at, given))

    def _with(self, now: int, jobs: Mapping[Key, Job]) -> Cluster:
        """Return the cluster with these running jobs, to check limits; with their allocations if these count."""
        if not self._coupled:
            found = replace(self.cluster, now=now, jobs=tuple(jobs.values()))
            found.worked_out.update(self._extents)
        else:
            used: dict[str, int] = {}
            for job in jobs.values():
                for name, cpus in (job.cpus_on or {}).items():
                    used[name] = used.get(name, 0) + cpus
            nodes = tuple(self._node(one, used.get(one.name, 0)) for one in self.cluster.nodes)
            found = replace(self.cluster, now=now, jobs=tuple(jobs.values()), nodes=nodes)
        found.worked_out["held"] = self._held
        return found

    def _node(self, node: Node, allocated: int) -> Node:
        """Return a node with this number of allocated CPUs."""
        key = node.name, allocated
        if key not in self._nodes:
            self._nodes[key] = replace(node, allocated=allocated)
        return self._nodes[key]

    def _case(self, at: int) -> tuple[Standing, Access]:
        """Return the standing of a record, a task of an array by itself, and what keeps it from its partition."""
        if at not in self._cases:
            job, partition = replace(self.records[at].job, tasks=None), self.records[at].partition
            case = Standing.of(self.cluster, job, partition, "", "", None, 1, dated=False)
            levels(case)  # copies keep them
            self._cases[at] = case, access_of(case)
        return self._cases[at]

    def _bindings(self, current: Cluster, at: int, given: Demand | None = None) -> list[Binding]:
        """Return the limits that hold a record back; simulations count licences themselves."""
        case, access = self._case(at)
        found = bindings_of(case.with_running(current, given), access)
        return [one for one in found if one.reason != "Licenses" and one.outcome != FREE]

    def _bounded(self, at: int) -> bool:
        """Whether any limit applies to a record."""
        return bool(self._bounds_of(self.records[at].job, self.records[at].partition))

    def _bounds_of(self, job: Job, partition: Partition) -> frozenset[Hashable]:
        """Return the QOS and associations with limits that apply to a job in a partition."""
        key = job.id, partition.name
        if key not in self._bounds:
            case = Standing.of(self.cluster, job, partition, "", "", None, 1, dated=False)
            found: list[Hashable] = [one.name for one in case.qos if one.bounds != Bounds()]
            found += [(one.account, one.user, one.partition) for one in case.chain if one.bounds != Bounds()]
            self._bounds[key] = frozenset(found)
        return self._bounds[key]

    def forget(self, job: Job | None) -> None:
        """Drop the results that the start or end of a job may change; all if the job is unknown."""
        if job is None or self._coupled:
            self._verdicts = {}
        if job is None or not self._verdicts:
            return
        own = {bound for one in self.cluster.partitions if one.name in job.partitions
               for bound in self._bounds_of(job, one)}  # fmt: skip
        for at in list(self._verdicts):
            record = self.records[at]
            if not own.isdisjoint(self._bounds_of(record.job, record.partition)):
                del self._verdicts[at]

    def _kinds(self) -> tuple[bool, bool]:
        """Return whether limits depend on time, and whether they depend on the nodes of other jobs."""
        accounting = self.cluster.accounting
        if accounting is None:
            return False, False
        every = [one.bounds for one in accounting.associations] + [one.bounds for one in accounting.qos.values()]
        dated = any(
            one.group_tres_minutes or one.group_run_minutes or one.user_run_minutes or one.account_run_minutes
            or one.group_wall is not None
            for one in every
        )  # fmt: skip
        tres = [{*one.group_tres, *one.user_tres, *one.account_tres, *one.job_tres, *one.node_tres} for one in every]
        return dated, any("node" in one for one in tres)

    def _verdict(self, current: Cluster, at: int) -> tuple[int, bool, bool]:
        """Return how a limit holds a record, whether it does so if its nodes are busy, and whether it gets no plan."""
        held = self._held_by(current, at)
        if held in (1, 2) or not (held or self._coupled):
            return held, held > 0, held > 0
        needed, job = self._case(at)[0].given, self.records[at].job
        asked = replace(needed, amounts={**needed.amounts, "cpu": job.cpus}, whole=True)  # shares no nodes
        busy, unplanned = (bool(self._bindings(current, at, given)) for given in (asked, replace(needed, whole=True)))
        return held, busy, unplanned

    def _held_by(self, current: Cluster, at: int) -> int:
        bindings = self._bindings(current, at)
        if not bindings:
            return 0
        if not all(with_nodes(one.reason) for one in bindings):
            return 1
        record = self.records[at]
        whole = record.job.exclusive or record.partition.whole_nodes
        return 3 if whole or all(by_nodes(one.reason) for one in bindings) else 2


def _uncounted(cluster: Cluster) -> Cluster:
    """Return the cluster without published usage, so that usage is counted from its jobs, which change."""
    accounting = cluster.accounting
    if accounting is None:
        return cluster
    qos = {
        name: replace(one, use=None, use_by_user={}, use_by_account={}) for name, one in accounting.qos.items()
    }  # fmt: skip
    own = tuple(replace(one, use=None) for one in accounting.associations)
    return replace(cluster, accounting=replace(accounting, associations=own, qos=qos))
