"""Nodes that a job prefers because jobs under the same limit on nodes already use them.

When a job starts, Slurm raises the weight of other nodes of the same kind by one (node_scheduler.c,
_find_grp_node_bitmap and _build_node_list; seen on 22.05, 24.11 and 26.05). Here, nodes with equal configuration are of
the same kind; before 24.11, Slurm goes by the lines of slurm.conf, which are not published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gas.slurm.cluster import Cluster, Job
from gas.slurm.levels import usage_per
from gas.slurm.order import Record
from gas.slurm.rows import Records
from gas.slurm.standing import Standing

__all__ = ["Together"]

Counts = Callable[[Job], bool]
Jobs = Mapping[tuple[int, int | None], Job]


class Together:
    """The limits on nodes that apply to records, and the kinds of nodes.

    Attributes
    ----------
    any
        Whether there is such a limit.
    """

    def __init__(self, cluster: Cluster, records: Sequence[Record]) -> None:
        self.cluster, self.records = cluster, records
        self.any = _has_limits(cluster)
        self._counts: dict[int, tuple[Counts, ...]] = {}
        self._places = {node.name: place for place, node in enumerate(cluster.nodes)}
        kinds = [
            replace(node, name="", allocated=None, why_not=(), reserved=False, memory_allocated=None, gres_used=(),
                    partitions=(), completing=False, rebooting=False)
            for node in cluster.nodes
        ]  # fmt: skip
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        self._kinds = np.array([numbers[kind] for kind in kinds], np.int64)

    def behind(
        self,
        index: NDArray[np.int64],
        rows: Records,
        sets: NDArray[np.bool_],
        jobs: Jobs,
    ) -> NDArray[np.bool_]:
        """Return `sets` with sets of nodes that come after others appended; `rows.behind` gets their numbers."""
        if not self.any:
            return sets
        rows.behind[:] = -1
        more: list[NDArray[np.bool_]] = []
        for row, at in enumerate(index.tolist()):
            found = self._behind(at, sets[rows.nodes[row]], jobs)
            if found.any():
                rows.behind[row] = len(sets) + len(more)
                more.append(found)
        return np.concatenate([sets, np.array(more)]) if more else sets

    def _behind(self, at: int, nodes: NDArray[np.bool_], jobs: Jobs) -> NDArray[np.bool_]:
        first, found = np.zeros(len(nodes), np.bool_), np.zeros(len(nodes), np.bool_)
        if at not in self._counts:
            self._counts[at] = tuple(self._limits(at))
        for counts in self._counts[at]:
            for job in jobs.values():
                if counts(job):
                    first[[self._places[name] for name in job.nodes]] = True
        for kind in np.unique(self._kinds[nodes & first]):
            found |= nodes & ~first & (self._kinds == kind)
        return found

    def _limits(self, at: int) -> Iterator[Counts]:
        """Yield for each kind of limit on nodes which jobs count for it; only the first limit of a kind applies."""
        record = self.records[at]
        case = Standing.of(self.cluster, record.job, record.partition, "", "", None, 1, dated=False)
        done: set[str] = set()
        for qos in case.qos:
            own = qos.bounds
            for kind, bounds in (("group", own.group_tres), ("user", own.user_tres), ("account", own.account_tres)):
                if "node" in bounds and kind not in done:
                    done.add(kind)
                    yield case.of_qos(qos) if kind == "group" else usage_per(case, qos, user=kind == "user")[1]
        for one in case.chain:
            if "node" in one.bounds.group_tres and "group" not in done:
                done.add("group")
                yield case.of_association(one)


def _has_limits(cluster: Cluster) -> bool:
    settings, accounting = cluster.settings, cluster.accounting
    if settings is None or accounting is None or not settings.limits_enforced:
        return False
    every = [*(one.bounds for one in accounting.associations), *(one.bounds for one in accounting.qos.values())]
    return any("node" in tres for one in every for tres in (one.group_tres, one.user_tres, one.account_tres))
