"""Common parts of pictures of schedules: style, colours, names, and writing a figure to a file.

As in `gas.pictures.plan`: matplotlib without pyplot or global settings; equal arguments give equal bytes.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from documents.extras import way_to_install
from documents.whole_file import whole_file
from gas.errors import BadInput, Missing
from gas.printable import as_line
from gas.simulation.schedule import Schedule
from workloads import Log
from workloads.selection import part_in_words, parts_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "FAINT",
    "GREY",
    "INK",
    "SCHEDULE_STYLE",
    "STYLE",
    "SUFFIXES",
    "add_foot",
    "add_heading",
    "check_finished",
    "drawn_into",
    "figure_svg",
    "fix_layout",
    "joined",
    "legend_below",
    "one_line",
    "picture_suffix",
    "policy_handles",
    "policy_labels",
    "policy_lines",
    "policy_styles",
    "rules_text",
    "tidy",
    "write_figure",
    "write_picture",
]

SUFFIXES = (".png", ".svg", ".pdf")
"""Allowed suffixes of a picture's file name."""

T = TypeVar("T")

INK, GREY, FAINT = "#222222", "#5A5A5A", "#E4E4E4"

Dashes = tuple[float, Sequence[float]]

_SOLID: Dashes = (0, ())

_LINES: dict[str | None, tuple[str, Dashes]] = {
    "fcfs": ("#222222", (0, (1, 1))),
    "easy": ("#D55E00", (0, (5, 1.5))),
    "conservative": ("#009E73", (0, (2, 1))),
    "s3": ("#0072B2", _SOLID),
    "s3-1999": ("#56B4E9", (0, (5, 1.5))),
    "conservative-replan": ("#CC79A7", (0, (6, 1.5, 1, 1.5))),
    "conservative-static": ("#E69F00", _SOLID),
    None: ("#7A7A7A", _SOLID),
}
"""Colour and dashes of each policy's line in all pictures; Okabe and Ito's palette, distinct with any colour vision."""

_OWN: tuple[tuple[str, Dashes], ...] = (
    ("#6A3D9A", (0, (8, 2))),
    ("#8C5109", (0, (3, 1.5))),
    ("#01665E", (0, (1, 1, 4, 1))),
    ("#C51B7D", (0, (1, 1.5))),
)
"""The same for users' policies, in the order of their appearance."""

_AGAIN: tuple[Dashes, ...] = ((0, (1, 2.5)), (0, (8, 3)), (0, (3, 1, 1, 1, 1, 1)))
"""Dashes of further schedules of the same policy."""

STYLE: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "path.simplify": False,
    "svg.hashsalt": "gas",
}
"""Common settings of all pictures, for matplotlib."""

SCHEDULE_STYLE = {
    **STYLE,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 9,
}
"""Settings of matplotlib to draw and write pictures of schedules."""

_FOOT_WIDTH = 165  # characters of the footer per line


def check_finished(schedules: Sequence[Schedule]) -> None:
    """Refuse schedules of a simulation that has not reached its end.

    Raises
    ------
    BadInput
        One of the simulations has not.
    """
    for one in schedules:
        one.finished()


def write_figure(make: Callable[[], Figure], path: str | Path) -> None:
    """Make a figure of schedules, lay it out and write it; errors as in `write_picture`."""
    write_picture(lambda: _laid_out(make()), path, SCHEDULE_STYLE)


def figure_svg(make: Callable[[], Figure]) -> bytes:
    """Make a figure of schedules, lay it out and return it as SVG; `Missing` if matplotlib is not installed."""
    return _drawn(lambda: _laid_out(make()), ".svg", SCHEDULE_STYLE)


def _laid_out(figure: Figure) -> Figure:
    fix_layout(figure)
    # The layout solver varies in the last digits, and with them names in an SVG would.
    for ax in figure.axes:
        left, bottom, width, height = (round(float(part), 5) for part in ax.get_position().bounds)
        ax.set_position((left, bottom, width, height))
    return figure


def drawn_into(axes: Sequence[Axes], panels: int) -> tuple[Figure, list[Axes]]:
    """Return the axes for the panels, and their figure.

    Raises
    ------
    BadInput
        The numbers of axes and panels differ.
    """
    if len(axes) != panels:
        raise BadInput(f"{len(axes)} axes for {panels} panels; give one for each, or none to create a figure")
    figure: Any = axes[0].figure
    return figure, list(axes)


def fix_layout(figure: Figure) -> None:
    """Fix the positions that the layout engine of a figure computes, without drawing it.

    If a figure keeps a layout engine, even "none", matplotlib draws it once more when it is written.
    """
    layout = figure.get_layout_engine()
    if layout is not None and figure.axes:
        layout.execute(figure)
    figure.set_layout_engine(None)


def picture_suffix(path: str | Path) -> str:
    """Return the suffix of a picture's name in lower case; `BadInput` if it is none of `SUFFIXES`."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"{path}: the name of a picture must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    return suffix


def write_picture(make: Callable[[], Figure], path: str | Path, style: Mapping[str, Any]) -> None:
    """Make a figure in a style and write it into a PNG, SVG or PDF file.

    Raises
    ------
    BadInput
        The suffix is none of `SUFFIXES`, or the file cannot be written.
    Missing
        matplotlib is not installed.
    """
    drawn = _drawn(make, picture_suffix(path), style)
    try:
        with whole_file(Path(path)) as opened:
            opened.write(drawn)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def _drawn(make: Callable[[], Figure], suffix: str, style: Mapping[str, Any]) -> bytes:
    try:
        import matplotlib.style
    except ImportError:
        raise Missing(f"pictures need matplotlib: {way_to_install('plot')}") from None
    buffer = io.BytesIO()
    metadata = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    with matplotlib.style.context(["default", dict(style)]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # a name in a script that the font lacks
        make().savefig(buffer, format=suffix[1:], dpi=150, metadata=metadata)
    return buffer.getvalue()


def add_heading(figure: Figure, log: Log, schedules: Sequence[Schedule]) -> None:
    """Write the log, the machine and the rules above a figure."""
    one = schedules[0]
    name = one_line(log.name.removesuffix(".gz").removesuffix(".swf"), 45)
    jobs, processors = len(one), one.jobs.machine
    heading = f"{name}: {jobs:,} job{'s'[: jobs != 1]}, {processors:,} processor{'s'[: processors != 1]}"
    scaled = [part.startswith("Load") for part in parts_of(log)]
    heading += (", a part of the log" if not all(scaled) else "") + (", load scaled" if any(scaled) else "")
    figure.suptitle(heading, x=0.012, ha="left", fontsize=13, fontweight="bold", parse_math=False)


def add_foot(figure: Figure, log: Log, schedules: Sequence[Schedule], *, remark: str = "") -> None:
    """Write the rules of the schedules, a remark, and the source and acknowledgement of the log below a figure."""
    where = ", ".join(text for text in (log.header.computer, log.header.installation) if text)
    thanks = "; ".join(" ".join(text.split()) for text in log.acknowledgements)
    parts = [
        rules_text(schedules) if schedules else "",
        *(_lower(part_in_words(part)) for part in parts_of(log)),
        remark,
        where and f"log: {where}",
        thanks and f"acknowledgement: {thanks}",
    ]
    lines = textwrap.wrap(" · ".join(part for part in parts if part), _FOOT_WIDTH)
    figure.supxlabel("\n".join(lines), x=0.012, ha="left", fontsize=7.5, color=GREY, parse_math=False)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def rules_text(schedules: Sequence[Schedule]) -> str:
    """Return the policies, event orders and overrun rules of schedules, each once."""
    policies = _once(one.policy or "unknown" for one in schedules)
    return (
        f"policy {policies}; order {_once(one.order for one in schedules)}; "
        f"overrun {_once(one.overrun for one in schedules)}"
    )


def _once(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def policy_labels(schedules: Sequence[Schedule]) -> list[str]:
    """Return a name for each schedule: its policy, and the rules in which it differs from the others."""
    labels: list[str] = [one.policy or "unknown policy" for one in schedules]
    for rule in ("order", "overrun"):
        values: list[str] = [getattr(one, rule) for one in schedules]
        if len(set(values)) > 1:
            labels = [f"{label}, {value}" for label, value in zip(labels, values, strict=True)]
    return [
        f"{label} #{labels[:i].count(label) + 1}" if labels.count(label) > 1 else label
        for i, label in enumerate(labels)
    ]


class PolicyLine(NamedTuple):
    """The line of a schedule, and of schedules equal to it; `over` is its order of drawing."""

    schedule: Schedule
    label: str
    colour: str
    dashes: Dashes

    @property
    def over(self) -> float:
        """Dashed lines are drawn over solid ones: where they coincide, both are visible."""
        return 2.2 if self.dashes[1] else 2.1


def policy_lines(schedules: Sequence[Schedule]) -> list[PolicyLine]:
    """Return the lines of schedules; equal schedules, which would hide each other, share one: ``conservative = s3``."""
    lines = zip(schedules, policy_styles(schedules), strict=True)
    labels = [one_line(label, 40) for label in policy_labels(schedules)]
    return [PolicyLine(one, label, *style) for (one, style), label in joined(list(lines), labels, _equal)]


def _equal(one: tuple[Schedule, Any], other: tuple[Schedule, Any]) -> bool:
    columns = ("start", "end")
    return all(np.array_equal(getattr(one[0], name), getattr(other[0], name)) for name in columns)


def joined(lines: Sequence[T], labels: Sequence[str], alike: Callable[[T, T], bool]) -> list[tuple[T, str]]:
    """Return lines with their labels; of equal lines only the first is kept, with the labels of all."""
    found: list[tuple[T, str]] = []
    for line, label in zip(lines, labels, strict=True):
        place = next((i for i, (other, _) in enumerate(found) if alike(other, line)), None)
        if place is None:
            found.append((line, label))
        else:
            other, so_far = found[place]
            found[place] = other, f"{so_far} = {label}"
    return found


def policy_handles(schedules: Sequence[Schedule]) -> list[Artist]:
    """Return the lines of a legend of policies."""
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=line.colour, linestyle=line.dashes, linewidth=1.8, label=line.label)
        for line in policy_lines(schedules)
    ]


def policy_styles(schedules: Sequence[Schedule]) -> list[tuple[str, Dashes]]:
    """Return the colour and dashes of each schedule's line; they depend on its policy, not on the other schedules.

    Further schedules of the same policy have its colour and other dashes. The line of a single schedule is solid.
    """
    own = dict.fromkeys(one.policy for one in schedules if one.policy not in _LINES)
    lines = _LINES | {name: _OWN[i % len(_OWN)] for i, name in enumerate(own)}
    if len(schedules) == 1:
        return [(lines[schedules[0].policy][0], _SOLID)]
    styles = []
    for i, one in enumerate(schedules):
        colour, dashes = lines[one.policy]
        before = sum(other.policy == one.policy for other in schedules[:i])
        styles.append((colour, _AGAIN[(before - 1) % len(_AGAIN)] if before else dashes))
    return styles


def legend_below(ax: Axes, handles: Sequence[Artist], *, columns: int, handlelength: float) -> None:
    """Put a legend below the dates of a panel's axis."""
    from matplotlib.transforms import ScaledTranslation

    below = ScaledTranslation(0, -32 / 72, ax.figure.dpi_scale_trans)  # two lines of dates
    ax.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + below,
        ncols=columns,
        handlelength=handlelength,
        columnspacing=1.4,
        borderaxespad=0,
    )


def tidy(ax: Axes) -> None:
    """Draw faint grid lines behind a panel."""
    ax.grid(True, color=FAINT, linewidth=0.7)
    ax.set_axisbelow(True)


def one_line(name: str, most: int) -> str:
    """Return a name without line breaks and control characters, truncated to fit the picture."""
    line = as_line(name)
    return line if len(line) <= most else line[: most - 1] + "…"
