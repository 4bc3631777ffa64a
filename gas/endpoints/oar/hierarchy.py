"""The unit of processors in requests to OAR: a level of the hierarchy of its resources, with fixed numbers of others.

``core`` counts cores, wherever they are. ``host/core=4`` counts hosts, on each of which a job gets four cores;
``host=2/core`` counts the cores that a job gets on each of two hosts. Gas chooses the number of the level without one.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from documents.fields import quoted
from gas.errors import BadInput

__all__ = ["Hierarchy", "property_of"]

_LEVEL = re.compile(r"([A-Za-z_]\w*)(?:=([1-9]\d{0,5}))?", re.ASCII)


def property_of(resource: str) -> str:
    """Return the property that identifies the units of this name: ``nodes`` are hosts."""
    return "network_address" if resource == "nodes" else resource


@dataclass(frozen=True)
class Hierarchy:
    """Levels from the outer to the inner, with the requested number of each; the chosen level has None."""

    levels: tuple[tuple[str, int | None], ...]

    @classmethod
    def of(cls, text: str) -> Hierarchy:
        """Return the hierarchy of a text.

        Raises
        ------
        BadInput
            The text is not a hierarchy, or does not leave exactly one level to choose.
        """
        levels: list[tuple[str, int | None]] = []
        for part in text.strip("/").split("/"):
            match = _LEVEL.fullmatch(part.strip())
            if match is None:
                raise BadInput(
                    f"{quoted(text)} is not a property of resources or a list of levels; write core, for example, or "
                    "host/core=4"
                )
            levels.append((match[1], None if match[2] is None else int(match[2])))
        chosen = sum(count is None for _, count in levels)
        if chosen != 1:
            raise BadInput(
                f"{quoted(text)} leaves {chosen} levels without a number; leave one, which Gas chooses: host/core=4 "
                "requests hosts with four cores each"
            )
        names = [property_of(name) for name, _ in levels]
        if len(set(names)) < len(names):
            raise BadInput(f"{quoted(text)} names a level twice")
        return cls(tuple(levels))

    @property
    def chosen(self) -> int:
        """Index of the level that is chosen."""
        return next(place for place, (_, count) in enumerate(self.levels) if count is None)

    @property
    def name(self) -> str:
        """Name of the level that is chosen."""
        return self.levels[self.chosen][0]

    @property
    def keys(self) -> tuple[str, ...]:
        """Properties of the levels."""
        return tuple(property_of(name) for name, _ in self.levels)

    @property
    def outside(self) -> int:
        """Return the number of groups in which the chosen number is requested."""
        return math.prod(count for _, count in self.levels[: self.chosen] if count is not None)

    @property
    def inside(self) -> int:
        """Return the number of innermost units requested with each chosen one, in one group."""
        return math.prod(count for _, count in self.levels[self.chosen + 1 :] if count is not None)

    def text(self, processors: int) -> str:
        """Return a request of this number, as in oarsub's ``-l``."""
        parts = [f"{name}={processors if count is None else count}" for name, count in self.levels]
        return f"/{'/'.join(parts)}"

    def most(self, paths: Sequence[tuple[str, ...]]) -> int:
        """Return the number of processors on free units; each unit is given by its values of the levels."""
        worth: dict[tuple[str, ...], int] = dict.fromkeys(paths, 1)
        for depth in range(len(self.levels) - 1, -1, -1):
            wanted = self.levels[depth][1]
            grouped: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
            for path, value in worth.items():
                grouped[path[:depth]].append(value)
            if wanted is None:
                worth = {path: sum(values) for path, values in grouped.items()}
            elif depth > self.chosen:
                worth = {path: int(sum(values) >= wanted) for path, values in grouped.items()}
            else:
                worth = {
                    path: sorted(values, reverse=True)[wanted - 1] if len(values) >= wanted else 0
                    for path, values in grouped.items()
                }
        return worth.get((), 0)
