"""The waiting jobs, as objects and as arrays."""

import numpy as np
import pytest

from gas.profile.blocks import level_of
from gas.s3 import Entry
from gas.s3.queue import NOT_LOOKED_AT
from gas.s3.waiting import Waiting


def entry(id, start, state="queued"):
    return Entry(id, 1 + id % 4, 10, 0, start, start, state, start + 10, 0)


def test_the_first_start_is_that_of_jobs_and_reservations_together():
    waiting = Waiting()
    assert waiting.next_start(0) is None
    a, b, r = entry(1, 50), entry(2, 30), entry(3, 40, "reserved")
    for e in (a, b, r):
        waiting.add(e)
    assert waiting.first_start() == 30
    assert [waiting.next_start(now) for now in (0, 30, 40, 50)] == [30, 40, 50, None]
    waiting.remove([b])
    assert waiting.first_start() == 40
    waiting.remove([r])
    assert waiting.first_start() == 50


def test_what_is_due_comes_in_submission_order():
    waiting = Waiting()
    for e in (entry(1, 50), entry(2, 30, "reserved"), entry(3, 20), entry(4, 31)):
        waiting.add(e)
    assert [e.id for e in waiting.due(30)] == [2, 3]
    assert waiting.due(19) == []


def test_a_job_that_was_just_placed_is_known_to_start_as_early_as_it_can_until_all_have_to_be_looked_at_again():
    waiting = Waiting()
    waiting.add(entry(1, 50))
    waiting.add(entry(2, 60), 7)
    assert waiting.queue.seen[:2].tolist() == [NOT_LOOKED_AT, 7]
    waiting.look_again()
    assert waiting.queue.seen[:2].tolist() == [NOT_LOOKED_AT] * 2


def test_starts_of_jobs_that_were_planned_again_are_written_into_the_arrays():
    waiting = Waiting()
    for id in (1, 2):
        waiting.add(entry(id, 100 * id))
    waiting.jobs[1].start = 30
    with pytest.raises(AssertionError, match="differ from job 2"):
        waiting.check()
    waiting.write_starts()
    waiting.check()
    assert (waiting.starts.tolist(), waiting.first_start()) == ([100, 30], 30)


def test_a_copy_goes_its_own_way():
    waiting = Waiting()
    for e in (entry(1, 50), entry(2, 30, "reserved"), entry(3, 20)):
        waiting.add(e, 5)
    copied = waiting.copy({e.id: entry(e.id, e.start, e.state) for e in waiting.entries})
    copied.remove([copied.jobs[0]])
    copied.look_again()
    copied.starts[0] = 11
    assert [e.id for e in waiting.jobs] == [1, 3]
    assert (waiting.starts.tolist(), waiting.queue.seen[:2].tolist()) == ([50, 20], [5, 5])
    waiting.check()


def test_starts_moved_in_the_arrays_are_read_by_those_that_moved():
    waiting = Waiting()
    for id in range(1, 5):
        waiting.add(entry(id, 100 * id))
    before = waiting.starts.copy()
    waiting.starts[1:3] = 5, 7
    assert [(e.id, e.start, e.end) for e in waiting.read_starts(before)] == [(2, 5, 15), (3, 7, 17)]
    assert waiting.first_start() == 5
    waiting.check()


@pytest.mark.parametrize("seed", range(4))
def test_objects_and_arrays_stay_the_same_whoever_comes_and_goes(seed):
    random = np.random.default_rng(seed)
    waiting, expected = Waiting(), []
    for id in range(1, 300):
        e = entry(id, int(random.integers(0, 1000)), str(random.choice(["queued", "queued", "reserved"])))
        waiting.add(e, id)
        expected.append(e)
        if random.random() < 0.4:
            gone = [expected[i] for i in random.permutation(len(expected))[: int(random.integers(1, 4))]]
            waiting.remove(gone)
            expected = [e for e in expected if e not in gone]
        waiting.check()
        assert waiting.jobs == [e for e in expected if e.state == "queued"]
        # What only the kernels read goes with its job.
        queue, count = waiting.queue, len(waiting.jobs)
        assert queue.job[:count].tolist() == queue.seen[:count].tolist() == [e.id for e in waiting.jobs]
        assert queue.level[:count].tolist() == [level_of(e.processors) for e in waiting.jobs]
        assert list(waiting.reserved.values()) == [e for e in expected if e.state == "reserved"]
        assert waiting.next_start(-1) == min((e.start for e in expected), default=None)
        now = int(random.integers(0, 1000))
        assert waiting.due(now) == [e for e in expected if e.start <= now]
        assert waiting.next_start(now) == min((e.start for e in expected if e.start > now), default=None)
