"""Clusters drawn from a model, and the outcomes of applications that choose among them."""

import numpy as np
import pytest

from experiments.clusters.run import DAYS, PERCENT, PROCESSORS, cluster, clusters_run


def ran(first, count, strategy="choose", seed=0):
    return clusters_run({"seed": seed, "first": first, "count": count, "strategy": strategy}, files={})


@pytest.mark.parametrize("number", [0, 1, 7])
def test_a_cluster_has_the_jobs_of_whole_days_from_its_first_one_on(number):
    jobs = cluster(0, number)
    assert jobs.machine in PROCESSORS
    assert jobs.submit[0] == 0
    assert DAYS * 86_400 * 0.5 < jobs.submit[-1] < DAYS * 86_400
    assert (jobs.estimate >= jobs.run_time).all()
    assert not np.array_equal(jobs.submit[:20], cluster(1, number).submit[:20])


def test_one_cluster_alone_is_ones_own():
    static, gas = ran(0, 1, "choose-static"), ran(0, 1)
    assert static["away"] == gas["away"] == 0
    assert static["turnaround"] == ran(0, 1, "home-static")["turnaround"]
    assert gas == ran(0, 1, "home")


def test_groups_hold_the_same_applications_and_jobs_whatever_their_size():
    together, alone = ran(2, 3), [ran(first, 1) for first in (2, 3, 4)]
    for name in ("applications", "rigid"):
        assert together[name] == sum(one[name] for one in alone)
    assert together["applications"] == sum(len(cluster(0, i)) * PERCENT // 100 for i in (2, 3, 4))
    assert together["turnaround"] < sum(one["turnaround"] for one in alone)
    assert 0 < together["away"] <= together["applications"]
