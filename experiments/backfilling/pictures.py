"""Pictures of the study of backfilling, as SVG: how good both schemes are, how much they backfill, and run times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from experiments.backfilling.distances import shares
from experiments.backfilling.models import Model
from experiments.backfilling.run_times import LIMITS, SIZES, WORKLOADS, Workload
from experiments.framework.charts import BLUE, GREEN, ORANGE, PINK, as_svg, plain
from experiments.published import SCHEMES, TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_backfilling", "draw_models", "draw_run_times", "unequal"]

Points = Sequence[tuple[float, Mapping[str, Any]]]

# From Okabe and Ito's palette, distinct with any kind of colour vision.
_COLOURS: Final = {"easy": ORANGE, "conservative": BLUE}
_DASHES: Final = {"easy": "solid", "conservative": (0, (5, 2))}
_MARKERS: Final = {"easy": "o", "conservative": "s"}
THRESHOLD: Final = 30_000
"""Seconds; a run whose mean response exceeds this is stopped."""

_TITLES: Final[dict[Model, str]] = {
    "F": "Model F (Feitelson-96-like)",
    "J": "Model J (Jann, fitted to CTC)",
    "Fs": "Model Fs (more small jobs)",
    "Fl": "Model Fl (longer jobs)",
    "Fsl": "Model Fsl (both)",
}
_WORKLOADS: Final[dict[Workload, tuple[str, Any]]] = {
    "CTC": ("0.2", "solid"),
    "J": (GREEN, (0, (5, 2))),
    "F": (ORANGE, (0, (1, 1.5))),
    "Fsl": (PINK, (0, (6, 2, 1, 2))),
}
"""Colours and dashes."""


def draw_models(models: Mapping[Model, Points]) -> bytes:
    """Return mean response and bounded slowdown over load, a column for each model, with 90% intervals.

    Both schemes are shown over the batches that both completed; crosses show where a run that went on came out.
    """
    return as_svg((4.4 * len(models) + 0.6, 6.0), lambda figure: _models(figure, models))


def draw_backfilling(models: Mapping[Model, Points], traces: Mapping[str, Mapping[str, float]]) -> bytes:
    """Return the share of jobs that were backfilled: in models over load, and in traces.

    Parameters
    ----------
    traces
        Shares by policy, for each trace by name.
    """
    panels = len(models) + bool(traces)
    return as_svg((3.2 * panels + 0.8, 3.4), lambda figure: _backfilling(figure, models, traces))


def draw_run_times(results: Mapping[Workload, Mapping[str, Any]]) -> bytes:
    """Return the share of jobs up to each run time, a panel per class of sizes."""
    return as_svg((9.4, 6.0), lambda figure: _run_times(figure, results))


def unequal(point: Mapping[str, Any]) -> bool:
    """Return whether the two runs stopped after different numbers of batches."""
    return len({point[policy]["batches"] for policy in SCHEMES}) > 1


def _models(figure: Figure, models: Mapping[Model, Points]) -> None:
    axes = figure.subplots(2, len(models), squeeze=False, sharex="col")
    for column, (model, points) in enumerate(models.items()):
        for row, (measure, title) in enumerate(TITLES.items()):
            here = axes[row, column]
            here.set_yscale("log", nonpositive="clip")  # the means of a model span two orders of magnitude
            _lines(here, points, measure)
            shown = [figures for _, point in points for policy in SCHEMES for figures in _both_ways(point[policy])]
            _log_scale(here, [figures[measure] for figures in shown])
            if measure == "response":
                here.axhline(THRESHOLD, color="0.5", linewidth=0.9, linestyle=":", zorder=1)
            if column == 0:
                here.set_ylabel(title)
        axes[0, column].set_title(_TITLES[model], fontsize=10, pad=20)
        _batches(axes[0, column], points, named=column == 0)
        axes[1, column].set_xlabel("load")
    _legend(figure, axes[0, 0], any(unequal(point) for points in models.values() for _, point in points))


def _run_times(figure: Figure, results: Mapping[Workload, Mapping[str, Any]]) -> None:
    from matplotlib.ticker import PercentFormatter

    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for here, size in zip(axes.flat, SIZES, strict=True):
        for workload in WORKLOADS:
            if workload in results:
                colour, dashes = _WORKLOADS[workload]
                name = f"{'log' if workload == 'CTC' else 'model'} {workload}"
                values = shares(results[workload], size)
                here.plot(LIMITS, values, color=colour, linestyle=dashes, linewidth=1.7, label=name)
        here.set_xscale("log")
        here.set_xlim(LIMITS[0], LIMITS[-1])
        here.set_ylim(0, 1)
        here.set_title(size, fontsize=10)
        here.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        plain(here)
    for here in axes[1]:
        here.set_xlabel("run time (s)")
    for here in axes[:, 0]:
        here.set_ylabel("jobs with at most this run time")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", frameon=False, ncols=len(handles), fontsize=9)


def _both_ways(figures: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return figures["together"], figures


def _batches(axes: Axes, points: Points, *, named: bool) -> None:
    """Write above each load the number of compared batches, with a dagger if one run continued beyond them."""
    place = axes.get_xaxis_transform()
    for load, point in points:
        count = min(point[policy]["batches"] for policy in SCHEMES)
        words = f"{count}†" if unequal(point) else f"{count}"
        axes.text(load, 1.02, words, transform=place, fontsize=8, color="0.35", ha="center", va="bottom")
    if named:
        axes.text(-0.03, 1.02, "batches", transform=axes.transAxes, fontsize=8, color="0.35", ha="right", va="bottom")


def _legend(figure: Figure, axes: Axes, some_unequal: bool) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    if some_unequal:
        for policy, name in SCHEMES.items():
            handles.append(Line2D([], [], color=_COLOURS[policy], **_OWN_END))
            labels.append(f"{name}, run to its own end")
    figure.legend(handles, labels, loc="outside upper left", frameon=False, ncols=len(handles), fontsize=9)


_OWN_END: Final[dict[str, Any]] = {"linestyle": "none", "marker": "x", "markersize": 5.5, "markeredgewidth": 0.9}
_APART: Final = {"easy": -0.003, "conservative": 0.003}
"""Horizontal offset of markers, so that intervals of both schemes do not overlap."""


def _lines(axes: Axes, points: Points, measure: str) -> None:
    """Draw means over the batches that both runs completed; a cross marks the final mean of a run that continued."""
    for policy, name in SCHEMES.items():
        places = [load + _APART[policy] for load, _ in points]
        shared = [point[policy]["together"] for _, point in points]
        axes.errorbar(
            places,
            [figures[measure] for figures in shared],
            yerr=[figures.get(f"{measure}_half_width") or 0 for figures in shared],
            color=_COLOURS[policy],
            linestyle=_DASHES[policy],
            marker=_MARKERS[policy],
            markersize=4.5,
            linewidth=1.6,
            elinewidth=1,
            capsize=2.5,
            label=name,
        )
        stopped = [i for i, (_, point) in enumerate(points) if point[policy]["reason"] == "threshold"]
        axes.plot(
            [places[i] for i in stopped],
            [shared[i][measure] for i in stopped],
            linestyle="none",
            marker=_MARKERS[policy],
            markersize=4,
            color=_COLOURS[policy],
            markerfacecolor="white",
            zorder=4,
        )
        went_on = [i for i, (_, point) in enumerate(points) if point[policy]["batches"] > shared[i]["batches"]]
        axes.plot(
            [places[i] for i in went_on],
            [points[i][1][policy][measure] for i in went_on],
            color=_COLOURS[policy],
            zorder=5,
            **_OWN_END,
        )
    plain(axes)


def _log_scale(axes: Axes, means: Sequence[float]) -> None:
    """Label 1, 2 and 5 of each power of ten; intervals may leave the picture, means do not."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.set_ylim(min(means) / 1.6, max(means) * 1.6)


def _backfilling(figure: Figure, models: Mapping[Model, Points], traces: Mapping[str, Mapping[str, float]]) -> None:
    from matplotlib.ticker import PercentFormatter

    panels = figure.subplots(1, len(models) + bool(traces), squeeze=False, sharey=True)[0]
    for axes, (model, points) in zip(panels, models.items(), strict=False):
        _lines(axes, points, "backfilled")
        axes.set_title(_TITLES[model], fontsize=10)
        axes.set_xlabel("load")
    if traces:
        axes = panels[-1]
        for shift, (policy, name) in zip((-0.2, 0.2), SCHEMES.items(), strict=True):
            places = [place + shift for place in range(len(traces))]
            heights = [shares[policy] for shares in traces.values()]
            axes.bar(places, heights, 0.38, color=_COLOURS[policy], label=name)
            for place, height in zip(places, heights, strict=True):
                axes.annotate(
                    f"{height * 100:.0f}", (place, height), (0, 2), textcoords="offset points", ha="center", fontsize=8
                )
        axes.set_xticks(range(len(traces)), list(traces))
        axes.set_title("Traces", fontsize=10)
        plain(axes)
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("jobs backfilled")
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _legend(figure, panels[0], any(unequal(point) for points in models.values() for _, point in points))
