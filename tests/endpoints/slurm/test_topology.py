"""The switches that Slurm prints, and those of topology.conf."""

import pytest

from gas.endpoints.slurm.conf_file import read_file
from gas.endpoints.slurm.topology import chosen_by_switches, read_switches
from gas.errors import Unreachable
from gas.slurm.cluster import Switch

PRINTED = """\
SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[01-02]
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n03
SwitchName=root Level=1 LinkSpeed=1 Nodes=n[01-03] Switches=leaf[0-1]

"""

WRITTEN = """\
# two leaves
switchname=leaf0 nodes=n[01-02]  # of the old rack
SwitchName=leaf1 Nodes=n03

SwitchName=root \\
    Switches=leaf0,leaf1
"""

FOUND = (
    Switch("leaf0", ("n01", "n02")), Switch("leaf1", ("n03",)), Switch("root", switches=("leaf0", "leaf1")),
)  # fmt: skip


@pytest.mark.parametrize("text", [PRINTED, WRITTEN], ids=["scontrol", "topology.conf"])
def test_switches_are_read_with_their_nodes_or_what_is_below(text):
    assert read_switches(text) == FOUND


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no switches"),
        ("slurm_load_topo: error", "line 1: .* names no switch"),
        ("SwitchName=a Nodes=n[1-", "line 1: the node list"),
    ],
)
def test_what_is_no_topology_is_named_with_its_line(text, says):
    with pytest.raises(Unreachable, match=says):
        read_switches(text)


def test_topology_conf_beside_slurm_conf_is_read(tmp_path):
    (tmp_path / "slurm.conf").write_text("ClusterName=c\nTopologyPlugin=topology/tree\n")
    assert read_file(tmp_path / "slurm.conf").topology == ""
    (tmp_path / "topology.conf").write_text(WRITTEN)
    stated = read_file(tmp_path / "slurm.conf")
    assert read_switches(stated.topology) == FOUND
    assert chosen_by_switches(stated.config("24.11.5"))


@pytest.mark.parametrize(
    ("plugin", "parameters", "chosen"),
    [
        ("topology/tree", "(null)", True), ("topology/tree", "RouteTree,TopoMaxSizeUnroll=2", True),
        ("topology/tree", "Dragonfly", False), ("topology/tree", "TopoOptional", False),
        ("topology/tree", "SwitchAsNodeRank", False), ("topology/block", "(null)", False),
        ("topology/none", "(null)", False), ("topology/flat", "", False), ("(null)", "(null)", False),
    ],
)  # fmt: skip
def test_only_a_tree_is_followed_and_not_in_each_way_of_use(plugin, parameters, chosen):
    assert chosen_by_switches({"TopologyPlugin": plugin, "TopologyParam": parameters}) is chosen
