import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.service.feed import Feed
from gas.service.jobs import Job, JobRequest


def job(id):
    request = JobRequest("job", "job", 1, 10, actuator="simulated", run_time=10)
    return Job(id, request, submitted=0, state="queued", start=0, promise=0, first_promise=0, due=10)


def test_a_reader_gets_what_came_after_its_position_in_order():
    feed = Feed()
    feed.append([job(1)], {"queued": 1})
    feed.append([job(2), job(1)], {"queued": 2})
    assert [(c.number, c.job.id if c.job else None) for c in feed.since(1)] == [(2, None), (3, 2), (4, 1), (5, None)]
    assert feed.since(5) == []
    assert feed.last == 5


@pytest.mark.parametrize("position", [-1, 3, 99])
def test_a_position_that_was_never_given_is_missed(position):
    feed = Feed()
    feed.append([job(1)], {})
    assert feed.since(position) is None


@given(st.lists(st.integers(0, 8), max_size=20), st.integers(2, 6))
def test_whatever_is_not_missed_is_complete(sizes, room):
    feed = Feed(room)
    told = []  # the number that each change should have
    for size in sizes:
        feed.append([job(1 + i) for i in range(size)], {})
        told += [1 + i for i in range(size)] + [None]
    for position in range(len(told) + 1):
        found = feed.since(position)
        if found is None:
            continue
        assert [c.number for c in found] == list(range(position + 1, len(told) + 1))
        assert [c.job.id if c.job else None for c in found] == told[position:]


def test_readers_are_woken_and_a_closed_event_loop_disturbs_nobody():
    feed, woken = Feed(), threading.Event()

    def closed():
        raise RuntimeError("Event loop is closed")

    feed.follow(closed)
    feed.follow(woken.set)
    feed.append([], {})
    assert woken.wait(1)
    woken.clear()
    feed.unfollow(woken.set)
    feed.append([], {})
    assert not woken.is_set()
    feed.follow(woken.set)
    feed.close()
    assert woken.is_set()
    assert feed.closed
