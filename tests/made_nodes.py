"""Machines whose nodes are taken at times, and an oracle that keeps each node second by second."""

import numpy as np
from hypothesis import strategies as st
from strategies import instants

from gas.availability import NodeAvailability, Spans
from gas.profile.flat import NEVER

__all__ = ["HORIZON", "first_second", "fits", "free_at", "machines", "requests"]

HORIZON = 24


@st.composite
def machines(draw, most_nodes=4, most_units=4):
    """Return nodes of some units, some of which are taken at times, also repeatedly and in the past."""
    now = draw(instants)
    capacity = draw(st.lists(st.integers(1, most_units), min_size=1, max_size=most_nodes))
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, len(capacity) - 1),
                st.integers(-5, HORIZON // 2),
                st.integers(0, HORIZON // 2),
                st.integers(0, most_units + 1),
            ),
            max_size=12,
        )
    )
    spans = [(node, now + start, now + start + length, units) for node, start, length, units in rows]
    return NodeAvailability("nodes", "estimate", now, "1", np.array(capacity), Spans.of(spans))


def free_at(machine, node, second):
    taken = machine.taken
    here = (taken.node == node) & (taken.start <= second) & (second < taken.end)
    return max(int(machine.capacity[node]) - int(taken.units[here].sum()), 0)


def fits(machine, processors, start, walltime):
    throughout = (
        min(free_at(machine, node, second) for second in range(start, start + walltime))
        for node in range(len(machine.capacity))
    )
    return sum(throughout) >= processors


def first_second(machine, processors, walltime, first):
    for start in range(max(first, machine.now), max(first, machine.now) + HORIZON + 10):
        if fits(machine, processors, start, walltime):
            return start
    return NEVER


requests = st.lists(st.tuples(st.integers(1, 17), st.integers(1, HORIZON)), min_size=1, max_size=5)
