"""The picture of a front: run time against cost, by size and layout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gas.pictures.canvas import write_picture
from speedup_models.layout_fit import LayoutReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_front"]

INK, REST = "#0072B2", "0.6"


def draw_front(report: LayoutReport, model: str, path: str | Path) -> None:
    """Write the picture of the sizes worth requesting as PNG, SVG or PDF, by the path's suffix.

    Raises
    ------
    BadInput
        Another suffix, or the file cannot be written.
    Missing
        Matplotlib is not installed.
    """

    def made() -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        _draw(figure.add_subplot(), report, model)
        return figure

    write_picture(made, path, {"svg.hashsalt": "gas fit", "font.size": 10})


def _draw(axes: Axes, report: LayoutReport, model: str) -> None:
    offers, others = report.front(model), report.offers(model)
    front = {(one.size, one.layout) for one in offers}
    rest = [one for one in others if (one.size, one.layout) not in front]
    unit = "GPU" if report.timings.unit == "gpus" else "processor"
    axes.plot([one.cost / 3600 for one in rest], [one.seconds / 3600 for one in rest], "o", color=REST, markersize=4,
              label="other sizes and layouts")  # fmt: skip
    axes.plot([one.cost / 3600 for one in offers], [one.seconds / 3600 for one in offers], "o-", color=INK,
              linewidth=1.6, label="worth asking for")  # fmt: skip
    for one in offers:
        nodes = one.layout.nodes if one.layout is not None else 0
        text = f"{one.size} on {nodes} node{'s' if nodes != 1 else ''}"
        axes.annotate(
            text, (one.cost / 3600, one.seconds / 3600), xytext=(6, 4), textcoords="offset points", fontsize=8
        )
    every = np.array([one.seconds for one in others])
    if every.max() > 4 * every.min():
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        axes.set_yscale("log")
        steps = (1, 2, 5) if every.max() > 10 * every.min() else (1, 1.5, 2, 3, 5, 7)
        axes.yaxis.set_major_locator(LogLocator(subs=steps))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.12, y=0.12)
    axes.set_xlabel(f"cost ({unit}-hours)")
    axes.set_ylabel("time of the run (hours)")
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
