"""Predicted and recorded waits of the jobs of a log, and the share of intervals that held.

draw_backtest   into a file: waits, and 90% intervals over the time of the log
backtest_svgs   for a report: the same, the reliability diagram, and classes of jobs
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gas.errors import BadInput
from gas.intervals import Interval
from gas.pictures.canvas import FAINT, GREY, INK, add_foot, figure_svg, one_line, tidy, write_figure
from gas.prediction.backtest import SHARES, Outcome
from gas.prediction.classes import FACTOR_SHARE, FEWEST, HELD, JobClass
from workloads import Log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["backtest_svgs", "draw_backtest"]

_INSIDE, _OUTSIDE = "#0072B2", "#D55E00"  # of Okabe and Ito's palette
_TICKS: Final = {1: "1 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36_000: "10 h", 360_000: "100 h"}
_METHOD: Final = "each predicted from what was known at its submission"
_WAITS: Final = 60
_ROLLING: Final = 200
"""Number of predictions in the moving average of intervals that held."""


def draw_backtest(outcomes: Sequence[Outcome], path: str | Path, *, log: Log) -> None:
    """Draw predictions and outcomes into a PNG, SVG or PDF file.

    On the left each job by its predicted and its recorded wait, on logarithmic axes; waits under a second are drawn at
    one second. On the right the share of 90% intervals that held, over the time of the log: the moving average over 200
    predictions, or over a quarter of all if these are fewer.

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


def backtest_svgs(outcomes: Sequence[Outcome], classes: Sequence[JobClass]) -> dict[str, bytes]:
    """Return the pictures of a report as SVG: ``waits`` with the reliability diagram, ``course`` and ``classes``.

    Raises
    ------
    Missing
        matplotlib is not installed.
    """
    return {
        "waits": figure_svg(lambda: _reliability_and_waits(outcomes)),
        "course": figure_svg(lambda: _course(outcomes)),
        "classes": figure_svg(lambda: _of_classes(classes)),
    }


def _reliability_and_waits(outcomes: Sequence[Outcome]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.9), layout="constrained", facecolor="white")
    reliability, waits = figure.subplots(1, 2)
    _draw_reliability(reliability, outcomes)
    _draw_waits(waits, outcomes)
    return figure


def _course(outcomes: Sequence[Outcome]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), layout="constrained", facecolor="white")
    _draw_course(figure.subplots(), outcomes)
    return figure


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
    _legend_above(axes, columns=2, markerscale=2)


def _draw_course(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    inside = np.array([one.inside for one in outcomes], np.float64)
    last = min(_ROLLING, max(1, len(inside) // 4))  # so that even few predictions give a line
    share = 100 * np.convolve(inside, np.ones(last) / last, mode="valid")
    days = np.array([one.submitted for one in outcomes], np.float64) / 86_400
    axes.axhspan(85, 95, color=FAINT, zorder=0)
    axes.axhline(90, color=GREY, linewidth=0.8, linestyle="--")
    axes.plot(days[last - 1 :] - days[0], share, color=_INSIDE, linewidth=1.4)
    axes.set(ylim=(min(50.0, float(share.min()) - 2), 101), xlabel="day of the log")
    axes.set_ylabel(f"% of last {last} intervals with the start")
    tidy(axes)


def _draw_reliability(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    asked = 100 * np.array(SHARES)
    waits = np.array([one.median >= _WAITS for one in outcomes])
    axes.plot((0, 100), (0, 100), color=GREY, linewidth=0.8, linestyle="--")
    lines = [
        ("held_from", np.ones(len(outcomes), np.bool_), _INSIDE, "-", "all jobs"),
        ("held_from", waits, _OUTSIDE, "-", "predicted to wait a minute or longer"),
        ("raw_held_from", waits, _OUTSIDE, ":", "the same, before correction by outcomes"),
    ]
    for name, of, colour, dashes, label in lines:
        if of.any():
            least = np.array([getattr(one, name) for one in outcomes])[of]
            held = [100 * float(np.mean(least <= share)) for share in SHARES]
            axes.plot(
                asked, held, color=colour, linestyle=dashes, marker="o", markersize=4, linewidth=1.4,
                label=f"{label}: {of.sum():,}",
            )  # fmt: skip
    axes.set(xlim=(0, 100), ylim=(0, 101), xlabel="probability of the interval, %")
    axes.set_ylabel("% of intervals that contain the start")
    tidy(axes)
    _legend_above(axes, columns=1)


def _legend_above(axes: Axes, *, columns: int, **options: Any) -> None:
    """Place the legend above the axes, since points and lines may be anywhere inside them."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.2,
        ncols=columns,
        fontsize=8.5,
        frameon=False,
        **options,
    )


def _of_classes(classes: Sequence[JobClass]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 1.3 + 0.24 * len(classes)), layout="constrained", facecolor="white")
    held, near = figure.subplots(1, 2, sharey=True)
    places = range(len(classes))
    names = [f"{one.kind}: {one_line(one.name, 24)}" if one.kind else "all jobs" for one in classes]
    figures: tuple[tuple[Axes, float, list[Interval | None], list[int], list[bool], str], ...] = (
        (held, HELD, [one.held for one in classes], [one.jobs for one in classes],
         [one.too_narrow for one in classes], "% of 90% intervals that contain the start"),
        (near, FACTOR_SHARE, [one.within_factor_2 for one in classes], [one.delayed for one in classes],
         [one.far_off for one in classes], "% within a factor of two, of those that waited > 10 min"),
    )  # fmt: skip
    for axes, bound, found, counts, bad, label in figures:
        axes.axvline(100 * bound, color=GREY, linewidth=0.9, linestyle="--")
        for place, (one, count, worse) in enumerate(zip(found, counts, bad, strict=True)):
            if one is None:
                continue
            judged = one.half_width is not None and count >= FEWEST
            width = one.half_width if judged and one.half_width else 0.0
            ends = 100 * np.array([[min(width, one.mean)], [min(width, 1 - one.mean)]])  # not beyond 0 and 100%
            axes.errorbar(
                100 * one.mean, place, xerr=ends if width else None, fmt="o", color=_OUTSIDE if worse else _INSIDE,
                markersize=4.5, linewidth=1.1, alpha=1 if judged else 0.35, clip_on=False, zorder=3,
            )  # fmt: skip
            axes.text(103, place, f"{count:,}", fontsize=7.5, color=GREY, va="center")
        axes.set(xlim=(0, 100), xlabel=label)
        for end in [place - 0.5 for place in places[1:] if classes[place].kind != classes[place - 1].kind]:
            axes.axhline(end, color=FAINT, linewidth=0.9)
        tidy(axes)
    held.set_yticks(places, names, parse_math=False)
    held.set_ylim(len(classes) - 0.4, -0.6)
    return figure
