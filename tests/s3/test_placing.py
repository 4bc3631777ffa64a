"""Placing and promoting in blocks, against free processors second by second and the plain passes on arrays."""

import numpy as np
import pytest
from blocks_and_arrays import FORMS, Both, make_blocks_small
from hypothesis import given
from hypothesis import strategies as st
from strategies import TODAY, Seconds
from thorough import examples, rounds, some

from gas.compiled import kernel
from gas.profile import holes
from gas.profile.blocks import STAMP, USED, blocks_of, check, empty_blocks, profile_in, with_rows
from gas.profile.changes import give_back as give_back_in_blocks
from gas.profile.changes import take as take_in_blocks
from gas.profile.flat import NEVER, earliest_fit
from gas.profile.flat import give_back as give_back_in_arrays
from gas.profile.flat import take as take_in_arrays
from gas.s3 import placing
from gas.s3.placing import A_MOVE, A_PASS, AGAIN_FROM_THE_HEAD, NO_LIMIT, ONCE, UNTIL_NOTHING_MOVES, place, promote
from gas.s3.queue import (
    NEXT,
    NOT_LOOKED_AT,
    Q_EARLIEST,
    Q_PROCESSORS,
    Q_START,
    Q_WALLTIME,
    UNFINISHED,
    append,
    empty_queue,
    remove,
    with_queue_room,
)

MACHINE = 6
LATE = 400
WALKS = {"once": ONCE, "until-nothing-moves": UNTIL_NOTHING_MOVES, "again-from-the-head": AGAIN_FROM_THE_HEAD}

walks = pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())


@kernel
def plainly_promoted(profile, queue, now, walk):
    """Promotion by definition: each job not yet due is taken out and put back in turn, repeatedly as `walk` says."""
    moves = 0
    again = True
    while again:
        again = False
        for i in range(queue.used[0]):
            before = queue.jobs[Q_START, i]
            processors, walltime = queue.jobs[Q_PROCESSORS, i], queue.jobs[Q_WALLTIME, i]
            if before > now:
                give_back_in_arrays(profile, before, before + walltime, processors)
                start = earliest_fit(profile, processors, walltime, max(now, queue.jobs[Q_EARLIEST, i]))
                take_in_arrays(profile, start, start + walltime, processors)
                queue.jobs[Q_START, i] = start
                if start != before:
                    moves += 1
                    again = walk != ONCE
                    if walk == AGAIN_FROM_THE_HEAD:
                        break
    return moves


def starts(queue):
    return queue.start[: queue.used[0]].tolist()


# ------------------------------------------------------------------------------------------------- second by second

jobs = st.tuples(st.integers(1, MACHINE), st.integers(1, 9), st.integers(0, 40), st.booleans())


def make(queued, now):
    """Return the profile, and the queue of jobs (processors, walltime, earliest, start), none of them looked at yet."""
    both, queue = Both(MACHINE, now), empty_queue(40)
    for i, (processors, walltime, earliest, start) in enumerate(queued):
        both.take(start, start + walltime, processors)
        append(queue, both.blocks, i, processors, walltime, earliest, start)
    queue.seen[:] = NOT_LOOKED_AT
    return with_rows(both.blocks, 4 * len(queued)), queue


def oracle(queued, now):
    free = Seconds(MACHINE, now, LATE)
    for processors, walltime, _, start in queued:
        free.hold(start, start + walltime, processors)
    return free


@st.composite
def schedules(draw):
    """Return a feasible schedule of jobs in submission order, some with holes before them, and an instant."""
    queued = []
    for processors, walltime, later, may_be_promoted in draw(st.lists(jobs, max_size=9)):
        start = oracle(queued, 0).first_fit(processors, walltime, later)
        queued.append((processors, walltime, 0 if may_be_promoted else later, start))
    return queued, draw(st.integers(0, min((job[3] for job in queued), default=0)))


def revised(queued, now, stop_at_a_move=False):
    """One pass: every job not yet due is taken out and put back at its first second."""
    queued = list(queued)
    for i, (processors, walltime, earliest, start) in enumerate(queued):
        if start > now:
            others = oracle(queued[:i] + queued[i + 1 :], now)
            first = others.first_fit(processors, walltime, max(now, earliest))
            queued[i] = (processors, walltime, earliest, first)
            if stop_at_a_move and first != start:
                break
    return queued


def promoted(queued, now, walk):
    if walk == ONCE:
        return revised(queued, now)
    while (again := revised(queued, now, walk == AGAIN_FROM_THE_HEAD)) != queued:
        queued = again
    return queued


def assert_holds(blocks, queued, now):
    found = profile_in(blocks)
    assert list(zip(found.starts.tolist(), found.free.tolist(), strict=True)) == oracle(queued, now).steps()


@examples(150)
@given(schedules(), st.integers(1, MACHINE), st.integers(1, 9), st.integers(0, 30))
def test_a_job_is_placed_in_the_first_slot_that_it_fits(schedule, processors, walltime, not_before):
    queued, _ = schedule
    blocks, _ = make(queued, 0)
    start = place(blocks, processors, walltime, not_before)
    assert start == oracle(queued, 0).first_fit(processors, walltime, not_before)
    assert_holds(blocks, [*queued, (processors, walltime, 0, start)], 0)


def test_what_fits_nowhere_takes_nothing():
    blocks = blocks_of(np.array([0, 10]), np.array([4, 2]), 4)
    assert place(blocks, 3, 11, 0) == NEVER
    found = profile_in(blocks)
    assert (found.starts.tolist(), found.free.tolist()) == ([0, 10], [4, 2])


@walks
@examples(150)
@given(schedules())
def test_promotion_is_the_passes_that_its_walk_says_and_makes_nobody_later(walk, schedule):
    queued, now = schedule
    blocks, queue = make(queued, now)
    moves = promote(blocks, queue, now, walk)
    expected = promoted(queued, now, walk)
    assert starts(queue) == [job[3] for job in expected]
    assert all(after[3] <= before[3] for before, after in zip(queued, expected, strict=True))
    assert (moves == 0) == (expected == queued)
    assert_holds(blocks, expected, now)
    if walk != ONCE:
        assert promote(blocks, queue, now, walk) == 0


def test_the_walks_differ():
    # One pass is not always enough; starting again at the head gives the first of the queue the first choice.
    differing = set()
    for seed in range(400):
        random = np.random.default_rng(seed)
        queued = []
        for _ in range(5):
            processors, walltime, later = (int(x) for x in random.integers([1, 1, 0], [7, 9, 30]))
            queued.append((processors, walltime, 0, oracle(queued, 0).first_fit(processors, walltime, later)))
        found = []
        for walk in WALKS.values():
            blocks, queue = make(queued, 0)
            promote(blocks, queue, 0, walk)
            assert starts(queue) == [job[3] for job in promoted(queued, 0, walk)]
            found.append(starts(queue))
        differing |= {(i, j) for i in range(3) for j in range(i) if found[i] != found[j]}
    assert len(differing) == 3


def test_what_is_due_stays():
    blocks, queue = make([(6, 5, 0, 3), (6, 5, 0, 8)], 3)
    assert promote(blocks, queue, 3, UNTIL_NOTHING_MOVES) == 0
    blocks, queue = make([(6, 5, 0, 3), (6, 5, 0, 8)], 2)
    assert promote(blocks, queue, 2, UNTIL_NOTHING_MOVES) == 2
    assert starts(queue) == [2, 7]


def test_who_was_just_placed_is_not_looked_at_until_processors_are_given_back():
    blocks, queue = empty_blocks(MACHINE, 0), empty_queue()
    for job in (1, 2):
        append(queue, blocks, job, 4, 10, 0, place(blocks, 4, 10, 0))
    assert (queue.job[:2].tolist(), queue.level[:2].tolist()) == ([1, 2], [2, 2])
    assert queue.seen[:2].tolist() == [blocks.numbers[STAMP]] * 2
    assert promote(blocks, queue, 0, UNTIL_NOTHING_MOVES) == 0
    give_back_in_blocks(blocks, 4, 10, 4)  # the first ends early
    assert promote(blocks, queue, 4, UNTIL_NOTHING_MOVES) == 1
    assert starts(queue) == [0, 4]


# ------------------------------------------------------------------------------------------------------ round by round


class History:
    """A machine and its queue over some rounds, in blocks and, by the plain passes, in arrays.

    In each round time passes, jobs start, end early and are withdrawn, others arrive, and the queue is promoted. This
    tests what a queue remembers from one promotion to the next.
    """

    def __init__(
        self, seed, walk, *, form="plain", processors=9, longest=30, ahead=40, hint=50, now=0, room=500, bulk=0.0
    ):
        self.random = np.random.default_rng(seed)
        self.walk, self.form = walk, FORMS[form]
        self.longest, self.ahead = longest, ahead
        self.both = Both(processors, now, form=form, walltime=hint, room=8 * room + 50)
        self.queue, self.plain = empty_queue(room), empty_queue(room)
        self.now = now
        self.running = []  # (end, processors)
        self.started = set()
        self.jobs = 0
        self.moves = self.calls = 0
        self.patience = NO_LIMIT
        self.bulk = bulk  # probability that a job has the same request as the one before
        self.shape = None

    def promote_a_little(self):
        """Promote until patience ends, and apply its moves to the arrays."""
        both, queue = self.both, self.queue
        both.blocks = with_rows(both.blocks, 4 * int(queue.used[0]) + 4)
        before = queue.start[: queue.used[0]].copy()
        self.moves += self.form(promote)(both.blocks, queue, self.now, self.walk, self.patience)
        assert (queue.start[: queue.used[0]] <= before).all(), "no job gets later"
        check(both.blocks, both.processors)
        both.flat = profile_in(both.blocks, len(both.flat.starts))
        self.plain.jobs[Q_START] = queue.jobs[Q_START]

    def whole(self, *bounds):
        return int(self.random.integers(*bounds))

    def size(self):
        machine = self.both.processors
        return (
            min(machine, 1 << self.whole(machine.bit_length()))
            if self.random.random() < 0.5
            else self.whole(1, machine + 1)
        )

    def arrive(self):
        both = self.both
        if not self.bulk or self.shape is None or self.random.random() >= self.bulk:
            self.shape = self.size(), self.whole(1, self.longest * (20 if self.random.random() < 0.05 else 1) + 1)
        processors, walltime = self.shape
        later = self.now + (self.whole(self.ahead) if self.random.random() < 0.2 else 0)
        both.blocks = with_rows(both.blocks, 2)
        start = self.form(place)(both.blocks, processors, walltime, later)
        assert start == self.form(earliest_fit)(both.flat, processors, walltime, later)
        self.form(take_in_arrays)(both.flat, start, start + walltime, processors)
        self.jobs += 1
        for queue in (self.queue, self.plain):
            self.form(append)(queue, both.blocks, self.jobs, processors, walltime, later, start)

    def waiting(self):
        return np.flatnonzero(self.queue.start[: self.queue.used[0]] > self.now).tolist()

    def remove(self, places):
        for queue in (self.queue, self.plain):
            remove(queue, np.array(places, np.int64))

    def start_due(self):
        gone = []
        for i in np.flatnonzero(self.queue.start[: self.queue.used[0]] <= self.now).tolist():
            if int(self.queue.job[i]) not in self.started:
                self.started.add(int(self.queue.job[i]))
                self.running.append((int(self.queue.start[i] + self.queue.walltime[i]), int(self.queue.processors[i])))
            if self.random.random() < 0.3:  # the others remain for a while, with a start in the past
                gone.append(i)
        self.remove(gone)

    def end_somebody(self):
        end, processors = self.running.pop(self.whole(len(self.running)))
        if end > self.now:
            self.both.give_back(self.now, end, processors)

    def withdraw_somebody(self):
        i = int(self.random.choice(self.waiting()))
        start, walltime, processors = self.queue.jobs[[Q_START, Q_WALLTIME, Q_PROCESSORS], i].tolist()
        self.both.give_back(start, start + walltime, processors)
        self.remove([i])

    def promote(self):
        both, jobs = self.both, int(self.queue.used[0])
        both.blocks = with_rows(both.blocks, 4 * jobs + 4)
        moves, calls = 0, 0
        while calls == 0 or self.queue.used[UNFINISHED]:
            moves += self.form(promote)(both.blocks, self.queue, self.now, self.walk, self.patience)
            calls += 1
        self.calls += calls
        assert moves == self.form(plainly_promoted)(both.flat, self.plain, self.now, self.walk)
        assert starts(self.queue) == starts(self.plain)
        self.moves += moves

    def round(self, arrivals=4, longest_pause=6, promote=None):
        self.now += self.whole(longest_pause)
        self.both.forget(self.now)
        self.start_due()
        for _ in range(self.whole(3)):
            if self.running:
                self.end_somebody()
        for _ in range(self.whole(3)):
            if self.waiting():
                self.withdraw_somebody()
        for _ in range(self.whole(arrivals)):
            self.arrive()
        if self.random.random() < 0.8:
            self.promote() if promote is None else promote()
        self.both.assert_same()


SIZES = ["whole-blocks", "records-always-asked", "small-blocks", "small-blocks-read"]


@pytest.fixture(params=SIZES)
def size(request, monkeypatch):
    """How many frames a block holds, and whether few blocks are read directly or by their holes."""
    if request.param == "records-always-asked":
        monkeypatch.setattr(holes, "_FEW", 0)
    elif request.param != "whole-blocks":
        make_blocks_small(monkeypatch, few=0 if request.param == "small-blocks" else 3)
    return request.param


# With blocks of another size, machine code would be compiled anew, for seconds.
each_form_and_size = pytest.mark.parametrize(
    ("form", "size"), [("compiled", "whole-blocks"), *(("plain", size) for size in SIZES)], indirect=["size"]
)

# Of each: the machine, the longest usual walltime (some are twenty times as long), how far ahead users ask for a start,
# and the walltime that few exceed, as the blocks are told: sometimes far too little. Spans get longer than the ring.
SURROUNDINGS = [
    {"processors": 9, "longest": 30, "ahead": 40, "hint": 50},
    {"processors": 1, "longest": 5, "ahead": 100, "hint": 1, "now": -1_000_000},
    {"processors": 3, "longest": 30, "ahead": 10, "hint": 1},
    {"processors": 17, "longest": 300, "ahead": 1000, "hint": 2, "now": TODAY},
    {"processors": 9, "longest": 4, "ahead": 30, "hint": 1000},
]


@pytest.mark.thorough(but=30)
@walks
@pytest.mark.parametrize("surroundings", SURROUNDINGS, ids=lambda s: f"{s['processors']}-processors")
def test_round_after_round_promotion_is_the_passes_that_its_walk_says(size, walk, surroundings):
    moves = 0
    for seed in range(rounds(4)):
        history = History(seed, walk, **surroundings, bulk=[0, 0.8, 0.5][seed % 3])
        for _ in range(5 + 3 * seed):
            history.arrive()
        for i in range(20):
            history.round(arrivals=[3, 6, 10][seed % 3], longest_pause=60 if i % 7 == 6 else [2, 6, 20][i % 3])
        moves += history.moves
    assert moves > 10


@examples(100)
@given(
    st.integers(0, 2**32),
    st.sampled_from(list(WALKS.values())),
    st.sampled_from([1, 2, 5, 8]),
    st.sampled_from([1, 20, 300]),
    st.sampled_from([3, 12, 60]),
    st.sampled_from([0, 0.5, 0.9]),
    st.lists(st.sampled_from([2, 4, 9, 40]), min_size=1, max_size=15),
)
def test_promotion_is_the_passes_that_its_walk_says_whatever_happened_before(
    seed, walk, processors, hint, longest, bulk, pauses
):
    with pytest.MonkeyPatch.context() as patch:
        make_blocks_small(patch)
        history = History(seed, walk, processors=processors, hint=hint, longest=longest, ahead=2 * longest, bulk=bulk)
        for pause in pauses:
            history.round(arrivals=9, longest_pause=pause)


@walks
@pytest.mark.parametrize(("hint", "bulk"), [(100, 0), (10_000, 0), (100, 0.9)])
def test_long_queues_too(walk, hint, bulk):
    history = History(
        hint, walk, form="compiled", processors=65, longest=400, ahead=5000, hint=hint, room=4000, bulk=bulk
    )
    for _ in range(300 if walk == AGAIN_FROM_THE_HEAD else 1500):
        history.arrive()
    assert history.both.blocks.numbers[USED] > (1 if bulk else 10)
    for _ in range(rounds(25)):
        history.round(arrivals=30, longest_pause=50)
    assert history.moves > (0 if bulk else 12) * rounds(25)


@pytest.mark.parametrize("moves", [1, 2, 3])
def test_a_move_costs_patience_as_five_looks_do(moves):
    """One look finds the new start; the move also changes the profile, and the caller stores it."""
    blocks, queue = empty_blocks(MACHINE, 0), empty_queue()
    place(blocks, MACHINE, 100, 0)
    for job in range(6):
        append(queue, blocks, job, MACHINE, 10, 0, place(blocks, MACHINE, 10, 0))
    give_back_in_blocks(blocks, 0, 100, MACHINE)
    assert promote(blocks, queue, 0, UNTIL_NOTHING_MOVES, (1 + A_MOVE) * moves) == moves
    assert queue.used[UNFINISHED] == 1
    assert queue.jobs[Q_START, :6].tolist() == [10 * n if n < moves else 100 + 10 * n for n in range(6)]


@pytest.mark.parametrize(("patience", "moves"), [(7, 1), (8, 2)])
def test_another_pass_costs_patience_as_a_look_at_one_in_64_jobs_does(patience, moves):
    """The second job moves first, at five looks; its old place lets the first job move in the next pass."""
    blocks, queue = with_rows(empty_blocks(MACHINE, 0), 400), empty_queue(2 * A_PASS)
    for start, end, busy in [(0, 10, 6), (10, 20, 6), (20, 30, 4), (30, 1000, 1)]:
        take_in_blocks(blocks, start, end, busy)
    for job, processors in enumerate([4, 2, *[MACHINE] * (2 * A_PASS - 2)]):
        append(queue, blocks, job, processors, 10, 0, place(blocks, processors, 10, 0))
    assert starts(queue)[:3] == [30, 20, 1000]
    assert promote(blocks, queue, 0, UNTIL_NOTHING_MOVES) == 0
    give_back_in_blocks(blocks, 0, 10, 2)
    give_back_in_blocks(blocks, 20, 30, 2)
    assert promote(blocks, queue, 0, UNTIL_NOTHING_MOVES, patience) == moves
    assert queue.used[UNFINISHED] == (moves == 1)
    assert starts(queue)[:3] == [30 if moves == 1 else 20, 0, 1000]


@pytest.mark.parametrize(("hole", "start"), [(9, 90_000), (10, 1020)])
def test_a_pass_that_is_filtered_looks_at_a_job_that_just_fills_a_new_hole(monkeypatch, hole, start):
    """The hole opens when the second job moves, and ends long before the start of the first job."""
    blocks, queue = with_rows(empty_blocks(MACHINE, 0), 20), empty_queue()
    for begin, end, busy in [(0, 1020, 6), (1020, 1020 + hole, 4), (1020 + hole, 90_000, 3)]:
        take_in_blocks(blocks, begin, end, busy)
    for job, (processors, walltime) in enumerate([(4, 10), (2, hole)]):
        append(queue, blocks, job, processors, walltime, 0, place(blocks, processors, walltime, 0))
    assert starts(queue) == [90_000, 1020]
    promote(blocks, queue, 0, UNTIL_NOTHING_MOVES)
    monkeypatch.setattr(placing, "MANY", 1)
    give_back_in_blocks(blocks, 0, hole, 2)
    give_back_in_blocks(blocks, 1020, 1020 + hole, 2)
    promote(blocks, queue, 0, UNTIL_NOTHING_MOVES)
    assert starts(queue) == [start, 0]


@pytest.mark.thorough(but=8)
@pytest.mark.parametrize("patience", [1, 7, 60])
@each_form_and_size
def test_promotion_in_slices_gives_the_starts_of_promotion_at_once(form, patience, size):
    for seed in range(rounds(3)):
        history = History(seed, UNTIL_NOTHING_MOVES, form=form, **SURROUNDINGS[0])
        history.patience = patience
        for _ in range(30):
            history.arrive()
        for _ in range(12):
            history.round(arrivals=6)
        assert history.moves > 10
        assert history.calls > (15 if patience < 60 else 5)


@pytest.mark.thorough(but=3)
@each_form_and_size
@pytest.mark.parametrize("patience", [1, 9, 50])
def test_nothing_could_start_earlier_at_the_end_of_a_promotion_that_others_came_between(form, patience, size):
    left = 0
    for seed in range(rounds(3)):
        history = History(seed, UNTIL_NOTHING_MOVES, form=form, **SURROUNDINGS[0])
        history.patience = patience
        for _ in range(60):
            history.arrive()
        for i in range(25):
            history.round(arrivals=5, promote=history.promote_a_little, longest_pause=3)
            left += int(history.queue.used[UNFINISHED])
            next = int(history.queue.used[NEXT]) if history.queue.used[UNFINISHED] else 0
            in_turn = np.roll(history.queue.seen[: history.queue.used[0]], -next)
            assert (np.diff(in_turn) >= 0).all(), "who is looked at next was looked at longest ago"
            if i % 8 == 7:
                while history.queue.used[UNFINISHED]:
                    history.promote_a_little()
                flat = history.both.flat
                assert history.form(plainly_promoted)(flat, history.plain, history.now, UNTIL_NOTHING_MOVES) == 0
                assert starts(history.queue) == starts(history.plain)
        assert history.moves > 10
    assert left > 10 / 3 * rounds(3)


@pytest.mark.thorough(but=["compiled-until-nothing-moves"])
@walks
@pytest.mark.parametrize("form", FORMS)
def test_nearly_everybody_moves_when_a_large_job_ends_early(form, walk):
    count = 1200 if form == "compiled" and walk != AGAIN_FROM_THE_HEAD else 80  # more than `MANY`
    for seed, processors, longest in some([(0, 64, 400), (1, 64, 30_000), (2, 1000, 50), (3, 65, 7)], 2):
        history = History(seed, walk, form=form, processors=processors, longest=longest, room=count)
        end = longest * count // 10
        history.both.take(0, end, processors // 2)
        for _ in range(count):
            history.arrive()
        history.now = 1
        history.both.forget(1)
        history.both.give_back(1, end, processors // 2)
        history.promote()
        assert history.moves > count // 3
        history.both.assert_same()


def test_whoever_is_behind_a_move_is_still_looked_at_wherever_processors_were_given_back_before_it():
    # The first of the queue fits what the second returned; the third fits what was returned before that, too.
    both, queue = Both(3, 0), empty_queue()
    both.take(0, 200, 3)
    both.take(210, 250, 2)
    for start in range(1000, 1600, 4):  # so many frames that blocks are requested their holes
        both.take(start, start + 2, 1)
    both.blocks = with_rows(both.blocks, 20)
    for job, (processors, walltime) in enumerate([(1, 50), (2, 10), (1, 20)]):
        append(queue, both.blocks, job, processors, walltime, 0, place(both.blocks, processors, walltime, 0))
    assert starts(queue) == [200, 200, 250]
    give_back_in_blocks(both.blocks, 10, 30, 1)
    give_back_in_blocks(both.blocks, 40, 50, 2)
    assert promote(both.blocks, queue, 0, AGAIN_FROM_THE_HEAD) == 2
    assert starts(queue) == [200, 40, 10]


# ---------------------------------------------------------------------------------------------------------------- room


@walks
@examples(100)
@given(schedules())
def test_promotion_never_needs_more_room_than_four_frames_a_job(walk, schedule):
    # What S3 makes room for before it promotes.
    queued, now = schedule
    with pytest.MonkeyPatch.context() as patch:
        make_blocks_small(patch)
        blocks, queue = make(queued, now)
        found = profile_in(blocks)
        tight = blocks_of(found.starts, found.free, MACHINE, frames=len(found.starts) + 4 * len(queued))
        promote(tight, queue, now, walk)
        check(tight, MACHINE)
        assert_holds(tight, promoted(queued, now, walk), now)


def test_a_full_queue_grows_and_keeps_its_jobs():
    queue, blocks = empty_queue(2), empty_blocks(8, 0)
    append(queue, blocks, 5, 7, 10, 3, 30)
    assert with_queue_room(queue) is queue
    append(queue, blocks, 6, 8, 20, 4, 40)
    larger = with_queue_room(queue)
    assert (larger.jobs.shape, larger.used[0]) == ((10, 4), 2)
    assert (larger.jobs[:, :2] == queue.jobs).all()
    assert (larger.processors[1], larger.walltime[1], larger.earliest[1], larger.start[1]) == (8, 20, 4, 40)
    append(larger, blocks, 7, 1, 1, 1, 1)
    assert larger.job[:3].tolist() == [5, 6, 7]
