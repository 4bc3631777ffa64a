"""The profile against an oracle that keeps free processors second by second."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TODAY, frames
from thorough import examples

from gas.compiled import compiled
from gas.profile.flat import (
    NEVER,
    check,
    earliest_fit,
    earliest_fits,
    empty_profile,
    fits,
    forget,
    free_at,
    free_during,
    give_back,
    profile_of,
    take,
    with_room,
)

MACHINE = 8


def seconds_of(starts, free, until):
    """Return {second: free processors} from the first start to `until` (excluded)."""
    ends = [*starts[1:], until]
    return {t: level for s, e, level in zip(starts, ends, free, strict=True) for t in range(s, e)}


def first_second(starts, free, processors, walltime, not_before):
    """Return the earliest fit by looking at each second; `NEVER` if there is none."""
    first, last = max(not_before, starts[0]), max(not_before, starts[-1])
    by_second = seconds_of(starts, free, last + walltime + 1)
    for start in range(first, last + 1):
        if all(by_second[t] >= processors for t in range(start, start + walltime)):
            return start
    return NEVER


# ------------------------------------------------------------------------------------------------------------ ask

profiles = frames(MACHINE)
offsets = st.integers(-5, 60)
requests = st.tuples(st.integers(1, MACHINE + 1), st.integers(1, 25))


@examples(400)
@given(profiles, requests, offsets)
def test_the_earliest_fit_is_the_first_second_at_which_it_fits(frames, request, offset):
    starts, free = frames
    not_before = starts[0] + offset
    assert earliest_fit(profile_of(starts, free), *request, not_before) == first_second(*frames, *request, not_before)


@examples(400)
@given(profiles, st.dictionaries(st.integers(1, MACHINE + 1), st.integers(1, 25), max_size=9), offsets)
def test_many_earliest_fits_in_one_pass_are_those_one_by_one(frames, wanted, offset):
    starts, free = frames
    sizes = np.array(sorted(wanted), np.int64)
    walltimes = np.array([wanted[p] for p in sorted(wanted)], np.int64)
    anchors = np.full(len(sizes), 77, np.int64)
    not_before = starts[0] + offset
    earliest_fits(profile_of(starts, free), sizes, walltimes, not_before, anchors)
    assert anchors.tolist() == [
        first_second(starts, free, p, w, not_before) for p, w in zip(sizes, walltimes, strict=True)
    ]


@examples(200)
@given(profiles, st.integers(-6, 60), st.integers(1, 20))
def test_what_is_free_at_an_instant_and_throughout_a_span(frames, offset, length):
    starts, free = frames
    profile = profile_of(starts, free)
    start = starts[0] + offset
    end = start + length
    # Before its start the profile has the same value as at its start.
    by_second = seconds_of(starts, free, max(end, starts[-1]) + 1)
    levels = [by_second[max(t, starts[0])] for t in range(start, end)]
    assert free_at(profile, start) == levels[0]
    assert free_during(profile, start, end) == min(levels)
    for processors in range(MACHINE + 1):
        assert fits(profile, start, length, processors) == (min(levels) >= processors)


def test_spans_are_half_open():
    profile = profile_of([0, 10, 20], [4, 0, 4])
    assert fits(profile, 5, 5, 4)  # until 10, excluded
    assert not fits(profile, 5, 6, 4)
    assert (free_at(profile, 9), free_at(profile, 10), free_at(profile, 19), free_at(profile, 20)) == (4, 0, 0, 4)
    assert earliest_fit(profile, 4, 10, 0) == 0
    assert earliest_fit(profile, 4, 11, 0) == 20


def test_the_instant_asked_for_counts_as_well_as_the_starts_of_frames():
    profile = profile_of([0, 10, 20], [4, 2, 4])
    assert earliest_fit(profile, 4, 3, 7) == 7
    assert earliest_fit(profile, 4, 4, 7) == 20
    assert earliest_fit(profile, 2, 100, 7) == 7


def test_what_the_last_frame_cannot_hold_never_fits_unless_before():
    profile = profile_of([0, 10], [4, 3])
    assert earliest_fit(profile, 4, 10, 0) == 0
    assert earliest_fit(profile, 4, 10, 1) == NEVER
    assert earliest_fit(profile, 3, 2**32, 5) == 5


def long_list(seed, count, shape):
    """Return sorted starts and free processors of a list so long that the single pass looks back on its way."""
    random = np.random.default_rng(seed)
    now = int(random.choice([0, TODAY]))
    starts = now + np.concatenate([[0], np.cumsum(random.integers(1, 30, count - 1))])
    if shape == "random":
        free = random.integers(0, 40, count)
    elif shape == "alternating":
        free = np.where(np.arange(count) % 2, 40, random.integers(0, 3))
    elif shape == "rising":
        free = np.arange(count) * 40 // count
    else:
        free = 40 - np.arange(count) * 40 // count
    keep = np.concatenate([[True], np.diff(free) != 0])
    return starts[keep], free[keep]


@pytest.mark.parametrize("form", ["plain", "compiled"])
@pytest.mark.parametrize("shape", ["random", "alternating", "rising", "falling"])
def test_long_lists_are_answered_like_short_ones(form, shape):
    many, one = (earliest_fits, earliest_fit) if form == "plain" else (compiled(earliest_fits), compiled(earliest_fit))
    for seed in range(12):
        starts, free = long_list(seed, 40 * (seed + 1), shape)
        profile = profile_of(starts, free)
        random = np.random.default_rng(seed)
        sizes = np.sort(random.choice(np.arange(1, 43), 25, replace=False))
        walltimes = random.choice([1, 5, 40, 300, 3000, 2**32], 25)
        anchors = np.empty(25, np.int64)
        not_before = int(starts[0]) + int(random.choice([-3, 0, 11, 500]))
        many(profile, sizes, walltimes, not_before, anchors)

        # Second by second, for requests of up to 3000 s; one of 136 years needs the last frame, or all later ones.
        first, last = max(not_before, int(starts[0])), max(not_before, int(starts[-1]))
        levels = np.repeat(free, np.diff(starts, append=last + 3001))
        for p, w, anchor in zip(sizes.tolist(), walltimes.tolist(), anchors.tolist(), strict=True):
            assert one(profile, p, w, not_before) == anchor
            enough = levels[first - int(starts[0]) :] >= p
            short = np.flatnonzero(~enough)
            ends = np.append(short, np.iinfo(np.int64).max if enough[-1] else len(enough))
            holes = np.concatenate([[0], short + 1])
            wide = np.flatnonzero(ends - holes >= w)
            assert anchor == (first + holes[wide[0]] if len(wide) else NEVER)


# --------------------------------------------------------------------------------------------------------- change


def test_compiled_changes_are_the_plain_ones():
    random = np.random.default_rng(5)
    plain, fast = empty_profile(100, 0, room=2000), empty_profile(100, 0, room=2000)
    held = []
    for now in range(0, 3000, 3):
        start, length, processors = (
            now + int(random.integers(0, 500)),
            int(random.integers(1, 200)),
            int(random.integers(1, 60)),
        )
        if fits(plain, start, length, processors):
            take(plain, start, start + length, processors)
            compiled(take)(fast, start, start + length, processors)
            held.append((start, start + length, processors))
        if held and random.random() < 0.3:
            taken = held.pop(int(random.integers(len(held))))
            give_back(plain, *taken)
            compiled(give_back)(fast, *taken)
        forget(plain, now)
        compiled(forget)(fast, now)
        count = int(plain.used[0])
        assert count == fast.used[0]
        assert plain.starts[:count].tolist() == fast.starts[:count].tolist()
        assert plain.free[:count].tolist() == fast.free[:count].tolist()
    assert count > 20


# ---------------------------------------------------------------------------------------------------------- build


def test_a_profile_copies_what_it_is_made_of():
    starts = np.array([0, 5])
    profile = profile_of(starts, [3, 4])
    take(with_room(profile, 2), 0, 1, 1)
    profile.starts[0] = 99
    assert starts.tolist() == [0, 5]


def test_room_is_made_only_where_there_is_none():
    profile = empty_profile(4, 0, room=3)
    assert with_room(profile, 2) is profile
    larger = with_room(profile, 3)
    assert larger is not profile
    assert (larger.starts[0], larger.free[0], larger.used[0]) == (0, 4, 1)
    assert len(larger.starts) >= 4


@pytest.mark.parametrize(
    ("starts", "free", "problem"),
    [
        ([], [], "no frame"),
        ([0, 0], [1, 2], "do not ascend"),
        ([5, 3], [1, 2], "do not ascend"),
        ([0, 5], [2, 2], "neighbours"),
        ([0, 5], [2, -1], "negative"),
        ([0, 5], [2, 9], "more free than the machine's 8"),
    ],
)
def test_check_tells_which_invariant_is_broken_and_dumps_the_state(starts, free, problem):
    with pytest.raises(AssertionError, match=problem) as caught:
        check(profile_of(starts, free), MACHINE)
    assert str(starts) in str(caught.value)
