"""Means over seeds, with their intervals."""

import numpy as np

from experiments.framework.intervals import interval


def test_an_interval_over_seeds_is_students():
    assert interval([3.0]).half_width is None
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, round(found.half_width, 4)) == (2.0, round(2.919986 / np.sqrt(3), 4))


def test_it_is_written_with_as_many_digits_as_asked_for():
    assert str(interval([1000.0])) == "1,000"
    assert interval([1.0, 2.0, 3.0]).text(2) == "2.00 ± 1.69"
