"""Plans, lists, predictions and schedules as figures of matplotlib, new ones or drawn into axes.

The figures are matplotlib's own, which notebooks display; pyplot and global settings are not used.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from documents.extras import way_to_install
from gas.availability import AvailabilityList, NodeAvailability
from gas.errors import BadInput, Missing
from gas.pictures.canvas import GREY, SCHEDULE_STYLE, drawn_into, fix_layout, legend_below, policy_handles, tidy
from gas.pictures.machine_use import machine_use_panels
from gas.pictures.plan import PLAN_STYLE, availability_figure, plan_figure
from gas.pictures.schedule_gantt import whole_window
from gas.planner import Plan
from gas.prediction.choice import Prediction
from gas.prediction.forecast import Forecast
from gas.simulation.schedule import Schedule
from gas.times import duration_text, iso_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plotted", "png_of"]

_POINT = "#007558"


def plotted(shown: object, axes: Axes | Iterable[Axes] | None = None) -> Figure:
    """Return the picture of an object as a figure, drawn into axes if some are given.

    Raises
    ------
    BadInput
        The numbers of axes and panels differ, or there is nothing to draw.
    Missing
        matplotlib is not installed.
    """
    try:
        from matplotlib.axes import Axes
        from matplotlib.style import context
    except ImportError:
        raise Missing(f"pictures need matplotlib: {way_to_install('plot')}") from None
    given = None if axes is None else [axes] if isinstance(axes, Axes) else list(axes)
    draw, style = _drawing(shown)
    figure: Figure
    if given is not None:  # in the style of their figure
        figure = draw(given)
    else:
        with context(["default", dict(style)]):
            figure = draw(None)
    return figure


def png_of(shown: object, dpi: int = 90) -> bytes:
    """Return the picture of an object as PNG; errors as in `plotted`."""
    figure, buffer = plotted(shown), io.BytesIO()
    from matplotlib.style import context

    with context(["default", dict(_drawing(shown)[1])]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a name in a script that the font lacks
        figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


Drawing = tuple[Callable[[Any], Any], Mapping[str, Any]]
"""A function that draws into axes, or for None into a new figure, which it returns; and its style."""


@singledispatch
def _drawing(shown: object) -> Drawing:
    """Return the function that draws an object, and its style."""
    raise TypeError(f"{type(shown).__name__} has no picture")


@_drawing.register
def _of_plan(plan: Plan) -> Drawing:
    return lambda axes: plan_figure(plan, plan.lists, starts=plan.likely_starts, axes=axes), PLAN_STYLE


@_drawing.register
def _of_list(availability: AvailabilityList | NodeAvailability) -> Drawing:
    return lambda axes: availability_figure(availability, axes=axes), PLAN_STYLE


@_drawing.register
def _of_prediction(prediction: Prediction) -> Drawing:
    rows = [("start", prediction.start_low, prediction.start, prediction.start_high)]
    rows.append(("finish", prediction.finish, prediction.finish, prediction.finish))  # only the mean is known
    return lambda axes: _intervals(rows, prediction.start_low, axes, 1.9), SCHEDULE_STYLE


@_drawing.register
def _of_forecast(forecast: Forecast) -> Drawing:
    low, high = forecast.interval()
    means = forecast.expected_start.round().astype(int).tolist()
    spans = zip(low.tolist(), means, high.tolist(), strict=True)
    rows = [(f"candidate {place}", *span) for place, span in enumerate(spans)]
    return lambda axes: _intervals(rows, forecast.now, axes, 1.2 + 0.32 * max(2, len(rows))), SCHEDULE_STYLE


@_drawing.register
def _of_schedule(schedule: Schedule) -> Drawing:
    return lambda axes: _machine_use(schedule, axes), SCHEDULE_STYLE


def _figure(panels: int, size: tuple[float, float], axes: Sequence[Axes] | None) -> tuple[Figure, list[Axes]]:
    if axes is not None:
        return drawn_into(axes, panels)
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    return figure, list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])


def _intervals(
    rows: Sequence[tuple[str, int, int, int]], now: int, axes: Sequence[Axes] | None, height: float
) -> Figure:
    """Draw intervals of instants, with their means, as bars below each other."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure, (ax,) = _figure(1, (8.0, height), axes)
    for place, (_, low, mean, high) in enumerate(rows):
        ax.plot([low - now, high - now], [place, place], color=_POINT, lw=3, solid_capstyle="butt", marker="|", ms=9)
        ax.plot([mean - now], [place], color=_POINT, marker="o", ms=6, mec="white")
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(7, integer=True, steps=[1, 1.8, 3.6, 6, 9, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: duration_text(round(seconds))))
    ax.set_xlabel(f"time from {iso_time(now)}: 9 of 10 samples, and the mean")
    tidy(ax)
    return figure


def _machine_use(schedule: Schedule, axes: Sequence[Axes] | None) -> Figure:
    """Draw free processors, queue and queued work over time."""
    if not schedule.finished().started.any():
        raise BadInput("no job started, so there is nothing to draw")
    figure, panels = _figure(3, (10.0, 6.0), axes)
    header = schedule.jobs.header
    machine_use_panels(panels, [schedule], whole_window([schedule]), header.epoch)
    if axes is None:
        policy = schedule.policy or "unknown policy"
        figure.suptitle(f"{policy}: {len(schedule):,} jobs on {schedule.jobs.machine:,} processors", x=0.012, ha="left")
        if header.acknowledgements:
            thanks = " ".join("; ".join(header.acknowledgements).split())
            foot = textwrap.fill(f"log by courtesy of {thanks}", 150)
            figure.supxlabel(foot, x=0.012, ha="left", fontsize=7.5, color=GREY, parse_math=False)
        fix_layout(figure)
    else:
        legend_below(panels[-1], policy_handles([schedule]), columns=1, handlelength=3)
    return figure
