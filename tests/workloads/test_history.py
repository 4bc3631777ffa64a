"""A system's estimates from the jobs that it has seen end."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.history import WEEK, LastTwo, MeanAndDeviation

DAY = 86400


def learnt(run_times, key="a", **options):
    """A predictor that has seen jobs of one key end, one per second."""
    past = MeanAndDeviation(**options)
    for end, run_time in enumerate(run_times):
        past.ended(key, run_time, end)
    return past


# Mean and deviation


def test_an_estimate_is_the_mean_and_one_and_a_half_deviations_of_the_same_key():
    assert learnt([100, 200, 300]).estimate("a", 3) == (math.ceil(200 + 1.5 * statistics.pstdev([100, 200, 300])), True)


def test_the_deviation_may_be_that_of_a_sample_and_counted_more_or_less_often():
    assert learnt([100, 200, 300], sample=True).estimate("a", 3) == (200 + 150, True)
    assert learnt([100, 200, 300], sample=True, deviations=3).estimate("a", 3) == (500, True)
    assert learnt([100, 200, 300], deviations=0).estimate("a", 3) == (200, True)


@pytest.mark.parametrize("sample", [True, False])
def test_one_job_alone_is_expected_to_happen_again(sample):
    assert learnt([100], sample=sample).estimate("a", 1) == (100, True)


def test_a_key_may_need_more_than_one_job_to_be_known():
    past = learnt([100], least=2)
    past.ended("b", 300, 1)
    assert past.estimate("a", 1) == (200 + 150, False)
    past.ended("a", 100, 2)
    assert past.estimate("a", 2) == (100, True)


def test_an_unknown_key_gets_what_is_known_of_all_jobs():
    past = learnt([100])
    past.ended("b", 300, 1)
    assert past.estimate("c", 1) == (200 + 150, False)
    assert past.estimate(None, 1) == (200 + 150, False)


def test_a_job_without_a_key_counts_for_the_whole_only():
    past = learnt([100], key=None)
    assert past.estimate(None, 1) == (100, False)
    assert past.estimate("a", 1) == (100, False)


def test_nothing_is_said_while_nothing_is_known():
    assert MeanAndDeviation().estimate("a", 0) == (None, False)


def test_estimates_are_at_least_a_second():
    assert learnt([0, 0]).estimate("a", 2) == (1, True)


# What is too old


def test_a_key_is_forgotten_when_its_last_job_ended_over_a_week_ago():
    past = learnt([100, 200])  # ends 0 and 1
    past.ended("b", 1000, 5 * DAY)
    assert past.estimate("a", 1 + WEEK) == (150 + 75, True)
    assert past.estimate("a", 2 + WEEK)[1] is False
    past.ended("a", 400, 3 + WEEK)
    assert past.estimate("a", 3 + WEEK) == (400, True)


def test_what_is_told_after_a_week_starts_from_scratch():
    past = learnt([100, 200])
    past.ended("a", 400, 2 + WEEK)
    assert past.estimate("a", 2 + WEEK) == (400, True)


def test_each_job_of_a_busy_key_keeps_it_from_being_forgotten():
    past = MeanAndDeviation(deviations=0)
    for week in range(5):
        past.ended("a", 100 * week, week * WEEK)
    assert past.estimate("a", 5 * WEEK) == (200, True)


def test_a_record_may_be_discarded_a_week_after_it_was_begun_instead():
    past = MeanAndDeviation(deviations=0, forget="begun")
    for day in range(7):
        past.ended("a", 100, day * DAY)
    past.ended("a", 500, WEEK + 1)
    assert past.estimate("a", WEEK + 1) == (500, True)


def test_or_only_the_jobs_of_the_last_week_may_count():
    past = MeanAndDeviation(deviations=0, forget="window")
    for day in range(9):
        past.ended("a", day, day * DAY)
    assert past.estimate("a", 8 * DAY) == (math.ceil(statistics.mean(range(1, 9))), True)
    assert past.estimate("a", 15 * DAY) == (8, True)
    assert past.estimate("a", 15 * DAY + 1) == (None, False)


def test_the_whole_workload_is_forgotten_by_the_same_rule():
    past = learnt([100])
    past.ended("b", 300, 5)
    assert past.estimate("c", 5 + WEEK) == (350, False)
    assert past.estimate("c", 6 + WEEK) == (None, False)


def test_the_age_may_be_endless():
    for forget in ("idle", "begun", "window"):
        assert learnt([100, 100], age=math.inf, forget=forget).estimate("a", 1000 * WEEK) == (100, True)


@given(st.lists(st.tuples(st.integers(0, DAY), st.integers(0, 2 * 10**6)), min_size=1, max_size=80), st.floats(0, 3))
def test_whatever_comes_and_goes_the_window_holds_the_mean_and_deviation_of_what_is_in_it(jobs, deviations):
    past, now, ended = MeanAndDeviation(deviations, age=DAY, forget="window"), 0, []
    for later, run_time in jobs:
        now += later
        past.ended("a", run_time, now)
        ended.append((now, run_time))
        inside = [seconds for end, seconds in ended if end >= now - DAY]
        expected = statistics.mean(inside) + deviations * statistics.pstdev(inside)
        estimate, known = past.estimate("a", now)
        assert known
        assert expected - 1e-3 <= estimate <= max(expected, 1) + 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"deviations": -1}, "-1 standard deviations"),
        ({"deviations": math.nan}, "nan standard deviations"),
        ({"age": 0}, "an age of 0 s"),
        ({"forget": "never"}, 'forget "never" is not known; known: idle, begun, window'),
        ({"least": 0}, "at least 0 jobs"),
    ],
)
def test_what_makes_no_sense_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        MeanAndDeviation(**change)


# The last two


def test_the_last_two_jobs_of_the_same_user_make_the_estimate():
    past = LastTwo()
    for end, run_time in enumerate([1000, 10, 21]):
        past.ended(7, run_time, end)
    assert past.estimate(7, 3) == 16


def test_before_two_jobs_of_a_user_have_ended_nothing_is_said():
    past = LastTwo()
    assert past.estimate(7, 0) is None
    past.ended(7, 100, 0)
    past.ended(8, 100, 0)
    assert past.estimate(7, 0) is None


def test_an_unknown_user_has_no_other_job():
    past = LastTwo()
    past.ended(-1, 10, 0)
    past.ended(-1, 10, 1)
    assert past.estimate(-1, 2) is None


def test_two_jobs_that_took_no_time_make_a_second():
    past = LastTwo()
    past.ended(7, 0, 0)
    past.ended(7, 0, 0)
    assert past.estimate(7, 0) == 1


# Both


@pytest.mark.parametrize("past", [MeanAndDeviation(), LastTwo()], ids=lambda past: type(past).__name__)
def test_time_does_not_run_backwards(past):
    past.ended(1, 10, 100)
    with pytest.raises(ValueError, match="ended in second 99 comes after one that ended in 100"):
        past.ended(1, 10, 99)
    with pytest.raises(ValueError, match="second 99 is past"):
        past.estimate(1, 99)


@pytest.mark.parametrize("deviations", [-1, float("nan"), float("inf"), 1e300])
def test_some_numbers_of_deviations_cannot_be_added(deviations):
    with pytest.raises(ValueError, match="give a number from 0 to 1000"):
        MeanAndDeviation(deviations)
