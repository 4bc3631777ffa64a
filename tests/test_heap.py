"""The heap of events, against the standard library's."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.compiled import compiled
from gas.heap import CREATED, JOB, TIME, empty_heap, pop, push

instants = st.integers(0, 5) | st.integers(-(2**62), 2**62)
"""Equal values are frequent."""


@pytest.mark.parametrize("form", [lambda function: function, compiled], ids=["plain", "compiled"])
@given(st.lists(instants | st.none(), max_size=60))
def test_what_happens_first_leaves_first_and_at_one_instant_what_was_created_first(form, what):
    heap, plain = empty_heap(60), []
    for created, instant in enumerate(what):
        if instant is not None:
            form(push)(heap, len(plain), instant, created, 100 - created)
            heapq.heappush(plain, (instant, created, 100 - created))
        elif plain:
            assert form(pop)(heap, len(plain)) == heapq.heappop(plain)[2]
        if plain:
            assert (heap[TIME, 0], heap[CREATED, 0], heap[JOB, 0]) == plain[0]
    while plain:
        assert form(pop)(heap, len(plain)) == heapq.heappop(plain)[2]
