"""A picture of a study in which a share of the jobs is treated differently: changes for these and for all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.framework.charts import BLUE, ORANGE, as_svg, plain
from experiments.framework.group_results import GroupResults
from experiments.framework.verdicts import LEVEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_changes"]

_BARS: Final = ((ORANGE, -0.2), (BLUE, 0.2))
"""For the treated jobs and the others: colour and offset of their bars."""


def draw_changes(
    study: GroupResults,
    rows: Mapping[str, Sequence[Any]],
    names: tuple[str, str],
    axes: tuple[str, str],
    what: str = "turnaround",
) -> bytes:
    """Return a panel per log and row of settings: changes of a mean over the share of treated jobs, in per cent.

    Parameters
    ----------
    rows
        Settings by title, each with the same shares.
    names
        Names of the treated jobs and of the others.
    axes
        Titles of both axes.
    what
        The figure whose mean is shown, as in `GroupResults.change`; lines show 90% intervals.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(rows), len(study.logs), squeeze=False, sharex=True, sharey="row")
        for row, (title, settings) in zip(panels, rows.items(), strict=True):
            at = np.arange(len(settings))
            for panel, (site, log) in zip(row, study.logs, strict=True):
                for group, name, (colour, beside) in zip(study.groups, names, _BARS, strict=True):
                    values = [study.change(log, setting, group, what)(LEVEL) for setting in settings]
                    known = [(x + beside, value) for x, value in zip(at, values, strict=True) if value is not None]
                    places, means = [x for x, _ in known], [value.mean for _, value in known]
                    panel.bar(places, means, 0.36, color=colour, label=name)
                    widths = [value.half_width or 0.0 for _, value in known]
                    panel.errorbar(places, means, yerr=widths, fmt="none", color="0.15", linewidth=1, capsize=2)
                panel.axhline(0, color="0.3", linewidth=0.8)
                panel.set_title(f"{site.trace}, {title}" if title else site.trace, fontsize=10)
                panel.set_xticks(at, [str(setting.percent) for setting in settings])
                plain(panel)
        figure.supxlabel(axes[0], fontsize=10)
        figure.supylabel(axes[1], fontsize=10)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=2, frameon=False, fontsize=9)

    return as_svg((2.3 * len(study.logs) + 1.4, 2.2 * len(rows) + 0.9), draw)
