"""Gaps of nodes: the start found is that of trying every second, since a job keeps its nodes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made_nodes import first_second, machines, requests
from thorough import examples

from gas.availability import NodeAvailability, Spans
from gas.compiled import compiled
from gas.profile.flat import ENDLESS
from gas.profile.gaps import earliest_in_gaps


@examples(200)
@given(machines(), requests, st.integers(-3, 15))
def test_the_anchor_is_what_trying_every_second_finds(machine, wanted, later):
    sizes, walltimes = np.array(wanted, np.int64).T
    first = machine.now + later
    found = machine.anchors(sizes, walltimes, first)
    assert found.tolist() == [first_second(machine, p, w, first) for p, w in wanted]


@examples(50)
@given(machines(), requests)
def test_compiled_and_plain_say_the_same(machine, wanted):
    sizes, walltimes = np.array(wanted, np.int64).T.copy()
    both = [np.empty(len(wanted), np.int64) for _ in range(2)]
    for form, anchors in zip((earliest_in_gaps, compiled(earliest_in_gaps)), both, strict=True):
        form(machine.gaps, sizes, walltimes, machine.now, anchors)
    assert both[0].tolist() == both[1].tolist()


def test_a_job_cannot_move_between_nodes():
    """One node is free until 10, the other from 10 on: one unit is always free, but no job of 11 s fits now."""
    machine = NodeAvailability(
        "two", "estimate", 0, "1", np.array([1, 1]), Spans.of([(0, 10, 100, 1), (1, 0, 10, 1), (1, 30, 100, 1)])
    )
    assert machine.counts.free.tolist() == [1, 0, 2]
    assert machine.anchors(np.array([1, 1, 1]), np.array([10, 20, 21]), 0).tolist() == [0, 10, 100]


def test_gaps_hold_the_levels_that_are_free_together():
    machine = NodeAvailability("one", "estimate", 0, "1", np.array([8]), Spans.of([(0, 0, 10, 8), (0, 10, 20, 5)]))
    gaps = sorted(zip(*(row.tolist() for row in machine.gaps[1:4]), strict=True))
    assert gaps == [(10, ENDLESS, 3), (20, ENDLESS, 5)]
