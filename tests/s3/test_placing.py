"""Placing and promoting on arrays, against free processors second by second."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Seconds

from gas.compiled import compiled
from gas.profile import NEVER, check, empty_profile, profile_of, take, with_room
from gas.s3.placing import empty_queue, place, promote, revise, with_queue_room

MACHINE = 6
LATE = 400

jobs = st.tuples(st.integers(1, MACHINE), st.integers(1, 9), st.integers(0, 40), st.booleans())


def make(queued, now):
    """Return profile and queue of jobs (processors, walltime, earliest, start)."""
    profile, queue = empty_profile(MACHINE, now, room=200), empty_queue(40)
    for i, job in enumerate(queued):
        queue.processors[i], queue.walltime[i], queue.earliest[i], queue.start[i] = job
        take(profile, job[3], job[3] + job[1], job[0])
    queue.used[0] = len(queued)
    return profile, queue


def oracle(queued, now):
    free = Seconds(MACHINE, now, LATE)
    for processors, walltime, _, start in queued:
        free.hold(start, start + walltime, processors)
    return free


@st.composite
def schedules(draw):
    """Return jobs in submission order that could all be there, some with holes before them, and an instant."""
    queued = []
    for processors, walltime, later, may_be_promoted in draw(st.lists(jobs, max_size=9)):
        start = oracle(queued, 0).first_fit(processors, walltime, later)
        queued.append((processors, walltime, 0 if may_be_promoted else later, start))
    return queued, draw(st.integers(0, min((job[3] for job in queued), default=0)))


def revised(queued, now):
    """One pass: every job not yet due is taken out and put back at its first second."""
    queued = list(queued)
    for i, (processors, walltime, earliest, start) in enumerate(queued):
        if start > now:
            others = oracle(queued[:i] + queued[i + 1 :], now)
            first = others.first_fit(processors, walltime, max(now, earliest))
            queued[i] = (processors, walltime, earliest, first)
    return queued


def promoted(queued, now):
    while (again := revised(queued, now)) != queued:
        queued = again
    return queued


def starts(queue):
    return queue.start[: queue.used[0]].tolist()


def assert_holds(profile, queued, now):
    check(profile, MACHINE)
    count = int(profile.used[0])
    frames = list(zip(profile.starts[:count].tolist(), profile.free[:count].tolist(), strict=True))
    assert frames == oracle(queued, now).steps()


@settings(max_examples=200, deadline=None)
@given(schedules(), st.integers(1, MACHINE), st.integers(1, 9), st.integers(0, 30))
def test_a_job_is_placed_in_the_first_slot_that_it_fits(schedule, processors, walltime, not_before):
    queued, _ = schedule
    profile, _ = make(queued, 0)
    start = place(profile, processors, walltime, not_before)
    assert start == oracle(queued, 0).first_fit(processors, walltime, not_before)
    assert_holds(profile, [*queued, (processors, walltime, 0, start)], 0)


def test_what_fits_nowhere_takes_nothing():
    profile = profile_of([0, 10], [4, 2], room=8)
    assert place(profile, 3, 11, 0) == NEVER
    assert (profile.starts[:2].tolist(), profile.free[:2].tolist(), profile.used[0]) == ([0, 10], [4, 2], 2)


@settings(max_examples=300, deadline=None)
@given(schedules())
def test_a_revision_takes_each_job_out_and_puts_it_back_in_submission_order(schedule):
    queued, now = schedule
    profile, queue = make(queued, now)
    expected = revised(queued, now)
    moved = revise(profile, queue, now)
    assert starts(queue) == [job[3] for job in expected]
    assert moved == sum(a != b for a, b in zip(queued, expected, strict=True))
    assert_holds(profile, expected, now)


@settings(max_examples=300, deadline=None)
@given(schedules())
def test_promotion_goes_on_until_nothing_moves_and_makes_nobody_later(schedule):
    queued, now = schedule
    profile, queue = make(queued, now)
    moves = promote(profile, queue, now)
    expected = promoted(queued, now)
    assert starts(queue) == [job[3] for job in expected]
    assert all(after[3] <= before[3] for before, after in zip(queued, expected, strict=True))
    assert (moves == 0) == (expected == queued)
    assert_holds(profile, expected, now)
    assert promote(profile, queue, now) == 0


def test_one_revision_is_not_always_enough():
    def some_queue(seed):
        random = np.random.default_rng(seed)
        queued = []
        for _ in range(5):
            processors, walltime, later = (int(x) for x in random.integers([1, 1, 0], [7, 9, 30]))
            queued.append((processors, walltime, 0, oracle(queued, 0).first_fit(processors, walltime, later)))
        return queued

    queued = next(queue for queue in map(some_queue, range(1000)) if promoted(queue, 0) != revised(queue, 0))
    profile, queue = make(queued, 0)
    revise(profile, queue, 0)
    once = starts(queue)
    assert promote(profile, queue, 0) > 0
    assert starts(queue) != once


def test_what_is_due_stays():
    profile, queue = make([(6, 5, 0, 3), (6, 5, 0, 8)], 3)
    assert promote(profile, queue, 3) == 0
    profile, queue = make([(6, 5, 0, 3), (6, 5, 0, 8)], 2)
    assert promote(profile, queue, 2) == 2
    assert starts(queue) == [2, 7]


@pytest.mark.parametrize("seed", range(5))
def test_machine_code_promotes_like_the_plain_function(seed):
    random = np.random.default_rng(seed)
    profile, queue = empty_profile(100, 0, room=1000), empty_queue(200)
    for i in range(150):
        queue.processors[i], queue.walltime[i] = random.integers(1, 101), random.integers(1, 2000)
        queue.start[i] = place(profile, queue.processors[i], queue.walltime[i], int(random.integers(0, 5000)))
        queue.used[0] += 1
    now = int(queue.start[:150].min())
    first, second = [type(profile)(*(a.copy() for a in profile)) for _ in range(2)]
    one, other = [type(queue)(*(a.copy() for a in queue)) for _ in range(2)]
    assert promote(first, one, now) == compiled(promote)(second, other, now) > 0
    assert starts(one) == starts(other)
    assert first.starts[: first.used[0]].tolist() == second.starts[: second.used[0]].tolist()


def test_a_full_queue_grows_and_keeps_its_jobs():
    queue = empty_queue(2)
    queue.processors[:] = 7, 8
    queue.used[0] = 1
    assert with_queue_room(queue) is queue
    queue.used[0] = 2
    larger = with_queue_room(queue)
    assert (larger.processors[:2].tolist(), larger.used[0], len(larger.start)) == ([7, 8], 2, 4)


def test_a_pass_never_needs_more_room_than_two_frames_a_job():
    # What S3 makes room for before it promotes.
    random = np.random.default_rng(1)
    queued = []
    for _ in range(40):
        processors, walltime, later = (int(x) for x in random.integers([1, 1, 0], [7, 9, 60]))
        queued.append((processors, walltime, 0, oracle(queued, 0).first_fit(processors, walltime, later)))
    profile, queue = make(queued, 0)
    tight = profile_of(profile.starts[: profile.used[0]], profile.free[: profile.used[0]])
    tight = with_room(tight, 2 * len(queued) + 2)
    assert promote(tight, queue, 0) > 0
    check(tight, MACHINE)
