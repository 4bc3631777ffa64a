"""Pictures of the study of estimates: the used share of estimates, and its effect on backfilling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.estimates.cells import Mean
from experiments.estimates.use import CELL, LAST, LONGEST
from experiments.framework.charts import BLUE, ORANGE, SKY, YELLOW, as_svg, plain
from experiments.published import MEASURES, POLICIES, SCHEMES, TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_means", "draw_use"]

# From Okabe and Ito's palette, distinct with any kind of colour vision.
_PARTS: Final = {"others": (BLUE, "other jobs"), "short": (SKY, "below 90 s"), "killed": (YELLOW, "killed")}
_COLOURS: Final = {"easy": ORANGE, "conservative": BLUE}
_MARKERS: Final = {"easy": "o", "conservative": "s"}
_LINES: Final = ("here", "paper", "users' here", "users' in the paper")


def draw_use(logs: Mapping[str, Mapping[str, Any]], what: str) -> bytes:
    """Return a row per log: a histogram of the used share of the estimate, and run time over estimate in minutes.

    Parameters
    ----------
    logs
        By name, the return values of `experiments.estimates.use.picture_of`.
    what
        The estimates, for the axis labels.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(logs), 2, squeeze=False, width_ratios=(1.25, 1))
        for (left, right), (name, found) in zip(panels, logs.items(), strict=True):
            _histogram(left, found, name)
            _scatter(figure, right, found)
        panels[-1, 0].set_xlabel(f"% of {what} used, rounded down (last: {LAST}% and more)")
        panels[-1, 1].set_xlabel(f"{what} (min)")
        panels[0, 0].legend(frameon=False, fontsize=9, loc="upper center")

    return as_svg((10.5, 3.1 * len(logs) + 0.5), draw)


def _histogram(axes: Axes, found: Mapping[str, Any], name: str) -> None:
    below = np.zeros(LAST + 1)
    most = max(found["jobs"], 1)
    for part, (colour, words) in _PARTS.items():
        share = 100 * np.array(found["histogram"][part]) / most
        if not share.any():
            continue
        axes.stairs(below + share, baseline=below, fill=True, color=colour, label=words, linewidth=0)
        below = below + share
    axes.set_title(f"{name}: {found['jobs']:,} jobs", fontsize=10)
    axes.set_xlim(0, LAST + 1)
    axes.set_ylim(0, 1.05 * max(float(below.max()), 1e-9))
    axes.set_xticks(range(0, LAST + 1, 10))
    axes.set_ylabel("% of jobs")
    plain(axes)


def _scatter(figure: Figure, axes: Axes, found: Mapping[str, Any]) -> None:
    """Draw the density of jobs; each cell is a minute wide and high."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm

    cells = np.array(found["cells"], np.float64)[:, :-1].T
    minutes = LONGEST // CELL
    shown = np.ma.masked_equal(cells, 0)
    most = max(float(cells.max(initial=0)), 2.0)
    image = axes.imshow(
        shown,
        origin="lower",
        extent=(0, minutes, 0, minutes),
        aspect="auto",
        cmap=ListedColormap(colormaps["viridis_r"](np.linspace(0.2, 1, 256))),  # without its yellow, invisible on white
        norm=LogNorm(1, most),
        interpolation="nearest",
    )
    axes.plot((0, minutes), (0, minutes), color="0.4", linewidth=0.7)
    figure.colorbar(image, ax=axes, label="jobs", pad=0.02, fraction=0.06)
    axes.set_xticks(range(0, minutes + 1, 30))
    axes.set_yticks(range(0, minutes + 1, 30))
    axes.set_ylabel("run time (min)")
    axes.set_title(f"estimates up to {minutes // 60} h: {int(np.sum(found['cells'])):,} jobs", fontsize=10)


def draw_means(cells: Sequence[Mean]) -> bytes:
    """Return Table 3: means over the factor f, a column per log and a row per measure.

    Ours are lines with their intervals, the paper's are hollow markers. Means under the users' own estimates are dashed
    horizontal lines, and markers on the left.
    """
    traces = list(dict.fromkeys(cell.trace for cell in cells if cell.ours is not None))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(MEASURES), len(traces), squeeze=False, sharex=True)
        for row, measure in zip(panels, MEASURES, strict=True):
            for axes, trace in zip(row, traces, strict=True):
                for policy in POLICIES:
                    key = trace, measure, policy
                    mine = [cell for cell in cells if (cell.trace, cell.measure, cell.policy) == key and cell.ours]
                    _means(axes, mine, policy)
                axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
                plain(axes)
            row[0].set_ylabel(TITLES[measure])
        for axes, trace in zip(panels[0], traces, strict=True):
            axes.set_title(trace, fontsize=10)
        for axes in panels[-1]:
            axes.set_xlabel("f: estimates uniform in [r, f·r]")
        known = dict(zip(*reversed(panels[0, 0].get_legend_handles_labels()), strict=True))
        wanted = [f"{name}, {what}" for what in _LINES for name in SCHEMES.values() if f"{name}, {what}" in known]
        handles = [known[label] for label in wanted]
        figure.legend(handles, wanted, loc="outside upper left", frameon=False, ncols=len(_LINES), fontsize=9)

    return as_svg((3.5 * len(traces) + 0.8, 6.2), draw)


def _means(axes: Axes, cells: Sequence[Mean], policy: str) -> None:
    from matplotlib.ticker import NullLocator

    colour, marker, name = _COLOURS[policy], _MARKERS[policy], SCHEMES[policy]
    drawn = [(cell.factor, cell.ours, cell.paper) for cell in cells if cell.factor is not None and cell.ours]
    # Both schemes are slightly apart, so that their intervals do not hide each other.
    factors = [factor * (0.96 if policy == "easy" else 1.04) for factor, _, _ in drawn]
    axes.errorbar(
        factors,
        [ours.mean for _, ours, _ in drawn],
        yerr=[ours.half_width or 0 for _, ours, _ in drawn],
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.5,
        elinewidth=1,
        capsize=2.5,
        label=f"{name}, here",
    )
    hollow: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 5.5, "markerfacecolor": "none"}
    axes.plot(factors, [paper for *_, paper in drawn], color=colour, label=f"{name}, paper", **hollow)
    for cell in cells:
        if cell.factor is None and cell.ours:
            axes.axhline(cell.ours.mean, color=colour, linestyle=(0, (4, 2)), linewidth=1, label=f"{name}, users' here")
            axes.plot(
                [0.55], [cell.paper], color=colour, label=f"{name}, users' in the paper", **hollow | {"marker": ">"}
            )
    axes.set_xscale("log")
    axes.set_xlim(0.45, 420)
    places = [factor for factor, _, _ in drawn]
    axes.set_xticks(places, [f"{place}" for place in places])
    axes.xaxis.set_minor_locator(NullLocator())
