import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import schedule_of, schedules

from gas.simulation.allocation import Allocation, allocate, clashes
from gas.simulation.schedule import Reservation


def test_jobs_take_the_lowest_processors_in_one_piece():
    made = allocate(schedule_of([(0, 4, 0, 10), (1, 3, 1, 20), (10, 2, 10, 20), (11, 5, 11, 20)], machine=12))
    assert made.texts(slice(None)) == ["0-3", "4-6", "0-1", "7-11"]


def test_a_job_that_fits_no_piece_is_split_over_the_lowest():
    made = allocate(schedule_of([(0, 2, 0, 10), (0, 2, 0, 20), (0, 2, 0, 10), (10, 5, 10, 30)], machine=7))
    assert made.pieces(3) == [(0, 2), (4, 7)]
    assert made.texts(slice(None))[3] == "0-1 4-6"


def test_a_single_processor_is_written_as_such():
    made = allocate(schedule_of([(0, 1, 0, 10), (0, 1, 0, 5), (0, 1, 0, 10), (6, 2, 6, 9)], machine=4))
    assert made.texts(slice(None))[3] == "1 3"


def test_what_ends_makes_room_for_what_starts_in_the_same_second():
    made = allocate(schedule_of([(0, 5, 0, 10), (0, 5, 10, 20)], machine=5))
    assert made.texts(slice(None))[1] == "0-4"


def test_a_job_that_never_started_has_none_and_one_of_no_length_the_lowest():
    made = allocate(schedule_of([(0, 5, 0, 10), (0, 3, None, 4), (2, 4, 2, 2)], machine=5))
    assert made.texts(slice(None)) == ["0-4", "", "0-3"]


def test_reservations_follow_the_jobs():
    schedule = schedule_of([(0, 2, 0, 10)], machine=5)
    schedule = replace(schedule, reservations=(Reservation(0, 3, 5, 5),), reserved=np.array([5], np.int64))
    made = allocate(schedule)
    assert made.texts(slice(None))[0] == "0-1"
    assert made.texts(slice(None))[1] == "2-4"


def test_too_many_processors_are_an_error_that_names_the_job():
    with pytest.raises(ValueError, match=r"second 3: job 2 starts on 3 processors, but 2 of 5 are free"):
        allocate(schedule_of([(0, 3, 0, 10), (0, 3, 3, 10)], machine=5))


@given(schedules(machine=9))
def test_every_processor_runs_one_job_at_a_time(schedule):
    made = allocate(schedule)
    for row in np.flatnonzero(schedule.started):
        pieces = made.pieces(row)
        assert sum(b - a for a, b in pieces) == schedule.jobs.processors[row]
        assert all(0 <= a < b <= 9 for a, b in pieces)
        assert all(b < c for (_, b), (c, _) in itertools.pairwise(pieces))  # neighbours would be joined
    for second in range(-5, 100):
        held = []
        for row in np.flatnonzero(schedule.started & (schedule.start <= second) & (second < schedule.end)):
            held += [p for a, b in made.pieces(row) for p in range(a, b)]
        assert len(held) == len(set(held))


@st.composite
def claims(draw):
    """Rows with spans of time and pieces of a machine of twelve, whoever else has them."""
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        start = draw(st.integers(0, 15))
        processors = draw(st.sets(st.integers(0, 11), max_size=6))
        rows.append((start, start + draw(st.integers(0, 8)), processors))
    return sorted(rows, key=lambda row: row[0])


def pieces_of(processors):
    begins = [p for p in sorted(processors) if p - 1 not in processors]
    return [(p, next(q for q in itertools.count(p) if q not in processors)) for p in begins]


@given(claims())
def test_clashes_are_those_that_looking_at_each_processor_finds(rows):
    expected = {}
    for row, (start, end, processors) in enumerate(rows):
        for other in range(row):
            _, until, theirs = rows[other]
            if end > start and rows[other][1] > rows[other][0] and until > start and processors & theirs:
                expected[row] = min([*(processors & theirs), *([expected[row]] if row in expected else [])])
    places = Allocation.of(pieces_of(processors) for _, _, processors in rows)
    start, end = [row[0] for row in rows], [row[1] for row in rows]
    found = clashes(places, range(len(rows)), start, end)
    assert {clash.row: clash.processor for clash in found} == expected
    for row, other, processor in found:  # who is named has it
        assert processor in rows[row][2] & rows[other][2]
        assert rows[other][1] > rows[row][0]


def test_a_clash_is_looked_for_piece_by_piece_not_processor_by_processor():
    places = Allocation.of([[(0, 10**14)], [(10**13, 10**13 + 1)], [(10**14, 10**15)]])
    [clash] = clashes(places, [0, 1, 2], [0, 1, 2], [9, 9, 9])
    assert (clash.row, clash.other, clash.processor) == (1, 0, 10**13)


def test_what_is_left_of_a_piece_on_either_side_of_a_clash_is_still_held():
    places = Allocation.of([[(0, 9)], [(4, 5)], [(0, 1)], [(8, 9)]])
    found = clashes(places, [0, 1, 2, 3], [0, 1, 2, 3], [9, 9, 9, 9])
    assert found == [(1, 0, 4), (2, 0, 0), (3, 0, 8)]


def test_rows_of_an_allocation_can_be_taken_in_another_order():
    places = Allocation.of([[(0, 2)], [], [(2, 3), (5, 6)]]).taken(np.array([2, 0]))
    assert places.texts(slice(None)) == ["2 5", "0-1"]
