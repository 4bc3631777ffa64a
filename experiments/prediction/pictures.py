"""Pictures of the study of predictions: calibration, sharpness, and the outcome of choosing by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.framework.charts import BLUE, GREEN, ORANGE, PINK, as_svg
from experiments.prediction.claims import COVERED, LEFT, SHARE
from experiments.prediction.results import Choices, Predictions
from experiments.prediction.run import SHARES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BINS", "WAYS", "draw_choices", "draw_ranks", "draw_reliability", "draw_starts", "draw_watching"]

# From Okabe and Ito's palette, distinct with any kind of colour vision.
_COLOURS: Final = (BLUE, ORANGE, GREEN, PINK)
_MARKERS: Final = ("o", "s", "^", "D")
_CHOICES: Final = {
    "static": ("#666666", "static", "x", (0, 11), "center"),
    "gas": (BLUE, "Gas", "o", (3, 11), "left"),
    "predicting": (ORANGE, "Gas with predictions", "D", (0, -12), "center"),
    "best": (GREEN, "best in hindsight", "^", (-3, 11), "right"),
}
"""Colour, name, marker, and position of the figure."""

WAYS: Final = {
    "gas": "by promises",
    "watched_by_plans": "by promises, watched",
    "predicting": "by predictions",
    "watched": "by predictions, watched",
}
"""Ways to choose a request, and whether the job is watched."""

BINS: Final = 10
"""Classes of ranks."""


def draw_reliability(logs: Mapping[str, Predictions]) -> bytes:
    """Return the share of intervals of each probability that contain the truth, a line per log."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 1)
        axes.plot((0, 100), (0, 100), color="0.5", linewidth=0.8, linestyle="--", zorder=1)
        axes.plot(2 * (100 * SHARE,), COVERED, color="0.75", linewidth=7, solid_capstyle="butt", zorder=0)
        nominal = 100 * np.array(SHARES)
        lowest = 50.0
        for i, (name, found) in enumerate(logs.items()):
            covered = [found.coverage(share) for share in SHARES]
            means = np.array([one.mean for one in covered])
            widths = np.array([np.nan if one.half_width is None else one.half_width for one in covered])
            lowest = min(lowest, float(np.min(means - np.nan_to_num(widths))))
            axes.errorbar(
                nominal + 0.5 * (i - (len(logs) - 1) / 2),  # side by side
                means,
                None if np.isnan(widths).all() else widths,
                color=_COLOURS[i % len(_COLOURS)],
                marker=_MARKERS[i % len(_MARKERS)],
                markersize=5,
                linewidth=1.2,
                elinewidth=0.9,
                capsize=2,
                label=f"{name}: {len(found):,} starts",
            )
        axes.set_xlabel("probability of the interval (%)")
        axes.set_ylabel("intervals that contain the true start (%)")
        axes.set_xticks(nominal)
        axes.set_xlim(45, 100)
        axes.set_ylim(max(10 * np.floor(lowest / 10 - 0.2), -2), 101)  # so that no marker is cut at the edge
        figure.legend(loc="outside upper left", frameon=False, ncols=len(logs), fontsize=9)
        _plain(axes)

    return as_svg((5.6, 4.4), draw)


def draw_ranks(logs: Mapping[str, Predictions]) -> bytes:
    """Return histograms of the share of samples that start before the truth; flat if predictions are calibrated."""

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import MaxNLocator

        panels = figure.subplots(1, len(logs), squeeze=False, sharey=True)[0]
        for axes, (name, found) in zip(panels, logs.items(), strict=True):
            counts, edges = np.histogram(found.rank, BINS, (0.0, 1.0))
            axes.stairs(100 * counts / max(len(found), 1), edges, fill=True, color=_COLOURS[0])
            axes.axhline(100 / BINS, color="0.3", linewidth=0.9, linestyle="--")
            axes.set_title(f"{name}: {len(found):,} starts", fontsize=10)
            axes.set_xlim(0, 1)
            axes.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0", "¼", "½", "¾", "1"))
            axes.set_xlabel("samples before the truth")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            _plain(axes)
        panels[0].set_ylabel("% of starts")

    return as_svg((3.2 * len(logs) + 0.6, 3.1), draw)


def draw_starts(logs: Mapping[str, Predictions]) -> bytes:
    """Return predicted and true starts as shares of the promised wait."""

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(logs), squeeze=False, sharey=True)[0]
        for axes, (name, found) in zip(panels, logs.items(), strict=True):
            predicted, true = ((at - found.now) / found.way for at in (found.mean, found.start))
            axes.plot((0, 1), (0, 1), color="0.5", linewidth=0.8, linestyle="--")
            axes.plot(predicted, true, ".", color=_COLOURS[0], alpha=0.45, markersize=5, markeredgewidth=0)
            axes.set_title(f"{name}: {len(found):,} starts", fontsize=10)
            axes.set_aspect("equal")
            axes.set_xlim(-0.03, 1.03)
            axes.set_ylim(-0.03, 1.03)
            axes.set_xlabel("predicted start")
            _plain(axes)
        panels[0].set_ylabel("true start")

    return as_svg((3.2 * len(logs) + 0.6, 3.6), draw)


def draw_choices(parts: Mapping[str, Choices]) -> bytes:
    """Return the mean turn-around time of all four choices, a row per log."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 1)
        rows = np.arange(len(parts))[::-1]
        for choice, (colour, words, marker, (dx, dy), anchor) in _CHOICES.items():
            hours = [_column(found, choice).mean() / 3600 for found in parts.values()]
            axes.plot(hours, rows, marker, color=colour, markersize=8, label=words, linestyle="none")
            for at, row in zip(hours, rows.tolist(), strict=True):
                place: dict[str, Any] = {
                    "xytext": (dx, dy),
                    "textcoords": "offset points",
                    "ha": anchor,
                    "va": "center",
                }
                axes.annotate(f"{at:.2f}", (at, row), color=colour, fontsize=8.5, **place)
        axes.set_xscale("log")
        ticks = [tick for tick in (0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if _within(tick, axes.get_xlim())]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_yticks(rows, [f"{name}\n{len(found):,} runs" for name, found in parts.items()])
        axes.set_ylim(-0.6, len(parts) - 0.4)
        axes.margins(x=0.1)
        axes.set_xlabel("mean turn-around time (h)")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(left=False)
        axes.grid(linewidth=0.4, alpha=0.6)
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper left", frameon=False, ncols=len(_CHOICES), fontsize=9)

    return as_svg((7.5, 0.75 * len(parts) + 1.3), draw)


def draw_watching(parts: Mapping[str, Choices]) -> bytes:
    """Return the regret of each way to choose, in per cent of that of promises: a group of bars per log."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 1)
        rows, height = np.arange(len(parts))[::-1], 0.2
        for i, (way, words) in enumerate(WAYS.items()):
            left = [100 * found.left(_column(found, way)) for found in parts.values()]
            at = rows + (1.5 - i) * height
            axes.barh(at, left, 0.9 * height, color=_COLOURS[i], label=words)
            beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": 8.5}
            beside["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            for share, y in zip(left, at.tolist(), strict=True):
                axes.annotate(f"{share:.0f}%", (max(share, 0), y), **beside)
        axes.axvline(100 * LEFT, color="0.3", linewidth=0.9, linestyle="--", zorder=0)
        axes.set_yticks(rows, [f"{name}\n{len(found):,} runs" for name, found in parts.items()])
        axes.set_xlabel("regret, % of that of promises (dashed: a third)")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(left=False)
        axes.grid(axis="x", linewidth=0.4, alpha=0.6)
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper left", frameon=False, ncols=2, fontsize=9)

    return as_svg((7.5, 0.95 * len(parts) + 1.3), draw)


def _within(at: float, limits: tuple[float, float]) -> bool:
    return limits[0] <= at <= limits[1]


def _column(found: Choices, name: str) -> Any:
    return getattr(found, name)


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
