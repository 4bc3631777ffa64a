"""Derives the allowed sizes of an application from the measured ones."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from speedup_models.constraints import Constraint

__all__ = ["measured_sizes"]

MOST_LISTED: Final = 64
"""More sizes become a range."""


def measured_sizes(measured: NDArray[np.int64]) -> Constraint:
    """Return the constraint that measured sizes satisfy: their kind, from the smallest to the largest.

    A kind needs at least three sizes (powers of two any number), multiples at least half of those in the range. Sizes
    of no kind are listed, unless they are all of a range.
    """
    sizes = sorted({int(size) for size in measured})
    least, most, step = sizes[0], sizes[-1], math.gcd(*sizes)
    if all(size & (size - 1) == 0 for size in sizes):
        return Constraint("power-of-two", least, most)
    if len(sizes) > 2 and all(math.isqrt(size) ** 2 == size for size in sizes):
        return Constraint("perfect-square", least, most)
    members = (most - least) // step + 1
    if len(sizes) > 2 and 2 * len(sizes) >= members and step > 1:
        return Constraint("multiple", least, most, step)
    if len(sizes) == most - least + 1 or len(sizes) > MOST_LISTED:
        return Constraint("any", least, most)
    return Constraint("list", sizes=tuple(sizes))
