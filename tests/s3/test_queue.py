"""The queue as arrays: where jobs are put, and the order in which they were last looked at."""

import numpy as np
import pytest

from gas.profile.flat import ENDLESS
from gas.s3.queue import COUNT, NEXT, UNFINISHED, empty_queue, insert, remove


def queue_of(*seen, next=None):
    """Return a queue of jobs 0, 1, ... with these stamps; `next` is the stamp of an unfinished pass."""
    queue = empty_queue(16)
    for job, stamp in enumerate(seen):
        insert(queue, job, job, 0, 1, 1, 0, 0, 0, stamp)
    queue.seen[: len(seen)] = seen
    if next is not None:
        queue.used[UNFINISHED], queue.used[NEXT] = 1, next
    return queue


def put(queue, place, stamp):
    insert(queue, place, 99, 5, 2, 30, 4, 50, 1, stamp)
    return queue.seen[: queue.used[COUNT]].tolist()


def test_a_job_is_put_before_those_behind_it():
    queue = queue_of(1, 2, 3)
    put(queue, 1, 9)
    assert queue.job[:4].tolist() == [0, 99, 1, 2]
    assert queue.jobs[:, 1].tolist() == [2, 30, 4, 50, 2, 1, 99, 5, ENDLESS, 0]


@pytest.mark.parametrize(("place", "seen"), [(3, [1, 2, 3, 9]), (0, [1, 1, 2, 3]), (2, [1, 2, 3, 3])])
def test_no_job_was_looked_at_later_than_those_that_are_looked_at_after_it(place, seen):
    assert put(queue_of(1, 2, 3), place, 9) == seen


@pytest.mark.parametrize(
    ("place", "seen", "goes_on_at"),
    [
        (0, [7, 7, 2, 3], 2),  # in front of the next one, among those already considered in this pass
        (1, [7, 2, 2, 3], 1),  # it is the next one now
        (2, [7, 2, 3, 3], 1),
        (3, [7, 2, 3, 7], 1),  # the last of the pass, before the first of the pass after it
    ],
)
def test_in_the_middle_of_a_pass_those_before_the_next_one_come_last(place, seen, goes_on_at):
    queue = queue_of(7, 2, 3, next=1)
    assert put(queue, place, 9) == seen
    assert queue.used[NEXT] == goes_on_at
    assert (np.diff(np.roll(queue.seen[:4], -goes_on_at)) >= 0).all()


def test_who_leaves_takes_the_pass_along():
    queue = queue_of(7, 8, 3, 4, next=2)
    remove(queue, np.array([0, 2]))
    assert (queue.job[:2].tolist(), queue.used[NEXT]) == ([1, 3], 1)
