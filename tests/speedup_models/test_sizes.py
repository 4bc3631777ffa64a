"""Only sizes of the measured kind: after measurements at powers of two, 51 is never offered."""

import numpy as np
import pytest

from speedup_models.sizes import measured_sizes


@pytest.mark.parametrize(
    ("measured", "allowed"),
    [
        ([1, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64]),
        ([4, 16], [4, 8, 16]),
        ([4, 9, 16, 25], [4, 9, 16, 25]),
        ([6, 12, 18, 30], [6, 12, 18, 24, 30]),
        ([2, 10, 64], [2, 10, 64]),
        ([1, 2, 3, 5], [1, 2, 3, 5]),
        ([1, 2, 4, 8, 12, 16, 24], [1, 2, 4, 8, 12, 16, 24]),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        ([7], [7]),
    ],
)
def test_an_application_takes_sizes_of_the_kind_that_was_measured(measured, allowed):
    found = measured_sizes(np.array(measured * 2))
    assert found.allowed(1000).tolist() == allowed


def test_more_sizes_than_a_list_holds_are_a_range():
    assert measured_sizes(np.arange(1, 200, 2)[np.arange(100) != 50]).kind == "any"
