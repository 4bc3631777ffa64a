"""Walltimes adjusted by the use of similar jobs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from workloads.adjustment import MONTH, Adjuster, Scheme

KEYS = ("all", "user", "group", "user+group", "user+group+walltime")
DAY = 86400


def learnt(run_times, *, request=100, **scheme):
    """An adjuster that has seen jobs of one user and group end, one per second."""
    adjuster = Adjuster(Scheme(**scheme))
    for end, run_time in enumerate(run_times):
        adjuster.ended(1, 1, request, run_time, end)
    return adjuster


def test_the_recommended_scheme_is_that_of_the_paper():
    assert Scheme() == Scheme("user+group+walltime", months=1, percentile=85, floor=0.5, least=10)


def test_a_request_is_cut_to_what_85_percent_of_similar_jobs_did_not_exceed():
    adjuster = learnt(range(51, 71))  # 51% to 70% of the request; the 17th of 20 is 67%
    assert adjuster.factor(1, 1, 100, 20) == 0.67
    assert adjuster.adjusted(1, 1, 100, 20) == 67


@pytest.mark.parametrize(
    ("percentile", "used"), [(100, 70), (95, 69), (90, 68), (50, 60), (51, 61), (5, 51), (0.1, 51), (99.9, 70)]
)
def test_a_percentile_is_the_smallest_ratio_that_so_many_jobs_do_not_exceed(percentile, used):
    assert learnt(range(51, 71), percentile=percentile).adjusted(1, 1, 100, 20) == used


def test_the_rank_of_a_percentile_is_exact():
    adjuster = learnt(range(2000, 3000), request=4000)
    assert adjuster.factors(1, 1, 4000, 1000, [99.9, 0.1, 33.3]) == [2998 / 4000, 0.5, 2332 / 4000]


def test_several_percentiles_are_answered_at_once():
    adjuster = learnt(range(41, 61))
    assert adjuster.factors(1, 1, 100, 20, [100, 95, 50, 5]) == [0.6, 0.59, 0.5, 0.5]


def test_no_factor_is_below_the_floor():
    assert learnt([1] * 10).adjusted(1, 1, 100, 10) == 50
    assert learnt([1] * 10, floor=0.8).adjusted(1, 1, 100, 10) == 80
    assert learnt([1] * 10, floor=0).adjusted(1, 1, 100, 10) == 1


def test_adjusted_walltimes_are_whole_seconds_rounded_up_from_one():
    assert learnt([101] * 10, request=200).adjusted(1, 1, 200, 10) == 101
    assert learnt([2] * 10, request=3, key="user").adjusted(1, 1, 100, 10) == 67
    assert learnt([11] * 10, request=20, key="user").adjusted(1, 1, 100, 10) == 55  # 100 · 0.55 is a bit more
    assert learnt([0] * 10, floor=0).adjusted(1, 1, 100, 10) == 1


def test_jobs_that_outlived_their_request_used_all_of_it():
    assert learnt([500] * 10).factor(1, 1, 100, 10) == 1


def test_with_fewer_similar_jobs_than_the_least_the_request_stays():
    assert learnt([60] * 9).factor(1, 1, 100, 10) is None
    assert learnt([60] * 9).factors(1, 1, 100, 10, [50, 70]) is None
    assert learnt([60] * 9).adjusted(1, 1, 100, 10) == 100
    assert learnt([60] * 9, least=9).adjusted(1, 1, 100, 10) == 60


@pytest.mark.parametrize(
    ("key", "similar"),
    [
        ("all", {(1, 1, 100), (1, 1, 200), (1, 2, 100), (2, 1, 100), (2, 2, 200)}),
        ("user", {(1, 1, 100), (1, 1, 200), (1, 2, 100)}),
        ("group", {(1, 1, 100), (1, 1, 200), (2, 1, 100)}),
        ("user+group", {(1, 1, 100), (1, 1, 200)}),
        ("user+group+walltime", {(1, 1, 100)}),
    ],
)
def test_jobs_are_similar_that_share_the_key(key, similar):
    adjuster = learnt([60] * 10, key=key)
    jobs = [(1, 1, 100), (1, 1, 200), (1, 2, 100), (2, 1, 100), (2, 2, 200)]
    assert {job for job in jobs if adjuster.factor(*job, 10) is not None} == similar


@pytest.mark.parametrize("key", KEYS)
def test_a_job_of_unknown_user_or_group_is_similar_to_nobody_if_the_key_asks_for_it(key):
    adjuster = Adjuster(Scheme(key, least=1))
    adjuster.ended(-1, -1, 100, 60, 0)
    assert adjuster.factor(-1, -1, 100, 1) == (0.6 if key == "all" else None)
    adjuster.ended(1, -1, 100, 60, 1)
    assert adjuster.factor(1, -1, 100, 1) == (0.6 if key in ("all", "user") else None)


def test_a_job_counts_for_less_than_so_many_months_after_its_end():
    for months in (1, 3):
        adjuster = learnt([60] * 10, months=months)
        last = months * MONTH - 1
        assert adjuster.factor(1, 1, 100, last) == 0.6  # the first ended in second 0
        assert adjuster.factor(1, 1, 100, last + 1) is None
        adjuster.check()
    assert learnt([60] * 10, months=None).factor(1, 1, 100, 100 * MONTH) == 0.6


def test_what_is_out_of_the_window_takes_no_room():
    adjuster = Adjuster(Scheme())
    for user in range(100):
        adjuster.ended(user, 1, 100, 60, user)
    adjuster.ended(1, 1, 100, 60, 50 + MONTH)
    assert len(adjuster._recent) == len(adjuster._similar) == 50


def test_the_past_is_not_asked_about():
    adjuster = learnt([60] * 20)
    with pytest.raises(ValueError, match="second 18 is past: what happened up to second 19 is known"):
        adjuster.factor(1, 1, 100, 18)
    adjuster.factor(1, 1, 100, 25)
    with pytest.raises(ValueError, match="second 24 is past"):
        adjuster.adjusted(1, 1, 100, 24)


def test_an_end_may_be_told_late_but_not_out_of_order():
    adjuster = learnt([60] * 10)
    assert adjuster.factor(1, 1, 100, 50) == 0.6
    adjuster.ended(1, 1, 100, 90, 40)
    with pytest.raises(ValueError, match="ended in second 39 comes after one that ended in 40"):
        adjuster.ended(1, 1, 100, 90, 39)


@pytest.mark.parametrize(("request_", "run_time"), [(0, 5), (-1, 5), (10, -1)])
def test_a_job_without_a_ratio_is_refused(request_, run_time):
    with pytest.raises(ValueError, match="has no ratio"):
        Adjuster(Scheme()).ended(1, 1, request_, run_time, 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"key": "project"}, 'key "project" is not known; known: all, user, group'),
        ({"months": 0}, "a window of 0 months"),
        ({"percentile": 0}, "0 is not a percentile"),
        ({"percentile": 101}, "101 is not a percentile"),
        ({"floor": 1.5}, "floor 1.5 is not a factor"),
        ({"least": 0}, "at least 0 similar jobs"),
    ],
)
def test_a_scheme_that_makes_no_sense_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        Scheme(**change)


def test_percentiles_that_are_none_are_refused():
    with pytest.raises(ValueError, match="120 is not a percentile"):
        learnt([60] * 10).factors(1, 1, 100, 10, [50, 120])


# Against what a few lines of numpy find

few = st.integers(-1, 2)
jobs_over_months = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(0, 20 * DAY) | st.sampled_from([0, MONTH - 1, MONTH, MONTH + 1]),
        few,
        few,
        st.sampled_from([100, 200, 333]),
        st.integers(0, 400),
    ),
    max_size=60,
)
schemes = st.builds(
    Scheme,
    st.sampled_from(KEYS),
    st.sampled_from([1, 2, None]),
    st.sampled_from([100, 95, 90, 85, 80, 70, 50, 33.3]),
    st.sampled_from([0, 0.5]),
    st.integers(1, 3),
)


def by_hand(scheme, ended, user, group, request, now):
    """The expected result, from all ended jobs at once: rows of user, group, request, ratio, end."""
    if not ended:
        return None
    users, groups, requests, ratios, ends = (np.array(column) for column in zip(*ended, strict=True))
    alike = np.ones(len(ended), dtype=bool)
    words = scheme.key.split("+")
    for word, value, column in (
        ("user", user, users),
        ("group", group, groups),
        ("walltime", request, requests),
    ):
        if word in words:
            alike &= (column == value) & (column >= 0)
    if scheme.months is not None:
        alike &= ends > now - scheme.months * 30 * DAY
    found = np.sort(ratios[alike])
    if found.size < scheme.least:
        return None
    below = np.arange(1, found.size + 1) * 100
    enough = [each >= Fraction(str(scheme.percentile)) * found.size for each in below.tolist()]
    return max(float(found[enough.index(True)]), scheme.floor)


@examples(200)
@given(schemes, jobs_over_months)
def test_whatever_ends_and_is_asked_the_answer_is_that_of_all_jobs_looked_at_together(scheme, events):
    adjuster, ended, now = Adjuster(scheme), [], 0
    for end_of_job, later, user, group, request, run_time in events:
        now += later
        if end_of_job:
            adjuster.ended(user, group, request, run_time, now)
            ended.append((user, group, request, min(run_time / request, 1), now))
        else:
            expected = by_hand(scheme, ended, user, group, request, now)
            assert adjuster.factor(user, group, request, now) == expected
            adjusted = adjuster.adjusted(user, group, request, now)
            exact = request if expected is None else request * expected
            assert max(1, math.ceil(exact - 1e-6)) == adjusted <= request
        adjuster.check()


# No look-ahead


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("key", KEYS)
def test_what_happens_after_an_instant_changes_no_adjustment_made_until_then(key, seed):
    from workloads.replay import knowledge

    generator = np.random.default_rng(seed)
    jobs = 600
    submit = np.sort(generator.integers(0, 100 * DAY, jobs))
    run_time = generator.integers(0, 3 * DAY, jobs)
    start = submit + generator.integers(0, DAY, jobs)
    user, group = generator.integers(-1, 3, (2, jobs))
    request = generator.choice([DAY, 2 * DAY, 3 * DAY], jobs)
    instant = 50 * DAY

    def adjustments(run_time, user, group, request):
        end, adjuster, found = start + run_time, Adjuster(Scheme(key, percentile=50, least=2)), {}
        for has_ended, row in knowledge(submit, end):
            job = int(user[row]), int(group[row]), int(request[row])
            if has_ended:
                adjuster.ended(*job, int(run_time[row]), int(end[row]))
            elif submit[row] <= instant:
                found[row] = adjuster.adjusted(*job, int(submit[row]))
        return found

    before = adjustments(run_time, user, group, request)
    later, running = submit > instant, (start + run_time) > instant
    other_times = run_time.copy()
    other_times[running] = np.maximum(generator.permutation(run_time[running]), instant + 1 - start[running])
    shuffled = []
    for column in (user, group, request):
        shuffled.append(column.copy())
        shuffled[-1][later] = generator.permutation(column[later])
    assert (other_times != run_time).any()
    assert adjustments(other_times, *shuffled) == before
    assert any(before[row] != request[row] for row in before)
