import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.events import MOST_EVENT_BYTES, EventReader, ServiceEvent
from gas.errors import Unreachable

STREAM = (
    b': hello\r\nevent: machine\r\ndata: {"now": 1}\r\nid: a-1\r\n\r\n'
    b'retry: 5\nid: a-2\nevent: job\ndata: {"id":\ndata: 3}\nnonsense\n\n'
    b": a comment every 15 s\n\n"
    b"event: reset\ndata: {}\n\n"
)
EVENTS = [
    ServiceEvent("machine", {"now": 1}, "a-1"),
    ServiceEvent("job", {"id": 3}, "a-2"),
    ServiceEvent("reset", {}, "a-2"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_events_do_not_depend_on_the_pieces_that_they_come_in(cuts):
    edges = [0, *sorted(cuts), len(STREAM)]
    reader = EventReader()
    pieces = [STREAM[a:b] for a, b in pairwise(edges)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), st.text("abc-123", min_size=1))
def test_an_event_is_read_as_it_was_written(data, id):
    text = f"event: job\nid: {id}\ndata: {json.dumps(data)}\n\n"
    reader = EventReader()
    assert list(reader.feed(text.encode())) == [ServiceEvent("job", data, id)]
    assert reader.last_id == id


def test_an_event_that_was_not_completed_is_none_and_does_not_count():
    reader = EventReader("a-1")
    assert list(reader.feed(b"id: a-2\ndata: {}\n")) == []
    assert reader.last_id == "a-1", "the client comes back for it"


def test_an_id_stays_until_there_is_another():
    reader = EventReader("a-7")
    assert [e.id for e in reader.feed(b"data: {}\n\nid: a-8\ndata: {}\n\ndata: {}\n\n")] == ["a-7", "a-8", "a-8"]


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize(
    "stream",
    [
        b"data: x\n\n",
        b"data: []\n\n",
        b"data: " + b"[" * 9999 + b"\n\n",
        b"data: \xff\n\n",
        b"x" * (MOST_EVENT_BYTES + 1),
        b"data: x\n" * (MOST_EVENT_BYTES // 7 + 1),
    ],
)
def test_what_is_no_stream_of_s3(stream):
    with pytest.raises(Unreachable, match="is it an S³ service"):
        list(EventReader().feed(stream))
