"""Changes of the profile in blocks: taking, giving back and forgetting agree with plain arrays."""

import numpy as np
import pytest
from blocks_and_arrays import FORMS, Both, make_blocks_small
from strategies import TODAY
from thorough import rounds

from gas.profile.blocks import (
    BEGIN,
    HEAD,
    STAMP,
    USED,
    WIDTH,
)

MACHINE = 20

SPAN = 4000

forms = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
def small(monkeypatch):
    make_blocks_small(monkeypatch)


def crowded(seed, form="plain", span=SPAN, jobs=1500, **options):
    """Return a profile with many small jobs held in it: some hundred frames."""
    both = Both(MACHINE, 0, form=form, **options)
    random = np.random.default_rng(seed)
    for start, lasts, processors in random.integers([0, 1, 1], [span, 60, 9], (jobs, 3)).tolist():
        both.hold(start, start + lasts, processors)
    return both, random


def blocks_in(both):
    return int(both.blocks.numbers[USED] - both.blocks.numbers[HEAD])


def change_at_random(seed, form, span, steps):
    """Take, give back and forget in both, compared after each step; return the largest number of blocks."""
    random = np.random.default_rng(seed)
    both = Both(MACHINE, int(random.choice([0, -100, TODAY])), form=form, walltime=int(random.choice([1, 60, 9000])))
    blocks = 0
    for _ in range(steps):
        what = random.random()
        if what < 0.65 or not both.held:
            start, lasts, processors = random.integers([0, 1, 1], [span, 60, 9]).tolist()
            both.hold(both.begin + start, both.begin + start + lasts, processors)
        elif what < 0.95:
            held = both.held[int(random.integers(len(both.held)))]
            both.let_go(held, both.begin + 10 if random.random() < 0.2 else None)
        else:
            both.forget(both.begin + int(random.integers(0, 9)))
        both.assert_same()
        blocks = max(blocks, blocks_in(both))
    return blocks


@pytest.mark.thorough(but=3)
@forms
@pytest.mark.parametrize(("span", "steps", "blocks"), [(30, 300, 1), (400, 300, 2), (20_000, 900, 25)])
def test_whatever_is_taken_given_back_and_forgotten_is_so_in_arrays_too(form, span, steps, blocks):
    for seed in range(rounds(3) if steps < 500 else 1):
        assert change_at_random(seed, form, span, steps) >= blocks


@pytest.mark.parametrize("span", [30, 400, 3000])
def test_changes_agree_in_blocks_of_a_few_frames_that_are_split_and_packed_all_the_time(small, span):
    for seed in range(rounds(4)):
        assert change_at_random(seed, "plain", span, 250) > 4


@pytest.mark.thorough(but=1)
@forms
def test_hundreds_of_blocks_split_and_are_packed_and_grow(form):
    both = Both(MACHINE, 0, form=form, room=20_000)
    rows = len(both.blocks.table)
    random = np.random.default_rng(1)
    most = 0
    for step, start in enumerate(random.permutation(2500).tolist()):
        both.hold(5 * start, 5 * start + 3, 1 + start % 7)
        if step % 100 == 0:
            both.assert_same()
            most = max(most, blocks_in(both))
    assert most > 5000 / WIDTH
    assert len(both.blocks.table) > 4 * rows
    for step in range(len(both.held)):
        both.let_go(both.held[-1 - step // 7 % len(both.held)])
        if step % 100 == 0:
            both.forget(both.begin + 300)
            both.held = [span for span in both.held if span[0] >= both.begin]
            both.assert_same()
        if not both.held:
            break
    assert both.frames_in_blocks()[1][-1] == MACHINE


def test_what_lies_before_the_beginning_is_left_out():
    both = Both(4, 100)
    both.hold(100, 120, 4)
    both.forget(110)
    both.give_back(90, 115, 2)
    both.assert_same()
    assert both.frames_in_blocks() == ([110, 115, 120], [2, 0, 4])
    both.give_back(90, 110, 2)  # all of it is past
    both.assert_same()
    assert both.blocks.numbers[STAMP] == 1


def test_an_empty_span_changes_nothing():
    both = Both(4, 0)
    both.hold(5, 10, 2)
    both.take(7, 7, 2)
    both.give_back(8, 8, 2)
    both.give_back(9, 6, 2)
    both.assert_same()
    assert both.blocks.numbers[STAMP] == 0


def test_a_profile_that_is_forgotten_beyond_all_its_frames_is_its_last_one():
    both, _ = crowded(1)
    assert blocks_in(both) > 10
    both.forget(SPAN + 1000)
    both.assert_same()
    assert both.frames_in_blocks() == ([SPAN + 1000], [MACHINE])
    assert blocks_in(both) == 1


def test_time_does_not_go_back():
    both, _ = crowded(2, jobs=50)
    both.forget(300)
    before = both.frames_in_blocks()
    both.forget(200)
    assert both.frames_in_blocks() == before
    assert both.blocks.numbers[BEGIN] == 300


def test_many_frames_forgotten_and_made_in_turn_need_no_more_room():
    both = Both(MACHINE, 0, room=300)
    rows = len(both.blocks.table)
    for now in range(0, 30_000, 10):
        both.hold(now + 50, now + 53, 1 + now // 10 % 3)
        both.forget(now)
    both.assert_same()
    assert len(both.blocks.table) == rows
