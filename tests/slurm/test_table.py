"""The time table of the backfill scheduler."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gas.slurm.node_sets import unpacked, words_of
from gas.slurm.table import check, empty_table, enter, overlaps, span_of

NONE = np.zeros(0, np.int64)


def table(nodes=3, room=50):
    return empty_table(0, 86_400, np.ones(nodes, np.bool_), NONE, room)


def nodes(*places, size=3):
    found = np.zeros((1, size), np.bool_)
    found[0, list(places)] = True
    return words_of(found)[0]


def slots(one):
    found = []
    for at in range(one.total[0]):
        free = np.zeros(64, np.bool_)
        unpacked(one.free[one.row[at]], free)
        found.append((int(one.begin[at]), int(one.end[at]), np.flatnonzero(free).tolist()))
    return found


def test_a_plan_takes_its_nodes_from_its_span():
    one = table()
    assert enter(one, nodes(1), NONE, 600, 1200, True)
    assert slots(one) == [(0, 600, [0, 1, 2]), (600, 1200, [0, 2]), (1200, 86_400, [0, 1, 2])]
    assert overlaps(one, nodes(1), NONE, False, 1140, 1260)
    assert not overlaps(one, nodes(1), NONE, False, 1200, 1260)
    assert not overlaps(one, nodes(0), NONE, False, 0, 9999)


def test_one_pair_of_equal_neighbours_is_joined():
    one = table(1)
    enter(one, nodes(0, size=1), NONE, 600, 1200, True)
    enter(one, nodes(0, size=1), NONE, 1200, 1800, True)
    assert slots(one) == [(0, 600, [0]), (600, 1800, []), (1800, 86_400, [0])]


def test_a_table_without_licences_joins_neighbours_whatever_licences_their_jobs_have():
    one, licences = table(1), np.array([2], np.int64)
    enter(one, nodes(0, size=1), licences, 600, 1200, True)
    enter(one, nodes(0, size=1), 2 * licences, 1200, 1800, True)
    assert slots(one) == [(0, 600, [0]), (600, 1800, []), (1800, 86_400, [0])]


def test_a_plan_beyond_the_table_takes_it_to_its_end():
    one = table(1)
    enter(one, nodes(0, size=1), NONE, 86_000, 99_000, True)
    assert slots(one) == [(0, 86_000, [0]), (86_000, 86_400, [])]


def test_a_table_without_room_says_so():
    assert not enter(table(room=2), nodes(1), NONE, 600, 1200, True)


def test_ends_are_rounded_down_before_24_11_and_up_since():
    assert span_of(659, 600, 0, 60, False) == (600, 1200)
    assert span_of(659, 600, 0, 60, True) == (600, 1260)
    assert span_of(600, 1, 0, 60, False) == (600, 660)
    assert span_of(10, 600, 60, 60, False) == (60, 600)


spans = st.tuples(st.integers(0, 1500), st.integers(1, 300), st.sets(st.integers(0, 4), min_size=1))


@given(st.lists(spans, max_size=20))
def test_slots_follow_each_other_and_what_is_taken_is_not_free(plans):
    one = table(5, room=200)
    taken = []
    for start, length, places in plans:
        first, last = 60 * start, 60 * (start + length)
        assert enter(one, nodes(*places, size=5), NONE, first, last, True)
        assert check(one) == []
        taken.append((first, last, places))
    for begin, end, free in slots(one):
        for first, last, places in taken:
            if begin < min(last, 86_400) and end > first and begin < end:
                assert not places & set(free)
