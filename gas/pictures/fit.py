"""The picture of a fit: timings, both models, and their bootstrap bands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from gas.pictures.canvas import write_picture
from speedup_models.estimates import percent
from speedup_models.fitting import FitReport, ModelFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_fit"]

# From Okabe and Ito's palette, distinct with any kind of colour vision.
COLOURS: Final = {"amdahl": "#D55E00", "downey": "#0072B2"}
DASHES: Final = {"amdahl": (0, (5, 2)), "downey": "solid"}


def draw_fit(report: FitReport, path: str | Path) -> None:
    """Write the picture of a fit as PNG, SVG or PDF, by the path's suffix; an existing file is replaced.

    Processors and seconds are on logarithmic axes. Bands contain 95% of the bootstrap's curves.

    Raises
    ------
    BadInput
        Another suffix, or the file cannot be written.
    Missing
        Matplotlib is not installed.
    """

    def made() -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 4.8), layout="constrained")
        _draw(figure, report)
        return figure

    # Matplotlib's own style, not the user's: the sizes below fit it, and pictures are the same everywhere.
    write_picture(made, path, {"svg.hashsalt": "gas fit", "font.size": 10})


def _draw(figure: Figure, report: FitReport) -> None:
    counts, seconds = report.timings[:2]
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    (points,) = axes.plot(counts, seconds, "o", markersize=5.5, zorder=5, label="timings")
    points.set(markerfacecolor="white", markeredgecolor="black", markeredgewidth=1.2)
    n = np.geomspace(counts[0], counts[-1], 400)
    in_view = [seconds]
    shaded = False
    for fit in (report.downey, report.amdahl):
        expected, band, colour = fit.seconds(n), fit.band(n), COLOURS[fit.name]
        label = f"{_described(fit)}{' (chosen)' if fit.name == report.better else ''}"
        axes.plot(n, expected, color=colour, linestyle=DASHES[fit.name], linewidth=1.8, label=label)
        in_view.append(expected)
        if band is not None:
            axes.fill_between(n, *band, color=colour, alpha=0.16, linewidth=0)
            in_view += band
            shaded = True
    ideal = seconds[counts == counts[0]].mean() * counts[0] / n
    axes.plot(n, ideal, color="0.55", linewidth=0.9, linestyle=(0, (1, 2)), label="time falling as 1/n")
    if shaded:
        axes.fill_between([], [], [], color="0.5", alpha=0.25, linewidth=0, label="95% of the bootstrap's curves")
    # Only the 1/n line, a guide, may leave the picture.
    everything = np.concatenate(in_view)
    axes.set_ylim(everything.min() / 1.25, everything.max() * 1.25)
    _number(axes, counts.tolist())
    axes.set_xlabel({"gpus": "GPUs"}.get(report.timings.unit, report.timings.unit))
    axes.set_ylabel("execution time (s)")
    axes.grid(True, which="major", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", frameon=False, fontsize=9)


def _described(fit: ModelFit) -> str:
    values = {key: f"{estimate.value:.3g}" for key, estimate in fit.parameters.items()}
    if fit.name == "downey":
        shape = f"A = {values['A']}, σ = {values['sigma']}"
    else:
        shape = f"serial fraction {values['serial_fraction']}"
    return f"{fit.title}: {shape}; error {percent(fit.error)}"


def _number(axes: Axes, counts: list[int]) -> None:
    """Label the axes with plain numbers: the measured processor counts, if there is room."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    span = np.log(counts[-1] / counts[0])
    shown = [counts[-1]]
    for count in sorted(set(counts), reverse=True)[1:]:
        if np.log(shown[-1] / count) > 0.02 * len(f"{shown[-1]:,}") * span:
            shown.append(count)
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_major_formatter(plain)
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    decades = np.log10(high / low)
    steps: tuple[float, ...] = (1, 1.5, 2, 3, 5, 7) if decades < 1 else (1, 2, 5) if decades < 3.5 else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(NullFormatter())
