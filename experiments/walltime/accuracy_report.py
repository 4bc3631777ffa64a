"""The part of the report on walltime adjustment without simulation: Table 2, Fig. 1 to 11 and 13."""

from __future__ import annotations

from typing import Final

from experiments.published import walltime_spread
from experiments.walltime.accuracy import CATEGORIES, FLOORS, KEYS
from experiments.walltime.accuracy import PERCENTILES as ALL_PERCENTILES
from experiments.walltime.pictures import (
    draw_accuracy,
    draw_cumulative,
    draw_shares,
    draw_short,
    draw_tested,
    draw_use,
    window,
)
from experiments.walltime.results import Results
from gas.report.blocks import Cell, Column, Picture, Section, Table, Text, heads

__all__ = ["CATEGORIES_MEAN", "accuracy_sections"]

CATEGORIES_MEAN: Final = (
    "NA: not adjusted. OE: adjusted and long enough. UE: too short by less than 30 minutes. BE: too short by 30 "
    "minutes or more."
)
"""Short descriptions of the paper's categories; the section on method defines them."""


def accuracy_sections(study: Results) -> list[Section]:
    """Return the sections without simulation, in the order of the paper's figures."""
    return [part(study) for part in (_use, _spread, _accuracy, _categories, _windows, _cumulative)]


def _use(study: Results) -> Section:
    caption = (
        "Left: distribution of R, run time over request (Fig. 1; in the paper about 12% of the jobs are close to 1 and "
        "28% below 0.2). Right: mean R by quarter of submission (Fig. 2; in the paper 0.42 to 0.59, overall 0.50)."
    )
    if not any(study.use(log) for log in study.logs):
        return Section("Fig. 1 and 2: how much users overestimate", (Text("No log has requested walltimes."),))
    return Section("Fig. 1 and 2: how much users overestimate", (Picture("walltime-use", draw_use(study), caption),))


def _spread(study: Results) -> Section:
    rows: list[tuple[Cell | str, ...]] = []
    for row in walltime_spread():
        line: list[Cell | str] = [row.key.replace("+", ", "), f"{row.groups:,}", f"{row.deviation:.3f}"]
        for log in study.logs:
            use = study.use(log)
            found = next((one for one in use["spread"] if one["key"] == row.key), None) if use else None
            if found is None or found["mean"] is None:
                line += ["-"] * 4
            else:
                line += [f"{found['groups']:,}", *(f"{found[name]:.3f}" for name in ("mean", "by_jobs", "at_random"))]
        rows.append(tuple(line))
    columns = [Column("similar by", left=True), Column("groups", "paper"), Column("deviation", "paper")]
    columns += [
        Column(title, log.source.trace)
        for log in study.logs
        for title in ("groups", "deviation", "weighted by jobs", "groups at random")
    ]
    caption = (
        "Standard deviation of R within a group of similar jobs; mean over groups of at least ten jobs. “Groups at "
        "random”: groups of the same sizes, filled with random jobs; shows the effect of grouping alone. Only the "
        "order of the rows can be compared with the paper, since the logs differ and groups are not projects."
    )
    return Section("Table 2: how similar jobs vary", (Table(tuple(columns), tuple(rows), caption),))


def _accuracy(study: Results) -> Section:
    caption = (
        "Mean accuracy (Tang's equation 3) over the percentile, without a floor. Top: by key, with the whole history "
        "(Fig. 4). Below: by window, for the triple and the double key (Fig. 8). Dashed: users' requests."
    )
    rows: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for key in KEYS:
            for months in (1, None):
                for floor in FLOORS:
                    cells = [study.accuracy(log, key, months, percentile, floor) for percentile in ALL_PERCENTILES]
                    texts = ["-" if cell is None else f"{cell['accuracy']:.3f}" for cell in cells]
                    rows.append(
                        (
                            log.source.trace,
                            key.replace("+", ", "),
                            window(months),
                            str(floor) if floor else "none",
                            *texts,
                        )
                    )
    columns = list(heads("log", "similar by", "window", "floor", left=True))
    columns += [Column(f"p{percentile}", "mean accuracy") for percentile in ALL_PERCENTILES]
    return Section(
        "Fig. 4 and 8: accuracy by scheme",
        (
            Picture("walltime-accuracy", draw_accuracy(study), caption),
            Table(tuple(columns), tuple(rows), "Windows of one month and of all time; the CSV file has the others."),
        ),
    )


def _categories(study: Results) -> Section:
    caption = (
        f"Jobs by category, and mean accuracy, with the whole history. {CATEGORIES_MEAN} Triple key (Fig. 5 and 6) and "
        "double key (Fig. 7), without and with a floor of 0.5."
    )
    rows: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for key in KEYS[:1:-1]:
            for floor in FLOORS:
                for percentile in ALL_PERCENTILES:
                    cell = study.accuracy(log, key, None, percentile, floor)
                    if cell is None:
                        continue
                    shares = (f"{100 * cell[part] / cell['jobs']:.1f}%" for part in CATEGORIES)
                    name = key.replace("+", ", ")
                    rows.append((log.source.trace, name, str(floor) if floor else "none", f"p{percentile}", *shares))
    columns = list(heads("log", "similar by", "floor", "percentile", left=True))
    columns += [Column(part) for part in CATEGORIES]
    return Section(
        "Fig. 5, 6 and 7: jobs by category",
        (Picture("walltime-categories", draw_shares(study), caption), Table(tuple(columns), tuple(rows))),
    )


def _windows(study: Results) -> Section:
    caption = "Jobs whose adjusted walltime is too short, by window: BE (Fig. 9) and UE (Fig. 10), without a floor."
    return Section("Fig. 9 and 10: underestimates by window", (Picture("walltime-short", draw_short(study), caption),))


def _cumulative(study: Results) -> Section:
    caption = "Share of jobs up to each accuracy, before and after adjustment (Fig. 11); one month, floor 0.5."
    tested = "Mean accuracy by month: users' requests and the simulated schemes (Fig. 13)."
    return Section(
        "Fig. 11 and 13: accuracy before and after",
        (
            Picture("walltime-cumulative", draw_cumulative(study), caption),
            Picture("walltime-tested", draw_tested(study), tested),
        ),
    )
