"""A simulation in one picture: a Gantt chart per policy, the machine over time, and distributions over jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gas.errors import BadInput
from gas.pictures.canvas import (
    GREY,
    add_foot,
    add_heading,
    check_finished,
    legend_below,
    one_line,
    policy_handles,
    policy_labels,
    write_figure,
)
from gas.pictures.dates import window_text
from gas.pictures.distributions import distribution_panels
from gas.pictures.machine_use import machine_use_panels
from gas.pictures.schedule_gantt import (
    check_window,
    gantt_handles,
    gantt_panel,
    gantt_users,
    queue_window,
    whole_window,
)
from gas.simulation.schedule import Schedule
from workloads import Log

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MOST_CHARTS", "draw_simulation"]

MOST_CHARTS = 7
"""Number of schedules that get a Gantt chart, the first ones; the picture names the others."""


def draw_simulation(
    schedules: Sequence[Schedule],
    path: str | Path,
    *,
    log: Log,
    window: tuple[int, int] | None = None,
    beside: Sequence[Schedule] = (),
) -> None:
    """Draw schedules of one log into a PNG, SVG or PDF file.

    From the top: Gantt charts of a window for each of the first `MOST_CHARTS` schedules; free processors, queue and
    queued work over time, and the distributions of wait, response and bounded slowdown, with all schedules together.

    Parameters
    ----------
    log
        The log of the schedules; its zone dates the axes, its acknowledgement is the picture's footer.
    window
        First and last second of the log to show over time. None: the time from the first submission to the last finish
        under any schedule; if this is long, Gantt charts show the week with the most queued work under the first.
    beside
        Schedules in other pictures to compare with this one: time ranges and users' colours are chosen as for one
        picture of all schedules.

    Raises
    ------
    BadInput
        No schedule, a simulation that has not reached its end, schedules of different jobs, an empty window, an
        unusable file name, or a schedule that uses more processors than the machine has.
    Missing
        matplotlib is not installed.
    """
    if not schedules:
        raise BadInput("no schedule to draw")
    check_finished(schedules)
    sizes = {(len(one), one.jobs.machine) for one in schedules}
    if len(sizes) > 1:
        texts = " and ".join(f"{jobs} jobs on {machine} processors" for jobs, machine in sorted(sizes))
        raise BadInput(f"schedules of {texts} cannot share a picture; draw each separately")
    if window:
        check_window(window)
    write_figure(lambda: _figure(schedules, log, window, beside or schedules), path)


def _figure(
    schedules: Sequence[Schedule], log: Log, window: tuple[int, int] | None, beside: Sequence[Schedule]
) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    charts, labels = schedules[:MOST_CHARTS], policy_labels(schedules)
    close = window or queue_window(beside)
    far = window or whole_window(beside)
    chart = 2.3 if len(charts) <= 3 else 1.8
    heights = [chart * len(charts) + 0.8 + 4.4, 2.5]
    figure = Figure(figsize=(11, sum(heights) + 1.1), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(2, 1, height_ratios=heights)
    # Charts and curves are panels of one column, so that their left edges are aligned.
    rows = [chart] * len(charts) + [4.4 / 3] * 3
    panels: list[Axes] = list(grid[0].subgridspec(len(rows), 1, height_ratios=rows).subplots(squeeze=False)[:, 0])
    add_heading(figure, log, schedules)

    users = gantt_users(beside, close)
    axes = panels[: len(charts)]
    for ax, one, label in zip(axes, charts, labels, strict=False):
        gantt_panel(ax, one, close, users, log.epoch, labels=ax is axes[-1])
        ax.set_title(f"{one_line(label, 40)}: {window_text(*close, log.epoch)}")
    legend_below(axes[-1], gantt_handles(charts, users, close), columns=10, handlelength=1.2)

    axes = panels[len(charts) :]
    machine_use_panels(axes, schedules, far, log.epoch)
    handles: list[Artist] = [*policy_handles(schedules)]
    if close != far:
        look: dict[str, Any] = {"color": GREY, "alpha": 0.15, "linewidth": 0}
        for ax in axes:
            ax.axvspan(*close, **look, zorder=0)
        handles.append(Patch(**look, label=f"time of the Gantt chart{'s' * (len(charts) > 1)}"))
    legend_below(axes[-1], handles, columns=7, handlelength=3)

    axes = list(grid[1].subgridspec(1, 3).subplots(sharey=True, squeeze=False)[0])
    distribution_panels(axes, schedules)
    left_out = ", ".join(one_line(label, 40) for label in labels[MOST_CHARTS:])
    add_foot(figure, log, schedules, remark=f"without a Gantt chart: {left_out}" if left_out else "")
    return figure
