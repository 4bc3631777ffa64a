"""The part of the report on walltime adjustment that needs no simulation: Table 2, Fig. 1 to 11 and 13."""

from __future__ import annotations

from typing import Final

from experiments.framework.report import Cell, Column, Picture, Section, Table, Text, heads
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

__all__ = ["CATEGORIES_MEAN", "accuracy_sections"]

CATEGORIES_MEAN: Final = (
    "NA: not adjusted. OE: adjusted and long enough. UE: too short by less than 30 minutes. BE: too short by 30 "
    "minutes or more."
)
"""What the paper's categories of jobs are, in few words; how it was done says more."""


def accuracy_sections(study: Results) -> list[Section]:
    """Return what the logs show by themselves, in the order of the paper's figures."""
    return [part(study) for part in (_use, _spread, _accuracy, _categories, _windows, _cumulative)]


def _use(study: Results) -> Section:
    caption = (
        "Left: how R is distributed (Fig. 1; the paper has about 12% close to 1, and 28% below 0.2). Right: its mean "
        "by quarter of the submission (Fig. 2; the paper's 0.42 to 0.59, all 0.50)."
    )
    if not any(study.use(log) for log in study.logs):
        return Section("Fig. 1 and 2: how much users overestimate", (Text("No log says what was asked for."),))
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
        "The mean over groups of at least ten jobs of the standard deviation of R. “Groups at random”: the same sizes, "
        "the jobs shuffled: what the division alone does. Numbers differ as the log does, and groups are not projects; "
        "the order of the rows is what can be compared."
    )
    return Section("Table 2: how alike similar jobs are", (Table(tuple(columns), tuple(rows), caption),))


def _accuracy(study: Results) -> Section:
    caption = (
        "Mean accuracy (Tang's equation 3) over the percentile; above: by key, with all ended jobs (Fig. 4); below: by "
        "window, for the triple and the double key (Fig. 8). No floor; the dashed line is that of the users' requests."
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
            Table(tuple(columns), tuple(rows), "One month and all; the other windows are in the CSV file."),
        ),
    )


def _categories(study: Results) -> Section:
    caption = (
        f"Jobs by category, and mean accuracy. {CATEGORIES_MEAN} All ended jobs; triple key (Fig. 5 and 6) and double "
        "key (Fig. 7), without and with a floor of 0.5."
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
    caption = "Jobs too short by 30 minutes or more (BE, Fig. 9) and by less (UE, Fig. 10), by window; no floor."
    return Section("Fig. 9 and 10: underestimates by window", (Picture("walltime-short", draw_short(study), caption),))


def _cumulative(study: Results) -> Section:
    caption = "How many jobs are at most so accurate, before and after adjustment (Fig. 11); one month, floor 0.5."
    tested = "Mean accuracy by month of the users' requests and of the schemes that were simulated (Fig. 13)."
    return Section(
        "Fig. 11 and 13: accuracy before and after",
        (
            Picture("walltime-cumulative", draw_cumulative(study), caption),
            Picture("walltime-tested", draw_tested(study), tested),
        ),
    )
