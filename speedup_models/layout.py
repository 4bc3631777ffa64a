"""How a size is laid out: over how many nodes, how many units on each, and of which type of GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Layout", "LayoutModel"]


class Layout(NamedTuple):
    """Where the units of a size are: so many on each of so many nodes.

    Attributes
    ----------
    nodes
        How many nodes.
    per_node
        GPUs of each node (processors of each node, for an application that counts these); 0 where a node has none.
    device
        The type of GPU, as its site calls it ("a100"); empty for any.
    """

    nodes: int
    per_node: int
    device: str = ""

    def __str__(self) -> str:
        """Return it as people write it: ``2x4 a100``, ``3 nodes``."""
        if not self.per_node:
            return f"{self.nodes} node{'' if self.nodes == 1 else 's'}"
        return f"{self.nodes}x{self.per_node}{f' {self.device}' if self.device else ''}"


@runtime_checkable
class LayoutModel(Protocol):
    """A speed-up model whose times depend on the layout: f(size, layout), where others are f(size).

    Attributes
    ----------
    devices
        The types of GPU for which it knows times; empty if it does not go by types.
    layouts
        The only layouts that it knows; None for a formula.
    """

    devices: tuple[str, ...]
    layouts: tuple[Layout, ...] | None

    def seconds_on(self, sizes: NDArray[np.int64], layouts: Sequence[Layout]) -> NDArray[np.float64]:
        """Return the expected execution time in seconds on each size in its layout, NaN without an answer."""
