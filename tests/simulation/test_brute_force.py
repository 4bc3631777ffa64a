"""The brute-force simulator itself: each rule of `gas guide rules` by a small example worked by hand, and pyss.

A row is (submit, processors, estimate, run time).
"""

import pytest
from brute_force import FOREVER, PLANNING, earliest_fit, simulate_by_force, steps
from hypothesis import given
from pyss_logs import PYSS_LOGS, canonical, published_starts
from small_logs import disturbed_logs, logs
from thorough import examples

POLICIES = ("fcfs", "easy", *PLANNING)
ORDERS = ("instant", "event")


def starts(machine, rows, policy, order="instant", **more):
    return simulate_by_force(machine, rows, policy, order=order, **more).start


# ------------------------------------------------------------------------------------------------ free processors


def test_an_earliest_fit_may_begin_between_two_changes_and_reach_over_some():
    profile = [(0, 1), (10, 3), (12, 2), (20, 0), (30, 4)]
    assert earliest_fit(profile, 1, 20, 0) == 0
    assert earliest_fit(profile, 2, 5, 0) == 10
    assert earliest_fit(profile, 2, 5, 14) == 14
    assert earliest_fit(profile, 2, 6, 15) == 30
    assert earliest_fit(profile, 4, 1_000, 0) == 30


def test_an_idle_machine_is_one_step():
    assert steps(5, [], 7) == [(7, 5)]


# -------------------------------------------------------------------------------------------------------- policies


@pytest.mark.parametrize("order", ORDERS)
def test_fcfs_lets_nobody_pass(order):
    rows = [(0, 1, 10, 10), (1, 2, 5, 5), (2, 1, 1, 1)]
    assert starts(2, rows, "fcfs", order) == [0, 10, 15]


@pytest.mark.parametrize("order", ORDERS)
def test_easy_lets_pass_who_ends_by_the_shadow_time_and_no_one_longer(order):
    rows = [(0, 1, 10, 10), (1, 2, 5, 5), (2, 1, 8, 8)]
    assert starts(2, rows, "easy", order) == [0, 10, 2]
    assert starts(2, [*rows[:2], (2, 1, 9, 9)], "easy", order) == [0, 10, 15]


@pytest.mark.parametrize("order", ORDERS)
def test_easy_counts_everybody_who_ends_at_the_shadow_time_for_the_extra_processors(order):
    # At 10 all four processors come free, of which the head takes two; long jobs may have the two others, once.
    rows = [(0, 1, 10, 10), (0, 2, 10, 10), (1, 2, 5, 5), (2, 1, 99, 99), (3, 1, 99, 99)]
    assert starts(4, rows, "easy", order) == [0, 0, 10, 2, 10]


@pytest.mark.parametrize("order", ORDERS)
def test_easy_delays_the_second_in_line_conservative_nobody(order):
    # The last fits the processor that the head leaves over at 4, and holds it past 6, when the third was due.
    rows = [(0, 2, 4, 4), (1, 3, 2, 2), (1, 4, 2, 2), (2, 1, 8, 8)]
    assert starts(4, rows, "easy", order) == [0, 4, 10, 2]
    assert starts(4, rows, "conservative", order) == [0, 4, 6, 8]


def test_conservative_moves_each_job_once_s3_until_nothing_moves():
    # A (early over) lets the last job move to 1; only then is there room at 2 for B, which was looked at before.
    rows = [(0, 1, 4, 1), (0, 2, 1, 1), (0, 1, 2, 2), (0, 1, 1, 1)]
    assert starts(2, rows, "conservative-static") == [0, 4, 0, 2]
    assert starts(2, rows, "conservative") == [0, 3, 0, 1]
    assert starts(2, rows, "s3") == [0, 2, 0, 1]
    assert starts(2, rows, "s3-1999") == [0, 2, 0, 1]


def test_s3_of_1999_begins_again_at_the_head_after_each_move():
    rows = [(0, 2, 4, 2), (1, 1, 2, 0), (1, 2, 4, 4), (1, 1, 2, 1), (1, 2, 2, 0)]
    assert starts(2, rows, "s3") == [0, 2, 3, 2, 3]
    assert starts(2, rows, "s3-1999") == [0, 2, 3, 2, 7]


def test_a_plan_made_anew_can_break_what_was_promised():
    rows = [(0, 1, 4, 0), (0, 1, 1, 1), (0, 2, 1, 1), (0, 1, 2, 1)]
    outcome = simulate_by_force(2, rows, "conservative-replan")
    assert outcome.promise == [0, 0, 4, 1]
    assert outcome.start == [0, 0, 1, 2]
    assert starts(2, rows, "conservative") == [0, 0, 1, 0]
    assert starts(2, rows, "conservative-static") == [0, 0, 4, 1]


# ---------------------------------------------------------------------------------------------------------- orders


def test_in_an_instant_completions_come_before_arrivals_in_event_order_after_them():
    # A is over at 1, when C arrives. By instants B, which waits for it, has begun by then; by events C goes first.
    rows = [(0, 1, 2, 1), (0, 2, 1, 1), (1, 1, 1, 1)]
    for policy in ("easy", "conservative"):
        assert starts(2, rows, policy, "instant") == [0, 1, 2]
        assert starts(2, rows, policy, "event") == [0, 2, 1]


def test_in_an_instant_jobs_of_no_length_end_after_the_arrivals():
    rows = [(0, 2, 5, 1), (0, 1, 4, 0), (0, 2, 2, 0), (1, 1, 2, 1)]
    assert starts(2, rows, "s3") == [0, 1, 2, 1]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_that_outlives_its_estimate_is_killed_or_given_time(policy, order):
    rows = [(0, 1, 5, 9), (1, 1, 1, 1)]
    killed = simulate_by_force(1, rows, policy, order=order)
    assert (killed.start, killed.end) == ([0, 5], [5, 6])
    longer = simulate_by_force(1, rows, policy, order=order, overrun="extend")
    assert (longer.start, longer.end) == ([0, 9], [9, 10])


# -------------------------------------------------------------------------------- cancellations and reservations


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", [p for p in POLICIES if p != "conservative-static"])
def test_who_is_cancelled_while_waiting_makes_room(policy, order):
    rows = [(0, 1, 10, 10), (1, 2, 5, 5), (2, 1, 20, 20)]
    outcome = simulate_by_force(2, rows, policy, order=order, cancellations=[FOREVER, 4, FOREVER])
    assert outcome.start == [0, None, 4]
    assert outcome.end == [10, 4, 24]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", [p for p in POLICIES if p != "conservative-static"])
def test_who_is_cancelled_while_running_ends(policy, order):
    rows = [(0, 1, 10, 10), (1, 1, 5, 5)]
    outcome = simulate_by_force(1, rows, policy, order=order, cancellations=[4, FOREVER])
    assert (outcome.start, outcome.end) == ([0, 4], [4, 9])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", POLICIES)
def test_who_is_cancelled_before_it_came_never_comes(policy, order):
    outcome = simulate_by_force(1, [(0, 1, 5, 5), (0, 1, 5, 5)], policy, order=order, cancellations=[0, FOREVER])
    assert outcome.start == [None, 0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_overlaps_a_reservation_and_what_fits_before_it_goes_first(policy, order):
    rows = [(0, 2, 6, 6), (0, 2, 5, 5), (0, 2, 5, 5)]
    outcome = simulate_by_force(2, rows, policy, order=order, reservations=[(0, 1, 5, 3)])
    assert outcome.reserved == [5]
    # The first needs six seconds and five are left; FCFS lets nobody use them.
    assert outcome.start == ([8, 14, 19] if policy == "fcfs" else [8, 0, 14])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_reservation_that_does_not_fit_comes_later(policy, order):
    outcome = simulate_by_force(2, [(0, 2, 6, 6)], policy, order=order, reservations=[(1, 1, 4, 3)])
    assert outcome.reserved == [6]


# ---------------------------------------------------------------------------------------- what holds for all rules


@pytest.mark.parametrize("order", ORDERS)
@examples(150)
@given(case=logs())
def test_shadow_time_and_extra_processors_say_the_same_as_the_profile(order, case):
    for policy in ("easy", "fcfs"):
        one = case.by_force(policy, order=order)
        assert one == case.by_force(policy, order=order, by_profile=True)


@pytest.mark.parametrize("order", ORDERS)
@examples(60)
@given(case=disturbed_logs())
def test_every_job_is_accounted_for_and_the_machine_never_oversubscribed(order, case):
    for policy in POLICIES:
        outcome = case.by_force(policy, order=order)
        spans = [
            (s, e, row[1]) for s, e, row in zip(outcome.start, outcome.end, case.rows, strict=True) if s is not None
        ]
        spans += [(s, s + r[3], r[1]) for s, r in zip(outcome.reserved, case.reservations, strict=True)]
        for instant in {start for start, _, _ in spans}:
            assert sum(p for start, end, p in spans if start <= instant < end) <= case.machine
        for start, row in zip(outcome.start, case.rows, strict=True):
            assert start is None or start >= row[0]
        if policy in PLANNING and policy != "conservative-replan":
            assert all(s is None or s <= p for s, p in zip(outcome.start, outcome.promise, strict=True))


@pytest.mark.parametrize("name", PYSS_LOGS)
def test_by_events_it_starts_jobs_when_pyss_does(pyss, name):
    machine, ids, rows = canonical(pyss / f"{name}.swf")
    for policy in ("easy", "conservative"):
        outcome = simulate_by_force(machine, rows, policy, order="event")
        assert dict(zip(ids, outcome.start, strict=True)) == published_starts(pyss / f"{name}.csv", policy)
