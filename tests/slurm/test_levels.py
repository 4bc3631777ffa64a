"""The QOS, the association and the accounts whose limits hold for a job."""

import pytest
from slurm_standing import MAIN, a_cluster, an_accounting, job

from gas.slurm.accounting import Bounds
from gas.slurm.levels import least_priority, most_nodes

NODES = {"node": 3.0}
MINE = {"account": "lab", "qos": "normal"}


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({}, None),
        ({"normal": Bounds(group_tres={"cpu": 3.0})}, None),
        ({"normal": Bounds(group_tres=NODES)}, 3),
        ({"normal": Bounds(user_tres=NODES)}, 3),
        ({"normal": Bounds(account_tres=NODES)}, 3),
        ({"normal": Bounds(job_tres=NODES, group_tres={"node": 2.0})}, 2),
        ({"high": Bounds(group_tres=NODES)}, None),
        ({"mine": Bounds(job_tres=NODES)}, 3),
        ({"lab": Bounds(job_tres=NODES)}, None),
        ({"lab": Bounds(group_tres=NODES), "mine": Bounds(group_tres={"node": 4.0})}, 3),
        ({"normal": Bounds(group_tres={"node": 5.0}), "lab": Bounds(group_tres=NODES)}, 5),
    ],
)
def test_nodes_are_chosen_within_what_a_limit_lets_one_job_have(limits, most):
    """An account's limit of one job counts for nobody below; a QOS's precedes those of associations."""
    assert most_nodes(a_cluster(an_accounting(**limits)), job(**MINE), MAIN) == most


def test_limits_that_are_not_enforced_choose_nothing():
    made = a_cluster(an_accounting(normal=Bounds(group_tres=NODES)), enforced=frozenset({"associations"}))
    assert most_nodes(made, job(**MINE), MAIN) is None


@pytest.mark.parametrize(
    ("limits", "least"),
    [
        ({}, None), ({"normal": Bounds(least_priority=40)}, 40), ({"mine": Bounds(least_priority=30)}, 30),
        ({"normal": Bounds(least_priority=0), "mine": Bounds(least_priority=30)}, 0),
    ],
)  # fmt: skip
def test_the_priority_below_which_a_job_gets_no_plan_is_that_of_its_qos_or_of_its_association(limits, least):
    assert least_priority(a_cluster(an_accounting(**limits)), job(**MINE), MAIN) == least
