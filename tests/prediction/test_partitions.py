"""Partitions with processors of their own, inferred from past use."""

import numpy as np
from made_up import log_of

from gas.prediction.backtest import backtest
from gas.prediction.partitions import room_of_each
from gas.prediction.queue_state import FEATURES
from gas.prediction.recorded import RecordedQueue


def room(rows, machine):
    submit, start, end, processors, partition = np.array(rows, np.int64).T
    return room_of_each(submit, start, end, processors, partition, machine).tolist()


def test_a_partition_has_what_the_others_never_used():
    rows = [(0, 0, 50, 4, 1), (10, 10, 60, 3, 2), (20, 50, 90, 6, 1), (100, 100, 101, 1, 2), (100, 100, 101, 1, 1)]
    assert room(rows, 10) == [10, 6, 7, 4, 7]


def test_partitions_that_used_more_than_the_machine_together_share_it():
    rows = [(0, 0, 50, 8, 1), (60, 60, 90, 8, 2), (100, 100, 101, 1, 1), (100, 100, 101, 1, 2)]
    assert room(rows, 10) == [10, 0, 0, 0]  # at 60 the second is larger than the rest that the first leaves
    assert room(rows, 16) == [16, 8, 8, 8]
    assert room([(*row[:4], 7) for row in rows], 16) == [0, 0, 0, 0]  # one partition needs no division


def test_room_is_known_from_what_started_before():
    rows = [(i, i + 5, i + 9, 1 + i % 4, i % 3) for i in range(60)]
    changed = [row if row[1] < 30 else (row[0], row[1] + 100, row[2] + 200, 20, 1) for row in rows]
    assert room(rows, 40)[:20] == room(changed, 40)[:20]


def two_partitions(count=120):
    """Return a log of a full partition of 8 processors, where each job waits for the last one, and of an idle one."""
    full = [(100 * i, 50 * i, 150, 200, 8) for i in range(count)]
    idle = [(100 * i + 50, 0, 40, 200, 8) for i in range(count)]
    rows = [row for both in zip(full, idle, strict=True) for row in both]
    log = log_of(rows, machine=16).with_columns(partition=np.arange(2 * count) % 2)
    return RecordedQueue(log)


def test_a_job_meets_only_the_queue_of_its_partition():
    queue = two_partitions()
    busy, idle = 200, 201
    assert (queue.room[busy], queue.room[idle]) == (8, 8)
    seen = queue.snapshot(busy)
    assert (seen.machine, set(seen.processors.tolist()), seen.waiting) == (8, {8}, len(seen) - 1)
    assert seen.waiting > 20
    assert len(queue.snapshot(idle)) == 0
    assert queue.waiting(np.array([busy, idle])).tolist() == [seen.waiting, 0]
    known, later = queue.hindsight(busy, 1000)
    assert known.shape == (1, len(seen))
    assert (np.diff(later.jobs[0, 0]) == 100).all()  # those of the other partition come between them


def test_what_is_seen_of_others_is_of_the_partition_too():
    queue = two_partitions()
    places = np.array([200, 201])
    rows, _ = queue.seen(places)
    waiting, free = FEATURES.index("waiting"), FEATURES.index("free")
    assert rows[places, waiting].tolist() == queue.waiting(places).tolist()
    assert rows[places, free].tolist() == [0.0, 1.0]


def test_starts_in_a_partition_are_not_predicted_from_the_queue_of_another():
    """In one pool, the idle partition's jobs would wait behind the others, or the others start on its processors."""
    queue = two_partitions()
    outcomes = list(backtest(queue, queue.places(60), samples=5))
    idle = [one for one in outcomes if one.wait == 0]
    busy = [one for one in outcomes if one.wait > 2000]
    assert len(idle) > 20
    assert {one.simulated for one in idle} == {0.0}
    assert len(busy) > 20
    assert all(0.4 < one.simulated / one.wait <= 1 for one in busy)  # users use less than they request
