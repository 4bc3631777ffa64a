"""Builds the arrays of the machine, its running jobs and sets of nodes, each once per cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.slurm.cluster import Cluster, Gres, Job, Partition
from gas.slurm.features import allowed
from gas.slurm.machine import BOUNDLESS, OFF, Machine, Use
from gas.slurm.needs import Needs, Resources
from gas.slurm.order import end_of
from gas.slurm.owners import is_single_user
from gas.slurm.settings import Settings
from gas.slurm.switches import tree_of
from gas.slurm.versions import Rules
from gas.slurm.will_run import Running, add

__all__ = ["Builder", "Sets", "numbers_of"]

UNSHOWN = -1
"""The user number of hidden jobs."""


class Sets:
    """Numbered sets of nodes; equal sets have the same number."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._rows: list[NDArray[np.bool_]] = []
        self._known: dict[bytes, int] = {}

    def add(self, nodes: NDArray[np.bool_]) -> int:
        """Return the number of a set."""
        key = np.packbits(nodes).tobytes()
        if key not in self._known:
            self._known[key] = len(self._rows)
            self._rows.append(nodes)
        return self._known[key]

    def array(self) -> NDArray[np.bool_]:
        """Return all sets."""
        return np.array(self._rows, np.bool_).reshape(len(self._rows), self.count)


class Builder:
    """Builds the arrays of one cluster."""

    def __init__(self, cluster: Cluster, memory_counts: bool | None) -> None:
        self.cluster = cluster
        self.rules = Rules.of(cluster.version)
        self.count = len(cluster.nodes)
        self.places = {node.name: place for place, node in enumerate(cluster.nodes)}
        self.sets = Sets(self.count)
        self.resources = Resources(cluster)
        self.settings = settings = cluster.settings or Settings()
        selection = " ".join((*settings.selection_parameters, *(one.selection.upper() for one in cluster.partitions)))
        if memory_counts is None:
            # if the configuration is not published, nodes reveal it: they show allocated memory only if memory is a
            # consumable resource (cons_tres, job_res_add_job)
            seen = settings.selection is None and any(node.memory_allocated for node in cluster.nodes)
            memory_counts = seen or "MEMORY" in selection
        self.with_memory = memory_counts
        self.limited = {
            one.name: at for at, one in enumerate(one for one in cluster.partitions if one.most_cpus is not None)
        }
        self.needs = Needs(cluster, self.rules, self.resources, self.limited, with_memory=self.with_memory)
        self.partitions = {one.name: one for one in cluster.partitions}
        self._of_names: dict[tuple[str, ...], NDArray[np.bool_]] = {}
        self._features: dict[str, tuple[int, int]] = {}
        self.options: list[int] = []
        self._numbers: dict[str, dict[object, int]] = {}
        self.unclear: list[str] = []
        now = cluster.now
        shown = {name for one in cluster.reservations if one.start <= now < one.end for name in one.nodes}
        shown |= {name for one in cluster.reservations if one.floats for name in one.nodes}  # RESERVED, but not held
        # a reserved node is usable only if its reservation is shown, with the time at which it ends
        self.usable = np.array(
            [node.usable and node.cpus > 0 and (not node.reserved or node.name in shown) for node in cluster.nodes],
            np.bool_,
        )

    def of_names(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Return the set of the existing nodes with these names."""
        key = tuple(names)
        if key not in self._of_names:
            found = np.zeros(self.count, np.bool_)
            places = [self.places[name] for name in key if name in self.places]
            found[places] = True
            self._of_names[key] = found
        return self._of_names[key]

    def numbers(self, kind: str, keys: Iterable[object]) -> NDArray[np.int64]:
        """Return a number for each key of a kind; equal keys get the same number in all calls."""
        known = self._numbers.setdefault(kind, {})
        return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)

    def numbered(self, kind: str) -> list[Any]:
        """Return the keys of a kind by number."""
        return list(self._numbers.get(kind, ()))

    def sharing(self, jobs: Sequence[tuple[Job, Partition | None]]) -> NDArray[np.int64]:
        """Return with whom each job shares nodes (`gas.slurm.owners`)."""
        choosy = np.array([is_single_user(job, one) for job, one in jobs], np.bool_)
        return 2 * self.numbers("user", (job.user for job, _ in jobs)) + choosy

    def machine(self) -> Machine:
        """Return the resources of the nodes."""
        nodes = self.cluster.nodes
        gres = np.zeros((self.count, len(self.resources)), np.int64)
        for place, node in enumerate(nodes):
            self.resources.put(gres[place], node.gres)
        return Machine(
            np.array([max(node.cpus, 0) for node in nodes], np.int64),
            np.array([BOUNDLESS if node.memory is None else node.memory for node in nodes], np.int64),
            gres,
            np.array([node.weight + OFF * node.powered_down for node in nodes], np.int64),
            np.array([node.core_cpus for node in nodes], np.int64),
            np.array([max(node.sockets, 1) for node in nodes], np.int64),
            np.array([name == "gpu" for name, _ in self.resources.columns] or [False], np.bool_),
            self.resources.type_of(),
            np.zeros(0 if self.rules.fresh_weights else self.count, np.int64),
            tree_of(self.cluster.switches or (), self.places, by_cpus=self.rules.switch_cpus),
        )

    # -- what runs

    def running(
        self, machine: Machine, jobs: Sequence[Job], unseen_until: int | None, room: int
    ) -> tuple[Running, Use, NDArray[np.int64]]:
        """Return the running jobs with space for more, what they hold, and by node the CPUs held by hidden jobs."""
        now, columns = self.cluster.now, len(self.resources)
        ends: list[int] = []
        firsts: list[int] = []
        counts: list[int] = []
        alone: list[int] = []
        who: list[tuple[Job, Partition | None]] = []
        shares: list[tuple[int, int, int, int]] = []  # node, CPUs, MB, limit
        gres: list[tuple[int, tuple[Gres, ...]]] = []
        for job in jobs:
            ends.append(end_of(job, now))
            firsts.append(len(shares))
            partition = self.partitions.get(job.partitions[0]) if job.partitions else None
            idle = job.state == "SUSPENDED" and "SUSPEND" not in self.settings.preempt_mode
            whole = not idle and (job.exclusive or (partition is not None and partition.whole_nodes))
            alone.append(int(whole))
            who.append((job, partition))
            limited = -1 if partition is None else self.limited.get(partition.name, -1)
            for name in job.nodes:
                place = self.places.get(name)
                if place is None:
                    continue
                known = None if job.cpus_on is None or whole else job.cpus_on.get(name)
                core = int(machine.core[place])
                cpus = int(machine.cpus[place]) if known is None else -(-known // core) * core
                memory = self._memory_on(job, name, cpus) if self.with_memory else 0
                cpus = 0 if idle else cpus
                found = job.gres_per_node if job.gres_on is None else job.gres_on.get(name, ())
                if found:
                    gres.append((len(shares), found))
                shares.append((place, cpus, memory, limited))
            counts.append(len(shares) - firsts[-1])
        unseen = np.zeros(self.count, np.int64)
        if unseen_until is not None:
            seen = np.zeros(self.count, np.int64)
            for place, cpus, _, _ in shares:
                seen[place] += cpus
            for place, node in enumerate(self.cluster.nodes):
                missing = (node.allocated or 0) - int(seen[place])
                if missing > 0 and self.usable[place]:
                    unseen[place] = missing
                    memory = (node.memory_allocated or 0) if self.with_memory else 0
                    ends.append(unseen_until)
                    firsts.append(len(shares))
                    counts.append(1)
                    alone.append(0)
                    if node.gres_used:
                        gres.append((len(shares), node.gres_used))
                    shares.append((place, missing, memory, -1))
        jobs_in_all, shares_in_all = len(ends), len(shares)
        spare = room * min(self.count, 64)
        running = Running(
            np.zeros(jobs_in_all + room, np.int64), padded(ends, room), np.zeros(jobs_in_all + room, np.int64),
            padded(alone, room), padded(self.sharing(who).tolist() + [2 * UNSHOWN] * (jobs_in_all - len(who)), room),
            padded(firsts, room), padded(counts, room), padded([one[0] for one in shares], spare),
            padded([one[1] for one in shares], spare), padded([one[2] for one in shares], spare),
            np.zeros((shares_in_all + spare, columns), np.int64), padded([one[3] for one in shares], spare),
            np.array([jobs_in_all, shares_in_all], np.int64),
        )  # fmt: skip
        for share, found in gres:
            self.resources.put(running.gres[share], found)
        running.order[:jobs_in_all] = np.argsort(running.end[:jobs_in_all], kind="stable")
        use = Use(
            np.zeros(self.count, np.int64), np.zeros(self.count, np.int64), np.zeros(self.count, np.int64),
            np.zeros(self.count, np.int64),
            np.zeros((self.count, columns), np.int64), np.zeros((max(len(self.limited), 1), self.count), np.int64),
        )  # fmt: skip
        for at in range(jobs_in_all):
            add(use, running, at, 1)
        return running, use, unseen

    def _memory_on(self, job: Job, name: str, cpus: int) -> int:
        if job.memory_on is not None and name in job.memory_on:
            return job.memory_on[name]
        if job.memory_per_node:
            return job.memory_per_node
        return (job.memory_per_cpu or 0) * cpus

    # -- what waits

    def features(self, constraint: str) -> tuple[int, int]:
        """Return the position of a constraint's sets in `options`, and their number."""
        if constraint not in self._features:
            everywhere = np.ones(self.count, np.bool_)
            found = allowed(constraint, self._with_feature, everywhere, all_options=self.rules.all_options)
            if not found.clear:
                self.unclear.append(f"the constraint {constraint!r}")
            self._features[constraint] = (len(self.options), len(found.options))
            self.options += [self.sets.add(one) for one in found.options]
        return self._features[constraint]

    def _with_feature(self, feature: str) -> NDArray[np.bool_]:
        return np.array([feature in node.features for node in self.cluster.nodes], np.bool_)


def padded(values: list[int], room: int) -> NDArray[np.int64]:
    found = np.zeros(len(values) + room, np.int64)
    found[: len(values)] = values
    return found


def numbers_of(keys: Iterable[object]) -> NDArray[np.int64]:
    """Return a number for each key; equal keys get the same number."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
