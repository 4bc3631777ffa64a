"""The front of time against cost."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from speedup_models.front import GAIN, front, offers
from speedup_models.model import Layout


def test_sixty_sizes_that_win_seconds_are_a_few_rows():
    sizes = np.arange(1, 65)
    rows = front(sizes, 100 + 3600 / sizes)
    assert rows[0].size == 1
    assert len(rows) < 40
    assert all(after.seconds <= before.seconds * (1 - GAIN) for before, after in pairwise(rows))


def test_speedup_and_efficiency_are_against_the_smallest():
    one, four = front([1, 4], [100.0, 50.0])
    assert (one.speedup, one.efficiency, one.cost) == (1, 1, 100)
    assert (four.speedup, four.efficiency, four.cost) == (2, 0.5, 200)


def test_of_several_layouts_the_one_that_wins_is_kept():
    layouts = [Layout(1, 4), Layout(2, 2), Layout(4, 1)]
    (best,) = front([4, 4, 4], [50.0, 40.0, float("nan")], layouts)
    assert best.layout == Layout(2, 2)


def test_without_a_time_there_is_no_front():
    assert front([2], [float("nan")]) == []


@given(st.lists(st.tuples(st.integers(1, 100), st.floats(1, 1e4)), min_size=1, max_size=20))
def test_no_row_is_dominated_and_no_row_left_out_is_much_better(pairs):
    sizes, seconds = zip(*pairs, strict=True)
    rows = front(sizes, seconds)
    for one in offers(sizes, seconds):
        assert any(row.cost <= one.cost and row.seconds * (1 - GAIN) <= one.seconds for row in rows)
    for row in rows:
        assert not any(other.cost < row.cost and other.seconds < row.seconds for other in rows)
