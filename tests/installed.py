"""What is installed stays as it is while tests run: its entry points are read once in a process.

To find a plug-in, each command and each endpoint of a configuration reads the entry points of some two hundred
installed distributions: five milliseconds, more than most tests take. Distributions that a test makes elsewhere are
read as ever.
"""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, EntryPoints
from typing import Any

__all__ = ["read_once"]


def read_once(folder: str = sys.prefix) -> None:
    """Have the entry points of each distribution in a folder read once; call once."""
    read: Any = Distribution.entry_points.fget  # type: ignore[attr-defined]
    known: dict[str, EntryPoints] = {}

    def entry_points(distribution: Distribution) -> EntryPoints:
        place = str(getattr(distribution, "_path", ""))
        if not place.startswith(folder):
            return read(distribution)
        if place not in known:
            known[place] = read(distribution)
        return known[place]

    Distribution.entry_points = property(entry_points)  # type: ignore[assignment]
