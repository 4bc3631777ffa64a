"""Runs of jobs with the same request: what the job ahead implies for the next one, and moves in bulk.

That promotion with runs equals its plain passes is a property in `test_placing`, where jobs also come in bulk.
"""

import pytest

from gas.profile.blocks import STAMP, check, empty_blocks, profile_in
from gas.profile.changes import give_back, take
from gas.s3.placing import ONCE, place, promote
from gas.s3.queue import append, empty_queue
from gas.s3.runs import floor_of, slide

MACHINE, NOW, WALLTIME = 4, 0, 100
ENDS = (40, 60, 90, 100)


def waiting(*jobs):
    """Return a machine whose four processors become free at `ENDS`, and a queue of (processors, walltime, earliest)."""
    blocks, queue = empty_blocks(MACHINE, NOW, walltime=WALLTIME), empty_queue()
    for end in ENDS:
        take(blocks, NOW, end, 1)
    for number, (processors, walltime, earliest) in enumerate(jobs):
        start = place(blocks, processors, walltime, earliest)
        append(queue, blocks, number, processors, walltime, earliest, start)
    return blocks, queue


def starts(queue):
    return queue.start[: queue.used[0]].tolist()


def end_the_last(blocks):
    """End the job whose processor would have become free last."""
    give_back(blocks, NOW, ENDS[-1], 1)


def test_each_of_a_run_slides_to_where_the_one_before_it_was_and_the_profile_changes_once():
    blocks, queue = waiting(*4 * [(1, WALLTIME, NOW)])
    assert starts(queue) == [40, 60, 90, 100]
    end_the_last(blocks)
    stamp = blocks.numbers[STAMP]
    assert promote(blocks, queue, NOW, ONCE) == 4
    assert starts(queue) == [0, 40, 60, 90]
    assert blocks.numbers[STAMP] == stamp + 1
    check(blocks, MACHINE)
    found = profile_in(blocks)
    assert found.starts.tolist() == [0, 100, 140, 160, 190]
    assert found.free.tolist() == [0, 1, 2, 3, 4]


def test_who_finds_no_room_there_ends_the_run():
    blocks, queue = waiting(*5 * [(1, WALLTIME, NOW)])
    assert starts(queue) == [40, 60, 90, 100, 140]
    end_the_last(blocks)
    assert slide(blocks, queue, 0, NOW, NOW, 9) == (3, 4, 200)
    assert starts(queue) == [0, 40, 60, 90, 140]


@pytest.mark.parametrize("other", [(1, WALLTIME + 1, NOW), (2, WALLTIME, NOW), (1, WALLTIME, NOW + 1)], ids=str)
def test_who_asks_for_something_else_ends_the_run(other):
    blocks, queue = waiting((1, WALLTIME, NOW), (1, WALLTIME, NOW), other, (1, WALLTIME, NOW))
    end_the_last(blocks)
    assert slide(blocks, queue, 0, NOW, NOW, 9)[:2] == (1, 2)


def test_who_is_due_is_passed_over():
    blocks, queue = waiting(*3 * [(1, WALLTIME, NOW)])
    queue.start[1] = NOW - 5
    end_the_last(blocks)
    assert slide(blocks, queue, 0, NOW, NOW, 9)[:2] == (2, 2)
    assert starts(queue) == [0, -5, 40]


def test_no_more_move_than_may():
    blocks, queue = waiting(*4 * [(1, WALLTIME, NOW)])
    end_the_last(blocks)
    assert slide(blocks, queue, 0, NOW, NOW, 2)[:2] == (1, 2)
    assert starts(queue) == [0, 40, 90, 100]


def test_nobody_who_asks_for_as_much_starts_before_the_job_ahead():
    _, queue = waiting((1, WALLTIME, NOW), (1, WALLTIME, NOW), (2, WALLTIME + 5, NOW), (1, WALLTIME, NOW))
    assert starts(queue)[:2] == [40, 60]
    assert [floor_of(queue, ahead, ahead + 1, NOW) for ahead in (0, 1)] == [40, 60]
    assert floor_of(queue, 2, 3, NOW) == NOW  # asks for less
