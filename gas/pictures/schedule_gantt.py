"""Gantt charts of a span of a schedule: time to the right, the machine's processors upward.

    draw_gantt    draw one schedule, or several over the same span, into a file
    gantt_panel   draw one of them on a panel
    gantt_users   the users whose jobs have their own colours

`gas.simulation.allocation` chooses the processors of each job; a simulated schedule has only their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.pictures.canvas import (
    GREY,
    INK,
    add_foot,
    add_heading,
    check_finished,
    legend_below,
    one_line,
    policy_labels,
    write_figure,
)
from gas.pictures.dates import date_axis, window_text
from gas.simulation.allocation import allocate
from gas.simulation.metrics import job_figures, span
from gas.simulation.schedule import Schedule
from gas.simulation.timeline import timeline
from workloads import Epoch, Log

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MOST_CHARTS",
    "check_window",
    "draw_gantt",
    "gantt_handles",
    "gantt_panel",
    "gantt_users",
    "queue_window",
    "whole_window",
]

MOST_CHARTS = 4
"""Largest number of schedules that are drawn one below the other."""

_USER_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")  # Okabe and Ito
_OTHERS = ("#D2D2D2", "#BDBDBD", "#C9C4BC")  # neighbours rarely have the same shade
_PLAIN = ("#9ECAE1", "#C6DBEF", "#6BAED6", "#DEEBF7", "#85B8DA")  # if no user is known
_RESERVED = "#F4F4F4"

_DAY = 86400
_AS_VECTORS = 4000  # a picture with more rectangles contains them as an image in SVG and PDF


class _Boxes(NamedTuple):
    """Rectangles in a window, one per block of processors of a job."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    bottom: NDArray[np.int64]
    top: NDArray[np.int64]
    row: NDArray[np.int64]
    starts: NDArray[np.bool_]
    """Whether the job started within the window."""


def draw_gantt(
    schedules: Sequence[Schedule], path: str | Path, *, log: Log, window: tuple[int, int] | None = None
) -> None:
    """Draw schedules of one log, one below the other, into a PNG, SVG or PDF file.

    Rectangles are jobs. The users with the largest share of the machine in the window have colours; a dark left edge
    marks a job that started while an earlier one waited. Marks above the machine are submissions.

    Parameters
    ----------
    log
        The log of the schedules; its zone dates the axis, its acknowledgement is the picture's footer.
    window
        First and last second of the log to show; None for `queue_window`.

    Raises
    ------
    BadInput
        No schedule or more than `MOST_CHARTS`, a simulation that has not reached its end, an empty window, an unusable
        file name, or a schedule that uses more processors than the machine has.
    Missing
        matplotlib is not installed.
    """
    if not 1 <= len(schedules) <= MOST_CHARTS:
        raise BadInput(f"{len(schedules)} schedules: Gantt charts are limited to {MOST_CHARTS}")
    check_finished(schedules)
    shown = check_window(window) if window else queue_window(schedules)
    write_figure(lambda: _figure(schedules, log, shown), path)


def check_window(window: tuple[int, int]) -> tuple[int, int]:
    """Return the window if it is valid.

    Raises
    ------
    BadInput
        It does not end after it begins.
    """
    if window[1] <= window[0]:
        raise BadInput(f"window {window[0]} to {window[1]}: must end after it begins (seconds of the log)")
    return window


def whole_window(schedules: Sequence[Schedule]) -> tuple[int, int]:
    """Return the span from the first submission to the last finish under any of the schedules."""
    spans = [span(one) for one in schedules]
    first, last = min(begin for begin, _ in spans), max(end for _, end in spans)
    return first, max(last, first + 1)


def queue_window(schedules: Sequence[Schedule], length: int = 7 * _DAY) -> tuple[int, int]:
    """Return a span of schedules, around the instant with the most queued work under the first; all if it is short."""
    first, last = whole_window(schedules)
    if last - first <= length * 3 // 2:
        return first, last
    line = timeline(schedules[0])
    peak = int(line.times[int(np.argmax(line.queued_work))])
    begin = min(max(peak - length // 2, first), last - length)
    return begin, begin + length


def gantt_users(schedules: Sequence[Schedule], window: tuple[int, int]) -> list[int]:
    """Return the users with the most processor-seconds in the window under the first schedule, at most seven.

    Empty if no user is known or there is only one.
    """
    jobs, ran = schedules[0].jobs, schedules[0].started
    held = np.minimum(schedules[0].end, window[1]) - np.maximum(schedules[0].start, window[0])
    work = np.where(ran & (held > 0), held, 0).astype(np.float64) * jobs.processors
    users, index = np.unique(jobs.user, return_inverse=True)
    sums = np.bincount(index.ravel(), work, len(users))
    order = [k for k in np.argsort(-sums, kind="stable").tolist() if sums[k] > 0 and users[k] >= 0]
    return [int(users[k]) for k in order[: len(_USER_COLOURS)]] if len(order) > 1 else []


def gantt_panel(
    ax: Axes, schedule: Schedule, window: tuple[int, int], users: Sequence[int], epoch: Epoch, *, labels: bool = True
) -> None:
    """Draw a window of a schedule on a panel; users from `gantt_users`, `labels` for the dates on the axis."""
    from matplotlib.collections import PolyCollection

    jobs = schedule.jobs
    boxes = _boxes(schedule, window)
    machine = jobs.machine
    length = window[1] - window[0]
    many = len(boxes.row)
    edge = 0.5 if many < 400 else 0.25 if many < 1500 else 0.1 if many < 4000 else 0.0
    as_image = many > _AS_VECTORS
    of_jobs = boxes.row < len(jobs)
    colours = _colours(schedule, users, boxes.row[of_jobs])
    ax.add_collection(
        PolyCollection(
            _rectangles(boxes, of_jobs),
            facecolors=colours,
            edgecolors="white",
            linewidths=edge,
            rasterized=as_image,
            zorder=2,
        ),
        autolim=False,
    )
    if not of_jobs.all():
        ax.add_collection(
            PolyCollection(
                _rectangles(boxes, ~of_jobs), facecolors=_RESERVED, edgecolors=GREY, linewidths=0.6, hatch="////"
            ),
            autolim=False,
        )
    figures = job_figures(schedule)
    passed = np.zeros(len(jobs) + len(schedule.reserved), dtype=bool)
    passed[figures.rows[figures.backfilled]] = True
    marked = passed[boxes.row] & boxes.starts
    bars = boxes._replace(right=np.minimum(boxes.left + 0.0018 * length, (2 * boxes.left + boxes.right) / 3))
    ax.add_collection(
        PolyCollection(_rectangles(bars, marked), facecolors=INK, linewidths=0, rasterized=as_image, zorder=3),
        autolim=False,
    )
    within = (jobs.submit >= window[0]) & (jobs.submit <= window[1])
    ax.vlines(jobs.submit[within], machine * 1.015, machine * 1.05, color=GREY, linewidth=0.5, rasterized=as_image)
    ax.axhline(machine, color=INK, linewidth=0.8)
    ax.set_ylim(0, machine * 1.06)
    ticks = [machine * k // 4 for k in range(5)] if machine >= 4 else [0, machine]
    ax.set_yticks(ticks, [str(tick) for tick in ticks])
    ax.spines.left.set_bounds(0, machine)
    ax.set_ylabel("processors")
    date_axis(ax, *window, epoch, labels=labels)


def gantt_handles(schedules: Sequence[Schedule], users: Sequence[int], window: tuple[int, int]) -> list[Artist]:
    """Return the entries of the legend of Gantt charts."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = [
        Patch(facecolor=colour, label=f"user {user}") for user, colour in zip(users, _USER_COLOURS, strict=False)
    ]
    if not users:
        handles.append(Patch(facecolor=_PLAIN[0], label="job"))
    elif any(_others(one, users, window) for one in schedules):
        handles.append(Patch(facecolor=_OTHERS[0], label="other users"))
    handles.append(
        Line2D([], [], color=INK, marker="|", markersize=9, markeredgewidth=2, linewidth=0, label="backfilled")
    )
    handles.append(Line2D([], [], color=GREY, marker="|", markersize=6, linewidth=0, label="submission"))
    if any(one.reservations for one in schedules):
        handles.append(Patch(facecolor=_RESERVED, edgecolor=GREY, hatch="////", label="reservation"))
    return handles


def _figure(schedules: Sequence[Schedule], log: Log, window: tuple[int, int]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 1.7 + 3.1 * len(schedules)), layout="constrained", facecolor="white")
    axes: list[Axes] = list(figure.subplots(len(schedules), 1, squeeze=False)[:, 0])
    users = gantt_users(schedules, window)
    add_heading(figure, log, schedules)
    for ax, one, label in zip(axes, schedules, policy_labels(schedules), strict=True):
        gantt_panel(ax, one, window, users, log.epoch, labels=ax is axes[-1])
        ax.set_title(f"{one_line(label, 40)}: {window_text(*window, log.epoch)}")
    legend_below(axes[-1], gantt_handles(schedules, users, window), columns=10, handlelength=1.2)
    add_foot(figure, log, schedules)
    return figure


def _others(schedule: Schedule, users: Sequence[int], window: tuple[int, int]) -> bool:
    """Return whether jobs of users without a colour run in the window."""
    shown = schedule.started & (schedule.start < window[1]) & (schedule.end > window[0])
    return not np.isin(schedule.jobs.user[shown], users).all()


def _boxes(schedule: Schedule, window: tuple[int, int]) -> _Boxes:
    try:
        given = allocate(schedule)
    except ValueError as error:
        raise BadInput(str(error)) from None
    walltimes = np.array([one.walltime for one in schedule.reservations], dtype=np.int64)
    start = np.concatenate([schedule.start, schedule.reserved])
    end = np.concatenate([schedule.end, schedule.reserved + walltimes])
    row = np.repeat(np.arange(len(start)), np.diff(given.offsets))
    shown = (start[row] < window[1]) & (end[row] > window[0]) & (end[row] > start[row])
    row = row[shown]
    return _Boxes(
        left=np.maximum(start[row], window[0]).astype(np.float64),
        right=np.minimum(end[row], window[1]).astype(np.float64),
        bottom=given.first[shown],
        top=given.behind[shown],
        row=row,
        starts=start[row] >= window[0],
    )


def _rectangles(boxes: _Boxes, chosen: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """Return the corners of the chosen boxes."""
    left, right, bottom, top = (np.asarray(column, dtype=np.float64)[chosen] for column in boxes[:4])
    x = np.stack([left, right, right, left], axis=1)
    y = np.stack([bottom, bottom, top, top], axis=1)
    return list(np.stack([x, y], axis=2))


def _colours(schedule: Schedule, users: Sequence[int], row: NDArray[np.int64]) -> NDArray[np.str_]:
    others = np.array(_OTHERS)
    if not users:  # then colours only distinguish neighbours
        others = np.array(_PLAIN)
    colours: NDArray[np.str_] = others[row % len(others)]
    user = schedule.jobs.user[row]
    for number, colour in zip(users, _USER_COLOURS, strict=False):
        colours[user == number] = colour
    return colours
