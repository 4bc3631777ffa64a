"""A picture of the study: what asking changes for those who are asked, and for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.conditional.results import NOTICES, Asking
from experiments.framework.charts import BLUE, ORANGE, as_svg, plain
from gas.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_changes"]

_BARS: Final = {"asked": ("with a notice", ORANGE, -0.2), "others": ("without", BLUE, 0.2)}
"""For a group of jobs: its title, its colour, and where its bar stands."""


def draw_changes(
    logs: Sequence[str], percents: Sequence[int], found: Mapping[tuple[str, Asking, str], Interval]
) -> bytes:
    """Return a panel for each notice and log: changes of the mean turn-around time by share of jobs with a notice.

    Parameters
    ----------
    found
        By log, share with notice, and group of jobs, in per cent; half of a 90% interval is drawn as a line.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(NOTICES), len(logs), squeeze=False, sharex=True, sharey="row")
        at = np.arange(len(percents))
        for row, (notice, words) in zip(panels, NOTICES.items(), strict=True):
            for panel, log in zip(row, logs, strict=True):
                for group, (title, colour, beside) in _BARS.items():
                    values = [found.get((log, Asking(percent, notice), group)) for percent in percents]
                    known = [(x + beside, value) for x, value in zip(at, values, strict=True) if value is not None]
                    places, means = [x for x, _ in known], [value.mean for _, value in known]
                    panel.bar(places, means, 0.36, color=colour, label=title)
                    widths = [value.half_width or 0.0 for _, value in known]
                    panel.errorbar(places, means, yerr=widths, fmt="none", color="0.15", linewidth=1, capsize=2)
                panel.axhline(0, color="0.3", linewidth=0.8)
                panel.set_title(f"{log}, {words}", fontsize=10)
                panel.set_xticks(at, [f"{percent}" for percent in percents])
                plain(panel)
        for panel in panels[-1]:
            panel.set_xlabel("jobs with a notice (%)")
        figure.supylabel("change of the mean turn-around time (%)", fontsize=10)
        handles, names = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=9)

    return as_svg((2.3 * len(logs) + 1.4, 2.2 * len(NOTICES) + 0.9), draw)
