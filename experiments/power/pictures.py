"""Picture of the study of one moldable job: the regret of Gas's choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.framework.charts import as_svg
from experiments.moldable.months import Outcomes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_regret"]


def draw_regret(parts: Mapping[str, Outcomes]) -> bytes:
    """Return the cumulative share of the runs of each log by their regret."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, 1)
        for (name, outcomes), dashes in zip(parts.items(), ("-", "--", ":", "-."), strict=False):
            regret = np.sort(outcomes.regret)
            share = 100 * np.arange(1, len(regret) + 1) / max(len(regret), 1)
            axes.step(np.maximum(regret, 0.5), share, dashes, where="post", label=name)
        axes.set_xscale("log")
        axes.set_xticks(
            [0.5, 10, 60, 600, 3600, 36000, 360000], ["0", "10 s", "1 min", "10 min", "1 h", "10 h", "100 h"]
        )
        axes.set_xlabel("regret: how much later the job ended than with the best choice")
        axes.set_ylabel("% of runs, cumulative")
        axes.grid(linewidth=0.4, alpha=0.6)
        axes.legend(frameon=False)

    return as_svg((6.5, 3.6), draw)
