"""Sets of nodes as 64-bit words: kernels that intersect sets of thousands of nodes in tens of nanoseconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel

__all__ = [
    "Words",
    "appears",
    "at_least",
    "count",
    "has_outside",
    "keep",
    "meets",
    "of_given",
    "put",
    "remove",
    "unpacked",
    "words_of",
]

Words = NDArray[np.uint64]

BITS = 1 << np.arange(64, dtype=np.uint64)
_ODD, _PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_EIGHTS, _SIXTEENS, _HALF = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00000000FFFFFFFF)
_STEPS = np.array([1, 2, 4, 8, 16, 32], np.uint64)


def words_of(sets: NDArray[np.bool_]) -> Words:
    """Return sets, one per row, as words."""
    rows, size = sets.shape
    octets = np.zeros((rows, 8 * max(-(-size // 64), 1)), np.uint8)
    packed = np.packbits(sets, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view(np.uint64)


@lean_kernel
def unpacked(words: Words, found: NDArray[np.bool_]) -> None:
    """Write into `found` whether each node is in a set."""
    for node in range(len(found)):
        found[node] = (words[node >> 6] & BITS[node & 63]) != 0


@lean_kernel
def of_given(given: NDArray[np.int64], words: Words) -> None:
    """Write the set of the nodes that contribute."""
    words[:] = 0
    for node in range(len(given)):
        if given[node] > 0:
            words[node >> 6] |= BITS[node & 63]


@lean_kernel
def _bits(word: np.uint64) -> int:
    one = (word & _ODD) + ((word >> _STEPS[0]) & _ODD)
    one = (one & _PAIRS) + ((one >> _STEPS[1]) & _PAIRS)
    one = (one & _FOURS) + ((one >> _STEPS[2]) & _FOURS)
    one = (one & _EIGHTS) + ((one >> _STEPS[3]) & _EIGHTS)
    one = (one & _SIXTEENS) + ((one >> _STEPS[4]) & _SIXTEENS)
    return int((one & _HALF) + (one >> _STEPS[5]))


@lean_kernel
def count(words: Words) -> int:
    """Return the number of nodes in a set."""
    total = 0
    for at in range(len(words)):
        if words[at] != 0:
            total += _bits(words[at])
    return total


@lean_kernel
def at_least(words: Words, number: int) -> bool:
    """Return whether a set has at least a number of nodes."""
    total = 0
    for at in range(len(words)):
        if words[at] != 0:
            total += _bits(words[at])
            if total >= number:
                return True
    return total >= number


@lean_kernel
def put(words: Words, others: Words) -> None:
    """Copy a set."""
    for at in range(len(words)):
        words[at] = others[at]


@lean_kernel
def keep(words: Words, others: Words) -> None:
    """Intersect a set with another one."""
    for at in range(len(words)):
        words[at] &= others[at]


@lean_kernel
def remove(words: Words, others: Words) -> None:
    """Remove the nodes of another set."""
    for at in range(len(words)):
        words[at] &= ~others[at]


@lean_kernel
def meets(words: Words, others: Words) -> bool:
    """Return whether two sets have a node in common."""
    for at in range(len(words)):  # noqa: SIM110  a generator is not compiled
        if words[at] & others[at] != 0:
            return True
    return False


@lean_kernel
def has_outside(words: Words, others: Words) -> bool:
    """Return whether a node of a set is not in another one."""
    for at in range(len(words)):  # noqa: SIM110
        if words[at] & ~others[at] != 0:
            return True
    return False


@lean_kernel
def appears(nodes: Words, then: Words, offered: Words, now: Words) -> bool:
    """Return whether one of these nodes is free then, but is not both offered and free now."""
    for at in range(len(nodes)):  # noqa: SIM110
        if nodes[at] & then[at] & ~(offered[at] & now[at]) != 0:
            return True
    return False
