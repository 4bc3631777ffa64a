"""Pictures of the study of walltime adjustment: used shares of requests, accuracy of adjusted ones, and gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from experiments.framework.charts import BLUE, GREEN, ORANGE, PINK, SKY, YELLOW, as_svg, plain
from experiments.framework.logs import Found
from experiments.published import walltime_gains
from experiments.walltime.accuracy import CATEGORIES, FLOORS, KEYS, SHARES
from experiments.walltime.accuracy import PERCENTILES as ALL_PERCENTILES
from experiments.walltime.results import ADJUSTMENTS, MEASURES, PERCENTILES, QUEUES, Results, Terms, adjusted
from gas.printable import many
from workloads.adjustment import Key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_accuracy", "draw_cumulative", "draw_gains", "draw_months", "draw_shares", "draw_short", "draw_tested"]
__all__ += ["draw_use"]

# From Okabe and Ito's palette, distinct with any kind of colour vision.
_COLOURS: Final = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY)
_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
_PARTS: Final = dict(zip(CATEGORIES, ("0.8", BLUE, YELLOW, "#B2182B"), strict=True))
_BY_PERCENTILE: Final = dict(zip(PERCENTILES, zip(_COLOURS, _MARKERS, strict=True), strict=False))
_TITLES: Final = {"wait": "mean wait", "slowdown": "mean slowdown", "weighted": "weighted wait"}
_TRIPLE: Final[Key] = "user+group+walltime"
_DOUBLE: Final[Key] = "user+group"
_HIGHEST: Final = 200
"""Upper end of monthly panels in per cent of the baseline; larger values are drawn at the edge."""


def draw_use(study: Results) -> bytes:
    """Return a row per log: the distribution of R (Fig. 1), and its mean by quarter (Fig. 2)."""
    logs = [log for log in study.logs if study.use(log)]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(logs), 2, squeeze=False)
        for (left, right), log in zip(panels, logs, strict=True):
            found = study.use(log) or {}
            used, jobs = found["used"], found["jobs"]
            classes = np.array(used["classes"])
            width = 1 / len(classes)
            left.bar((np.arange(len(classes)) + 0.5) * width, 100 * classes / jobs, 0.9 * width, color=_COLOURS[0])
            left.set_title(f"{log.source.trace}: {jobs:,} jobs", fontsize=10)
            left.set_ylabel("% of jobs")
            names = [one["quarter"] for one in used["quarters"]]
            right.bar(range(len(names)), [one["mean"] for one in used["quarters"]], 0.7, color=_COLOURS[0])
            right.axhline(used["mean"], color="0.3", linewidth=1, label="all jobs")
            right.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
            right.set_ylim(0, 0.7)
            right.set_ylabel("mean R")
            plain(left, right)
        panels[0, 1].legend(frameon=False, fontsize=9, loc="upper left")
        panels[-1, 0].set_xlabel("R = run time / request")

    return as_svg((9.5, 2.7 * len(logs) + 0.4), draw)


def draw_accuracy(study: Results) -> bytes:
    """Return mean accuracy by percentile, a column per log: by key (Fig. 4), and by window with both keys (Fig. 8)."""
    windows = study.options.windows

    def draw(figure: Figure) -> None:
        panels = figure.subplots(3, len(study.logs), squeeze=False, sharex=True, sharey="col")
        for column, log in zip(panels.T, study.logs, strict=True):
            by_key, by_window = column[0], column[1:]
            for number, key in enumerate(KEYS):
                _percentiles(by_key, number, key.replace("+", ", "), _accuracies(study, log, key, None))
            for axes, key in zip(by_window, (_TRIPLE, _DOUBLE), strict=True):
                for number, months in enumerate(windows):
                    _percentiles(axes, number, window(months), _accuracies(study, log, key, months))
            use = study.use(log)
            for axes in column:
                axes.axhline(use["used"]["mean"] if use else 0, color="0.3", linewidth=1, linestyle=(0, (4, 2)))
                plain(axes)
            by_key.set_title(f"{log.source.trace}\nwhole history, by key", fontsize=10)
            for axes, words in zip(by_window, ("user, group and request", "user and group"), strict=True):
                axes.set_title(f"by window, {words}", fontsize=10)
            column[-1].set_xlabel("percentile of R")
        for axes in panels[:, 0]:
            axes.set_ylabel("mean accuracy")
        for axes in panels[:2, 0]:
            axes.legend(frameon=False, fontsize=8, ncols=2)

    return as_svg((4.4 * len(study.logs) + 0.6, 8.6), draw)


def window(months: int | None) -> str:
    """Return a window of history in words."""
    return "all" if months is None else many(months, "month")


def _accuracies(study: Results, log: Found, key: Key, months: int | None, floor: float = 0.0) -> list[float]:
    cells = [study.accuracy(log, key, months, percentile, floor) for percentile in ALL_PERCENTILES]
    return [np.nan if cell is None else cell["accuracy"] for cell in cells]


def _percentiles(axes: Axes, number: int, label: str, values: Sequence[float]) -> None:
    places = range(len(ALL_PERCENTILES))
    style = {"color": _COLOURS[number], "marker": _MARKERS[number], "markersize": 4, "linewidth": 1.3}
    axes.plot(places, values, label=label, **style)  # type: ignore[arg-type]
    axes.set_xticks(places, [str(percentile) for percentile in ALL_PERCENTILES])


def draw_shares(study: Results) -> bytes:
    """Return jobs by category and percentile, a row per log; both keys, without and with floor (Fig. 5, 6 and 7)."""

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(study.logs), 4, squeeze=False, sharex=True, sharey=True)
        for row, log in zip(panels, study.logs, strict=True):
            variants = [(key, floor) for key in (_TRIPLE, _DOUBLE) for floor in FLOORS]
            for axes, (key, floor) in zip(row, variants, strict=True):
                below = np.zeros(len(ALL_PERCENTILES))
                cells = [study.accuracy(log, key, None, percentile, floor) for percentile in ALL_PERCENTILES]
                for part, colour in _PARTS.items():
                    share = np.array([0 if cell is None else 100 * cell[part] / cell["jobs"] for cell in cells])
                    axes.bar(range(len(share)), share, 0.8, bottom=below, color=colour, label=part)
                    below += share
                good = _accuracies(study, log, key, None, floor)
                axes.plot(
                    range(len(good)), 100 * np.array(good), "ko-", markersize=3, linewidth=1, label="mean accuracy (%)"
                )
                words = "triple key" if key == _TRIPLE else "double key"
                axes.set_title(f"{log.source.trace}, {words}, {'floor 0.5' if floor else 'no floor'}", fontsize=9)
                axes.set_xticks(range(len(good)), [str(percentile) for percentile in ALL_PERCENTILES], fontsize=8)
                axes.set_ylim(0, 100)
                plain(axes)
            row[0].set_ylabel("% of jobs")
        for axes in panels[-1]:
            axes.set_xlabel("percentile")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", frameon=False, ncols=5, fontsize=9)

    return as_svg((11.5, 2.7 * len(study.logs) + 0.6), draw)


def draw_short(study: Results) -> bytes:
    """Return the shares of badly (Fig. 9) and mildly (Fig. 10) underestimated jobs, by window."""

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(study.logs), 4, squeeze=False, sharex=True)
        for row, log in zip(panels, study.logs, strict=True):
            variants = [(part, key) for part in ("BE", "UE") for key in (_TRIPLE, _DOUBLE)]
            for axes, (part, key) in zip(row, variants, strict=True):
                for number, months in enumerate(study.options.windows):
                    cells = [study.accuracy(log, key, months, percentile, 0.0) for percentile in ALL_PERCENTILES]
                    share = [np.nan if cell is None else 100 * cell[part] / cell["jobs"] for cell in cells]
                    _percentiles(axes, number, window(months), share)
                axes.set_title(
                    f"{log.source.trace}, {part}, {'triple' if key == _TRIPLE else 'double'} key", fontsize=9
                )
                axes.set_ylim(0, None)
                plain(axes)
            row[0].set_ylabel("% of jobs")
        for axes in panels[-1]:
            axes.set_xlabel("percentile")
        panels[0, 0].legend(frameon=False, fontsize=8)

    return as_svg((11.5, 2.6 * len(study.logs) + 0.4), draw)


def draw_cumulative(study: Results) -> bytes:
    """Return the distribution of accuracy, original and adjusted, a row per log (Fig. 11; one month, floor 0.5)."""

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(study.logs), 2, squeeze=False, sharex=True, sharey=True)
        for row, log in zip(panels, study.logs, strict=True):
            for axes, key in zip(row, (_TRIPLE, _DOUBLE), strict=True):
                use = study.use(log)
                if use:
                    axes.plot(
                        use["used"]["distribution"],
                        np.array(SHARES) / 100,
                        color="0.3",
                        linewidth=1.4,
                        label="original",
                    )
                for number, (percentile, words) in enumerate(
                    ((100, "maximum"), (85, "85th percentile"), (50, "median"))
                ):
                    cell = study.accuracy(log, key, 1, percentile, 0.5)
                    if cell:
                        axes.plot(
                            cell["distribution"],
                            np.array(SHARES) / 100,
                            color=_COLOURS[number],
                            linestyle=("-", "--", "-.")[number],
                            linewidth=1.4,
                            label=words,
                        )
                axes.set_title(f"{log.source.trace}, {'triple' if key == _TRIPLE else 'double'} key", fontsize=10)
                axes.set_xlim(0, 1)
                axes.set_ylim(0, 1)
                plain(axes)
            row[0].set_ylabel("share of jobs up to that")
        for axes in panels[-1]:
            axes.set_xlabel("accuracy")
        panels[0, 0].legend(frameon=False, fontsize=9, loc="upper left")

    return as_svg((8.5, 3.0 * len(study.logs) + 0.4), draw)


def draw_tested(study: Results) -> bytes:
    """Return mean accuracy by month, original and adjusted as for the schedules (Fig. 13)."""

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(study.logs), 1, squeeze=False)[:, 0]
        for axes, log in zip(panels, study.logs, strict=True):
            use = study.use(log)
            if use is None:
                continue
            months = list(use["months"])
            places = range(len(months))
            axes.plot(
                places, [use["months"][m]["accuracy"] for m in months], color="0.3", linewidth=1.3, label="original"
            )
            for percentile, (colour, marker) in _BY_PERCENTILE.items():
                cell = study.accuracy(log, _TRIPLE, 1, percentile, 0.5)
                of = cell["months"] if cell else {}
                values = [of[month]["accuracy"] if month in of else np.nan for month in months]
                axes.plot(places, values, color=colour, marker=marker, markersize=4, label=f"p{percentile}")
            axes.set_xticks(places, months, rotation=90, fontsize=8)
            axes.set_title(log.source.trace, fontsize=10)
            axes.set_ylabel("mean accuracy")
            axes.margins(y=0.12)
            plain(axes)
        panels[0].legend(frameon=False, fontsize=9, ncols=4, loc="upper left")

    return as_svg((8.5, 2.7 * len(study.logs) + 0.3), draw)


def draw_months(study: Results, log: Found, queue: str, *, apart: bool = False) -> bytes:
    """Return means by month in per cent of those without adjustment (Fig. 14 to 17): a row per adjustment."""
    averaged = set(study.averaged(log))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(2, 3, squeeze=False, sharex=True, sharey=True)
        for row, adjustment in zip(panels, ADJUSTMENTS, strict=True):
            for axes, measure in zip(row, MEASURES, strict=True):
                _monthly(
                    axes, study, log, {p: adjusted(queue, adjustment, p, apart=apart) for p in PERCENTILES}, measure
                )
                axes.set_title(f"{adjustment}: {_TITLES[measure]}", fontsize=10)
                plain(axes)
            row[0].set_ylabel("% of the baseline")
        base = study.simulation(log, Terms(queue, apart=apart))
        months = [month["month"] for month in base["months"]] if base else []
        first = sum(month not in averaged for month in months)
        for axes in panels.ravel():
            axes.axvspan(-0.5, first - 0.5, color="0.93", zorder=0)
            axes.set_xlim(-0.5, len(months) - 0.5)
        for axes in panels[-1]:
            axes.set_xticks(range(len(months)), months, rotation=90, fontsize=7)
        panels[0, 0].legend(frameon=False, fontsize=9, ncols=3, loc="upper left")

    return as_svg((11.5, 5.6), draw)


def _monthly(axes: Axes, study: Results, log: Found, terms: dict[int, Terms], measure: str) -> None:
    base = study.simulation(log, next(iter(terms.values())).baseline)
    months = [month["month"] for month in base["months"]] if base else []
    axes.axhline(100, color="0.3", linewidth=1)
    for percentile, one in terms.items():
        colour, marker = _BY_PERCENTILE[percentile]
        ratios = study.by_month(log, one, measure)
        values = np.array([100 * ratios.get(month, np.nan) for month in months])
        beyond = values > _HIGHEST
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.2}
        axes.plot(range(len(months)), np.minimum(values, _HIGHEST), label=f"p{percentile}", **style)
        axes.plot(np.flatnonzero(beyond), np.full(beyond.sum(), _HIGHEST - 3), "^", color=colour, markersize=8)
    axes.set_ylim(0, _HIGHEST)


def draw_gains(study: Results, *, apart: bool = False) -> bytes:
    """Return average improvements with intervals (Fig. 14 to 17 d), a row per log; hollow markers are the paper's."""
    published = {(one.queue, one.adjustment, one.percentile, one.measure): one.percent for one in walltime_gains()}

    def draw(figure: Figure) -> None:
        columns = [(queue, adjustment) for queue in QUEUES for adjustment in ADJUSTMENTS]
        panels = figure.subplots(len(study.logs), len(columns), squeeze=False, sharey=True)
        known: dict[str, Any] = {}
        for row, log in zip(panels, study.logs, strict=True):
            for axes, (queue, adjustment) in zip(row, columns, strict=True):
                for number, percentile in enumerate(PERCENTILES):
                    terms = adjusted(queue, adjustment, percentile, apart=apart)
                    gains = [study.gain(log, terms, measure) for measure in MEASURES]
                    at = np.arange(len(MEASURES)) + 0.27 * (number - 1)
                    means = [np.nan if gain is None else gain.mean for gain in gains]
                    widths = [0 if gain is None else gain.half_width or 0 for gain in gains]
                    axes.bar(at, means, 0.25, color=_BY_PERCENTILE[percentile][0], label=f"p{percentile}")
                    axes.errorbar(at, means, widths, color="0.3", linewidth=1, capsize=2, linestyle="none")
                    paper = [published.get((queue, adjustment, percentile, measure), np.nan) for measure in MEASURES]
                    axes.plot(at, paper, "o", color="k", markerfacecolor="white", markersize=5, zorder=4)
                    known["paper"] = axes.lines[-1]
                axes.axhline(0, color="0.3", linewidth=1)
                axes.set_xticks(range(3), ["wait", "slowdown", "weighted"], fontsize=9)
                axes.set_title(f"{log.source.trace}, {queue.upper()}, {adjustment}", fontsize=10)
                axes.set_ylim(-42, 42)
                plain(axes)
            row[0].set_ylabel("improvement (%)")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(
            [*handles, *known.values()],
            [*labels, *known],
            loc="outside upper center",
            frameon=False,
            ncols=4,
            fontsize=9,
        )

    return as_svg((11.5, 2.7 * len(study.logs) + 0.4), draw)
