"""Pictures of a replay, as SVG: waits, the queue over time, and machines of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.framework.charts import BLUE, GREEN, ORANGE, PINK, SKY, YELLOW, as_svg, plain
from experiments.replay.results import Replayed, Row
from experiments.replay.run import RECORD
from gas.pictures.canvas import joined
from gas.pictures.dates import date_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workloads.header import Epoch

__all__ = ["draw_over_time", "draw_sizes", "draw_waits"]

_COLOURS: Final = {RECORD: "0.25", "easy": ORANGE, "conservative": GREEN, "s3": BLUE}
_DASHES: Final[dict[str, Any]] = {"easy": (0, (5, 1.5)), "conservative": (0, (2, 1)), "s3": "solid"}
_OTHERS: Final = (PINK, YELLOW, SKY)
_TICKS: Final = {60: "1m", 600: "10m", 3600: "1h", 6 * 3600: "6h", 86400: "1d", 7 * 86400: "7d", 30 * 86400: "30d"}


def _style(rows: Sequence[Row], row: Row) -> dict[str, Any]:
    """Return colour and dashes of a policy's line; that of the record is thick and grey."""
    if row.run.name == RECORD:
        return {"color": _COLOURS[RECORD], "linewidth": 2.4, "label": RECORD}
    names = list(dict.fromkeys(one.run.name for one in rows if one.run.name not in _COLOURS))
    known = row.run.name in _COLOURS
    colour = _COLOURS[row.run.name] if known else _OTHERS[names.index(row.run.name) % len(_OTHERS)]
    dashes = _DASHES.get(row.run.name, (0, (6, 1.5, 1, 1.5)))
    over = 2.1 if dashes == "solid" else 2.2  # so that coinciding lines are both visible
    return {"color": colour, "linewidth": 1.5, "linestyle": dashes, "label": row.run.name, "zorder": over}


def distinct(rows: Sequence[Row]) -> list[tuple[Row, str]]:
    """Return the rows with their names in a legend; rows with equal, hence coinciding, lines are merged."""
    return joined(rows, [row.run.name for row in rows], _equal)


def _equal(one: Row, other: Row) -> bool:
    return all(np.array_equal(one.result[key], other.result[key]) for key in ("waits", "edges", "busy", "waiting"))


def draw_waits(rows: Sequence[Row]) -> bytes:
    """Return the share of jobs by largest wait."""
    return as_svg((7.2, 3.6), lambda figure: _waits(figure, rows))


def _waits(figure: Figure, rows: Sequence[Row]) -> None:
    axes = figure.subplots()
    share = np.linspace(0, 1, len(rows[0].result["waits"]))
    for row, name in distinct(rows):
        axes.plot(np.maximum(row.result["waits"], 1), share, **{**_style(rows, row), "label": name})
    axes.set_xscale("log")
    longest = max(max(row.result["waits"]) for row in rows)
    _time_ticks(axes.xaxis, longest)
    axes.set_xlim(30, max(longest, 3600) * 1.1)
    axes.set_ylim(0, 1.01)
    axes.set_xlabel("wait at most")
    axes.set_ylabel("share of the jobs")
    plain(axes)
    axes.legend(frameon=False, loc="lower right")


def _time_ticks(axis: Any, longest: float) -> None:
    ticks = [seconds for seconds in _TICKS if seconds <= max(longest, 3600) * 1.1]
    axis.set_ticks(ticks, [_TICKS[seconds] for seconds in ticks])
    axis.set_ticks([], minor=True)


def draw_over_time(rows: Sequence[Row], epoch: Epoch) -> bytes:
    """Return processors in use and waiting jobs over time."""
    return as_svg((8.6, 4.8), lambda figure: _over_time(figure, rows, epoch))


def _over_time(figure: Figure, rows: Sequence[Row], epoch: Epoch) -> None:
    upper, lower = figure.subplots(2, sharex=True)
    for axes, key, title in ((upper, "busy", "processors in use"), (lower, "waiting", "waiting jobs")):
        for row, name in distinct(rows):
            look = {**_style(rows, row), "label": name}
            axes.stairs(row.result[key], row.result["edges"], baseline=None, **look)
        axes.set_ylabel(title)
        axes.set_ylim(bottom=0)
    upper.axhline(rows[0].run.processors, color="0.6", linewidth=0.8, linestyle=":")
    edges = rows[0].result["edges"]
    lower.set_xlim(edges[0], edges[-1])
    date_axis(lower, edges[0], edges[-1], epoch)
    plain(upper, lower)
    handles, labels = lower.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", frameon=False, ncols=len(labels))


def draw_sizes(study: Replayed) -> bytes:
    """Return mean wait by machine size and, if there is a record, the share of jobs that end later than recorded."""
    return as_svg((4.4 if study.record is None else 8.2, 3.2), lambda figure: _sizes(figure, study))


def _sizes(figure: Figure, study: Replayed) -> None:
    rows = [*study.policies, *study.changed("processors")]
    titles = ("mean wait (h)", *(["jobs that end later than recorded"] if study.record is not None else []))
    panels: Sequence[Axes] = figure.subplots(1, len(titles), squeeze=False)[0]
    names = list(dict.fromkeys(row.run.name for row in rows))
    for axes, title in zip(panels, titles, strict=True):
        for name in names:
            mine = sorted((row for row in rows if row.run.name == name), key=lambda row: row.run.processors)
            if title.startswith("mean"):
                points = [(row.run.processors, row.figures["mean_wait"] / 3600) for row in mine]
            else:
                known = [(row.run.processors, row.beside(RECORD)) for row in mine]
                points = [(size, 100 * beside["later"]) for size, beside in known if beside is not None]
            axes.plot(*zip(*points, strict=True), marker="o", markersize=4, **_style(rows, mine[0]))
        axes.set_xlabel("processors of the machine")
        axes.set_title(title, fontsize=10)
    if study.record is not None:
        panels[0].axhline(study.record.figures["mean_wait"] / 3600, color="0.25", linestyle=":", label=RECORD)
        panels[1].yaxis.set_major_formatter(lambda value, _: f"{value:g}%")
    for axes in panels:
        axes.set_ylim(bottom=0)  # last, so that the line of the record is included
    plain(*panels)
    panels[0].legend(frameon=False)
