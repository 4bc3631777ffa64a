"""Lengths of holes by block, and staircases: bounds that are never too low, against a walk along all frames."""

import numpy as np
import pytest
from blocks_and_arrays import Both, make_blocks_small

from gas.profile.blocks import BEGINS, EACH, ENOUGH, LENGTH, LEVELS, NEVER_LOOKED, NEWEST, ORDER, ROW, START, USED
from gas.profile.staircase import (
    NOWHERE,
    any_hole,
    clear_staircases,
    closes,
    first_long_hole,
    longest_hole,
    look_again,
    new_hole,
    opens,
)

MACHINE = 12
NEVER = 2**60


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    make_blocks_small(monkeypatch)


def busy(seed, changes=120):
    """Return a profile of several blocks in which jobs have been placed and removed."""
    random = np.random.default_rng(seed)
    both = Both(MACHINE, 0)
    for _ in range(changes):
        if both.held and random.random() < 0.4:
            both.let_go(both.held[int(random.integers(len(both.held)))])
        else:
            start = int(random.integers(0, 400))
            both.hold(start, start + int(random.integers(1, 60)), int(random.integers(1, MACHINE)))
    assert count_of(both) > 3, "the cases are about several blocks"
    return both


def count_of(both):
    return int(both.blocks.numbers[USED])


def word(both, k, which):
    return int(both.blocks.numbers[ORDER + EACH * k + which])


def frames_of(both, k):
    """Return where the frames of a block begin."""
    return both.blocks.frames[word(both, k, ROW), START, : word(both, k, LENGTH)].tolist()


def holes(both, processors):
    """Return the spans in which this many processors stay free, by a walk along all frames."""
    found = []
    starts, free = both.frames_in_blocks()
    for start, end, there in zip(starts, [*starts[1:], NEVER], free, strict=True):
        if there >= processors:
            if found and found[-1][1] == start:
                found[-1][1] = end
            else:
                found.append([start, end])
    return found


def longest_across(both, k, processors):
    """Return the length of the longest hole that crosses a block."""
    begin = word(both, k, BEGINS)
    end = word(both, k + 1, BEGINS) if k + 1 < count_of(both) else NEVER
    return max((b - a for a, b in holes(both, processors) if a < end and b > begin), default=0)


def blocks_and_levels(both):
    return [(k, level) for k in range(count_of(both)) for level in range(int(both.blocks.numbers[LEVELS]))]


@pytest.mark.parametrize("seed", range(5))
def test_a_measured_block_has_the_length_of_its_longest_hole(seed):
    both = busy(seed)
    enough = int(both.blocks.numbers[ENOUGH])
    for k, level in blocks_and_levels(both):
        measured, true = longest_hole(both.blocks, k, level, NEVER_LOOKED), longest_across(both, k, 1 << level)
        assert measured == true or min(measured, true) >= enough, (k, level)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bound", [any_hole, lambda blocks, k, level: new_hole(blocks, k, level, NEVER_LOOKED)])
def test_of_the_blocks_that_a_hole_crosses_one_has_its_length_as_bound_at_least(seed, bound):
    """It is the block in which the hole grew last: others may have been measured before."""
    both, random = busy(seed), np.random.default_rng(seed)
    enough = int(both.blocks.numbers[ENOUGH])
    for _ in range(20):
        begins = [word(both, k, BEGINS) for k in range(count_of(both))]
        spans = list(zip(begins, [*begins[1:], NEVER], strict=True))
        for level in range(int(both.blocks.numbers[LEVELS])):
            bounds = [bound(both.blocks, k, level) for k in range(count_of(both))]
            for start, end in holes(both, 1 << level):
                crossed = [b for b, (first, last) in zip(bounds, spans, strict=True) if first < end and last > start]
                assert max(crossed) >= min(end - start, enough), (start, end, level)
        start = int(random.integers(0, 400))
        if not both.hold(start, start + 20, 3) and both.held:
            both.let_go(both.held[int(random.integers(len(both.held)))])


def test_a_bound_stays_too_high_after_a_job_has_taken_a_hole_until_it_is_looked_at_again():
    both = busy(3)
    k = next(k for k in range(count_of(both)) if longest_across(both, k, 4) > 8)
    before = new_hole(both.blocks, k, 2, NEVER_LOOKED)
    first, last = max((b - a, a, min(b, a + 50)) for a, b in holes(both, 4))[1:]
    assert both.hold(first, last, 1)
    assert new_hole(both.blocks, k, 2, NEVER_LOOKED) == before
    look_again(both.blocks, k, 2, NEVER_LOOKED)
    assert new_hole(both.blocks, k, 2, NEVER_LOOKED) == longest_hole(both.blocks, k, 2, NEVER_LOOKED)


@pytest.mark.parametrize("seed", range(5))
def test_a_hole_opens_and_closes_where_the_frames_around_it_do(seed):
    both = busy(seed)
    for k in range(count_of(both)):
        for j, start in enumerate(frames_of(both, k)):
            for processors in (1, 4, 9):
                around = [(a, b) for a, b in holes(both, processors) if a <= start < b]
                for a, b in around:
                    assert opens(both.blocks, processors, -NEVER, k, j) == a
                    assert opens(both.blocks, processors, start - 7, k, j) == max(a, start - 7)
                    assert closes(both.blocks, processors, NEVER, k, j) == b
                    assert closes(both.blocks, processors, start + 7, k, j) == min(b, start + 7)


@pytest.mark.parametrize("seed", range(5))
def test_the_staircase_passes_over_no_block_with_a_long_hole(seed):
    both = busy(seed)
    for level in range(int(both.blocks.numbers[LEVELS])):
        clear_staircases(both.blocks)
        for walltime in (5, 20, 60, 21):  # built by the first queries, and used by the last
            for until in (100, NEVER):
                true = [
                    k
                    for k in range(count_of(both))
                    if longest_across(both, k, 1 << level) >= walltime and word(both, k, NEWEST) > NEVER_LOOKED
                ]
                found = first_long_hole(both.blocks, level, walltime, NEVER_LOOKED, until)
                true = [k for k in true if word(both, k, BEGINS) < until]
                if true:
                    assert NOWHERE < found <= true[0]
                assert found == NOWHERE or word(both, found, BEGINS) < until


def test_without_a_change_after_the_last_look_no_hole_is_new():
    both = busy(1)
    newest = max(word(both, k, NEWEST) for k in range(count_of(both)))
    assert first_long_hole(both.blocks, 0, 1, newest, NEVER) == NOWHERE
