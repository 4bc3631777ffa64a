"""Nodes that Slurm prefers for a job, as others have them who count for the same limit on nodes."""

from dataclasses import replace

import pytest
from made_clusters import job
from slurm_standing import NOW, a_cluster, an_accounting, running
from slurm_standing import job as asked

from gas.slurm.accounting import Bounds
from gas.slurm.at_start import outlooks_at_start
from gas.slurm.forward import run_forward
from gas.slurm.held_back import limits_in

GROUP, USER = Bounds(group_tres={"node": 3.0}), Bounds(user_tres={"node": 3.0})
MINE, OTHER = {"user": "me"}, {"user": "other"}
JOBS = ((2, OTHER), (3, MINE), (2, MINE))
"""The first leaves two CPUs of n1, the second one of n2."""


def nodes(made, *asked):
    """Return the nodes of jobs that start now, by their CPUs and by who submits them, the first one first."""
    own = {"account": "lab", "qos": "normal", "partitions": ("main",), "submitted": NOW}
    jobs = tuple(job(at, cpus, priority=99 - at, **own | more) for at, (cpus, more) in enumerate(asked, 1))
    return [one.nodes for one in run_forward(replace(made, jobs=jobs), {}, until=NOW).starts]


def test_without_a_limit_on_nodes_the_tightest_fit_is_taken():
    assert nodes(a_cluster(an_accounting()), *JOBS)[2] == ("n1",)
    assert nodes(a_cluster(an_accounting(mine=Bounds(group_tres={"cpu": 30.0}))), *JOBS)[2] == ("n1",)


@pytest.mark.parametrize("limits", [{"mine": GROUP}, {"normal": USER}])
def test_with_one_the_nodes_of_those_who_count_for_it_come_first_even_if_that_takes_more_of_them(limits):
    """As seen on 22.05 and 26.05."""
    assert nodes(a_cluster(an_accounting(**limits)), *JOBS)[2] == ("n1", "n2")


@pytest.mark.parametrize("limits", [{"lab": GROUP}, {"normal": GROUP}])
def test_where_the_other_counts_too_its_node_comes_first(limits):
    assert nodes(a_cluster(an_accounting(**limits)), *JOBS)[1:] == [("n1", "n2"), ("n2",)]


def test_a_job_at_such_a_limit_starts_on_a_node_that_is_in_use_already():
    """As seen on 26.05 with MaxTRESPU=node=3: it had waited for ever, as a tighter node is one too many."""
    limited = a_cluster(an_accounting(mine=Bounds(group_tres={"node": 1.0})))
    assert nodes(limited, (1, MINE), (2, OTHER | {"required_nodes": ("n2",)}), (2, MINE)) == [("n1",), ("n2",), ("n1",)]


def test_only_among_nodes_that_are_alike():
    """As seen on 22.05, 24.11 and 26.05: nodes of another kind come as early as those that are preferred."""
    made = a_cluster(an_accounting(mine=GROUP))
    kinds = tuple(replace(node, features=frozenset({"old" if at < 5 else "new"})) for at, node in enumerate(made.nodes))
    assert nodes(replace(made, nodes=kinds), *JOBS)[2] == ("n6",)


def test_the_backfill_scheduler_prefers_them_too():
    """The one before it waits, and closes the partition for the main scheduler."""
    made = a_cluster(an_accounting(mine=GROUP))
    assert nodes(made, (2, OTHER), (3, MINE), (40, OTHER), (2, MINE | {"time_limit": 300}))[2] == ("n1", "n2")


def test_the_backfill_scheduler_prefers_nodes_of_a_job_that_it_has_started_in_the_same_cycle():
    """The second one waits, and closes the partition for the main scheduler."""
    mine = MINE | {"time_limit": 300}
    asked = (2, OTHER), (40, OTHER), (2, mine | {"required_nodes": ("n3",)}), (2, mine)
    assert nodes(a_cluster(an_accounting()), *asked) == [("n1",), ("n3",), ("n1",)]
    assert nodes(a_cluster(an_accounting(mine=GROUP)), *asked) == [("n1",), ("n3",), ("n3",)]


@pytest.mark.parametrize(("bounds", "expected"), [(Bounds(group_tres={"node": 1.0}), "n1"), (Bounds(), "n2")])
def test_what_is_asked_before_submission_prefers_them_too(bounds, expected):
    """A node of mine has three CPUs free and another's two: the tighter one would be one node too many."""
    made = a_cluster(an_accounting(mine=bounds), jobs=[
        running(1, 1, 600, cpus_on={"n1": 1}),
        running(2, 2, 600, user="other", nodes=("n2",), cpus_on={"n2": 2}),
    ])  # fmt: skip
    (found,) = outlooks_at_start(made, [asked(2, tasks_asked=2)], apply_limits=limits_in(made))
    assert (found.planned, found.nodes) == (NOW, (expected,))
