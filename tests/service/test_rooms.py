"""Which connection is closed for a new one: checked by counting by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.service.rooms import Room


def test_the_party_with_most_gives_way_and_its_oldest_first():
    room = Room(4)
    for member, party in [(1, "a"), (2, "b"), (3, "b"), (4, "c")]:
        room.enter(member, party)
    assert room.full
    assert (room.largest, room.members("b"), room.count("b")) == ("b", [2, 3], 2)
    room.leave(2)
    assert (room.largest, len(room), 2 in room, room.full) == ("a", 3, False, False), "the first of three with one"


def test_a_stranger_to_the_room_may_leave_it():
    room = Room(1)
    room.leave("somebody")
    assert len(room) == 0
    with pytest.raises(LookupError, match="empty"):
        _ = room.largest


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 4)), max_size=80))
def test_counts_are_those_of_a_list(steps):
    room, here = Room(100), {}
    for enters, member, party in steps:
        if enters and member not in here:
            room.enter(member, party)
            here[member] = party
        elif not enters:
            room.leave(member)
            here.pop(member, None)
        assert list(room) == list(here)
        counts = {party: list(here.values()).count(party) for party in set(here.values())}
        assert {party: room.count(party) for party in counts} == counts
        if counts:
            assert counts[room.largest] == max(counts.values())
        for party in counts:
            assert room.members(party) == [m for m, p in here.items() if p == party]
