"""A configuration that a Slurm writes of itself can be read, and names what takes jobs."""

import tomllib
from dataclasses import replace

import pytest

from documents.fields import Fields
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.generation import configuration_of
from gas.errors import Infeasible
from gas.slurm.cluster import Gres


def test_every_partition_that_takes_jobs_has_a_table(cluster, tmp_path):
    path = tmp_path / "some where.conf"
    path.touch()
    text = configuration_of(cluster, {"slurm_conf": str(path)})
    tables = tomllib.loads(text)["endpoints"]
    assert list(tables) == ["gastest-main", "gastest-debug"]
    assert tables["gastest-main"] == {
        "type": "slurm", "slurm_conf": str(path), "partition": "main", "unit": "cpus",
    }  # fmt: skip
    assert "15 of 16 nodes usable, 120 CPUs" in text
    for name, table in tables.items():
        endpoint = SlurmEndpoint.configured(name, Fields({k: v for k, v in table.items() if k != "type"}, name))
        assert endpoint.partition == table["partition"]


def test_the_gpus_of_a_partition_are_named_by_type(cluster):
    """Its CPUs alone do not tell where a training run can go."""
    first, second, *others = cluster.nodes
    nodes = [replace(first, gres=(Gres("gpu", "a100", 4), Gres("shard", "", 8))), replace(second, gres=(Gres("gpu"),))]
    text = configuration_of(replace(cluster, nodes=(*nodes, *others)), {})
    assert "15 of 16 nodes usable, 120 CPUs, 1 GPU, 4 a100 GPUs, at most" in text


def test_where_all_nodes_have_gpus_sizes_count_gpus(cluster):
    """Except in the default partition, which also gets jobs that request none."""
    nodes = tuple(replace(node, gres=(Gres("gpu", "a100", 4),)) for node in cluster.nodes)
    tables = tomllib.loads(configuration_of(replace(cluster, nodes=nodes), {}))["endpoints"]
    assert {name: table["unit"] for name, table in tables.items()} == {"gastest-main": "cpus", "gastest-debug": "gpus"}


def test_where_jobs_share_no_nodes_the_unit_is_nodes_and_closed_partitions_are_left_out(cluster):
    main, debug = cluster.partitions
    whole = replace(cluster, partitions=(replace(main, state="DRAIN"), replace(debug, whole_nodes=True)))
    [table] = tomllib.loads(configuration_of(whole, {}))["endpoints"].values()
    assert (table["partition"], table["unit"]) == ("debug", "nodes")


def test_names_with_odd_characters_become_names_of_tables(cluster):
    odd = replace(cluster, name="my cluster", partitions=(replace(cluster.partitions[0], name='a"b/ç\\'),))
    [(name, table)] = tomllib.loads(configuration_of(odd, {}))["endpoints"].items()
    assert (name, table["partition"]) == ("my-cluster-a-b", 'a"b/ç\\')


def test_a_slurm_that_takes_no_jobs_has_no_configuration(cluster):
    closed = replace(cluster, partitions=tuple(replace(one, state="DOWN") for one in cluster.partitions))
    with pytest.raises(Infeasible, match="none of its 2 partitions accepts jobs"):
        configuration_of(closed, {})
