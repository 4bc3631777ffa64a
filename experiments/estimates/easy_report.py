"""Section of the report on EASY in other readings of the paper's algorithm, and their distance to Table 3."""

from __future__ import annotations

import numpy as np

from experiments.estimates.cells import APART, easy_off
from experiments.estimates.easy import EASY_READINGS, EasyReading
from experiments.estimates.results import EXACT, Results
from experiments.framework.logs import Found
from experiments.published import MEASURES, table3
from gas.intervals import Interval, sureness
from gas.report.blocks import Bullets, Cell, Column, Section, Table, Text, heads

__all__ = ["easy_section"]

_TEXT = (
    "The paper's section 2.2 does not say how the shadow time and the extra processors change after a job is "
    "backfilled. This may explain means that differ from the paper's under EASY but not under conservative "
    "backfilling. EASY was therefore simulated in each reading below, by a separate program; in the first reading it "
    "starts every job when the simulator of the other sections does (a test compares them). Each seed shifts "
    "submissions by up to a minute at random, because a single schedule depends on chance. Root mean squares are over "
    "the users' estimates and all factors f."
)


def easy_section(study: Results) -> Section | None:
    """Return the section; None if no reading was run."""
    logs = [log for log in study.logs if study.easy(log, EASY_READINGS[0].name)]
    if not logs:
        return None
    found = {(log, reading): _offs(study, log, reading) for reading in EASY_READINGS for log in logs}
    rows: list[tuple[Cell | str, ...]] = []
    for (log, reading), offs in found.items():
        line: list[Cell | str] = [reading.name, log.source.trace]
        for measure in ("slowdown", "response"):
            of = offs[measure]
            line += [f"{of[None].text(1)}%", f"{of[EXACT.factor].text(1)}%", f"{_typical(of):.1f}%"]
        rows.append(tuple(line))
    columns = [Column("reading", left=True), Column("trace", left=True)]
    for group in ("mean bounded slowdown, off by", "mean response, off by"):
        columns += heads("users' estimates", "exact (f = 1)", "root mean square", group=group)
    slowdowns = {one: [found[log, one]["slowdown"] for log in logs] for one in EASY_READINGS}
    overall = {one: float(np.sqrt(np.mean([_typical(of) ** 2 for of in offs]))) for one, offs in slowdowns.items()}
    nearest = min(overall, key=lambda one: overall[one])
    lines = [
        f"Nearest to the paper's slowdowns, over all logs: {nearest.name} (root mean square {overall[nearest]:.1f}%; "
        f"{EASY_READINGS[0].name}: {overall[EASY_READINGS[0]]:.1f}%).",
        _by_one(found, logs),
        *_by_none(found, logs),
    ]
    caption = f"Differences of our means from the paper's, in per cent. {sureness(study.options.seeds)}"
    return Section(
        "Table 3: EASY in other readings",
        (Text(_TEXT), Table(tuple(columns), tuple(rows), caption), Bullets(tuple(lines))),
    )


_Offs = dict[int | None, Interval]


def _offs(study: Results, log: Found, reading: EasyReading) -> dict[str, _Offs]:
    """Return for each measure by how many per cent each mean exceeds the paper's, by factor."""
    found: dict[str, _Offs] = {measure: {} for measure in MEASURES}
    for row in table3():
        if (row.trace, row.policy) == (log.source.trace, "easy"):
            off = easy_off(study, log, reading, row.measure, row.factor, row.mean)
            if off is not None:
                found[row.measure][row.factor] = off
    return found


def _typical(offs: _Offs) -> float:
    return float(np.sqrt(np.mean([off.mean**2 for off in offs.values()])))


def _by_one(found: dict[tuple[Found, EasyReading], dict[str, _Offs]], logs: list[Found]) -> str:
    """Return the readings in which every mean under users' estimates is close to the paper's: the possible causes."""
    close = [
        reading.name
        for reading in EASY_READINGS
        if all(abs(offs[None].mean) <= APART for log in logs for offs in found[log, reading].values())
    ]
    those = "; ".join(close) or "none, so no reading alone is the cause"
    return f"Readings that bring every mean under users' estimates within {APART:g}% of the paper's: {those}."


def _by_none(found: dict[tuple[Found, EasyReading], dict[str, _Offs]], logs: list[Found]) -> list[str]:
    """Return cases where all readings deviate in the same direction even with exact estimates: none is the cause."""
    lines = []
    for log in logs:
        for measure, words in (("slowdown", "slowdown"), ("response", "response")):
            offs = [found[log, reading][measure][EXACT.factor].mean for reading in EASY_READINGS]
            if min(offs) > APART or max(offs) < -APART:
                lines.append(
                    f"{log.source.trace}, mean {words}: every reading is off by {min(offs):+.1f} to {max(offs):+.1f}% "
                    "with exact estimates, so neither the reading nor the estimates are the cause. The version of the "
                    "log remains (not tested)."
                )
    return lines
