"""Predicted and recorded waits of the jobs of a log, and how many intervals of 90% held in the course of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from gas.errors import BadInput
from gas.pictures.canvas import FAINT, GREY, INK, add_foot, one_line, tidy, write_figure
from gas.prediction.backtest import Outcome
from workloads import Log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_backtest"]

_INSIDE, _OUTSIDE = "#0072B2", "#D55E00"  # of Okabe and Ito's palette
_TICKS: Final = {1: "1 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36_000: "10 h", 360_000: "100 h"}
_METHOD: Final = "each predicted from what was known at its submission"
_ROLLING: Final = 200
"""Over how many predictions the share of intervals that held is shown."""


def draw_backtest(outcomes: Sequence[Outcome], path: str | Path, *, log: Log) -> None:
    """Draw predictions and what came true into a PNG, SVG or PDF file.

    On the left each job by its predicted and its recorded wait, both on logarithmic axes with waits under a second at
    one second; on the right the share of 90% intervals that held, over the last 200 predictions, in the course of
    the log.

    Raises
    ------
    BadInput
        The suffix is none of .png, .svg and .pdf, there is nothing to draw, or the file cannot be written.
    Missing
        matplotlib is not installed.
    """
    if not outcomes:
        raise BadInput("no prediction to draw")
    write_figure(lambda: _figure(outcomes, log), path)


def _figure(outcomes: Sequence[Outcome], log: Log) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.9), layout="constrained", facecolor="white")
    name = one_line(log.name.removesuffix(".gz").removesuffix(".swf"), 45)
    figure.suptitle(
        f"{name}: {len(outcomes):,} predicted waits", x=0.012, ha="left", fontsize=13, fontweight="bold",
        parse_math=False,
    )  # fmt: skip
    waits, course = figure.subplots(1, 2)
    _draw_waits(waits, outcomes)
    _draw_course(course, outcomes)
    add_foot(figure, log, (), remark=_METHOD)
    return figure


def _draw_waits(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    predicted = np.maximum([one.median for one in outcomes], 1.0)
    wait = np.maximum([one.wait for one in outcomes], 1.0)
    inside = np.array([one.inside for one in outcomes])
    top = 1.3 * max(predicted.max(), wait.max(), 60.0)
    axes.plot((1, top), (1, top), color=INK, linewidth=0.9)
    axes.plot((1, top), (2, 2 * top), color=GREY, linewidth=0.7, linestyle="--")
    axes.plot((1, top), (0.5, 0.5 * top), color=GREY, linewidth=0.7, linestyle="--")
    for held, colour, label in ((True, _INSIDE, "in its 90% interval"), (False, _OUTSIDE, "outside")):
        chosen = inside == held
        axes.scatter(
            predicted[chosen], wait[chosen], s=7, color=colour, alpha=0.45, linewidths=0, rasterized=True,
            label=f"{label}: {100 * chosen.mean():.0f}%",
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlim=(0.8, top), ylim=(0.8, top), xlabel="predicted wait (median)")
    axes.set_ylabel("recorded wait")
    ticks = [tick for tick in _TICKS if tick <= top]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [_TICKS[tick] for tick in ticks])
        axis.set_ticks([], minor=True)
    tidy(axes)
    axes.legend(loc="upper left", fontsize=8.5, framealpha=0.9, markerscale=2)


def _draw_course(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    inside = np.array([one.inside for one in outcomes], np.float64)
    last = min(_ROLLING, len(inside))
    share = 100 * np.convolve(inside, np.ones(last) / last, mode="valid")
    days = np.array([one.submitted for one in outcomes], np.float64) / 86_400
    axes.axhspan(85, 95, color=FAINT, zorder=0)
    axes.axhline(90, color=GREY, linewidth=0.8, linestyle="--")
    axes.plot(days[last - 1 :] - days[0], share, color=_INSIDE, linewidth=1.4)
    axes.set(ylim=(min(50.0, float(share.min()) - 2), 101), xlabel="day of the log")
    axes.set_ylabel(f"% of 90% intervals that held, last {last}")
    tidy(axes)
