"""Snapshots from a scheduler's information on its jobs one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import BadInput
from gas.prediction.entries import Entry, snapshot_from

NOW = 1000

ENTRIES = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 50), st.integers(NOW - 40, NOW + 60), st.booleans()).map(
        lambda drawn: Entry(*drawn[:3], running=drawn[2] <= NOW and drawn[0] % 2 == 0, fixed=drawn[3])
    ),
    max_size=12,
)


def taken_at(snapshot, instant):
    end = snapshot.start + snapshot.walltime
    return int(snapshot.processors[(snapshot.start <= instant) & (instant < end)].sum())


def test_plans_that_fit_stay_as_they_are():
    entries = [
        Entry(4, 100, NOW - 10, True, 1),
        Entry(6, 50, NOW, True, fixed=True),
        Entry(10, 30, NOW + 90, False, 3),
        Entry(6, 40, NOW + 50, False),
    ]
    found = snapshot_from(NOW, 10, entries)
    assert found.start.tolist() == [NOW - 10, NOW, NOW + 90, NOW + 50]
    assert found.processors.tolist() == [4, 6, 10, 6]
    assert found.running.tolist() == [True, True, False, False]
    assert found.user.tolist() == [1, -1, 3, -1]
    assert found.fixed.tolist() == [False, True, False, False]
    assert (found.submit, found.name) == (None, None)


def test_submissions_and_names_are_kept_where_some_are_known():
    entries = [Entry(4, 100, NOW - 10, True), Entry(6, 50, NOW + 9, False, submit=NOW - 70, name=3)]
    found = snapshot_from(NOW, 10, entries)
    assert found.submit.tolist() == [NOW - 10, NOW - 70]
    assert found.name.tolist() == [-1, 3]


def test_jobs_later_in_the_queue_are_moved_if_plans_take_more_than_the_machine_has():
    found = snapshot_from(NOW, 10, [Entry(8, 100, NOW - 10, True), Entry(6, 10, NOW + 50, False)])
    assert found.start.tolist() == [NOW - 10, NOW + 90]


def test_a_planned_start_that_is_past_is_now():
    assert snapshot_from(NOW, 10, [Entry(5, 10, NOW - 3, False)]).start.tolist() == [NOW]


def test_an_empty_machine():
    found = snapshot_from(NOW, 10, [])
    assert (len(found), found.waiting, found.fixed) == (0, 0, None)


@given(ENTRIES)
def test_no_more_is_taken_at_any_time_than_there_is(entries):
    found = snapshot_from(NOW, 10, entries)
    for instant in {NOW, *found.start.clip(NOW).tolist()}:  # where more is taken than before
        assert taken_at(found, instant) <= 10


@given(ENTRIES)
def test_the_order_stays_and_no_start_is_before_the_planned_one(entries):
    found = snapshot_from(NOW, 10, [e._replace(user=place) for place, e in enumerate(entries)])
    assert found.user.tolist() == sorted(found.user.tolist())
    for user, start in zip(found.user.tolist(), found.start.tolist(), strict=True):
        entry = entries[user]
        assert start == entry.start if entry.running else start >= entry.start


def test_a_walltime_that_is_none_is_refused():
    with pytest.raises(BadInput, match="walltime 0"):
        snapshot_from(NOW, 10, [Entry(1, 0, NOW, True)])
