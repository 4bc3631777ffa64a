"""Pictures that studies of moldable jobs share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.framework.charts import BLUE, ORANGE, as_svg
from experiments.moldable.improvement import labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_improvements"]

_WINS, _LOSES, _EVEN = BLUE, ORANGE, "0.6"


def draw_improvements(parts: Mapping[str, NDArray[np.int64]]) -> bytes:
    """Return a histogram of improvement factors for each part, given by the runs in each class (Fig. 5.2 to 5.11)."""

    def draw(figure: Figure) -> None:
        columns = min(len(parts), 4)
        rows = -(-len(parts) // columns)
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        names = labels()
        middle = len(names) // 2
        seen = [np.flatnonzero(counts) for counts in parts.values()]
        first = min((int(places[0]) for places in seen if len(places)), default=0)
        places = np.arange(len(names))
        for here, (name, counts) in zip(axes, parts.items(), strict=False):
            colours = [_LOSES] * middle + [_EVEN] + [_WINS] * middle
            here.bar(places, 100 * counts / max(int(counts.sum()), 1), color=colours, width=0.9)
            here.set_title(f"{name}: {int(counts.sum()):,} runs", fontsize=10)
            here.set_xticks(places[::2], names[::2], rotation=90, fontsize=7)
            here.set_xlim(first - 0.6, len(names) - 0.4)
            here.grid(axis="y", linewidth=0.4, alpha=0.6)
        for i, here in enumerate(axes):
            here.set_visible(i < len(parts))
            here.tick_params(labelbottom=i + columns >= len(parts))
        for here in axes[::columns]:
            here.set_ylabel("% of runs")
        figure.supxlabel("improvement factor (blue: Gas sooner; grey: equal; orange: static sooner)", fontsize=9)

    return as_svg((11.5, 2.9 * -(-len(parts) // 4) + 0.6), draw)
