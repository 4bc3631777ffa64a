"""The picture of the study of wrong models: the gain of Gas over the error of its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from experiments.accuracy.beliefs import ERRORS, VARIANTS, Variant, Way
from experiments.accuracy.results import Measure
from experiments.framework.charts import BLUE, GREEN, ORANGE, PINK, as_svg, plain
from gas.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Curves", "draw_gains"]

Curves: TypeAlias = Mapping[tuple[Measure, Variant, str, Way], Sequence[Interval]]
"""By measure, variant, log and way: a gain in per cent for each of `ERRORS`."""

_COLOURS = (BLUE, ORANGE, GREEN, PINK)
_MARKS = ("o", "s", "^", "D")
_DASHES: Mapping[Way, str] = {"gas": "-", "cautious": "--"}


def draw_gains(curves: Curves) -> bytes:
    """Return the gain over the error: a row of panels per measure, a column per variant."""
    measures = list(dict.fromkeys(measure for measure, *_ in curves))
    traces = list(dict.fromkeys(trace for _, _, trace, _ in curves))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(measures), len(VARIANTS), squeeze=False, sharex=True, sharey=True)
        places = np.arange(len(ERRORS))
        for (measure, variant, trace, way), gains in curves.items():
            axes = panels[measures.index(measure), VARIANTS.index(variant)]
            number = traces.index(trace) % len(_COLOURS)
            middle = np.array([one.mean for one in gains])
            half = np.array([one.half_width or 0.0 for one in gains])
            label = f"{trace}{'' if way == 'gas' else ', cautious'}" if axes is panels[0, 0] else None
            form = {"color": _COLOURS[number], "marker": _MARKS[number], "markersize": 4, "linestyle": _DASHES[way]}
            axes.plot(places, middle, label=label, **form)
            if way == "gas":
                axes.fill_between(places, middle - half, middle + half, color=_COLOURS[number], alpha=0.12, linewidth=0)
        for measure, row in zip(measures, panels, strict=True):
            for variant, axes in zip(VARIANTS, row, strict=True):
                axes.axhline(0, color="0.4", linewidth=0.8)
                axes.set_xticks(places, [f"{error:,}" for error in ERRORS])
                axes.set_title(f"{variant}: {measure}", fontsize=10)
                plain(axes)
        figure.supylabel("shorter than with the users' own requests (%)", fontsize=10)
        figure.supxlabel("error of the model (%)", fontsize=10)
        figure.legend(loc="outside upper left", frameon=False, ncols=max(len(traces), 1), fontsize=9)

    return as_svg((9.5, 3.2 * len(measures) + 0.8), draw)
