"""Clusters made up for the tests of Slurm's scheduling, and what is found of them, counted from now."""

from __future__ import annotations

from dataclasses import replace

from gas.slurm.cluster import Cluster, Gres, Job, Node, Partition
from gas.slurm.forecast import Forecast, forecast

NOW = 1_800_000_000  # a multiple of 60
OLD, MIDDLE, NEW = "22.05.8", "24.11.5", "26.05.3"


def job(id=0, cpus=4, minutes=10, **fields):
    """Return a waiting job; those of a low number come first."""
    standard = {
        "name": "j", "user": "u", "state": "PENDING", "partitions": ("p",), "priority": 1000 - id if id else 0,
        "time_limit": 60 * minutes, "tasks_asked": cpus // fields.get("cpus_per_task", 1),
    }  # fmt: skip
    return Job(id=id, cpus=cpus, **(standard | fields))


def running(id, *nodes, end, **fields):
    return job(id, start=NOW - 60, end=NOW + end, nodes=nodes, **({"priority": 1, "state": "RUNNING"} | fields))


def cluster(*jobs, nodes=2, cpus=4, version=MIDDLE, **fields):
    names = tuple(f"n{n}" for n in range(nodes))
    standard = {
        "nodes": tuple(Node(name, cpus, partitions=("p",)) for name in names),
        "reservations": (), "partitions": (Partition("p", names),), "others_visible": True,
    }  # fmt: skip
    return Cluster(name="made", now=NOW, version=version, jobs=jobs, **(standard | fields))


def plans(made, **options):
    """Return id, start and places of all plans of the next cycle, made anew, in the order in which they are made."""
    found = forecast(made, **({"pinned": False, "beyond": False} | options))
    return listed(found)


def listed(found: Forecast):
    return [(one.job.id, one.start - NOW, one.places.tolist()) for one in found.plans]


def planned(made, probe, **options):
    """Return start and nodes that a job will be planned for, None if it will have no plan."""
    (one,) = forecast(made, [probe], **options).outlooks
    return None if one.planned is None else (one.planned - NOW, [int(name[1:]) for name in one.nodes])


def outlook(made, probe, **options):
    (one,) = forecast(made, [probe], **options).outlooks
    return one


def with_nodes(made, **columns):
    """Return a cluster whose nodes have other attributes: a list of each."""
    nodes = list(made.nodes)
    for key, values in columns.items():
        nodes = [replace(node, **{key: value}) for node, value in zip(nodes, values, strict=True)]
    return replace(made, nodes=tuple(nodes))


def places(made, **fields):
    """Return the nodes on which a job would start now, None if it would not."""
    found = planned(made, job(**fields))
    return None if found is None or found[0] else found[1]


A100, V100 = Gres("gpu", "a100", 4), Gres("gpu", "v100", 2)


def machine_with_gpus(*jobs, version=MIDDLE):
    """Return two nodes with four GPUs of one type, two with two of another, and two without."""
    gres = [(A100,), (A100,), (V100,), (V100,), (), ()]
    return with_nodes(cluster(*jobs, nodes=6, version=version), gres=gres)
