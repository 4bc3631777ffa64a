"""Placing and promoting on arrays: against free processors second by second, and against the plain passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Seconds

from gas.compiled import compiled, kernel
from gas.profile import NEVER, check, empty_profile, give_back, profile_of, take
from gas.s3.placing import empty_queue, place, promote, with_queue_room

MACHINE = 6
LATE = 400
ANYWHERE = np.array([[0, LATE]])  # processors were given back

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


@kernel
def plainly_promoted(profile, queue, now):
    """What promotion is: passes, in which every job not yet due is taken out and put back, until nothing moves."""
    moves, again = 0, True
    while again:
        again = False
        for i in range(queue.used[0]):
            before, processors, walltime = int(queue.start[i]), int(queue.processors[i]), int(queue.walltime[i])
            if before > now:
                give_back(profile, before, before + walltime, processors)
                queue.start[i] = place(profile, processors, walltime, max(now, int(queue.earliest[i])))
                if queue.start[i] != before:
                    moves, again = moves + 1, True
    return moves


def copies(*tuples):
    return [type(given)(*(array.copy() for array in given)) for given in tuples]


def assert_same(profile, queue, other_profile, other_queue):
    assert starts(queue) == starts(other_queue)
    count = int(profile.used[0])
    assert count == other_profile.used[0]
    assert profile.starts[:count].tolist() == other_profile.starts[:count].tolist()
    assert profile.free[:count].tolist() == other_profile.free[:count].tolist()


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
def test_promotion_goes_on_until_nothing_moves_and_makes_nobody_later(schedule):
    queued, now = schedule
    profile, queue = make(queued, now)
    plain = copies(profile, queue)
    moves = promote(profile, queue, now, ANYWHERE)
    expected = promoted(queued, now)
    assert moves == plainly_promoted(*plain, now)
    assert starts(queue) == [job[3] for job in expected]
    assert all(after[3] <= before[3] for before, after in zip(queued, expected, strict=True))
    assert (moves == 0) == (expected == queued)
    assert_holds(profile, expected, now)
    assert promote(profile, queue, now, ANYWHERE) == 0


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
    promote(profile, queue, 0, ANYWHERE)
    assert starts(queue) != [job[3] for job in revised(queued, 0)]


def test_what_is_due_stays():
    profile, queue = make([(6, 5, 0, 3), (6, 5, 0, 8)], 3)
    assert promote(profile, queue, 3, ANYWHERE) == 0
    profile, queue = make([(6, 5, 0, 3), (6, 5, 0, 8)], 2)
    assert promote(profile, queue, 2, ANYWHERE) == 2
    assert starts(queue) == [2, 7]


def waiting(random, count, processors=64, longest=400, held=(0, 0)):
    """Return a profile and a queue of jobs that came one after the other, some of them for later.

    ``held`` is (end, processors) of a job that runs.
    """
    profile, queue = empty_profile(processors, 0, room=8 * count + 50), empty_queue(count)
    take(profile, 0, *held)
    for i in range(count):
        size = int(random.choice([1, 2, 4, 8, 16, 32, 64, int(random.integers(1, processors + 1))]))
        walltime = int(random.integers(1, longest))
        later = int(random.integers(0, 2000)) if random.random() < 0.1 else 0
        queue.processors[i], queue.walltime[i], queue.earliest[i] = size, walltime, later
        queue.start[i] = place(profile, size, walltime, later)
        queue.used[0] += 1
    return profile, queue


def some_leave(random, profile, queue, now):
    """Take a few jobs that have not begun out of the queue, and return the spans that this leaves free."""
    count, freed = int(queue.used[0]), []
    gone = random.choice(np.flatnonzero(queue.start[:count] > now), int(random.integers(1, 4)), replace=False)
    for i in gone.tolist():
        start, end = int(queue.start[i]), int(queue.start[i] + queue.walltime[i])
        give_back(profile, start, end, int(queue.processors[i]))
        freed.append([start, end])
    for column in queue[:4]:
        column[: count - len(gone)] = np.delete(column[:count], gone)
    queue.used[0] = count - len(gone)
    return np.array(freed)


@pytest.mark.parametrize("seed", range(5))
def test_looking_only_where_processors_were_given_back_leads_to_the_same_starts(seed):
    random = np.random.default_rng(seed)
    profile, queue = waiting(random, 120)
    plain_profile, plain_queue = copies(profile, queue)
    now, moved = 0, 0
    while queue.used[0] > 60:
        state = random.bit_generator.state
        freed = some_leave(random, profile, queue, now)
        random.bit_generator.state = state
        some_leave(random, plain_profile, plain_queue, now)
        moves = promote(profile, queue, now, freed)
        assert moves == plainly_promoted(plain_profile, plain_queue, now)
        assert_same(profile, queue, plain_profile, plain_queue)
        moved += moves
        now += int(random.integers(0, 30))  # who is due by then stays where it is, for good
    assert moved > 50


@pytest.mark.parametrize("form", [lambda kernel: kernel, compiled], ids=["plain", "compiled"])
def test_nearly_everybody_moves_when_a_large_job_ends_early(form):
    count = 120 if form is not compiled else 2000
    for seed, processors, longest in [(0, 64, 400), (1, 64, 30_000), (2, 1000, 50), (3, 65, 7)]:
        random = np.random.default_rng(seed)
        end = longest * count // 10
        profile, queue = waiting(random, count, processors, longest, (end, processors // 2))
        give_back(profile, 1, end, processors // 2)
        plain_profile, plain_queue = copies(profile, queue)
        moves = form(promote)(profile, queue, 1, np.array([[1, end]]))
        assert moves == compiled(plainly_promoted)(plain_profile, plain_queue, 1) > count // 3
        assert_same(profile, queue, plain_profile, plain_queue)
        check(profile, processors)


def test_a_full_queue_grows_and_keeps_its_jobs():
    queue = empty_queue(2)
    queue.processors[:] = 7, 8
    queue.used[0] = 1
    assert with_queue_room(queue) is queue
    queue.used[0] = 2
    larger = with_queue_room(queue)
    assert (larger.processors[:2].tolist(), larger.used[0], len(larger.start)) == ([7, 8], 2, 4)


@settings(max_examples=200, deadline=None)
@given(schedules())
def test_promotion_never_needs_more_room_than_four_frames_a_job(schedule):
    # What S3 makes room for before it promotes.
    queued, now = schedule
    profile, queue = make(queued, now)
    count = int(profile.used[0])
    tight = profile_of(profile.starts[:count], profile.free[:count], count + 4 * len(queued))
    promote(tight, queue, now, ANYWHERE)
    assert_holds(tight, promoted(queued, now), now)
