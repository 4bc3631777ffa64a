"""Long made-up queues of many kinds: running and waiting jobs, their real run times, and later submissions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from made_clusters import MIDDLE, NOW

from gas.slurm.cluster import Cluster, Gres, Job, Node, Partition, Reservation, Scheduling, Tasks

__all__ = ["KINDS", "LongQueue", "long_queue"]

HOUR, DAY = 3600, 86_400
USERS = 30

KINDS = ("shared", "memory", "gpus", "partitions", "tiers", "arrays", "reservation", "features", "arrivals")
"""What a queue may contain besides whole nodes of one partition: any number of these together."""


@dataclass(frozen=True)
class LongQueue:
    """A queue.

    Attributes
    ----------
    seconds
        By number, how long each job takes; for an array, each of its tasks.
    later
        Jobs that are submitted later, and when.
    """

    cluster: Cluster
    seconds: dict[int, int | list[int]]
    later: tuple[tuple[int, Job], ...]


def _drawn(random: np.random.Generator, kinds: frozenset[str], number: int, most: int, cpus: int) -> dict[str, object]:
    """Return what a job requests: a power of two of nodes, or CPUs where nodes are shared."""
    limit = 60 * int(np.exp(random.uniform(np.log(10), np.log(24 * 60))))
    size = 2 ** int(random.integers(0, max(int(np.log2(most)) - 2, 2)))
    fields: dict[str, object] = {"time_limit": limit, "user": f"u{int(random.integers(USERS))}"}
    if "shared" in kinds and random.random() < 0.7:
        tasks = int(min(2 ** random.integers(0, 8), size * cpus))
        fields |= {"cpus": tasks, "tasks_asked": tasks}
        if "memory" in kinds:
            fields["memory_per_cpu"] = int(random.choice([1000, 2000, 6000]))
        if "gpus" in kinds and random.random() < 0.3 and tasks <= 4:
            fields["gres_per_node"] = (Gres("gpu", "", int(random.integers(1, 5))),)
    else:
        fields |= {"cpus": size * cpus, "tasks_asked": size * cpus, "least_nodes": size, "most_nodes": size,
                   "exclusive": True}  # fmt: skip
        if "gpus" in kinds and random.random() < 0.2 and size <= 8:
            fields["gres_per_node"] = (Gres("gpu", "", 4),)
    if "features" in kinds and random.random() < 0.3 and size <= most // 4:
        fields["features"] = str(random.choice(["fast", "slow|fast"]))
    names = ("main",)
    if kinds & {"partitions", "tiers"}:
        names = (("main",), ("debug",), ("main", "debug"))[int(random.choice(3, p=[0.6, 0.2, 0.2]))]
        if size > most // 8:
            names = ("main",)
    fields["partitions"] = names
    return fields


def long_queue(
    kinds: str = "", *, seed: int = 1, nodes: int = 1000, waiting: int = 2000, cpus: int = 64, version: str = MIDDLE
) -> LongQueue:
    """Return a busy machine with a queue of some of `KINDS`, separated by commas."""
    random, there = np.random.default_rng(seed), frozenset(kinds.split(",")) - {""}
    names = tuple(f"n{number}" for number in range(nodes))
    features = [frozenset({"fast"} if number < nodes // 3 else {"slow"}) for number in range(nodes)]
    made = [
        Node(
            name, cpus, memory=4000 * cpus, features=features[at] if "features" in there else frozenset(),
            gres=(Gres("gpu", "", 4),) if "gpus" in there and at >= 3 * nodes // 4 else (),
            weight=2 if "gpus" in there and at >= 3 * nodes // 4 else 1,
        )
        for at, name in enumerate(names)
    ]  # fmt: skip
    partitions = [Partition("main", names)]
    if there & {"partitions", "tiers"}:
        partitions.append(Partition("debug", names[: nodes // 4], tier=2 if "tiers" in there else 1))
    jobs: list[Job] = []
    seconds: dict[int, int | list[int]] = {}
    left = list(range(nodes))
    for number in range(1, 4 * nodes):
        fields = _drawn(random, there, number, nodes, cpus)
        size = int(fields.get("least_nodes", 1))  # type: ignore[call-overload]
        if "cpus" in fields and not fields.get("exclusive"):
            size = -(-int(fields["cpus"]) // cpus)  # type: ignore[call-overload]
        if (
            size > len(left)
            or fields["partitions"] == ("debug",)
            or fields.get("features")
            or "gres_per_node" in fields
        ):
            if len(left) < 4:
                break
            continue
        own, left = left[:size], left[size:]
        limit = int(fields["time_limit"])  # type: ignore[call-overload]
        gone = int(limit * random.random())
        held = {names[at]: cpus for at in own}
        jobs.append(Job(
            id=number, name=f"j{number % 50}", state="RUNNING", priority=1, start=NOW - gone, end=NOW - gone + limit,
            nodes=tuple(names[at] for at in own), cpus_on=held, submitted=NOW - gone - HOUR,
            **(fields | {"cpus": cpus * size, "partitions": ("main",)}),
        ))  # fmt: skip
        seconds[number] = int(gone + 1 + (limit - gone) * random.random())
        if not left:
            break
    first = 4 * nodes
    later: list[tuple[int, Job]] = []
    for number in range(first, first + waiting):
        fields = _drawn(random, there, number, nodes, cpus)
        limit = int(fields["time_limit"])  # type: ignore[call-overload]
        came = NOW - int(random.integers(0, 3 * DAY))
        one = Job(
            id=number, name=f"j{number % 50}", state="PENDING", priority=10_000 + int(random.integers(10_000)),
            submitted=came, eligible=came, **fields,  # type: ignore[arg-type]
        )  # fmt: skip
        took = int(limit * random.random()) + 1
        if "arrays" in there and not one.exclusive and len(one.partitions) == 1 and random.random() < 0.2:
            tasks = int(random.integers(2, 30))
            one = replace(one, array=number, tasks=Tasks((range(tasks),)))
            seconds[number] = [int(limit * random.random()) + 1 for _ in range(tasks)]
        else:
            seconds[number] = took
        if "arrivals" in there and one.tasks is None and random.random() < 0.5:
            at = NOW + int(random.integers(1, 2 * DAY))
            later.append((at, replace(one, submitted=at, eligible=None)))
        else:
            jobs.append(one)
    reservations: tuple[Reservation, ...] = ()
    if "reservation" in there:
        reservations = (
            Reservation("maintenance", NOW + 6 * HOUR, NOW + 10 * HOUR, names, ("MAINT",)),
            Reservation("course", NOW + 20 * HOUR, NOW + 30 * HOUR, names[: nodes // 5]),
        )
    later.sort(key=lambda one: (one[0], one[1].id))
    return LongQueue(
        Cluster(
            name="made", now=NOW, version=version, jobs=tuple(jobs), nodes=tuple(made), reservations=reservations,
            partitions=tuple(partitions), others_visible=True, scheduling=Scheduling(),
        ),
        seconds, tuple(later),
    )  # fmt: skip
