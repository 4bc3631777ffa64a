"""Pictures of the study of many moldable jobs: mean turn-around times over the share of moldable jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from experiments.framework.charts import BLUE, ORANGE, as_svg
from gas.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Lines", "Points", "Role", "draw_lines"]

Points: TypeAlias = Sequence[tuple[float, Interval]]
"""Shares in per cent, with the mean and its interval at each."""

Role: TypeAlias = Literal["static", "gas", "neither", "other static", "other gas"]
"""What a line shows; it determines its style. Rigid jobs' lines are dashed."""

Lines: TypeAlias = Mapping[str, tuple[Role, Points]]
"""Lines by their names in the legend."""

# From Okabe and Ito's palette, distinct with any kind of colour vision; markers and dashes differ, too.
_STYLES: Final[Mapping[Role, Mapping[str, str]]] = {
    "static": {"color": ORANGE, "marker": "o", "linestyle": "-"},
    "gas": {"color": BLUE, "marker": "s", "linestyle": "-"},
    "neither": {"color": "0.45", "marker": "", "linestyle": ":"},
    "other static": {"color": ORANGE, "marker": "o", "linestyle": "--", "markerfacecolor": "none"},
    "other gas": {"color": BLUE, "marker": "s", "linestyle": "--", "markerfacecolor": "none"},
}


def draw_lines(panels: Mapping[str, Lines], what: str) -> bytes:
    """Return a panel per log with lines over the share of moldable jobs; values are seconds, shown as hours.

    Parameters
    ----------
    what
        Label of the axis.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(panels), squeeze=False).ravel()
        for here, (title, lines) in zip(axes, panels.items(), strict=True):
            for name, (role, points) in lines.items():
                _draw_line(here, name, points, _STYLES[role])
            here.set_title(title, fontsize=10)
            here.set_ylim(bottom=0)
            here.grid(linewidth=0.4, alpha=0.6)
            here.set_xlabel("moldable jobs (%)")
        axes[0].set_ylabel(what)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 5), frameon=False, fontsize=9)

    return as_svg((3.7 * len(panels) + 0.6, 3.7), draw)


def _draw_line(axes: Axes, name: str, points: Points, style: Mapping[str, str]) -> None:
    at = np.array([share for share, _ in points])
    means = np.array([value.mean for _, value in points]) / 3600
    widths = np.array([value.half_width or 0.0 for _, value in points]) / 3600
    axes.plot(at, means, label=name, markersize=4, linewidth=1.4, **style)  # type: ignore[arg-type]
    axes.fill_between(at, means - widths, means + widths, color=style["color"], alpha=0.15, linewidth=0)
