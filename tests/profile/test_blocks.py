"""The profile in blocks, beside the same profile in two arrays."""

import numpy as np
import pytest
from blocks_and_arrays import Both, make_blocks_small
from strategies import TODAY

from gas.profile.blocks import (
    BEGINS,
    EACH,
    ENDLESS,
    FRAMES,
    FREE,
    GIVEN_MOST,
    GIVEN_UNTIL,
    HEAD,
    LEAST_FREE,
    LENGTH,
    MOST_FREE,
    NEWEST,
    ORDER,
    ROW,
    ROWS,
    STAMP,
    STAMPED,
    START,
    USED,
    block_at,
    blocks_of,
    check,
    empty_blocks,
    frame_at,
    level_of,
    pack,
    profile_in,
    room_for,
    with_rows,
)
from gas.profile.changes import give_back, take
from gas.profile.holes import given_since

MACHINE = 20
SPAN = 4000


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


# -------------------------------------------------------------------------------------------------------------- build


@pytest.mark.parametrize("count", [1, 2, 19, 20, 21, 400, 5000])
def test_frames_put_into_blocks_and_taken_out_are_what_they_were(count):
    starts, free = -300 + 7 * np.arange(count), np.arange(count) % 5
    blocks = blocks_of(starts, free, 4)
    check(blocks, 4)
    found = profile_in(blocks, room=17)
    assert (found.starts[:count].tolist(), found.free[:count].tolist()) == (starts.tolist(), free.tolist())
    assert found.used[0] == count
    assert len(found.starts) == max(count, 17)


@pytest.mark.parametrize("now", [0, -5, TODAY])
def test_an_idle_machine_is_one_frame(now):
    found = profile_in(empty_blocks(8, now))
    assert (found.starts.tolist(), found.free.tolist()) == ([now], [8])


def test_a_profile_taken_out_of_blocks_is_a_copy():
    blocks = empty_blocks(8, 0)
    found = profile_in(blocks)
    found.free[0] = 3
    assert profile_in(blocks).free[0] == 8


@pytest.mark.parametrize(("processors", "level"), [(1, 0), (2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (1000, 9)])
def test_the_level_of_a_job_is_the_power_of_two_not_above_it(processors, level):
    assert level_of(processors) == level


# ---------------------------------------------------------------------------------------------------------------- room


@pytest.mark.parametrize("frames", [1, 2, 50, 5000])
def test_blocks_with_room_for_so_many_frames_more_hold_them(frames):
    # In the worst order: all frames are inserted into the same block, which splits at once each time.
    both = Both(1, 0)
    for start in range(100, 140, 4):
        both.hold(start, start + 2, 1)
    before = both.frames_in_blocks()
    both.blocks = with_rows(both.blocks, frames)
    assert both.frames_in_blocks() == before
    rows = len(both.blocks.table)
    for i in range(frames // 2):
        take(both.blocks, 200_000 - 4 * i, 200_002 - 4 * i, 1)
    check(both.blocks, 1)
    assert len(both.blocks.table) == rows
    assert both.blocks.numbers[FRAMES] == len(before[0]) + frames // 2 * 2


def test_blocks_that_have_room_stay_as_they_are():
    blocks = empty_blocks(4, 0, frames=100)
    assert room_for(blocks, 101)
    assert with_rows(blocks, 100) is blocks
    assert not room_for(blocks, 10_000)
    assert len(with_rows(blocks, 10_000).table) > len(blocks.table)


def test_larger_blocks_know_the_stamps_that_the_smaller_ones_knew():
    both, _ = crowded(3)
    for held in both.held[::9]:
        both.let_go(held)
    smaller = both.blocks
    larger = with_rows(smaller, 50_000)
    assert larger is not smaller
    check(larger, MACHINE)
    used = int(smaller.numbers[ROWS])
    assert (larger.table[:used] == smaller.table[:used]).all()
    assert (larger.frames[:used] == smaller.frames[:used]).all()
    assert (larger.numbers[: len(smaller.numbers)] == smaller.numbers).all()


# -------------------------------------------------------------------------------------------------------------- stamps


def test_the_stamp_of_an_instant_is_at_least_that_of_the_last_change_that_gave_back_there(small):
    for seed in range(5):
        both, random = crowded(seed, span=600, jobs=200)
        stamps = np.zeros(2000, np.int64)
        for _ in range(150):
            if random.random() < 0.5 and both.held:
                start, end, processors = both.held[int(random.integers(len(both.held)))]
                both.let_go((start, end, processors))
                stamps[max(start, both.begin) : end] = both.blocks.numbers[STAMP]
            else:
                start, lasts, processors = random.integers([0, 1, 1], [600, 60, 9]).tolist()
                both.hold(start, start + lasts, processors)
            if random.random() < 0.05:
                both.forget(both.begin + 5)
            if random.random() < 0.1:
                pack(both.blocks)
            blocks = both.blocks
            for instant in random.integers(both.begin, 700, 20).tolist():
                k = block_at(blocks, instant)
                heading = blocks.numbers[ORDER + EACH * k :]
                stamp = blocks.frames[heading[ROW], STAMPED, frame_at(blocks, k, instant)]
                assert stamps[instant] <= stamp <= heading[NEWEST] <= blocks.numbers[STAMP]
                # ... and by time, without missing any returned processors.
                assert stamps[instant] == 0 or given_since(blocks, instant, stamps[instant] - 1)
                assert not given_since(blocks, instant, blocks.numbers[STAMP])


@pytest.mark.parametrize("walltime", [1, 50, 80_000])
@pytest.mark.parametrize(("start", "lasts"), [(-3000, 5), (0, 1023), (5, 1024), (7, 1025), (-50, 100_000)])
def test_whoever_asks_learns_of_every_instant_at_which_processors_were_given_back(walltime, start, lasts):
    # Also of spans longer than the ring of stamps.
    blocks = empty_blocks(4, -5000, walltime=walltime)
    take(blocks, start, start + lasts, 2)
    assert not any(given_since(blocks, instant, 0) for instant in range(start, start + 100))
    give_back(blocks, start, start + lasts, 2)
    for instant in {start, start + lasts // 2, start + lasts - 1}:
        assert given_since(blocks, instant, 0)
        assert not given_since(blocks, instant, 1)
    if walltime == 1 and lasts < 1000:  # the ring is no coarser than needed: steps of a second
        assert not given_since(blocks, start + lasts, 0)


def test_at_first_any_processors_may_have_been_given_back_since():
    blocks = empty_blocks(7, 0)
    assert blocks.numbers[[GIVEN_MOST, GIVEN_UNTIL]].tolist() == [7, ENDLESS]


def test_processors_given_back_since_are_summed_up_by_the_most_that_are_free_and_their_end():
    blocks = empty_blocks(9, 0)
    take(blocks, 0, 50, 8)
    take(blocks, 30, 60, 1)
    blocks.numbers[[GIVEN_MOST, GIVEN_UNTIL]] = 0, 0
    take(blocks, 100, 200, 1)
    assert blocks.numbers[[GIVEN_MOST, GIVEN_UNTIL]].tolist() == [0, 0]
    give_back(blocks, 10, 40, 2)
    assert blocks.numbers[[GIVEN_MOST, GIVEN_UNTIL]].tolist() == [3, 40]
    give_back(blocks, 5, 12, 1)
    assert blocks.numbers[[GIVEN_MOST, GIVEN_UNTIL]].tolist() == [4, 40]


# --------------------------------------------------------------------------------------------------------------- verify


def damaged(damage):
    """Return some rows of blocks after `damage`, which gets the first word of a block in the middle."""
    both, _ = crowded(5, jobs=400)
    for held in both.held[::5]:
        both.let_go(held)
    check(both.blocks, MACHINE)
    damage(both.blocks, ORDER + EACH * (blocks_in(both) // 2))
    return both.blocks


def set_in(array, index, by):
    array[index] += by


def frames_of(blocks, at):
    return blocks.frames[blocks.numbers[at + ROW]]


DAMAGES = {
    "a row stands in the order twice": lambda b, at: b.numbers.__setitem__(ORDER + EACH, b.numbers[ORDER]),
    "a row was never given out": lambda b, at: b.numbers.__setitem__(ORDER + EACH, b.numbers[ROWS]),
    "frames, counted as": lambda b, at: set_in(b.numbers, FRAMES, by=1),
    "starts do not ascend": lambda b, at: frames_of(b, at)[START].__setitem__(3, frames_of(b, at)[START, 2]),
    "a block begins with its first frame": lambda b, at: set_in(b.numbers, at + BEGINS, by=-1),
    "least or most are others": lambda b, at: set_in(b.numbers, at + MOST_FREE, by=1),
    "least or most are other": lambda b, at: set_in(b.numbers, at + LEAST_FREE, by=-1),
    "a stamp is newer than its block knows": lambda b, at: frames_of(b, at)[STAMPED].__setitem__(
        1, b.numbers[at + NEWEST] + 1
    ),
    "a stamp is newer": lambda b, at: b.numbers.__setitem__(at + NEWEST, b.numbers[STAMP] + 1),
}


@pytest.mark.parametrize("found", DAMAGES)
def test_check_finds_blocks_that_contradict_themselves(found):
    with pytest.raises(AssertionError, match=found):
        check(damaged(DAMAGES[found]), MACHINE)


def test_check_finds_rows_out_of_order_and_frames_that_are_missing():
    def swap(blocks, at):
        headings = blocks.numbers[ORDER:].reshape(-1, EACH)
        headings[[0, 1]] = headings[[1, 0]]

    def lose(blocks, at):
        blocks.numbers[at + LENGTH] -= 1

    with pytest.raises(AssertionError, match="starts do not ascend"):
        check(damaged(swap), MACHINE)
    with pytest.raises(AssertionError, match="frames, counted as"):
        check(damaged(lose), MACHINE)


@pytest.mark.parametrize(
    ("by", "found"), [(MACHINE + 1, "more free than the machine's 20"), (-MACHINE - 1, "negative")]
)
def test_check_finds_what_is_no_profile_though_the_index_agrees(by, found):
    def damage(blocks, at):
        frames_of(blocks, at)[FREE, : blocks.numbers[at + LENGTH]] += by
        blocks.numbers[[at + LEAST_FREE, at + MOST_FREE]] += by

    with pytest.raises(AssertionError, match=found):
        check(damaged(damage), MACHINE)


def test_check_finds_no_block_at_all():
    blocks = empty_blocks(3, 0)
    blocks.numbers[USED] = 0
    with pytest.raises(AssertionError, match="twice"):
        check(blocks, 3)
