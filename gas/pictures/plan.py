"""A plan as a picture in a file: availability of each scheduler, and all possible requests.

    draw_plan           one panel per scheduler, the candidates as rectangles, the best one filled
    draw_availability   one scheduler's free processors over time
    plan_figure, availability_figure   the same pictures as figures, or drawn into axes
    selection           the candidates to draw if there are many

The drawing functions import matplotlib, without pyplot and without global settings. Equal arguments give equal bytes:
no dates, no random names, no user's matplotlibrc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.availability import Availability, AvailabilityList, NodeAvailability
from gas.errors import BadInput
from gas.pictures.canvas import GREY, INK, STYLE, drawn_into, fix_layout, one_line, write_picture
from gas.pictures.terminal import least_free, machine_text, readable_horizon, request_text, tick_text, time_ticks
from gas.planner import Candidate, Plan
from gas.times import duration_text, iso_time, relative_text

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

__all__ = [
    "MOST_DRAWN",
    "PLAN_STYLE",
    "availability_figure",
    "draw_availability",
    "draw_plan",
    "plan_figure",
    "selection",
]

MOST_DRAWN = 30
"""Number of candidates above which a panel shows a selection."""

_APART = 0.07  # distance of corners of selected rectangles, as a share of the panel's width or height
_LEAST_HEIGHT = 0.008  # of a panel, so that a best candidate of few processors is visible
_MOST_STEPS = 1000  # a panel with more frames shows ...
_COLUMNS = 600  # ... this many columns, each as high as the number free throughout it
_HEADROOM = 1.2  # of the machine's height; the label of the best candidate is above the machine

# Okabe and Ito's palette, distinct with any colour vision.
_BLUE, _SKY, _ORANGE, _SAND = "#0072B2", "#CFE6F5", "#E69F00", "#FBE8C2"
_BROWN, _GREEN, _RED = "#8A5A00", "#007558", "#B8420A"

_LIKELY: dict[str, Any] = {"color": _GREEN, "lw": 2.0, "marker": "o", "ms": 5}
_LIKELY_BEST: dict[str, Any] = {"color": _RED, "lw": 3.2, "marker": "D", "ms": 6.5}

PLAN_STYLE = {**STYLE, "hatch.linewidth": 0.8}
"""Settings of matplotlib for these pictures."""


class _Panel(NamedTuple):
    """The contents of one scheduler's panel."""

    availability: AvailabilityList
    candidates: Sequence[Candidate]
    best: Candidate | None
    by_nodes: bool
    """Whether planning used more than the shown counts, so that a start may be later than they suggest."""
    starts: Mapping[Candidate, tuple[int, int, int]]
    """For predicted candidates, the interval of their starts, and the mean start."""


class _Curve(NamedTuple):
    """Free processors between edges, in seconds from now, and whether frames were joined."""

    free: NDArray[np.int64]
    edges: NDArray[np.float64]
    joined: bool


def draw_plan(
    plan: Plan,
    availabilities: Sequence[Availability],
    path: str | Path,
    *,
    title: str | None = None,
    starts: Mapping[Candidate, tuple[int, int, int]] | None = None,
    parts: Sequence[Candidate] = (),
) -> None:
    """Draw a plan into a PNG, SVG or PDF file.

    One panel per scheduler, in the order of `availabilities`, on one time axis (`readable_horizon`). Candidates are
    rectangles from start to finish, as high as their processors, continued by dots to the end of their walltime; the
    best one is filled, and the rest of its walltime hatched. A panel that does not show all of its candidates (see
    `selection`) says so. The legend says so if there are too many frames to distinguish: then the curve shows the
    processors that stay free throughout each small span.

    Parameters
    ----------
    availabilities
        The lists of the plan; for lists with node identity, the counts are drawn.
    title
        None for the name of the application.
    starts
        For predicted candidates: earliest, mean and latest likely start, drawn as a bar with a point at the height of
        their processors; the bar of the best one has another colour and the label. The rectangles stay at the planned
        starts.
    parts
        The best requests if several start together (`gas.coallocation`): each replaces the plan's best candidate in its
        panel.

    Raises
    ------
    BadInput
        The suffix is none of `SUFFIXES`, the file cannot be written, or the list of a candidate's scheduler is
        missing.
    Missing
        matplotlib is not installed.
    """
    write_picture(lambda: plan_figure(plan, availabilities, title=title, starts=starts, parts=parts), path, PLAN_STYLE)


def plan_figure(
    plan: Plan,
    availabilities: Sequence[Availability],
    *,
    title: str | None = None,
    starts: Mapping[Candidate, tuple[int, int, int]] | None = None,
    parts: Sequence[Candidate] = (),
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Return the picture of a plan as a figure, as `draw_plan` draws it, or draw its panels into axes."""
    given = list(availabilities)
    lists = [one.counts for one in given]
    if not lists:
        raise BadInput("no availability list to draw the plan in; give the lists of the plan")
    names = {one.scheduler for one in lists}
    for candidate in plan.candidates:
        if candidate.scheduler not in names:
            raise BadInput(f'the plan has candidates on "{candidate.scheduler}", but its availability list is missing')
    chosen = parts or ([] if plan.best is None else [plan.best])
    candidates = [*(part for part in parts if part not in plan.candidates), *plan.candidates]
    panels = [
        _Panel(
            one,
            [c for c in candidates if c.scheduler == one.scheduler],
            next((c for c in chosen if c.scheduler == one.scheduler), None),
            isinstance(whole, NodeAvailability),
            starts or {},
        )
        for one, whole in zip(lists, given, strict=True)
    ]
    heading = one_line(plan.application, 45) if title is None else title
    if title is None and not chosen:
        heading += ": no request is possible"
    if title is None and len(chosen) > 1:
        heading += f": {' + '.join(str(part.processors) for part in chosen)} processors that start together"
    span = readable_horizon(lists, plan.now, candidates, chosen[0] if chosen else None)
    return _figure(panels, plan.now, span, heading, axes)


def draw_availability(availability: Availability, path: str | Path, *, title: str | None = None) -> None:
    """Draw the free processors of one scheduler into a PNG, SVG or PDF file; errors as in `draw_plan`.

    Parameters
    ----------
    title
        None for no title; the panel names the scheduler anyway.
    """
    write_picture(lambda: availability_figure(availability, title=title), path, PLAN_STYLE)


def availability_figure(
    availability: Availability, *, title: str | None = None, axes: Sequence[Axes] | None = None
) -> Figure:
    """Return the picture of a list as a figure, as `draw_availability` draws it, or draw it into axes."""
    counts = availability.counts
    panel = _Panel(counts, [], None, isinstance(availability, NodeAvailability), {})
    span = readable_horizon([counts], counts.now)
    return _figure([panel], counts.now, span, title or "", axes)


def selection(candidates: Sequence[Candidate], best: Candidate | None, now: int, span: int) -> list[Candidate]:
    """Return the candidates of one scheduler to draw in a panel of `span` seconds from `now`.

    These are the candidates that start within the span, up to `MOST_DRAWN`. If there are more, a readable part: the
    best one and, of those that also finish within it, the Pareto front (no other finishes as soon on as few
    processors), thinned until the upper right corners of the rectangles are apart.
    """
    candidates = [c for c in candidates if c.start - now < span]
    if len(candidates) <= MOST_DRAWN:
        return candidates
    tallest = max(c.processors for c in candidates)
    drawn = [best] if best in candidates and best is not None else []
    fewest = tallest + 1
    for c in sorted(candidates, key=lambda c: (c.finish, c.processors)):
        if c.processors >= fewest or c.finish - now > span:
            continue
        fewest = c.processors
        if all(
            abs(c.finish - d.finish) > _APART * span or abs(c.processors - d.processors) > _APART * tallest
            for d in drawn
        ):
            drawn.append(c)
    return drawn


def _figure(panels: Sequence[_Panel], now: int, span: int, title: str, given: Sequence[Axes] | None = None) -> Figure:
    """Draw panels into a new figure, or into given axes, without title and footer."""
    figure, axes = _own_figure(len(panels)) if given is None else drawn_into(given, len(panels))
    if title and given is None:
        figure.suptitle(one_line(title, 75), x=0.012, ha="left", fontsize=13, fontweight="bold", parse_math=False)
    drawn = [selection(panel.candidates, panel.best, now, span) for panel in panels]
    curves = [_curve(panel.availability, now, span) for panel in panels]
    for ax, panel, curve, shown in zip(axes, panels, curves, drawn, strict=True):
        _draw_free(ax, panel, curve)
        _head(ax, panel, len(shown))
        for candidate in shown:
            _draw_candidate(ax, candidate, now, best=candidate == panel.best)
            if candidate in panel.starts:
                starts = [instant - now for instant in panel.starts[candidate]]
                _draw_starts(ax, candidate.processors, starts, best=candidate == panel.best)
    ticks = time_ticks(span, 11)
    axes[-1].set_xticks(ticks, [tick_text(t) for t in ticks])
    axes[-1].set_xlim(0, span)
    axes[-1].set_xlabel(f"time from now ({_instant(now)})")
    units = [one.unit for panel in panels for one in panel.candidates] or ["processors"]
    counted = {"gpus": "GPUs"}.get(units[0], units[0])
    if given is None:
        figure.supylabel(counted, fontsize=10)
    else:
        for ax in axes:
            ax.set_ylabel(counted)
    best = next((panel.best for panel, shown in zip(panels, drawn, strict=True) if panel.best in shown), None)
    handles = _legend(
        free=f"free (least in each {duration_text(span // _COLUMNS)})" if any(c.joined for c in curves) else "free",
        best=best,
        likely_best=any(best in panel.starts for panel in panels),
        others=any(c != panel.best for panel, shown in zip(panels, drawn, strict=True) for c in shown),
        likely=any(c in panel.starts for panel, shown in zip(panels, drawn, strict=True) for c in shown if c != best),
    )
    look: dict[str, Any] = {"handles": handles, "frameon": False, "fontsize": 9, "handlelength": 1.8}
    if given is None:
        columns = 5 if len(handles) <= 5 else 3
        figure.legend(loc="outside lower center", ncols=columns, columnspacing=1.5, **look)
        # Labels depend on the final layout, and must not change it.
        fix_layout(figure)
    else:
        axes[-1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, columnspacing=1.5, **look)
    for ax, panel, shown in zip(axes, panels, drawn, strict=True):
        _label(ax, panel, shown, now, span)
    return figure


def _own_figure(panels: int) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels below each other."""
    from matplotlib.figure import Figure

    size = (9.5, 4.8 if panels == 1 else 1.6 + 2.7 * panels)
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    return figure, list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])


def _draw_free(ax: Axes, panel: _Panel, curve: _Curve) -> None:
    """Draw the free processors as a filled step curve, and the machine."""
    machine = panel.availability.processors
    free, edges, _ = curve
    ax.stairs(free, edges, fill=True, color=_SKY, linewidth=0, zorder=1)
    ax.stairs(free, edges, baseline=None, color=_BLUE, linewidth=1.2 if len(free) < 300 else 0.7, zorder=2)
    ax.axhline(machine, color=INK, linewidth=1.2, linestyle=(0, (5, 3)), zorder=2)
    ax.set_ylim(0, machine * (_HEADROOM if panel.best else 1.06))
    ticks = _processor_ticks(machine)
    ax.set_yticks(ticks, [str(t) for t in ticks])
    ax.spines.left.set_bounds(0, machine)
    ax.tick_params(axis="x", labelbottom=ax.get_subplotspec().is_last_row())  # type: ignore[union-attr]
    ax.set_axisbelow(True)


def _curve(availability: AvailabilityList, now: int, span: int) -> _Curve:
    starts = availability.starts - now
    first = int(np.searchsorted(starts, 0, "right")) - 1
    behind = int(np.searchsorted(starts, span, "left"))
    if behind - first > _MOST_STEPS:
        return _Curve(least_free(availability, now, span, _COLUMNS), np.linspace(0, span, _COLUMNS + 1), True)
    edges = np.append(np.maximum(starts[first:behind], 0), span)
    return _Curve(availability.free[first:behind], edges.astype(np.float64), False)


def _draw_candidate(ax: Axes, candidate: Candidate, now: int, *, best: bool) -> None:
    from matplotlib.patches import Rectangle

    start, finish = candidate.start - now, candidate.finish - now
    left = candidate.walltime - candidate.execution_time
    height = float(candidate.processors)
    if best:
        height = max(height, _LEAST_HEIGHT * ax.get_ylim()[1])
        ax.add_patch(
            Rectangle((start, 0), finish - start, height, facecolor=_ORANGE, edgecolor=_BROWN, lw=1.4, zorder=4)
        )
        if left > 0:
            ax.add_patch(
                Rectangle((finish, 0), left, height, facecolor=_SAND, edgecolor=_ORANGE, hatch="////", lw=0.8, zorder=3)
            )
        return
    ax.add_patch(Rectangle((start, 0), finish - start, height, fill=False, edgecolor=GREY, lw=0.9, zorder=5))
    if left > 0:
        end = finish + left
        ax.plot([finish, end, end], [height, height, 0], color=GREY, lw=0.8, linestyle=(0, (1, 2)), zorder=5)


def _draw_starts(ax: Axes, processors: int, starts: Sequence[int], *, best: bool) -> None:
    """Draw the interval of a likely start, and the mean."""
    low, mean, high = starts
    look = _LIKELY_BEST if best else _LIKELY
    above = 0.5 if best else 0.0  # no other bar may hide it
    width, size = look["lw"], look["ms"]
    ax.plot(
        [low, high], [processors, processors], color="white", lw=width + 2.2, solid_capstyle="butt", zorder=6 + above
    )
    ax.plot(
        [low, high], [processors, processors], color=look["color"], lw=width, marker="|", ms=size + 2, mew=1.6,
        solid_capstyle="butt", zorder=6 + above, clip_on=False,
    )  # fmt: skip
    ax.plot([mean], [processors], ls="", mec="white", mew=0.8, zorder=7 + above, clip_on=False, **look)


def _head(ax: Axes, panel: _Panel, drawn: int) -> None:
    """Write the scheduler's name above the panel, and how many of its candidates are shown."""
    a = panel.availability
    ax.set_title(
        f"{one_line(a.scheduler, 40)}: {machine_text(a.processors, panel.candidates)}, starts are {a.kind}s"
        f"{', planned node by node' if panel.by_nodes else ''}",
        loc="left",
        fontsize=10,
        parse_math=False,
    )
    if drawn < len(panel.candidates):
        ax.set_title(f"{drawn} of {len(panel.candidates)} candidates shown", loc="right", fontsize=9, color=GREY)


def _label(ax: Axes, panel: _Panel, shown: Sequence[Candidate], now: int, span: int) -> None:
    """Label the best candidate above the machine, and others by their processors, if there is room."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.5, foreground="white")]
    frame = ax.get_window_extent()
    taken: list[Bbox] = []
    best = panel.best
    if best is not None and best in shown:
        middle = (best.start + min(best.finish, now + span)) / 2 - now
        if best in panel.starts:  # the label is about the likely start
            middle = panel.starts[best][1] - now
        text = ax.text(
            middle,
            panel.availability.processors * (1 + _HEADROOM) / 2,
            request_text(best, now) if best not in panel.starts else _likely_text(best, panel.starts[best][1], now),
            ha="center",
            va="center",
            fontweight="bold",
            zorder=8,
        )
        _keep_inside(text, ax, frame)
        box = text.get_window_extent()
        foot = ax.transData.inverted().transform((0, box.y0 - 2))[1]
        ax.plot([middle, middle], [best.processors, foot], color=INK, lw=0.9, zorder=7)
        taken.append(box)
    for candidate in shown:
        if candidate == best:
            continue
        x, y = ax.transData.transform((min(candidate.finish - now, span), candidate.processors))
        left = ax.transData.transform((candidate.start - now, 0))[0]
        text = ax.text(
            0, 0, str(candidate.processors), fontsize=8.5, color=INK, path_effects=halo, zorder=6, transform=None
        )
        size = text.get_window_extent()
        places = [(x - 3 - size.width, y - 3 - size.height), (x + 3, y - 3 - size.height), (x - size.width, y + 3)]
        if size.width + 6 > x - left:  # the label does not fit inside
            places = places[1:]
        for px, py in places:
            place = size.translated(px - size.x0, py - size.y0)
            inside = frame.x0 <= place.x0 and place.x1 <= frame.x1 and frame.y0 <= place.y0 and place.y1 <= frame.y1
            if inside and not any(place.padded(1.5).overlaps(other) for other in taken):
                at = ax.transData.inverted().transform((px, py))
                text.set(
                    transform=ax.transData,
                    x=at[0],
                    y=at[1],
                    gid=f"{one_line(candidate.scheduler, 40)}/{candidate.processors}",
                )
                taken.append(place)
                break
        else:
            text.remove()


def _likely_text(best: Candidate, start: int, now: int) -> str:
    """Return ``16 processors, predicted to start in 1h02m (promised in 4h00m)``."""
    known = "promised" if best.kind == "promise" else "planned"
    likely, bound = relative_text(start, now), relative_text(best.start, now)
    return f"{best.size_text}, predicted to start {likely} ({known} {bound})"


def _keep_inside(text: Text, ax: Axes, frame: Bbox) -> None:
    """Move a text sideways into its panel."""
    box = text.get_window_extent()
    move = max(frame.x0 + 2 - box.x0, 0) + min(frame.x1 - 2 - box.x1, 0)
    x, y = ax.transData.transform(text.get_position())
    text.set_position(tuple(ax.transData.inverted().transform((x + move, y))))


def _legend(*, free: str, best: Candidate | None, others: bool, likely: bool, likely_best: bool) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = [
        Patch(facecolor=_SKY, edgecolor=_BLUE, label=free),
        Line2D([], [], color=INK, linewidth=1.2, linestyle=(0, (5, 3)), label="machine"),
    ]
    if best is not None:
        known = "" if not likely_best else ", as promised" if best.kind == "promise" else ", as planned"
        handles.append(Patch(facecolor=_ORANGE, edgecolor=_BROWN, label=f"best request{known}, start to finish"))
        if best.walltime > best.execution_time:
            handles.append(Patch(facecolor=_SAND, edgecolor=_ORANGE, hatch="////", label="rest of its walltime"))
    if others:
        handles.append(Patch(fill=False, edgecolor=GREY, label="other candidates"))
    if likely:
        handles.append(Line2D([], [], mec="white", label="predicted start: 90%, and the mean", **_LIKELY))
    if likely_best:
        handles.append(Line2D([], [], mec="white", label="predicted start of the best request", **_LIKELY_BEST))
    return handles


def _processor_ticks(machine: int) -> list[int]:
    """Return 0, the machine size, and between them its quarters if they are whole, else round numbers."""
    if machine % 4 == 0:
        return [machine * i // 4 for i in range(5)]
    power = 10 ** (len(str(machine)) - 1)
    step = next(s for s in (power // 5, power // 2, power, 2 * power) if s > 0 and machine <= 6 * s)
    return [*range(0, machine - machine // 12, step), machine]


def _instant(now: int) -> str:
    """Return ``2026-11-21 08:00:00 UTC``."""
    text = iso_time(now)
    return text if text.startswith("@") else text.replace("T", " ").replace("Z", " UTC")
