"""Pictures of the study of one moldable job: how much Gas wins, and what its choices cost in hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.pictures import as_svg
from experiments.power_study import Outcomes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EDGES", "draw_improvements", "draw_regret", "shares"]

EDGES = np.array([1.0, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, np.inf])
"""Edges of the classes of improvement factors; the same downwards where Gas lost."""

_WINS, _LOSES, _EVEN = "#0072B2", "#D55E00", "0.6"


def shares(outcomes: Outcomes) -> tuple[list[str], NDArray[np.float64]]:
    """Return classes of improvement factors, from the worst loss to the best gain, and the share of runs in each.

    As in the paper: how many times sooner Gas was, and negative how many times sooner static was.
    """
    lost = _classes(outcomes.gas / np.maximum(outcomes.static, 1), outcomes.loses)
    won = _classes(outcomes.factor, outcomes.static > outcomes.gas)
    even = int((outcomes.static == outcomes.gas).sum())
    names = [f"{low:g}–{high:g}" if np.isfinite(high) else f"≥{low:g}" for low, high in _pairs()]
    labels = [f"−{name}" for name in names[::-1]] + ["equal"] + names
    counts = np.concatenate([lost[::-1], [even], won])
    return labels, counts / max(len(outcomes), 1)


def _pairs() -> list[tuple[float, float]]:
    return list(zip(EDGES[:-1].tolist(), EDGES[1:].tolist(), strict=True))


def _classes(factors: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.histogram(factors[chosen], EDGES)[0].astype(np.int64)
    return counts


def draw_improvements(parts: Mapping[str, Outcomes]) -> bytes:
    """Return a histogram of improvement factors for each part (Fig. 5.2 to 5.8)."""

    def draw(figure: Figure) -> None:
        columns = min(len(parts), 4)
        rows = -(-len(parts) // columns)
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        classed = {name: shares(outcomes) for name, outcomes in parts.items()}
        seen = [np.flatnonzero(share) for _, share in classed.values()]
        first = min((int(places[0]) for places in seen if len(places)), default=0)
        for here, (name, (labels, share)) in zip(axes, classed.items(), strict=False):
            middle = len(labels) // 2
            colours = [_LOSES] * middle + [_EVEN] + [_WINS] * middle
            places = np.arange(len(labels))
            here.bar(places, 100 * share, color=colours, width=0.9)
            here.set_title(f"{name}: {len(parts[name]):,} runs", fontsize=10)
            here.set_xticks(places[::2], labels[::2], rotation=90, fontsize=7)
            here.set_xlim(first - 0.6, len(labels) - 0.4)
            here.grid(axis="y", linewidth=0.4, alpha=0.6)
        for i, here in enumerate(axes):
            here.set_visible(i < len(parts))
            here.tick_params(labelbottom=i + columns >= len(parts))
        for here in axes[::columns]:
            here.set_ylabel("% of runs")
        figure.supxlabel("improvement factor (negative: static was sooner, orange)", fontsize=9)

    return as_svg((11.5, 2.9 * -(-len(parts) // 4) + 0.6), draw)


def draw_regret(parts: Mapping[str, Outcomes]) -> bytes:
    """Return, for each log, the share of runs whose regret is at most so many seconds."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 1)
        for (name, outcomes), dashes in zip(parts.items(), ("-", "--", ":", "-."), strict=False):
            regret = np.sort(outcomes.regret)
            share = 100 * np.arange(1, len(regret) + 1) / max(len(regret), 1)
            axes.step(np.maximum(regret, 0.5), share, dashes, where="post", label=name)
        axes.set_xscale("log")
        axes.set_xticks(
            [0.5, 10, 60, 600, 3600, 36000, 360000], ["0", "10 s", "1 min", "10 min", "1 h", "10 h", "100 h"]
        )
        axes.set_xlabel("regret: how much later than with the best choice in hindsight")
        axes.set_ylabel("% of runs with at most that")
        axes.grid(linewidth=0.4, alpha=0.6)
        axes.legend(frameon=False)

    return as_svg((6.5, 3.6), draw)
