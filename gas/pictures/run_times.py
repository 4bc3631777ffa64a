"""Run times of jobs by size: cumulative distributions of logs and models, side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.pictures.canvas import GREY, one_line, tidy, write_figure
from workloads import Log, machine_size, rigid_jobs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CLASSES", "Distribution", "distributions", "draw_run_times"]

CLASSES: Final = ((1, 1), (2, 4), (5, 16), (17, 64), (65, None))
"""The first and the last size of each class, in processors; None is open."""

# Okabe and Ito's palette, distinct with any colour vision, from small jobs to large ones.
_LINES: Final[tuple[tuple[str, tuple[float, tuple[float, ...]]], ...]] = (
    ("#E69F00", (0, ())),
    ("#56B4E9", (0, (6, 1.5))),
    ("#009E73", (0, (2.5, 1))),
    ("#D55E00", (0, (6, 1.5, 1, 1.5))),
    ("#0072B2", (0, (1, 1))),
    ("#CC79A7", (0, ())),
    ("#222222", (0, (6, 1.5))),
)
_POINTS = 400  # per curve; more would not be visible
_PER_ROW = 3
_FEWEST = 30  # jobs in a class that is drawn
_TICKS: Final = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36000: "10 h", 360000: "100 h"}


class Distribution(NamedTuple):
    """The run times of the jobs of one class of sizes."""

    first: int
    """The class's smallest size, in processors."""
    last: int | None
    """The largest size; None if there is no bound."""
    share: float
    """Share of the log's jobs in this class."""
    run_times: NDArray[np.int64]
    """Seconds, ascending."""

    @property
    def label(self) -> str:
        """The class in words, ``2–4`` or ``65 and more``."""
        if self.last is None:
            return f"{self.first} and more"
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


def distributions(
    log: Log, processors: int | None = None, classes: Sequence[tuple[int, int | None]] = CLASSES
) -> list[Distribution]:
    """Return the run times in a log by class; classes without jobs have no run times.

    Parameters
    ----------
    processors
        Size of the machine; by default that of the header, or of the largest job if the header has none.
    """
    if processors is None and log.header.max_procs is None and log.header.max_nodes is None:
        processors = max(1, int(max(log.requested_processors.max(), log.allocated_processors.max())))
    jobs = rigid_jobs(log, machine_size(log, processors))
    found = []
    for first, last in classes:
        mine = jobs.processors >= first
        if last is not None:
            mine &= jobs.processors <= last
        found.append(Distribution(first, last, float(mine.mean()) if mine.size else 0.0, np.sort(jobs.run_time[mine])))
    return found


def draw_run_times(
    logs: Sequence[Log],
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    classes: Sequence[tuple[int, int | None]] = CLASSES,
) -> None:
    """Draw the cumulative distributions of run times by size into a PNG, SVG or PDF file, a panel for each log.

    Run times are on a logarithmic axis; 0 s is drawn at 1 s. Legends state the share of jobs in each class; classes of
    fewer than 30 jobs are named but not drawn. The footer thanks the contributors of logs. (The picture follows Fig. 6
    of Mu'alem & Feitelson 2001.)

    Parameters
    ----------
    logs
        Logs of machines and of models, from left to right.
    names
        Titles of the panels; by default the names of the logs.
    classes
        The classes of size, at most seven.

    Raises
    ------
    BadInput
        The suffix is none of .png, .svg and .pdf, there is nothing to draw, or the file cannot be written.
    Missing
        matplotlib is not installed.
    """
    if not logs:
        raise BadInput("no log to draw the run times of")
    if not 0 < len(classes) <= len(_LINES):
        raise BadInput(f"{len(classes)} classes of sizes cannot be distinguished in a picture; give 1 to {len(_LINES)}")
    headings = [log.name.removesuffix(".gz").removesuffix(".swf") for log in logs] if names is None else list(names)
    if len(headings) != len(logs):
        raise BadInput(f"{len(headings)} names for {len(logs)} logs; give one name for each")

    def make() -> Figure:
        panels = [distributions(log, classes=classes) for log in logs]
        return _figure(panels, headings, title or "", _thanks(headings, logs))

    write_figure(make, path)


def _figure(panels: Sequence[list[Distribution]], names: Sequence[str], title: str, thanks: str) -> Figure:
    from matplotlib.figure import Figure

    columns = min(len(panels), _PER_ROW)
    rows = -(-len(panels) // columns)
    width = {1: 6.2, 2: 9.2, 3: 12.4}[columns]
    figure = Figure(figsize=(width, 0.5 + 4.2 * rows), layout="constrained", facecolor="white")
    if title:
        figure.suptitle(one_line(title, 70), x=0.012, ha="left", fontsize=12.5, fontweight="bold", parse_math=False)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    longest = max((int(one.run_times[-1]) for panel in panels for one in panel if one.run_times.size), default=1)
    axes: list[Axes] = list(grid.flat)
    for ax in axes[len(panels) :]:
        ax.remove()
    for number, (ax, panel, name) in enumerate(zip(axes, panels, names, strict=False)):
        _scale(ax, max(longest, 60), labelled=number + columns >= len(panels))
        _draw(ax, panel, one_line(name, 42), labelled=number + columns >= len(panels))
        if number % columns == 0:
            ax.set_ylabel("share of the class's jobs")
        if number + columns >= len(panels):
            ax.set_xlabel("run time up to")
    if thanks:
        lines = textwrap.wrap(thanks, int(width * 15), break_on_hyphens=False)
        figure.supxlabel("\n".join(lines), x=0.012, ha="left", fontsize=7.5, color=GREY, parse_math=False)
    return figure


def _draw(ax: Axes, panel: list[Distribution], name: str, *, labelled: bool) -> None:
    from matplotlib.transforms import ScaledTranslation

    for one, (colour, dashes) in zip(panel, _LINES, strict=False):
        drawn = one.run_times.size >= _FEWEST
        seconds, shares = _curve(one.run_times) if drawn else (np.empty(0), np.empty(0))
        label = f"{one.label} ({_percent(one.share)}{', too few' if 0 < one.run_times.size < _FEWEST else ''})"
        ax.plot(seconds, shares, color=colour, linestyle=dashes, linewidth=1.6, label=label, drawstyle="steps-post")
    ax.set_title(name, loc="left", fontweight="bold", parse_math=False)
    below = ScaledTranslation(0, (-34 if labelled else -6) / 72, ax.figure.dpi_scale_trans)  # ticks and axis label
    ax.legend(
        title="processors (share of jobs)",
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + below,
        ncols=2,
        fontsize=8,
        title_fontsize=8,
        handlelength=2.4,
        columnspacing=1.4,
        borderaxespad=0,
    )


def _curve(run_times: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct run times, at least 1 s and only as many as are visible, with the share of jobs up to each."""
    seconds, counts = np.unique(np.maximum(run_times, 1), return_counts=True)
    shares = np.cumsum(counts) / run_times.size
    if seconds.size > _POINTS:
        place = np.log(seconds) / np.log(seconds[-1]) + shares  # evenly along the curve, steep and flat parts alike
        kept = np.unique(np.searchsorted(place, np.linspace(place[0], place[-1], _POINTS)))
        seconds, shares = seconds[kept], shares[kept]
    return np.concatenate([seconds[:1], seconds]).astype(np.float64), np.concatenate([[0.0], shares])


def _scale(ax: Axes, longest: int, *, labelled: bool) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

    ax.set_xscale("log")
    ax.set_xlim(1, longest * 1.3)
    ticks = [second for second in _TICKS if second <= longest * 1.3]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.set_xticks(ticks, [_TICKS[second] for second in ticks], rotation=0, fontsize=8)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.tick_params(axis="x", labelbottom=labelled)
    ax.set_ylim(0, 1.01)
    ax.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    tidy(ax)


def _percent(share: float) -> str:
    if share == 0:
        return "none"
    return "under 1%" if share < 0.005 else f"{share:.0%}"


def _thanks(names: Sequence[str], logs: Sequence[Log]) -> str:
    """Return the acknowledgements, each with its panels."""
    panels: dict[str, list[str]] = {}
    for name, log in zip(names, logs, strict=True):
        people = "; ".join(" ".join(text.split()) for text in log.acknowledgements)
        if people:
            panels.setdefault(people, []).append(name)
    found = [f"{', '.join(mine)}: {people}" for people, mine in panels.items()]
    return f"acknowledgements: {' · '.join(found)}" if found else ""
