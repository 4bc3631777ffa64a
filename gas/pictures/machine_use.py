"""The machine over time, for one or several schedules of a log: free processors, jobs in the queue, queued work.

draw_machine_use     draw this into a file
machine_use_panels   on three panels
step_means           means of a step function over columns
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.pictures.canvas import (
    GREY,
    add_foot,
    add_heading,
    check_finished,
    legend_below,
    policy_handles,
    policy_lines,
    tidy,
    write_figure,
)
from gas.pictures.dates import date_axis
from gas.pictures.schedule_gantt import check_window, whole_window
from gas.simulation.schedule import Schedule
from gas.simulation.timeline import Timeline, step_means, timeline
from gas.times import duration_text
from workloads import Epoch, Log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_machine_use", "machine_use_panels"]

_MOST_STEPS = 1500  # a panel with more steps shows ...
_MOST_COLUMNS = 400  # ... means over columns of a round length, at most this many
_COLUMNS = (60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400)


def draw_machine_use(
    schedules: Sequence[Schedule], path: str | Path, *, log: Log, window: tuple[int, int] | None = None
) -> None:
    """Draw free processors, queue length and queued work over time into a PNG, SVG or PDF file.

    Long time ranges are drawn as means over columns of a round length, which the panels state.

    Parameters
    ----------
    log
        The log of the schedules; its zone dates the axis, its acknowledgement is the picture's footer.
    window
        First and last second of the log to show; None for all.

    Raises
    ------
    BadInput
        No schedule, a simulation that has not reached its end, an empty window, or an unusable file name.
    Missing
        matplotlib is not installed.
    """
    if not schedules:
        raise BadInput("no schedule to draw")
    check_finished(schedules)
    shown = check_window(window) if window else whole_window(schedules)
    write_figure(lambda: _figure(schedules, log, shown), path)


def machine_use_panels(
    axes: Sequence[Axes], schedules: Sequence[Schedule], window: tuple[int, int], epoch: Epoch
) -> None:
    """Draw free processors, queue length and queued work on three panels, one below the other."""
    machine = schedules[0].jobs.machine
    looks = policy_lines(schedules)
    lines = [timeline(one.schedule) for one in looks]
    steps = max(_steps_within(line, window) for line in lines)
    column = 0
    if steps > _MOST_STEPS:
        length = window[1] - window[0]
        column = next((c for c in _COLUMNS if length <= c * _MOST_COLUMNS), -(-length // _MOST_COLUMNS))
    by = f" (means over {duration_text(column).removesuffix('00m').removesuffix('00h')})" if column else ""
    titles = (f"free processors{by}", f"jobs in the queue{by}", f"queued work, hours of the whole machine{by}")
    for ax, title, name in zip(axes, titles, ("free", "waiting", "queued_work"), strict=True):
        for line, one in zip(lines, looks, strict=True):
            scale, before = (machine * 3600.0, 0.0) if name == "queued_work" else (1.0, 0.0)
            if name == "free":
                before = float(machine)
            edges, values = _curve(line, getattr(line, name) / scale, window, column, before)
            look: dict[str, Any] = {"color": one.colour, "linestyle": one.dashes, "zorder": one.over}
            ax.step(edges, np.append(values, values[-1:]), where="post", linewidth=1.1, **look)
        ax.set_title(title, fontsize=9)
        tidy(ax)
        ax.set_ylim(0, machine * 1.03 if name == "free" else max(ax.get_ylim()[1], 1e-3))
        if name == "free":
            ax.axhline(machine, color=GREY, linewidth=0.8, linestyle=(0, (5, 3)))
        date_axis(ax, *window, epoch, labels=ax is axes[-1])


def _steps_within(line: Timeline, window: tuple[int, int]) -> int:
    low, high = np.searchsorted(line.times, window)
    return int(high - low)


def _curve(
    line: Timeline, values: NDArray[np.float64], window: tuple[int, int], column: int, before: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if column:
        edges = np.append(np.arange(window[0], window[1], column), window[1])
    else:
        low, high = np.searchsorted(line.times, window, "right")
        edges = np.unique(np.concatenate([[window[0]], line.times[low:high], [window[1]]]))
    return edges, step_means(line.times, values, edges, before)


def _figure(schedules: Sequence[Schedule], log: Log, window: tuple[int, int]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained", facecolor="white")
    axes = list(figure.subplots(3, 1, sharex=True))
    add_heading(figure, log, schedules)
    machine_use_panels(axes, schedules, window, log.epoch)
    legend_below(axes[-1], policy_handles(schedules), columns=5, handlelength=3)
    add_foot(figure, log, schedules)
    return figure
