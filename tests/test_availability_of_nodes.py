"""Availability with node identity, against an oracle that keeps each node second by second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_nodes import HORIZON, first_second, free_at, machines, requests
from thorough import examples

from gas import Application, plan
from gas.availability import NodeAvailability, Spans
from gas.errors import BadInput
from gas.profile.flat import NEVER
from speedup_models import Table


@examples(150)
@given(machines())
def test_the_counts_are_what_is_free_at_each_moment(machine):
    counts = machine.counts
    frames = counts.frames
    for frame in frames:
        for second in range(frame.start, min(frame.end or frame.start + 3, machine.now + HORIZON)):
            assert frame.free == sum(free_at(machine, node, second) for node in range(len(machine.capacity)))
    assert type(counts).from_wire(counts.to_wire(), "counts").frames == frames  # all are valid in the format
    assert frames[-1].free == machine.processors


@examples(100)
@given(machines(), requests)
def test_no_request_starts_sooner_on_nodes_than_by_the_counts(machine, wanted):
    from gas.profile.flat import earliest_fit

    sizes, walltimes = np.array(wanted, np.int64).T.copy()
    for size, walltime, anchor in zip(sizes, walltimes, machine.anchors(sizes, walltimes, machine.now), strict=True):
        by_counts = earliest_fit(machine.counts.profile, size, walltime, machine.now)
        assert anchor == by_counts == NEVER or by_counts <= anchor


@examples(100)
@given(machines(most_units=1), st.dictionaries(st.integers(1, 4), st.integers(1, HORIZON), min_size=1))
def test_the_planner_reads_it_as_it_reads_a_list(machine, times):
    application = Application(Table.of(times), safety=1.0)
    expected = []
    for processors, time in sorted(times.items()):
        start = first_second(machine, processors, time, machine.now)
        if start != NEVER:
            expected.append((start + time, processors, start))
    best = plan(application, machine).best
    assert (best and (best.finish, best.processors, best.start)) == (min(expected) if expected else None)
    walked = plan(application, machine, algorithm="walk").candidates
    assert all(
        walk.start == listed.start
        for walk, listed in zip(walked, plan(application, machine.counts, algorithm="walk").candidates, strict=True)
    )


@pytest.mark.parametrize(
    ("capacity", "rows", "message"),
    [
        ([], [], "0 nodes"),
        ([4, 0], [], "at least 1 unit"),
        ([4], [(1, 0, 5, 1)], "node 1"),
        ([4], [(0, 0, 5, -1)], "-1 units"),
    ],
)
def test_what_cannot_be_is_refused(capacity, rows, message):
    with pytest.raises(BadInput, match=message):
        NodeAvailability("bad", "estimate", 0, "1", np.array(capacity, np.int64), Spans.of(rows))
