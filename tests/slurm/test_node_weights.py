"""Weights of nodes that jobs with GPUs leave, and what a submission makes of them, on releases before 23.11."""

import pytest
from made_clusters import MIDDLE, OLD, cluster, job, planned, with_nodes

from gas.endpoints.slurm.caveats import caveats
from gas.slurm import node_weights
from gas.slurm.cluster import Gres
from gas.slurm.forecast import forecast
from gas.slurm.node_weights import alike_at_submission, weights_stay, weights_unknown

GPU = (Gres("gpu", "", 1),)


def site(*jobs, version=OLD):
    """Return four free nodes of four CPUs, of which the last two have GPUs."""
    made = cluster(*jobs, nodes=4, version=version)
    return with_nodes(made, gres=[(), (), (Gres("gpu", "", 2),), (Gres("gpu", "", 2),)])


@pytest.mark.parametrize(("version", "place"), [(OLD, 3), (MIDDLE, 2)])
def test_the_submission_of_a_job_with_gpus_moves_jobs_before_it_to_nodes_with_gpus(version, place):
    """Seen on 22.05: of 126 probes at sites with GPUs 123 are planned as with what their own submission leaves."""
    first = job(1, 4)
    made = site(first, version=version)
    asked = job(cpus=4, tasks_asked=1, gres_per_node=GPU)
    with_gpus, without = (planned(made, one)[1] for one in (asked, job(cpus=4)))
    assert with_gpus == [place]  # on 22.05 the first job is on the other
    assert without == [1]


def test_jobs_are_answered_together_that_leave_the_same_weights():
    asked = job(cpus=2, tasks_asked=2, gres_per_task=GPU)
    assert alike_at_submission(job(cpus=1)) == alike_at_submission(job(cpus=9, minutes=50))
    assert alike_at_submission(asked) != alike_at_submission(job(cpus=2))
    together = [asked, job(cpus=4), job(cpus=1)]
    made = site(job(1, 4))
    found = forecast(made, together).outlooks
    assert [one.nodes for one in found] == [forecast(made, [one]).outlooks[0].nodes for one in together]


def test_weights_stay_only_before_23_11_and_where_jobs_ask_for_gpus():
    asked = job(cpus=4, tasks_asked=1, gres_per_node=GPU)
    assert weights_stay(site(), [asked])
    assert weights_stay(site(job(1, 4, gres_per_node=GPU)), [job()])
    assert not weights_stay(site(job(1, 4)), [job()])
    assert not weights_stay(site(version=MIDDLE), [asked])
    assert not weights_stay(cluster(nodes=4, version=OLD), [asked])


def test_at_a_site_that_is_too_large_for_it_published_plans_are_believed_and_that_is_said(monkeypatch):
    asked = job(1, 4, gres_per_node=GPU)
    assert not weights_unknown(site(asked))
    monkeypatch.setattr(node_weights, "MOST", 3)
    assert not weights_stay(site(asked), [job()])
    assert weights_unknown(site(asked))
    assert not weights_unknown(site(asked, version=MIDDLE))
    assert not weights_unknown(site(job(1, 4)))
    (said,) = caveats(site(asked), site(asked).partitions[0])
    assert "Gas relies on the published plans" in said
