"""Entry points of installed distributions are read once in a process: they stay the same while tests run.

Each command and each endpoint of a configuration looks for plug-ins in the entry points of some two hundred installed
distributions. That takes five milliseconds, more than most tests. Distributions that a test makes elsewhere are read
each time.
"""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, EntryPoints
from typing import Any

__all__ = ["read_once"]


def read_once(folder: str = sys.prefix) -> None:
    """Have the entry points of the distributions in a folder read only once; call once."""
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
