"""What is planned by nodes later than counts allow comes sooner by as much as jobs end early."""

import numpy as np
import pytest

from gas.errors import BadInput
from gas.prediction.forecast import forecast
from gas.prediction.past import Past
from gas.prediction.shortfall import shortfall, used_ahead
from gas.prediction.snapshot import UNPLANNED, Snapshot

HOUR = 3600
NOW = 1_731_000_000


def past_of(share, count=50):
    """Return a past in which everybody used about this share of an hour."""
    one = np.ones(count, np.int64)
    submit = NOW - 90 * 86_400 + np.arange(count)
    run_time = (np.linspace(0.5, 1.5, count) * share * HOUR).astype(np.int64)
    return Past(submit, one, HOUR * one, run_time, submit + run_time, 0 * one)


def queue(*waiting):
    """Return a machine of 10: four are used for two hours since an hour ago, others wait: (processors, start)."""
    jobs = [(4, NOW - HOUR), *waiting]
    processors, start = np.array(jobs, np.int64).T
    count = len(jobs)
    walltime = np.full(count, 2 * HOUR)
    return Snapshot(NOW, 10, processors, walltime, start, np.arange(count) == 0, np.zeros(count, np.int64))


def run_times(*rows):
    return np.array(rows, np.int64)


def test_the_share_is_of_the_work_that_is_left_before_an_instant():
    snapshot = queue((8, NOW + HOUR), (2, NOW + 9 * HOUR), (1, UNPLANNED))
    # four processors for an hour more and eight for two: 20 processor hours are planned before that of NOW + 3 hours
    drawn = run_times([HOUR, 0, 0, 0], [2 * HOUR, 2 * HOUR, 0, 0], [1.5 * HOUR, HOUR, 0, 0])
    assert used_ahead(snapshot, drawn, NOW + 3 * HOUR).tolist() == [0, 1, 0.5]
    assert used_ahead(snapshot, drawn, NOW + HOUR).tolist() == [0, 1, 0.5]  # of who runs alone
    assert used_ahead(snapshot, drawn, NOW - 2 * HOUR).tolist() == [1, 1, 1]  # nobody is ahead


def test_where_counts_and_the_plan_agree_nothing_is_added():
    drawn = run_times([HOUR], [2 * HOUR])
    latest = np.array([NOW, NOW + HOUR, NOW + HOUR])
    assert not shortfall(queue(), drawn, latest, latest).any()
    assert not shortfall(queue(), drawn, latest, latest - 5).any()


def test_each_candidate_is_later_by_the_share_of_what_it_lacks():
    drawn = run_times([1.5 * HOUR], [2 * HOUR])
    latest, planned = np.array([NOW, NOW + HOUR]), np.array([NOW + 1000, NOW + HOUR])
    assert shortfall(queue(), drawn, latest, planned).tolist() == [[500, 0], [1000, 0]]


def test_a_forecast_reaches_the_plan_if_everybody_uses_up_their_walltimes_and_is_never_later():
    snapshot = queue((10, NOW + HOUR))
    asked = [2, 10], [HOUR, HOUR], [1000, 1000]
    planned = [NOW + 3 * HOUR, NOW + 3 * HOUR]
    late = forecast(snapshot, past_of(2.5, 500), *asked, planned=planned, samples=100)
    assert late.latest.tolist() == planned  # by counts the small one starts now
    assert (late.starts == planned).mean() > 0.9
    early = forecast(snapshot, past_of(0.6), *asked, planned=planned, samples=100)
    assert (early.starts <= planned).all()
    assert (early.starts[:, 0] > NOW).all()
    assert (early.starts[:, 0] < NOW + 2.9 * HOUR).mean() > 0.5


def test_without_a_plan_counts_alone_decide():
    snapshot = queue((10, NOW + HOUR))
    found = forecast(snapshot, past_of(0.6), [2], [HOUR], [1000], samples=20)
    assert (found.starts == NOW).all()
    same = forecast(snapshot, past_of(0.6), [2], [HOUR], [1000], planned=[NOW], samples=20)
    assert (same.starts == found.starts).all()


@pytest.mark.parametrize("planned", [[NOW], [NOW, NOW, NOW]])
def test_a_plan_is_of_each_candidate(planned):
    with pytest.raises(BadInput, match="give one of each for every candidate"):
        forecast(queue(), past_of(0.6), [2, 3], [60, 60], [50, 50], planned=planned)
