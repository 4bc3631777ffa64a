"""Improvement factors in classes, with losses on one side and gains on the other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from experiments.moldable.improvement import EDGES, classes, labels

times = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=30)


def classed(pairs):
    gas, static = np.array(pairs, np.int64).reshape(-1, 2).T
    return classes(gas, static)


def test_factors_are_classed_on_both_sides():
    found = dict(zip(labels(), classed([(10, 25), (30, 10), (7, 7), (1, 10**6)]).tolist(), strict=True))
    assert {label: count for label, count in found.items() if count} == {
        "2–3": 1, "−3–5": 1, "equal": 1, "≥1000": 1,
    }  # fmt: skip
    assert len(labels()) == 2 * (len(EDGES) - 1) + 1


@given(times)
def test_each_run_is_in_one_class_and_who_swaps_the_two_mirrors_them(pairs):
    counts = classed(pairs)
    assert counts.sum() == len(pairs)
    assert counts[::-1].tolist() == classed([(static, gas) for gas, static in pairs]).tolist()
