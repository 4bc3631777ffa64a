"""Measured execution times by layout: nodes, GPUs on each, and their type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from documents.fields import Fields
from speedup_models.constraints import MOST_PROCESSORS
from speedup_models.model import Layout, ModelError

__all__ = ["LayoutTable", "layouts_from_fields"]


@dataclass(frozen=True)
class LayoutTable:
    """An application that was measured on some layouts; it has no time on others.

    Attributes
    ----------
    layouts
        The measured ones, each once. Either all of them or none name a type of GPU.
    times
        Seconds on each of them, above 0.
    """

    layouts: tuple[Layout, ...]
    times: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.layouts or len(self.layouts) != len(self.times):
            raise ModelError(f"table of layouts: {len(self.layouts)} layouts and {len(self.times)} times")
        if len(set(self.layouts)) < len(self.layouts):
            twice = next(one for one in self.layouts if self.layouts.count(one) > 1)
            raise ModelError(f"table of layouts: {twice} occurs twice; keep one")
        if self.devices and not all(one.device for one in self.layouts):
            raise ModelError("table of layouts: some rows have a type and others do not; give it in all or in none")

    @property
    def name(self) -> str:
        """Return a name with the number of measurements."""
        return f"table of {len(self.layouts)} layouts"

    @property
    def constraint(self) -> None:
        """Return None: the table has measured layouts, but no constraint of the application."""
        return

    @property
    def sizes(self) -> None:
        """Return None: `layouts` contain more."""
        return

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the measured types of GPU, in order."""
        return tuple(dict.fromkeys(one.device for one in self.layouts if one.device))

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Raise `ModelError`: a size alone has no time."""
        raise ModelError(f"{self.name}: a size has a time only in a layout over nodes")

    def seconds_on(self, sizes: NDArray[np.int64], layouts: Sequence[Layout]) -> NDArray[np.float64]:
        """Return the measured seconds of each layout, NaN for other layouts."""
        known = dict(zip(self.layouts, self.times, strict=True))
        typed = bool(self.devices)
        return np.array([known.get(one if typed else one._replace(device=""), np.nan) for one in layouts], np.float64)


def layouts_from_fields(fields: Fields) -> LayoutTable:
    """Return the model of a [speedup] table with the key ``times``: rows of nodes, gpus_per_node, type and seconds."""
    rows = fields.value("times")
    if not isinstance(rows, list):
        raise fields.fail("times", "is not a list; write rows like { nodes = 2, gpus_per_node = 4, seconds = 812.0 }")
    layouts, times = [], []
    for number, each_row in enumerate(rows, 1):
        row = Fields(each_row, f"{fields.where('times')} row {number}")
        nodes = row.integer("nodes", 1, minimum=1, maximum=MOST_PROCESSORS)
        each = row.integer("gpus_per_node", 0, minimum=0, maximum=MOST_PROCESSORS)
        layouts.append(Layout(nodes, each, row.text("type", "")))
        times.append(row.number("seconds", above=0))
        row.done()
    if not layouts:
        raise fields.fail("times", "is empty; write rows like { nodes = 2, gpus_per_node = 4, seconds = 812.0 }")
    return LayoutTable(tuple(layouts), tuple(times))
