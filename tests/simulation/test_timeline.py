"""A schedule as step functions: free processors and waiting jobs, and means over spans of time."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case

from gas.simulation import simulate
from gas.simulation.timeline import step_means, timeline


def test_what_is_free_and_who_waits_at_each_change():
    # Job 1 leaves one processor free until 100, job 2 needs all four and waits.
    line = timeline(simulate(Case(4, ((0, 3, 100, 100), (1, 4, 10, 10))).jobs, "fcfs", machine_code=False))
    assert line.times.tolist() == [0, 1, 100, 110]
    assert line.free.tolist() == [1, 1, 0, 4]
    assert line.waiting.tolist() == [0, 1, 0, 0]
    assert line.queued_work.tolist() == [0, 40, 0, 0]


@given(st.lists(st.integers(0, 30), max_size=8, unique=True), st.lists(st.integers(-5, 40), min_size=2, unique=True))
def test_means_over_columns_are_those_of_the_seconds(times, edges):
    times, edges = np.array(sorted(times), dtype=np.int64), np.array(sorted(edges), dtype=np.int64)
    values = times * 3 % 7
    found = step_means(times, values, edges, before=2)

    def value(second):
        step = np.searchsorted(times, second, "right") - 1
        return 2 if step < 0 else values[step]

    for k, (a, b) in enumerate(itertools.pairwise(edges)):
        assert found[k] == pytest.approx(np.mean([value(s) for s in range(a, b)]))
