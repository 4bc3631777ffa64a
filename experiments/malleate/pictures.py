"""Pictures of the study: the effect of each strategy on each log, and over the share of adopters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.framework.charts import BLUE, GREEN, ORANGE, PINK, SKY, YELLOW, as_svg, plain
from gas.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_changes", "draw_shares"]

_STYLES: Final[Mapping[str, tuple[str, str, str]]] = {
    "slurm": (SKY, "v", "--"),
    "slurm-own": (SKY, "^", ":"),
    "oar": (PINK, "D", "--"),
    "gas": (BLUE, "s", "--"),
    "gas-s3": ("0.2", "x", ":"),
    "gas-predicted": (BLUE, "o", "-"),
    "gas-again": (GREEN, "P", "--"),
    "gas-predicted-again": (GREEN, "X", "-"),
    "malleable-smallest": (YELLOW, "<", "--"),
    "malleable-own": (ORANGE, ">", "-"),
    "malleable-keep": (ORANGE, "*", ":"),
}
"""Colour, marker and dashes of a strategy; cool colours are moldable, warm ones malleable."""


def draw_changes(
    logs: Sequence[str], strategies: Mapping[str, str], found: Mapping[tuple[str, str], Interval]
) -> bytes:
    """Return a panel for each log with the change of the mean turn-around time by each strategy.

    Parameters
    ----------
    strategies
        Titles by name, from top to bottom.
    found
        Changes by log and strategy, in per cent; lines show 90% intervals.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(logs), squeeze=False, sharex=True, sharey=True).ravel()
        at = np.arange(len(strategies))[::-1]
        for panel, log in zip(panels, logs, strict=True):
            for y, name in zip(at, strategies, strict=True):
                if (value := found.get((log, name))) is not None:
                    colour = _STYLES[name][0]
                    panel.barh(y, value.mean, color=colour, height=0.62)
                    panel.errorbar(value.mean, y, xerr=value.half_width or 0.0, color="0.15", linewidth=1, capsize=2)
            panel.axvline(0, color="0.3", linewidth=0.8)
            panel.set_title(log, fontsize=10)
            plain(panel)
        panels[0].set_yticks(at, list(strategies.values()))
        figure.supxlabel("change of the mean turn-around time (%)", fontsize=10)

    return as_svg((1.9 * len(logs) + 2.4, 0.32 * len(strategies) + 1.2), draw)


def draw_shares(
    logs: Sequence[str],
    strategies: Mapping[str, str],
    found: Mapping[tuple[str, str, int], Interval],
    percents: Sequence[int],
) -> bytes:
    """Return a panel for each log with the change of the mean turn-around time over the share of adopters."""
    rows = -(-len(logs) // 4)
    columns = -(-len(logs) // rows)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for panel in panels[len(logs) :]:
            panel.set_visible(False)
        for panel, log in zip(panels, logs, strict=False):
            for name, title in strategies.items():
                _draw_line(panel, name, title, [(percent, found.get((log, name, percent))) for percent in percents])
            panel.axhline(0, color="0.3", linewidth=0.8)
            panel.set_title(log, fontsize=10)
            panel.set_xlabel("adopters (%)")
            panel.set_xticks([0, *percents])
            plain(panel)
        figure.supylabel("change of the mean turn-around time (%)", fontsize=10)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(columns, 3), frameon=False, fontsize=9)

    return as_svg((3.0 * columns + 0.6, 2.7 * rows + 1.1), draw)


def _draw_line(panel: Axes, name: str, title: str, points: Sequence[tuple[int, Interval | None]]) -> None:
    known = [(0, Interval(0.0, 0.0)), *((percent, value) for percent, value in points if value is not None)]
    if len(known) < 2:
        return
    colour, marker, dashes = _STYLES[name]
    at = np.array([percent for percent, _ in known])
    mean = np.array([value.mean for _, value in known])
    width = np.array([value.half_width or 0.0 for _, value in known])
    panel.plot(at, mean, dashes, color=colour, marker=marker, markersize=4, linewidth=1.4, label=title)
    panel.fill_between(at, mean - width, mean + width, color=colour, alpha=0.1, linewidth=0)
