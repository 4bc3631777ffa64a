"""Partitions and QOS that are not chosen for a job that does not name them."""

from dataclasses import replace

import pytest
from made_clusters import cluster, with_nodes

from gas.slurm.accounting import Accounting, Qos
from gas.slurm.cluster import Gres, Partition
from gas.slurm.settings import Settings
from gas.slurm.unasked import displaced, only_gpus

WITH = (Gres("gpu", "a100", 2),)
QOS = {"urgent": Qos("urgent", preempts=("normal", "urgent")), "normal": Qos("normal")}


@pytest.mark.parametrize(
    ("gres", "default", "found"),
    [
        ([WITH, WITH], False, True),
        ([WITH, (Gres("shard", count=8),)], False, True),
        ([WITH, ()], False, False),
        ([(Gres("nvme"),), (Gres("nvme"),)], False, False),
        ([WITH, WITH], True, False),  # sbatch itself takes the default one
    ],
)
def test_a_partition_whose_nodes_all_have_gpus_unless_it_is_the_default_one(gres, default, found):
    made = with_nodes(cluster(), gres=gres)
    assert only_gpus(made, Partition("gpu", ("n0", "n1"), default=default)) is found
    assert not only_gpus(made, Partition("empty", ()))


@pytest.mark.parametrize(
    ("settings", "lost"),
    [
        (Settings(preempt_type="qos", preempt_mode=frozenset({"REQUEUE"})), ("normal",)),
        (None, ("normal",)),  # whether it can is not published
        (Settings(preempt_type="qos", preempt_mode=frozenset({"OFF"})), ()),
        (Settings(preempt_type="partition_prio", preempt_mode=frozenset({"REQUEUE"})), ()),
    ],
)
def test_a_qos_takes_the_places_of_others_only_where_slurm_preempts_by_qos(settings, lost):
    made = replace(cluster(), accounting=Accounting("me", qos=QOS), settings=settings)
    assert (displaced(made, "urgent"), displaced(made, "normal"), displaced(made, "unknown")) == (lost, (), ())
    assert displaced(replace(made, accounting=None), "urgent") == ()
