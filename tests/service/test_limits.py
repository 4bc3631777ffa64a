"""Limits of one user: jobs, processors × walltime, bytes, requests a second."""

import math
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gas.errors import BadInput, OverLimit, TooLarge, TooMany
from gas.service.limits import Limits, Pace, RateLimiter

# -------------------------------------------------------------------------------------------------------------- queue


def test_without_limits_everything_passes_but_a_huge_request():
    limits = Limits()
    limits.check_queue("alice", 10**9, 10**18, 2**31 - 1, 2**32)
    limits.check_size(4 * 1024 * 1024)
    with pytest.raises(TooLarge, match="4194305 bytes or more, and the limit is 4194304"):
        limits.check_size(4 * 1024 * 1024 + 1)
    Limits(max_request_bytes=None).check_size(10**18)


def test_a_user_may_have_as_many_jobs_as_the_limit_says():
    limits = Limits(max_queued=3)
    limits.check_queue("alice", 2, 0, 1, 1)
    with pytest.raises(
        OverLimit, match=r"alice has 3 jobs waiting, reserved or running, and the limit is 3; wait .*cancel"
    ):
        limits.check_queue("alice", 3, 0, 1, 1)
    with pytest.raises(OverLimit, match="has 1 job waiting"):
        Limits(max_queued=1).check_queue("alice", 1, 0, 1, 1)


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 1000), st.integers(1, 1000))
def test_processors_times_walltime_of_all_jobs_with_this_one_stays_within_the_limit(most, before, processors, walltime):
    limits = Limits(max_processor_seconds=most)
    if before + processors * walltime <= most:
        limits.check_queue("alice", 5, before, processors, walltime)
    else:
        with pytest.raises(OverLimit):
            limits.check_queue("alice", 5, before, processors, walltime)


def test_a_refusal_names_value_limit_and_way_out():
    limits = Limits(max_processor_seconds=10 * 3600)
    with pytest.raises(OverLimit) as refused:
        limits.check_queue("alice", 1, 8 * 3600, 3, 3600)
    message = str(refused.value)
    for part in ("3 processors for 1h00m", "3.0 processor-hours", "8.0 ", "11.0 ", "the limit is 10.0 ", "cancel one"):
        assert part in message
    with pytest.raises(OverLimit, match=r"limit of all jobs of alice together is 10\.0.*request fewer") as refused:
        limits.check_queue("alice", 0, 0, 11, 3600)
    assert "cancel" not in str(refused.value), "cancelling would not help"


def test_a_job_that_is_one_second_too_much_is_not_shown_as_the_limit_itself():
    with pytest.raises(OverLimit, match=r"36001 processor-seconds\).*36000 processor-seconds"):
        Limits(max_processor_seconds=36_000).check_queue("alice", 0, 0, 1, 36_001)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_queued": 0},
        {"max_processor_seconds": 0},
        {"max_request_bytes": -1},
        {"max_rate": 0.0},
        {"max_rate": -1.0},
        {"max_rate": math.inf},
        {"max_rate": math.nan},
    ],
)
def test_a_limit_under_which_nothing_is_possible_is_refused(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        Limits(**wrong)


# --------------------------------------------------------------------------------------------------------------- rate


def admitted(limiter, user, now):
    return wait(limiter, user, now) is None


def wait(limiter, user, now):
    """How long a request has to wait, None if it is admitted."""
    try:
        limiter.admit(user, now)
    except TooMany as error:
        return error.retry_after
    return None


rates = st.one_of(st.floats(0.01, 1000), st.sampled_from([0.1, 0.5, 1.0, 3.0, 10.0]))
gaps = st.lists(st.one_of(st.just(0.0), st.floats(0, 0.01), st.floats(0, 5)), max_size=120)


@settings(deadline=None)
@given(rates, gaps, st.floats(0, 1e7))
def test_in_no_window_are_more_admitted_than_rate_times_its_length_plus_burst(rate, gaps, begin):
    limiter, now, taken = RateLimiter(rate), begin, []
    for gap in gaps:
        now += gap
        if admitted(limiter, "alice", now):
            taken.append(now)
    burst = max(1, 2 * rate)
    for i, first in enumerate(taken):
        for j, last in enumerate(taken[i:], start=i):
            assert j - i + 1 <= rate * (last - first + 1e-5) + burst + 1e-9


@settings(deadline=None)
@given(rates, gaps, st.floats(0, 1e7))
def test_who_waits_as_long_as_told_is_admitted_and_who_comes_much_earlier_is_not(rate, gaps, begin):
    limiter, now = RateLimiter(rate), begin
    for gap in gaps:
        now += gap
        told = wait(limiter, "alice", now)
        if told is not None:
            assert 0 < told <= 1 / rate + 1e-5
            if told > 1e-3:
                assert not admitted(limiter, "alice", now + told / 2)
            now += told
            assert admitted(limiter, "alice", now)


@pytest.mark.parametrize(("rate", "at_once"), [(0.1, 1), (0.5, 1), (1.0, 2), (10.0, 20)])
def test_a_user_who_was_quiet_may_send_a_burst_and_then_goes_at_the_rate(rate, at_once):
    limiter = RateLimiter(rate)
    for begin in (1000.0, 5000.0):
        assert [admitted(limiter, "alice", begin) for _ in range(at_once + 3)] == [True] * at_once + [False] * 3
        later = [begin + k / rate for k in range(1, 50)]
        assert all(admitted(limiter, "alice", now) for now in later)
        assert not admitted(limiter, "alice", later[-1])


def test_users_do_not_take_from_each_other():
    limiter = RateLimiter(1.0)
    while admitted(limiter, "mallory", 0.0):
        pass
    assert admitted(limiter, "alice", 0.0)


def test_a_refusal_names_user_and_limit_and_says_when_to_come_again():
    limiter = RateLimiter(0.5)
    limiter.admit("alice", 100.0)
    with pytest.raises(
        TooMany, match=r"alice exceeds the limit of 0\.5 requests per second.*try again in 2 s"
    ) as refused:
        limiter.admit("alice", 100.5)
    assert refused.value.retry_after == 1.5  # one token every 2 s, of which 0.5 s have gone by


def test_a_clock_read_by_two_threads_in_the_wrong_order_gives_nothing_away():
    limiter = RateLimiter(1.0)  # two at once, as if no time had passed between 10 and 9
    assert [admitted(limiter, "alice", now) for now in (10.0, 9.0, 10.0, 9.5, 10.0)] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_what_is_remembered_is_bounded_by_the_users_of_the_last_moments():
    limiter = RateLimiter(10.0)
    for i in range(20_000):
        limiter.admit(f"user{i}", i / 1000)
        assert len(limiter) <= 300  # a bucket is full again after 0.1 s: about 100 users are remembered at any time
    assert admitted(limiter, "user19999", 19.999)


def test_without_a_rate_nothing_is_refused_or_remembered():
    limiter = RateLimiter(None)
    for _ in range(1000):
        limiter.admit("alice", 0.0)
    assert len(limiter) == 0


def test_threads_do_not_admit_more_together():
    limiter, admitted_ones = RateLimiter(100.0), []

    def ask():
        admitted_ones.extend(1 for _ in range(200) if admitted(limiter, "alice", 50.0))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted_ones) == 200


# ---------------------------------------------------------------------------------------------------------------- pace


def test_who_sends_more_than_the_rate_waits_until_it_is_the_rate():
    pace = Pace(100)
    assert pace.pause("alice", 100, now=0) == 0, "those of a second"
    assert pace.pause("alice", 50, now=0) == 0.5
    assert pace.pause("bob", 100, now=0) == 0
    assert pace.pause("alice", 10, now=10) == 0, "what is long past counts no more"


@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0, 3)), min_size=1, max_size=50))
def test_no_more_than_the_rate_comes_through_if_who_waits_does_wait(parts):
    pace, now, sent = Pace(100), 0.0, 0
    for size, later in parts:
        now += later + pace.pause("alice", size, now + later)
        sent += size
        assert sent <= 100 * (now + 1) + 1e-6


def test_users_who_send_no_more_are_forgotten():
    pace = Pace(100)
    for n in range(1000):
        pace.pause(str(n), 100, now=10 * n)
    assert len(pace._due) <= 65
