"""Holes: searches in blocks with arbitrarily stale records of holes, against the same searches in two arrays."""

import numpy as np
import pytest
from blocks_and_arrays import FORMS, Both, in_arrays, make_blocks_small
from hypothesis import given
from hypothesis import strategies as st
from strategies import TODAY, frames
from thorough import examples

from gas.profile import holes as module
from gas.profile.blocks import ENDLESS, HEAD, LEVELS, STAMP, USED, blocks_of, level_of, with_rows
from gas.profile.flat import NEVER, Profile, earliest_fit, profile_of
from gas.profile.flat import give_back as give_back_in_arrays
from gas.profile.holes import earlier_start, first_fit

MACHINE = 20
LATE = 2**40

forms = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(params=["whole-blocks", "records-always-asked", "small-blocks", "small-blocks-read"])
def size(request, monkeypatch):
    """How many frames a block holds, and whether few blocks are read directly or by their holes."""
    if request.param == "records-always-asked":
        monkeypatch.setattr(module, "_FEW", 0)
    elif request.param != "whole-blocks":
        make_blocks_small(monkeypatch, few=0 if request.param == "small-blocks" else 3)
    return request.param


def some_instant(random, both, span):
    """Return any instant: before the beginning, in it, after all frames, or just where a frame begins."""
    if random.random() < 0.3:
        return int(random.choice(both.flat.starts[: both.flat.used[0]])) + int(random.integers(-1, 2))
    return both.begin + int(random.integers(-span // 4, 2 * span))


def assert_first_fits(both, random, span, asked, longest=60):
    fit = both.form(first_fit)
    never = 0
    for _ in range(asked):
        processors = int(random.integers(1, both.processors + 1))
        walltime = int(random.integers(1, longest * (10 if random.random() < 0.2 else 1)))
        not_before = some_instant(random, both, span)
        expected = in_arrays(earliest_fit)(both.flat, processors, walltime, not_before)
        assert fit(both.blocks, processors, walltime, not_before) == expected
        never += expected == NEVER
    return never


def change_somehow(both, random, span, most=9):
    what = random.random()
    if what < 0.6 or not both.held:
        start, lasts, processors = random.integers([0, 1, 1], [span, 60, most]).tolist()
        both.hold(both.begin + start, both.begin + start + lasts, processors)
    elif what < 0.95:
        held = both.held[int(random.integers(len(both.held)))]
        both.let_go(held, both.begin + 10 if random.random() < 0.2 else None)
    elif what < 0.98:
        both.forget(both.begin + int(random.integers(0, 9)))
    else:
        both.blocks = with_rows(both.blocks, int(random.integers(1, 400)))  # packed, perhaps


# -------------------------------------------------------------------------------------------------------- first_fit


@examples(200)
@given(frames(most_frames=25), st.lists(st.tuples(st.integers(1, 8), st.integers(1, 40), st.integers(-20, 150))))
def test_the_first_fit_is_the_earliest_from_any_instant_and_never_where_the_last_frame_is_too_small(profile, asked):
    starts, free = (np.array(column) for column in profile)
    with pytest.MonkeyPatch.context() as patch:
        make_blocks_small(patch)
        blocks = blocks_of(starts, free, 8, walltime=30)
        for processors, walltime, offset in asked:
            expected = earliest_fit(profile_of(starts, free), processors, walltime, starts[0] + offset)
            assert first_fit(blocks, processors, walltime, starts[0] + offset) == expected


@pytest.mark.thorough(but=16)
@pytest.mark.parametrize("hint", [1, 25, 5000])
@pytest.mark.parametrize(("span", "steps"), [(40, 150), (500, 150), (8000, 400)])
def test_the_first_fit_is_the_earliest_whatever_was_taken_and_given_back_since_holes_were_measured(
    size, hint, span, steps
):
    random = np.random.default_rng(hint + span)
    both = Both(MACHINE, int(random.choice([0, 700, TODAY])), walltime=hint)
    for _ in range(steps):
        for _ in range(int(random.integers(1, 4))):
            change_somehow(both, random, span)
        assert_first_fits(both, random, span, asked=3)
    both.assert_same()


@pytest.mark.thorough(but=1)
@forms
@pytest.mark.parametrize("hint", [10, 1000])
def test_the_first_fit_is_the_earliest_among_hundreds_of_blocks(form, hint):
    random = np.random.default_rng(hint)
    both = Both(MACHINE, 0, form=form, walltime=hint, room=20_000)
    for start, lasts, processors in random.integers([0, 1, 1], [40_000, 60, 9], (8000, 3)).tolist():
        if random.random() < 0.7 or not both.held:
            both.hold(start, start + lasts, processors)
        else:
            both.let_go(both.held[int(random.integers(len(both.held)))])
        if random.random() < 0.1:
            assert_first_fits(both, random, 40_000, asked=1)
    assert both.blocks.numbers[USED] - both.blocks.numbers[HEAD] > 200
    assert_first_fits(both, random, 40_000, asked=200)


@pytest.mark.parametrize("last", [0, 3])
def test_nothing_fits_for_ever_where_the_last_frame_is_too_small(size, last):
    random = np.random.default_rng(last)
    count = 90
    free = random.integers(0, MACHINE + 1, count)
    free[1:] += free[1:] == free[:-1]
    free = np.minimum(free, MACHINE)
    free[-2:] = last + 1, last
    keep = np.concatenate([[True], np.diff(free) != 0])
    starts = np.cumsum(random.integers(1, 20, count))
    both = Both(MACHINE, 0, starts=starts[keep], free=free[keep])
    assert first_fit(both.blocks, last + 1, 10_000, 0) == NEVER
    assert first_fit(both.blocks, MACHINE, 1, int(starts[-1])) == NEVER
    never = 0
    for _ in range(200):
        change_somehow(both, random, 900, most=4)
        never += assert_first_fits(both, random, 900, asked=3)
    assert never > 10


@pytest.mark.thorough(but=4)
@pytest.mark.parametrize("hint", [20, 320, 10_000])
def test_a_hole_that_grows_in_one_block_is_found_from_those_before_it(size, hint):
    # Holes were measured, and then grew to the right, to the left and on both sides, several blocks away.
    both = Both(4, 0, walltime=hint)
    for start in range(0, 4000, 20):
        both.hold(start, start + 10, 3)
        both.hold(start + 10, start + 20, 4)
    rows = both.blocks.numbers[USED] - both.blocks.numbers[HEAD]
    assert rows > 5
    random = np.random.default_rng(0)
    assert first_fit(both.blocks, 1, 11, 0) == 4000
    for k in random.permutation(200).tolist():
        both.let_go((20 * k + 10, 20 * k + 20, 4))
        for walltime in (11, 51, 111, 211, 311):
            expected = earliest_fit(both.flat, 1, walltime, 0)
            assert first_fit(both.blocks, 1, walltime, 0) == expected
            assert first_fit(both.blocks, 1, walltime, 20 * k + 1) == earliest_fit(both.flat, 1, walltime, 20 * k + 1)
    assert first_fit(both.blocks, 1, 4000, 0) == 0


def test_the_last_instant_before_an_end_counts(size):
    both = Both(4, 0)
    both.hold(10, 20, 4)
    both.hold(30, 40, 3)
    assert [first_fit(both.blocks, 4, 10, t) for t in (-5, 0, 1, 15, 20, 21)] == [0, 0, 20, 20, 20, 40]
    assert [first_fit(both.blocks, 1, 10, t) for t in (1, 20, 35, 10**9)] == [20, 20, 35, 10**9]


# ----------------------------------------------------------------------------------------------------- earlier_start


class Waiting:
    """Jobs in submission order on a profile, each asked in turn, as in `promote`, whether it can start earlier.

    Each answer is compared with taking the job out of the profile and putting it back.
    """

    def __init__(self, seed, *, form="plain", jobs=12, span=120, longest=30, hint=25, processors=MACHINE):
        self.random = random = np.random.default_rng(seed)
        self.both = both = Both(processors, int(random.choice([0, -500, TODAY])), form=form, walltime=hint)
        self.span, self.longest = span, longest
        self.given = [(0, LATE)]  # (stamp, end) of each return of processors
        self.jobs = []  # [processors, walltime, start, seen]
        for _ in range(jobs):
            size, walltime = (int(x) for x in random.integers([1, 1], [processors + 1, longest]))
            # With earlier holes into which they fit: these are not considered.
            not_before = both.begin + int(random.integers(span))
            start = in_arrays(earliest_fit)(both.flat, size, walltime, not_before)
            both.take(start, start + walltime, size)
            self.jobs.append([size, walltime, start, -1])
        self.moves = 0

    def give_back(self, start, end, processors):
        self.both.give_back(start, end, processors)
        self.given.append((int(self.both.blocks.numbers[STAMP]), end))

    def change(self):
        both, random = self.both, self.random
        what = random.random()
        if what < 0.5:
            start, lasts, processors = random.integers([0, 1, 1], [2 * self.span, 30, MACHINE // 2]).tolist()
            both.hold(both.begin + start, both.begin + start + lasts, processors)
        elif what < 0.8 and both.held:
            start, end, processors = both.held.pop(int(random.integers(len(both.held))))
            self.give_back(start, end, processors)
        elif what < 0.9 and len(self.jobs) > 2:
            size, walltime, start, _ = self.jobs.pop(int(random.integers(len(self.jobs))))
            self.give_back(start, start + walltime, size)
        else:
            size, walltime = (int(x) for x in random.integers([1, 1], [both.processors + 1, self.longest]))
            start = both.form(first_fit)(both.blocks, size, walltime, both.begin)
            both.take(start, start + walltime, size)
            self.jobs.append([size, walltime, start, int(both.blocks.numbers[STAMP])])

    def expected(self, job, first):
        size, walltime, start, _ = job
        without = Profile(*(column.copy() for column in self.both.flat))
        in_arrays(give_back_in_arrays)(without, start, start + walltime, size)
        return in_arrays(earliest_fit)(without, size, walltime, first)

    def ask_all(self):
        both = self.both
        for job in self.jobs:
            size, walltime, start, seen = job
            first = both.begin
            if start <= first:
                continue
            level = min(level_of(size), int(both.blocks.numbers[LEVELS]) - 1)
            until = max((end for stamp, end in self.given if stamp > seen), default=first)
            both.blocks = with_rows(both.blocks, 4)
            found = both.form(earlier_start)(both.blocks, size, level, walltime, first, start, seen, until)
            assert found == self.expected(job, first)
            if found < start:
                both.take(found, min(start, found + walltime), size)
                self.give_back(max(start, found + walltime), start + walltime, size)
                self.moves += 1
            job[2:] = found, int(both.blocks.numbers[STAMP])

    def run(self, rounds):
        for _ in range(rounds):
            self.ask_all()
            for _ in range(int(self.random.integers(1, 5))):
                self.change()
            if self.random.random() < 0.3:
                self.both.forget(self.both.begin + int(self.random.integers(8)))
                self.jobs = [job for job in self.jobs if job[2] > self.both.begin]
        self.both.assert_same()
        return self.moves


@pytest.mark.thorough(but=6)
@pytest.mark.parametrize("hint", [1, 25, 3000])
def test_a_job_starts_earlier_where_it_would_be_put_if_it_were_taken_out(size, hint):
    moves = 0
    for seed in range(12):
        moves += Waiting(seed, hint=hint, jobs=4 + 3 * seed, span=[20, 120, 700][seed % 3]).run(12)
    assert moves > 200


@forms
def test_among_many_blocks_a_job_starts_earlier_where_it_would_be_put_if_it_were_taken_out(form):
    waiting = Waiting(1, form=form, jobs=250, span=3000, hint=25)
    assert waiting.both.blocks.numbers[USED] > 5
    assert waiting.run(8) > 100


@pytest.mark.parametrize("processors", [1, 2, 3])
def test_on_the_smallest_machines_too(size, processors):
    assert sum(Waiting(seed, jobs=15, processors=processors, span=100).run(10) for seed in range(8)) > 20


def test_only_holes_in_which_processors_were_given_back_since_are_looked_into(monkeypatch):
    monkeypatch.setattr(module, "_FEW", 0)
    both = Both(MACHINE, 0)
    for start, end, processors in [(500, 900, MACHINE - 1), (1990, 2000, MACHINE), (2000, 2050, 2)]:
        assert both.hold(start, end, processors)

    def ask(since, first=0):
        return earlier_start(both.blocks, 2, 1, 50, first, 2000, since, ENDLESS)

    assert ask(since=-1) == 0
    assert ask(since=0) == 2000  # there are holes, but not for requests that have seen them
    both.give_back(600, 700, 1)
    assert ask(since=0) == 600
    assert ask(since=0, first=650) == 650
    assert ask(since=0, first=651) == 2000
    assert ask(since=1) == 2000


def test_a_job_slides_to_the_left_into_less_than_its_walltime(size):
    both = Both(4, 0)
    both.hold(0, 100, 4)
    both.hold(100, 150, 3)
    assert earlier_start(both.blocks, 3, 1, 50, 0, 100, 0, 0) == 100
    both.give_back(60, 90, 3)
    assert earlier_start(both.blocks, 3, 1, 50, 0, 100, 0, 90) == 100
    both.give_back(90, 100, 3)
    assert earlier_start(both.blocks, 3, 1, 50, 0, 100, 1, 100) == 60
    assert earlier_start(both.blocks, 3, 1, 50, 75, 100, 1, 100) == 75
    assert earlier_start(both.blocks, 4, 2, 50, 0, 100, 1, 100) == 100


def test_the_last_second_given_back_may_be_the_one_that_was_missing(size):
    both = Both(4, 0)
    both.hold(0, 9, 4)
    both.hold(9, 10, 4)
    both.hold(19, 40, 4)
    both.hold(40, 50, 2)
    both.give_back(9, 10, 4)
    assert earlier_start(both.blocks, 2, 1, 10, 0, 40, 0, 10) == 9
    assert earlier_start(both.blocks, 2, 1, 11, 0, 40, 0, 10) == 40
