"""What stands in for nodes and partitions that a site hides from its users."""

import pytest
from slurm_answers import recorded

from gas.endpoints.slurm import json_answers
from gas.endpoints.slurm.command_line import read_cluster
from gas.endpoints.slurm.stand_ins import HIDDEN_NODES, HIDDEN_PARTITIONS, nodes_of, partitions_of, shown_or_stand_ins
from gas.errors import Forbidden, Unreachable
from gas.slurm.cluster import Gres, Node, Partition

REFUSED = "slurm_load_node error: Access/permission denied"
AB = Partition("ab", ("a", "b"), tres={"cpu": 16, "mem": 8000, "gres/gpu": 8, "gres/gpu:a100": 8})
ALL = Partition("all", ("a", "b", "c"), tres={"cpu": 20, "mem": 9000, "gres/gpu": 3})


def test_nodes_have_an_equal_share_of_their_smallest_partition():
    a, b, c = nodes_of([ALL, AB])
    assert (a.name, a.cpus, a.memory, a.gres, a.partitions) == ("a", 8, 4000, (Gres("gpu", "a100", 4),), ("all", "ab"))
    assert b == Node("b", 8, partitions=("all", "ab"), memory=4000, gres=(Gres("gpu", "a100", 4),))
    assert (c.cpus, c.memory, c.gres, c.partitions) == (6, 3000, (Gres("gpu", "", 1),), ("all",))


def test_partitions_have_the_nodes_that_name_them():
    nodes = (Node("a", 8, partitions=("all", "ab")), Node("c", 8, partitions=("all",)))
    assert partitions_of(nodes) == (Partition("all", ("a", "c"), state=""), Partition("ab", ("a",), state=""))


def test_what_is_shown_stays_and_what_is_not_is_said():
    nodes = (Node("a", 8, partitions=("ab",)),)
    assert shown_or_stand_ins(nodes, (AB,)) == (nodes, (AB,), ())
    assert shown_or_stand_ins((), (AB,)) == (nodes_of([AB]), (AB,), (HIDDEN_NODES,))
    assert shown_or_stand_ins(nodes, ()) == (nodes, partitions_of(nodes), (HIDDEN_PARTITIONS,))
    with pytest.raises(Forbidden, match="neither nodes nor partitions are shown"):
        shown_or_stand_ins((), ())
    with pytest.raises(Forbidden, match="^partitions are not shown"):
        shown_or_stand_ins((Node("a", 8),), ())


def test_by_commands_a_plan_is_made_of_what_is_left():
    said = recorded("v24.11-gpus")
    said["config"] = said["config"].replace("= none", "= nodes,reservations")
    del said["nodes"]
    found = read_cluster(said, name="x", mark="mark", failed={"nodes": REFUSED})
    assert len(found.nodes) == 8
    assert {node.name: node.cpus for node in found.nodes}["n01"] == 8
    assert HIDDEN_NODES in found.cautions
    assert any("reservations are hidden here" in caution for caution in found.cautions)


def test_by_rest_a_plan_is_made_of_what_is_left():
    answers = recorded("v0.0.42-gpus")
    whole = json_answers.read_cluster(answers, name="x")
    nodes = answers.pop("nodes")
    found = json_answers.read_cluster(answers, name="x", failed={"nodes": REFUSED})
    assert {node.name for node in found.nodes} == {node.name for node in whole.nodes}
    assert set(found.cautions) == {*whole.cautions, HIDDEN_NODES}
    del answers["partitions"]
    found = json_answers.read_cluster(answers | {"nodes": nodes}, name="x", failed={"partitions": REFUSED})
    assert found.nodes == whole.nodes
    assert {one.name for one in found.partitions} == {"main", "gpu", "whole"}
    assert HIDDEN_PARTITIONS in found.cautions


def test_an_empty_answer_that_nothing_explains_is_refused():
    said = recorded("v24.11-gpus")
    for kind in ("nodes", "partitions"):
        with pytest.raises(Unreachable, match=f"show {kind}: the answer is empty"):
            read_cluster(said | {kind: ""}, name="x", mark="mark")
