"""Distances between distributions of run times, and their errors."""

import numpy as np
import pytest

from experiments.backfilling.distances import apart, nearer, shares
from experiments.backfilling.run_times import LIMITS, SIZES

SIZE = next(iter(SIZES))


def counted(*blocks):
    """A result in which the jobs of one class have these places among the limits, block by block."""
    counts = [np.bincount(block, minlength=len(LIMITS)).tolist() for block in blocks]
    return {"counts": {SIZE: counts}}


def test_shares_rise_to_one():
    found = shares(counted([0, 1], [1, 3]), SIZE)
    assert found[:4].tolist() == [0.25, 0.75, 0.75, 1.0]
    assert found[-1] == 1.0


def test_a_distance_is_the_largest_one_of_shares_in_points():
    one, other = counted(*[[0, 1]] * 8), counted(*[[0, 5]] * 8)
    found = apart(one, other, SIZE)(0.9)
    assert found.mean == pytest.approx(50)
    assert found.half_width == pytest.approx(0)  # all blocks are alike
    assert apart(one, one, SIZE)(0.9).mean == 0


def test_a_nearer_model_is_so_by_the_difference_of_distances():
    reference, near, far = (counted(*[blocks] * 4) for blocks in ([0, 1, 2, 3], [0, 1, 2, 9], [9, 9, 9, 9]))
    assert nearer(near, far, reference, SIZE)(0.9).mean == pytest.approx(75)
    assert nearer(far, near, reference, SIZE)(0.9).mean == pytest.approx(-75)


def test_blocks_that_differ_widen_the_interval_in_the_model_and_in_the_reference():
    alike, apart_ones = counted(*[[0, 9]] * 8), counted(*[[0, 0], [9, 9]] * 4)
    fixed = counted(*[[9, 9]] * 8)
    of_model, of_reference = apart(apart_ones, fixed, SIZE)(0.9), apart(fixed, apart_ones, SIZE)(0.9)
    assert of_model.half_width == pytest.approx(of_reference.half_width)
    assert of_model.half_width > apart(alike, fixed, SIZE)(0.9).half_width == pytest.approx(0)
