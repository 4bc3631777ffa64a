"""Pictures of the study of several supercomputers: gain over the deviating share, and that share over the charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.framework.charts import BLUE, GREEN, ORANGE, as_svg, plain
from experiments.supercomputers.results import SHARES
from gas.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_charge", "draw_temptation"]

# From Okabe and Ito's palette; marks and dashes differ, too.
_FORMS = ((BLUE, "-", "o"), (GREEN, "--", "s"), (ORANGE, "-.", "^"))


def draw_temptation(games: Mapping[str, tuple[Sequence[Interval], Sequence[Interval], Sequence[Interval]]]) -> bytes:
    """Plot the gain of one application and the change of all turn-around times over the share that deviates.

    Parameters
    ----------
    games
        By name, one value per share: the gain in seconds, and the changes of the mean turn-around times of applications
        and of rigid jobs in per cent.
    """

    def draw(figure: Figure) -> None:
        gain, applications, rigid = figure.subplots(1, 3)
        for (name, columns), (colour, dashes, mark) in zip(games.items(), _FORMS, strict=False):
            for axes, values in zip((gain, applications, rigid), columns, strict=True):
                middle = np.array([one.mean for one in values])
                half = np.array([one.half_width or 0.0 for one in values])
                label = name if axes is gain else None
                axes.plot(SHARES, middle, label=label, color=colour, linestyle=dashes, marker=mark, markersize=4)
                axes.fill_between(SHARES, middle - half, middle + half, color=colour, alpha=0.12, linewidth=0)
        gain.set_ylabel("gain by deviating (s)")
        gain.set_title("one application's gain", fontsize=10)
        for axes, title in ((applications, "all applications"), (rigid, "all rigid jobs")):
            axes.set_ylabel("change of the mean turn-around time (%)")
            axes.set_title(title, fontsize=10)
        for axes in (gain, applications, rigid):
            axes.set_xlabel("applications that deviate (%)")
            axes.set_xticks(SHARES)
            _around_zero(axes)
        figure.legend(loc="outside upper left", frameon=False, ncols=len(games), fontsize=9)

    return as_svg((11.5, 3.7), draw)


def draw_charge(games: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]]) -> bytes:
    """Return the share that deviates in equilibrium over the charge, in each currency.

    Parameters
    ----------
    games
        By name and currency ("seconds", "share"): charges, and the share in per cent at each.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, 2, sharey=True)
        # Later lines are thinner, so that all remain visible where they coincide.
        for (name, curves), (colour, dashes, _), width in zip(games.items(), _FORMS, (4.5, 3.0, 1.6), strict=False):
            for axes, currency, scale in zip(panels, ("seconds", "share"), (1.0, 100.0), strict=True):
                charges, shares = curves[currency]
                axes.plot(
                    scale * np.array(charges),
                    shares,
                    color=colour,
                    linestyle=dashes,
                    linewidth=width,
                    label=name if currency == "seconds" else None,
                )
        for axes, words in zip(panels, ("s", "% of the run's execution time"), strict=True):
            axes.set_xlabel(f"charge for each further submission ({words})", fontsize=9)
            axes.set_xlim(left=0)
            axes.set_ylim(-4, 104)
            _around_zero(axes)
        panels[0].set_ylabel("share that deviates (%)")
        figure.legend(loc="outside upper left", frameon=False, ncols=len(games), fontsize=9)

    return as_svg((9.5, 3.7), draw)


def _around_zero(axes: Axes) -> None:
    axes.axhline(0, color="0.6", linewidth=0.9, zorder=1)
    plain(axes)
