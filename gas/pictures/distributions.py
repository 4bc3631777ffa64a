"""Cumulative distributions of wait, response time and bounded slowdown, for one or several schedules.

draw_distributions    draw them into a file
distribution_panels   on three panels
share_below           the curve: the share of jobs up to each value
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.pictures.canvas import (
    add_foot,
    add_heading,
    check_finished,
    legend_below,
    policy_handles,
    policy_lines,
    tidy,
    write_figure,
)
from gas.simulation.metrics import job_figures
from gas.simulation.schedule import Schedule
from gas.times import duration_text
from workloads import Log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["distribution_panels", "draw_distributions", "share_below"]

_MOST_POINTS = 800  # per curve
_DURATIONS = {
    1: "1s", 10: "10s", 60: "1m", 600: "10m", 3600: "1h", 6 * 3600: "6h", 86400: "1d", 7 * 86400: "7d",
    60 * 86400: "60d", 730 * 86400: "2y", 7300 * 86400: "20y",
}  # fmt: skip


def draw_distributions(schedules: Sequence[Schedule], path: str | Path, *, log: Log) -> None:
    """Draw the cumulative distributions into a PNG, SVG or PDF file.

    Parameters
    ----------
    log
        The log of the schedules; its acknowledgement is the picture's footer.

    Raises
    ------
    BadInput
        No schedule, a simulation that has not reached its end, or an unusable file name.
    Missing
        matplotlib is not installed.
    """
    if not schedules:
        raise BadInput("no schedule to draw")
    check_finished(schedules)
    write_figure(lambda: _figure(schedules, log), path)


def share_below(values: NDArray[Any], most: int = _MOST_POINTS) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return points of the distribution function: increasing values, and the share of all values up to each.

    These are all distinct values, or values at equal steps of the share; every point is on the exact curve.
    """
    found, counts = np.unique(values, return_counts=True)
    share = np.cumsum(counts) / max(len(values), 1)
    if len(found) > most:
        wanted = np.linspace(share[0], 1, most)
        chosen = np.unique(np.minimum(np.searchsorted(share, wanted), len(found) - 1))
        found, share = found[chosen], share[chosen]
    return found, share


def distribution_panels(axes: Sequence[Axes], schedules: Sequence[Schedule]) -> None:
    """Draw wait, response and bounded slowdown on three panels side by side."""
    lines = policy_lines(schedules)
    figures = [job_figures(line.schedule) for line in lines]
    for ax, name, title in zip(
        axes,
        ("wait", "response", "bounded_slowdown"),
        ("wait of all jobs", "response time of all jobs", "bounded slowdown of all jobs"),
        strict=True,
    ):
        is_time = name != "bounded_slowdown"
        largest = 10.0
        means = []
        for one, line in zip(figures, lines, strict=True):
            values = getattr(one, name)
            if not len(values):
                continue
            x, share = share_below(values)
            largest = max(largest, float(x[-1]))
            # On a logarithmic axis 0 is beyond the left edge, from where the curve starts.
            x = np.concatenate([[1e-3], np.maximum(x, 1e-3), [1e12]])
            share = np.concatenate([[0.0], share, [1.0]])
            look: dict[str, Any] = {"color": line.colour, "linestyle": line.dashes, "zorder": line.over}
            ax.step(x, share, where="post", linewidth=1.4, **look)
            mean = float(values.mean())
            means.append((f"{duration_text(round(mean))}" if is_time else f"{mean:,.1f}", line.colour))
        ax.set_xscale("log")
        ax.set_xlim(1, largest * 1.3)
        ax.set_ylim(0, 1.01)
        _number(ax, largest * 1.3, is_time)
        ax.set_title(title, fontsize=9)
        tidy(ax)
        for place, (text, colour) in enumerate(reversed(means)):
            ax.text(
                0.97,
                0.05 + 0.085 * place,
                f"mean {text}",
                color=colour,
                fontsize=8,
                ha="right",
                transform=ax.transAxes,
                bbox={"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 1},  # curves may pass behind it
            )
    axes[0].set_ylabel("share of jobs")


def _number(ax: Axes, limit: float, is_time: bool) -> None:
    from matplotlib.ticker import NullLocator

    if is_time:
        ticks = {second: text for second, text in _DURATIONS.items() if second <= limit}
    else:
        ticks = {10**k: f"{10**k:,}" for k in range(12) if 10**k <= limit}
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.xaxis.set_minor_locator(NullLocator())


def _figure(schedules: Sequence[Schedule], log: Log) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained", facecolor="white")
    axes = list(figure.subplots(1, 3, sharey=True))
    add_heading(figure, log, schedules)
    distribution_panels(axes, schedules)
    legend_below(axes[1], policy_handles(schedules), columns=5, handlelength=3)
    add_foot(figure, log, schedules)
    return figure
