"""What is planned by nodes later than counts allow comes sooner by as much as jobs end early."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import NOW, past_of
from thorough import examples

from gas.errors import BadInput
from gas.prediction.forecast import forecast
from gas.prediction.shortfall import CHANCE, by_nodes, used_ahead
from gas.prediction.snapshot import UNPLANNED, Snapshot

HOUR = 3600


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


def later(snapshot, drawn, starts, latest, planned, seed=0):
    """Return the starts of candidates that are planned for later than counts allow."""
    instants = (np.array(values, np.int64) for values in (starts, latest, planned))
    return by_nodes(snapshot, drawn, *instants, np.random.default_rng(seed))


def test_where_counts_and_the_plan_agree_nothing_is_changed():
    drawn = run_times([HOUR + 9], [2 * HOUR])
    starts = [[NOW, NOW + 5, NOW + HOUR], [NOW, NOW + HOUR, NOW + HOUR]]
    latest = [NOW, NOW + HOUR, NOW + HOUR]
    assert later(queue(), drawn, starts, latest, latest).tolist() == starts
    assert later(queue(), drawn, starts, latest, np.array(latest) - 5).tolist() == starts


def test_where_walltimes_are_used_up_it_starts_as_planned():
    drawn = run_times(*[[2 * HOUR]] * 50)
    found = later(queue(), drawn, [[NOW]] * 50, [NOW], [NOW + 3 * HOUR])
    assert (found == NOW + 3 * HOUR).all()


def test_each_early_end_is_an_even_chance_and_else_it_is_later_by_the_share_that_is_used():
    """One runs, and ends half an hour before its time is over; there are three hours between counts and plan."""
    drawn = run_times(*[[1.5 * HOUR]] * 4000)
    found = later(queue(), drawn, [[NOW]] * 4000, [NOW], [NOW + 3 * HOUR])
    instants, counts = np.unique(found, return_counts=True)
    assert instants.tolist() == [NOW + 0.5 * HOUR, NOW + 1.5 * HOUR]
    assert counts / 4000 == pytest.approx([CHANCE, 1 - CHANCE], abs=0.03)


def test_that_it_starts_sooner_by_counts_than_if_all_is_used_up_is_a_chance_too():
    drawn = run_times(*[[HOUR + 60]] * 4000)
    found = later(queue(), drawn, [[NOW + 200]] * 4000, [NOW + HOUR], [NOW + 3 * HOUR])
    instants, counts = np.unique(found - NOW, return_counts=True)
    assert instants.tolist() == [200, 200 + 2 * 60]  # its one early end is past by then, and 1/60 of the work is done
    assert counts / 4000 == pytest.approx([CHANCE, 1 - CHANCE], abs=0.03)


def test_the_same_seed_takes_the_same_chances():
    drawn = run_times(*[[1.5 * HOUR]] * 50)
    one, same, other = (
        later(queue(), drawn, [[NOW]] * 50, [NOW], [NOW + 3 * HOUR], seed).tolist() for seed in (1, 1, 2)
    )
    assert one == same != other


@examples(200)
@given(seed=st.integers(0, 10**6), jobs=st.integers(0, 6), candidates=st.integers(1, 4))
def test_it_never_starts_before_it_does_by_counts_nor_after_its_plan(seed, jobs, candidates):
    random = np.random.default_rng(seed)
    snapshot = queue(*((int(random.integers(1, 10)), NOW + int(random.integers(1, 9)) * HOUR) for _ in range(jobs)))
    drawn = np.maximum(random.integers(1, 2 * HOUR, (20, jobs + 1)), snapshot.elapsed + 1)
    latest = NOW + random.integers(0, 5 * HOUR, candidates)
    starts = np.minimum(NOW + random.integers(0, 5 * HOUR, (20, candidates)), latest)
    planned = latest + random.integers(-100, 5 * HOUR, candidates)
    found = later(snapshot, drawn, starts, latest, planned, seed)
    assert (found >= starts).all()
    assert (found <= np.maximum(latest, planned)).all()


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
