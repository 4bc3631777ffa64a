"""The part of the report on logs of which the paper has no figures, in the form of its Tables 1 and 4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from experiments.backfilling.comparison import difference
from experiments.backfilling.models_report import figure
from experiments.backfilling.own import OwnMonth, from_easy, own_months
from experiments.backfilling.results import DOUBLED, Results
from experiments.framework.columns import Shown, table_of
from experiments.framework.logs import Found
from experiments.framework.verdicts import LEVEL
from experiments.published import MEASURES, TITLES, Difference, Measure
from gas.intervals import signed
from gas.report.blocks import Section, Text

__all__ = ["own_section"]


class _Whole(NamedTuple):
    """A measure of all jobs of a log, under some rules."""

    log: Found
    measure: Measure
    rules: str
    means: Difference
    apart: str
    """The difference with its interval over months."""


def _wholes(study: Results) -> list[_Whole]:
    found = []
    for log in study.own_logs:
        for measure in MEASURES:
            for variant in study.variants(log):
                overall = study.result(log, variant.name)["overall"]
                means = difference(overall, measure) if overall else None
                part = from_easy(study, log, measure, variant.name)
                if means and part and (apart := part(LEVEL)):
                    found.append(_Whole(log, measure, variant.name, means, f"{signed(apart, 1)}%"))
    return found


def _mean(policy: str) -> Callable[[_Whole], str]:
    return lambda row: figure(getattr(row.means, policy), row.measure)


_WHOLE: Sequence[Shown[_Whole]] = (
    Shown("log", lambda row: row.log.source.trace, left=True),
    Shown("measure", lambda row: TITLES[row.measure], left=True),
    Shown("rules", lambda row: row.rules or "as for the paper's logs", left=True),
    Shown("EASY", _mean("easy")),
    Shown("conservative", _mean("conservative")),
    Shown("difference", lambda row: row.apart),
)

_MONTHS: Sequence[Shown[OwnMonth]] = (
    Shown("log", lambda row: row.log.source.trace, left=True),
    Shown("measure", lambda row: TITLES[row.measure], left=True),
    Shown("month", lambda row: row.figures["month"], left=True),
    Shown("jobs", lambda row: f"{row.figures['jobs']:,}"),
    Shown("load", lambda row: f"{row.figures['load']:.3f}"),
    Shown("EASY", lambda row: figure(row.ours.easy, row.measure)),
    Shown("conservative", lambda row: figure(row.ours.conservative, row.measure)),
    Shown("difference", lambda row: f"{row.ours.percent:+.1f}%"),
    Shown("±", lambda row: "-" if row.half_width is None else f"{row.half_width:.1f}"),
)


def own_section(study: Results) -> Section | None:
    """Return the section; None without such logs."""
    rows = _wholes(study)
    if not rows:
        return None
    text = (
        "Logs of which the paper has no figures. The difference is that of conservative from EASY. Means over all jobs "
        f"have 90% intervals over months, those of a month half a 90% interval (±) over days. With “{DOUBLED}”, jobs "
        "are still killed at their original estimate."
    )
    return Section("Other logs", (Text(text), table_of(rows, _WHOLE), table_of(own_months(study), _MONTHS)))
