from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.prediction.usage import LAST, PRIOR, Usage

HOUR = 3600


def jobs(*rows, machine=64, now=0):
    """Return a snapshot of jobs of one processor: (user, walltime, seconds that it has run or None)."""
    running = np.array([elapsed is not None for _, _, elapsed in rows])
    return Snapshot(
        now=now,
        machine=machine,
        processors=np.ones(len(rows), np.int64),
        walltime=np.array([walltime for _, walltime, _ in rows]),
        start=np.array([UNPLANNED if elapsed is None else now - elapsed for _, _, elapsed in rows]),
        running=running,
        user=np.array([user for user, _, _ in rows]),
    )


def taught(*lives):
    """Return what is known after jobs of (user, walltime, run time, how many of them)."""
    usage = Usage()
    for user, walltime, run_time, times in lives:
        for _ in range(times):
            usage.ended(user, 1, walltime, run_time)
    return usage


def drawn(usage, *rows, samples=4000, seed=0):
    return usage.draw(jobs(*rows), samples, np.random.default_rng(seed))


@examples(200)
@given(
    lives=st.lists(st.tuples(st.integers(-1, 3), st.integers(1, 500), st.integers(0, 900)), max_size=30),
    rows=st.lists(
        st.tuples(st.integers(-1, 3), st.integers(1, 500), st.none() | st.integers(0, 600)), min_size=1, max_size=8
    ),
)
def test_run_times_lie_between_what_a_job_has_run_and_its_walltime(lives, rows):
    found = drawn(taught(*[(*life, 1) for life in lives]), *rows, samples=50)
    for column, (_, walltime, elapsed) in zip(found.T, rows, strict=True):
        assert column.max() <= walltime
        assert column.min() >= min((elapsed or 0) + 1, walltime)


def test_of_whom_nothing_is_known_every_share_is_as_likely():
    found = drawn(Usage(), (1, 10 * HOUR, None), (1, 10 * HOUR, 5 * HOUR))
    assert np.quantile(found[:, 0] / (10 * HOUR), [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.03)
    assert np.median(found[:, 1]) == pytest.approx(7.5 * HOUR, rel=0.03)


def test_a_user_is_like_everybody_at_first_and_like_himself_soon():
    everybody = (0, HOUR, HOUR, 200)
    means = [
        drawn(taught(everybody, (1, HOUR, HOUR // 10, own)), (1, HOUR, None)).mean() / HOUR for own in (0, 2, 10, LAST)
    ]
    assert means[0] > 0.95
    assert means == sorted(means, reverse=True)
    assert means[-1] == pytest.approx(0.1, abs=0.03)


def test_the_last_jobs_of_a_class_count():
    usage = taught((1, HOUR, HOUR, 500), (1, HOUR, HOUR // 10, LAST))
    assert drawn(usage, (1, HOUR, None)).mean() / HOUR < 0.3


def test_a_walltime_of_its_own_tells_jobs_of_a_user_apart():
    usage = taught((1, HOUR, HOUR // 10, 20), (1, 10 * HOUR, 9 * HOUR, 20))
    found = drawn(usage, (1, HOUR, None), (1, 10 * HOUR, None)).mean(axis=0)
    assert found[0] < 0.4 * HOUR
    assert found[1] > 6 * HOUR


def test_a_size_of_its_own_tells_jobs_of_a_user_apart():
    usage = Usage()
    for processors, run_time in [(1, HOUR // 10), (32, HOUR * 9 // 10)] * 20:
        usage.ended(1, processors, HOUR, run_time)
    queue = replace(jobs((1, HOUR, None), (1, HOUR, None)), processors=np.array([1, 32]))
    small, large = usage.draw(queue, 4000, np.random.default_rng(0)).mean(axis=0)
    assert small < 0.4 * HOUR
    assert large > 0.6 * HOUR


def test_who_has_run_for_long_is_like_those_who_ran_as_long():
    usage = taught((1, HOUR, HOUR // 10, 30), (1, HOUR, HOUR, 5))
    found = drawn(usage, (1, HOUR, HOUR // 2))
    assert (found == HOUR).mean() > 5 / (5 + PRIOR) - 0.03


def test_jobs_of_a_kind_share_their_fate_and_others_do_not():
    usage = taught((1, HOUR, HOUR // 10, 20), (1, HOUR, HOUR, 20), (2, HOUR, HOUR // 10, 20), (2, HOUR, HOUR, 20))
    found = drawn(usage, (1, HOUR, None), (1, HOUR, None), (2, HOUR, None))
    assert (found[:, 0] == found[:, 1]).all()
    assert abs(np.corrcoef(found[:, 0], found[:, 2])[0, 1]) < 0.1


def test_the_same_seed_draws_the_same():
    usage = taught((1, HOUR, 700, 3), (2, HOUR, 900, 9))
    rows = ((1, HOUR, None), (2, 2 * HOUR, 100), (-1, 50, None))
    assert (drawn(usage, *rows, seed=5) == drawn(usage, *rows, seed=5)).all()
    assert (drawn(usage, *rows, seed=5) != drawn(usage, *rows, seed=6)).any()
