from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.prediction.luck import TYPICAL
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.prediction.usage import LAST, PRIOR, Ended, Usage

HOUR, DAY = 3600, 86_400


def jobs(*rows, machine=64, now=0, **columns):
    """Return a snapshot of one-processor jobs: (user, walltime, elapsed seconds or None if waiting)."""
    running = np.array([elapsed is not None for _, _, elapsed in rows])
    return Snapshot(
        now=now,
        machine=machine,
        processors=np.ones(len(rows), np.int64),
        walltime=np.array([walltime for _, walltime, _ in rows]),
        start=np.array([UNPLANNED if elapsed is None else now - elapsed for _, _, elapsed in rows]),
        running=running,
        user=np.array([user for user, _, _ in rows]),
        **columns,
    )


def ended(*lives, apart=DAY):
    """Return jobs of (user, walltime, run time, count, name if any), one a day, each ending before the next."""
    rows = [(life[0], life[4] if len(life) > 4 else -1, *life[1:3]) for life in lives for _ in range(life[3])]
    user, name, walltime, run_time = np.array(rows, np.int64).reshape(-1, 4).T
    submit = -apart * np.arange(len(rows), 0, -1)
    return Ended(submit, submit + run_time, user, name, np.ones(len(rows), np.int64), walltime, run_time)


def taught(*lives):
    """Return what is known after jobs of (user, walltime, run time, count)."""
    usage = Usage(ended(*lives))
    usage.learn(DAY)
    return usage


def drawn(usage, *rows, samples=4000, seed=0, **columns):
    return usage.draw(jobs(*rows, **columns), samples, np.random.default_rng(seed))


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


def test_for_an_unknown_user_every_share_is_equally_likely():
    found = drawn(taught(), (1, 10 * HOUR, None), (2, 10 * HOUR, 5 * HOUR))
    assert np.quantile(found[:, 0] / (10 * HOUR), [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.03)
    assert np.median(found[:, 1]) == pytest.approx(7.5 * HOUR, rel=0.03)


def test_a_user_is_like_everybody_at_first_and_like_himself_soon():
    everybody = (0, HOUR, HOUR, 200)
    means = [
        drawn(taught(everybody, (1, HOUR, HOUR // 10, own)), (1, HOUR, None)).mean() / HOUR for own in (0, 2, 10, LAST)
    ]
    assert means[0] > 0.95
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.17, "others count a little for ever"


def test_the_last_jobs_of_a_class_count():
    usage = taught((1, HOUR, HOUR, 500), (1, HOUR, HOUR // 10, LAST))
    assert drawn(usage, (1, HOUR, None)).mean() / HOUR < 0.3


def test_a_walltime_of_its_own_tells_jobs_of_a_user_apart():
    usage = taught((1, HOUR, HOUR // 10, 20), (1, 10 * HOUR, 9 * HOUR, 20))
    found = drawn(usage, (1, HOUR, None), (1, 10 * HOUR, None)).mean(axis=0)
    assert found[0] < 0.4 * HOUR
    assert found[1] > 6 * HOUR


def test_a_size_of_its_own_tells_jobs_of_a_user_apart():
    of = ended(*[(1, HOUR, HOUR // 10, 1), (1, HOUR, HOUR * 9 // 10, 1)] * 20)
    usage = Usage(of._replace(processors=np.array([1, 32] * 20)))
    usage.learn(DAY)
    queue = replace(jobs((1, HOUR, None), (1, HOUR, None)), processors=np.array([1, 32]))
    small, large = usage.draw(queue, 4000, np.random.default_rng(0)).mean(axis=0)
    assert small < 0.45 * HOUR
    assert large > 0.55 * HOUR


def test_a_name_of_its_own_tells_jobs_of_a_user_apart():
    usage = taught(*[(1, HOUR, HOUR // 10, 1, 7), (1, HOUR, HOUR * 9 // 10, 1, 8)] * 20)
    rows = [(1, HOUR, None)] * 3
    short, long, unknown = drawn(usage, *rows, name=np.array([7, 8, -1])).mean(axis=0) / HOUR
    assert short < 0.35
    assert long > 0.65
    assert unknown == pytest.approx(0.5, abs=0.1)


def test_a_job_is_most_like_those_that_were_submitted_with_it():
    usage = taught((1, HOUR, HOUR * 9 // 10, 20), (1, HOUR, HOUR // 10, 1))
    before = int(usage.ended.submit[-1])
    together, later = (
        drawn(usage, (1, HOUR, None), submit=np.array([submit])).mean() for submit in (before + 5, before + 9 * DAY)
    )
    assert together < later - 0.05 * HOUR


def test_a_job_that_fails_at_once_does_so_whatever_its_walltime_and_a_kill_comes_at_any():
    failed = drawn(taught((1, HOUR, 5, 40)), (1, 100 * HOUR, None))
    assert (failed == 5).mean() > 0.6
    killed = drawn(taught((1, HOUR, HOUR, 40)), (1, 100 * HOUR, None))
    assert (killed == 100 * HOUR).mean() > 0.6


def late(usage, *rows):
    """Return the run times of jobs (elapsed seconds) that request an hour and use all of it."""
    elapsed = np.array(rows)
    full = np.maximum(np.full((2000, len(rows)), HOUR), elapsed + 1)
    return usage.ended_late(full, np.full(len(rows), HOUR), elapsed, np.random.default_rng(0))


def test_a_job_that_is_killed_ends_as_late_after_its_limit_as_those_before_it():
    usage = taught((1, DAY, DAY + 10, 5), (2, HOUR, HOUR + 30, 5), (1, HOUR, 5, 20))
    waits, runs, over, longest = late(usage, 0, 60, HOUR + 15, HOUR + 40).T
    assert {*waits.tolist()} == {*runs.tolist()} == {HOUR + 10, HOUR + 30}
    assert waits.mean() == pytest.approx(HOUR + 20, abs=1), "whatever their users and limits"
    assert {*over.tolist()} == {HOUR + 30}, "it was not ended after 10 s"
    assert {*longest.tolist()} == {HOUR + 41}, "none ended that late"


def test_only_jobs_that_reach_their_limits_end_after_them():
    usage, elapsed = taught((1, HOUR, HOUR + 30, 5)), np.zeros(1, np.int64)
    some = np.array([[HOUR - 1], [HOUR]])
    found = usage.ended_late(some, np.array([HOUR]), elapsed, np.random.default_rng(0))
    assert found.tolist() == [[HOUR - 1], [HOUR + 30]]
    never = taught((1, HOUR, HOUR - 1, 5)).ended_late(some, np.array([HOUR]), elapsed, np.random.default_rng(0))
    assert never.tolist() == some.tolist()


def test_a_job_that_has_run_long_is_like_those_that_ran_as_long():
    usage = taught((1, HOUR, HOUR // 10, 30), (1, HOUR, HOUR, 5))
    found = drawn(usage, (1, HOUR, HOUR // 2))
    assert (found == HOUR).mean() > 5 / (5 + PRIOR)


@pytest.mark.parametrize("lives", [((1, HOUR, HOUR // 10, 30), (1, HOUR, HOUR, 5)), ((2, HOUR, HOUR // 2, 9),), ()])
def test_the_longer_a_job_has_run_the_later_it_ends(lives):
    usage = taught(*lives)
    ends = [drawn(usage, (1, HOUR, elapsed)).mean() for elapsed in (1, 300, 1200, 2400, 3500)]
    assert ends == sorted(ends)


def test_jobs_of_a_user_share_their_luck_and_others_do_not():
    usage = taught(*[(1, HOUR, HOUR // 10, 1), (1, HOUR, HOUR, 1), (2, HOUR, HOUR // 10, 1), (2, HOUR, HOUR, 1)] * 20)
    rows = [(1, HOUR, None), (1, HOUR, None), (2, HOUR, None)]
    found = drawn(usage, *rows, submit=np.zeros(3, np.int64))
    assert np.corrcoef(found[:, 0], found[:, 1])[0, 1] > 0.4
    assert abs(np.corrcoef(found[:, 0], found[:, 2])[0, 1]) < 0.1


@pytest.mark.parametrize("alike", [True, False])
def test_how_much_luck_is_shared_is_learnt_from_jobs_that_waited_or_ran_together(alike):
    random = np.random.default_rng(4)
    share = random.random(200)
    other = share if alike else random.random(200)
    run_time = np.ceil(np.column_stack([share, other]) * HOUR).astype(np.int64).ravel()
    submit = np.repeat(DAY * np.arange(200), 2)
    one = np.ones(400, np.int64)
    usage = Usage(Ended(submit, submit + run_time, one, -one, one, HOUR * one, run_time))
    assert usage.luck() == TYPICAL
    usage.learn(400 * DAY)
    assert sum(usage.luck()) > 0.8 if alike else sum(usage.luck()) < 0.3


def random_lives(seed, count=200):
    """Return jobs many of which end at the same instants."""
    random = np.random.default_rng(seed)
    submit = np.sort(random.integers(0, 50, count)) * 600
    walltime, run_time = random.choice([600, 3600, 7200], count), random.integers(0, 12, count) * 600
    end = submit + random.integers(0, 4, count) * 600 + run_time
    user, name, processors = random.integers(-1, 4, count), random.integers(-1, 3, count), random.integers(1, 4, count)
    return Ended(submit, end, user, name, processors, walltime, run_time)


ROWS = ((1, HOUR, None), (1, HOUR, None), (2, 2 * HOUR, 100), (-1, 600, None), (0, 7200, 4000))


def told(usage):
    return drawn(usage, *ROWS, samples=30, submit=np.array([-100, -90, -500, -7, -9000])).tolist()


@examples(60)
@given(seed=st.integers(0, 10**6), now=st.integers(0, 90))
def test_the_order_in_which_jobs_are_given_tells_nothing(seed, now):
    of = random_lives(seed)
    order = np.random.default_rng(seed + 1).permutation(len(of.end))
    one, other = Usage(of), Usage(Ended(*(column[order] for column in of)))
    one.learn(now * 600)
    other.learn(now * 600)
    assert told(one) == told(other)


@examples(60)
@given(seed=st.integers(0, 10**6), now=st.integers(0, 90), before=st.integers(0, 90))
def test_learning_step_by_step_without_what_comes_later_is_learning_anew(seed, now, before):
    of = random_lives(seed)
    usage = Usage(of)
    for instant in sorted((before, now)):
        usage.learn(instant * 600)
        by_then = of.end <= instant * 600
        anew = Usage(Ended(*(column[by_then] for column in of)))
        anew.learn(instant * 600)
        assert told(usage) == told(anew)


def test_the_same_seed_draws_the_same():
    usage = taught((1, HOUR, 700, 3), (2, HOUR, 900, 9))
    rows = ((1, HOUR, None), (2, 2 * HOUR, 100), (-1, 50, None))
    assert (drawn(usage, *rows, seed=5) == drawn(usage, *rows, seed=5)).all()
    assert (drawn(usage, *rows, seed=5) != drawn(usage, *rows, seed=6)).any()
