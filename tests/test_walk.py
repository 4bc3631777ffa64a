"""The paper's walk as a kernel: what it finds in each frame, and where it must not search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import frames
from thorough import examples

from gas.compiled import compiled
from gas.profile.flat import NEVER, earliest_fit, fits, profile_of
from gas.walk import EQUAL, EVERY, LARGEST, walk

MACHINE = 8


def walked(starts, free, requests, not_before, kernel=walk, reading=EVERY):
    anchors = np.full(len(requests), 77, np.int64)
    sizes, walltimes = np.array(requests, np.int64).reshape(-1, 2).T.copy()
    kernel(profile_of(starts, free), sizes, walltimes, not_before, anchors, reading)
    return anchors.tolist()


def literal(starts, free, processors, walltime, not_before):
    """Fig. 4.3, by seconds: for each frame [s, e) with n free, d is the last moment until which n stay free."""
    for i, (start, n) in enumerate(zip(starts, free, strict=True)):
        if i + 1 < len(starts) and starts[i + 1] <= not_before:
            continue  # past
        s = max(start, not_before)
        d = next((starts[j] for j in range(i + 1, len(starts)) if free[j] < n), None)
        if processors <= n and (d is None or s + walltime <= d):
            return s
    return NEVER


requests = st.lists(st.tuples(st.integers(1, MACHINE + 1), st.integers(1, 25)), max_size=6, unique_by=lambda r: r[0])


@examples(400)
@given(frames(MACHINE), requests.map(sorted), st.integers(-5, 50))
def test_it_takes_the_first_frame_that_keeps_its_processors_for_long_enough(known, wanted, offset):
    starts, free = known
    not_before = starts[0] + max(0, offset)
    found = walked(starts, free, wanted, not_before)
    assert found == [literal(starts, free, p, w, not_before) for p, w in wanted]

    profile = profile_of(starts, free)
    for (p, w), start in zip(wanted, found, strict=True):
        if start != NEVER:
            assert fits(profile, start, w, p)
            assert earliest_fit(profile, p, w, not_before) <= start


def test_it_asks_whether_all_processors_of_the_frame_stay_free_not_only_those_needed():
    # 4 processors are free from 0 on, but the 8 of the first frame are not.
    assert walked([0, 2, 10], [8, 4, 8], [(4, 6)], 0) == [2]


EXAMPLE = ([0, 1, 5, 6, 7, 11], [5, 10, 0, 10, 20, 40]), [(10, 5), (20, 3), (30, 2)]
"""Fig. 4.4: the availability list, and the application's requests."""


@pytest.mark.parametrize("kernel", [walk, compiled(walk)])
def test_the_papers_example_has_its_candidates_in_two_readings_and_not_in_the_third(kernel):
    (starts, free), wanted = EXAMPLE
    found = {one: walked(starts, free, wanted, 0, kernel, one) for one in (EVERY, LARGEST, EQUAL)}
    assert found[EVERY] == found[LARGEST] == [6, 7, 11]  # schedules A, B and C
    assert found[EQUAL] == [6, 7, NEVER]


def test_the_largest_size_of_a_frame_may_hide_a_smaller_one():
    # 8 processors do not fit before 10; 4 would.
    assert walked([0, 10], [8, 2], [(4, 6), (8, 12)], 0) == [0, NEVER]
    assert walked([0, 10], [8, 2], [(4, 6), (8, 12)], 0, reading=LARGEST) == [NEVER, NEVER]


def test_it_finds_nothing_where_only_that_would_do():
    assert walked([0, 2], [8, 0], [(4, 3)], 0) == [NEVER]
    assert walked([0], [3], [(4, 1)], 0) == [NEVER]


def test_the_last_frame_lasts_for_ever():
    assert walked([0, 2], [0, 8], [(1, 2**32), (8, 2**32)], 0) == [2, 2]


def test_no_request_is_no_answer():
    assert walked([0], [8], [], 0) == []


@pytest.mark.parametrize("seed", range(4))
def test_machine_code_walks_like_the_plain_function(seed):
    random = np.random.default_rng(seed)
    starts = np.cumsum(random.integers(1, 50, 300))
    free = random.integers(0, 100, 300)
    keep = np.concatenate([[True], np.diff(free) != 0])
    wanted = [(p, int(random.integers(1, 300))) for p in range(1, 101)]
    not_before = int(starts[3]) + 1
    plain = walked(starts[keep], free[keep], wanted, not_before)
    assert plain == walked(starts[keep], free[keep], wanted, not_before, compiled(walk))
    assert NEVER in plain
    assert len(set(plain)) > 5
