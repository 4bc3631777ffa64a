"""How often tests repeat themselves: a share by default, and in full where GAS_EXAMPLES is "all", as in CI.

A property is tried on made-up cases; a third of them find what is plainly wrong, at once. The others are for CI.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import settings

__all__ = ["ALL", "examples", "rounds", "some"]

T = TypeVar("T")

ALL = os.environ.get("GAS_EXAMPLES") == "all"
"""Whether every example is tried."""


def rounds(count: int) -> int:
    """Return how often to repeat what is repeated `count` times in full: a third, at least once."""
    return count if ALL else -(-count // 3)


def examples(count: int, **more: Any) -> settings:
    """Return the settings of a property that is tried on so many examples in full."""
    return settings(max_examples=rounds(count), **more)


def some(values: Sequence[T], count: int) -> list[T]:
    """Return so many of the values, spread evenly with the first among them, or all of them in full."""
    kept = {len(values) * i // count for i in range(count)}
    return [value for i, value in enumerate(values) if ALL or i in kept]
