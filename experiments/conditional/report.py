"""The report on conditional backfilling: who waits longer, and by how much."""

from __future__ import annotations

from experiments.conditional.claims import claims
from experiments.conditional.results import NOTICES, PERCENTS, Asking, Results
from experiments.conditional.run import GROUPS
from experiments.framework.claims import summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.group_picture import draw_changes
from experiments.framework.group_results import CHANGES, FEWEST, MONTH, Row, group_fields, spread
from experiments.framework.items import Compared, items_section
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import BY_INTERVALS
from gas.printable import many
from gas.report.blocks import Picture, Report, Section, not_the_full

__all__ = ["TABLES", "conditional_report"]

_ITEM = "Section 6.1: conditional backfilling"


def conditional_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    table = table_of(study.shown(), _COLUMNS, "± is half of a 90% interval over months.")
    sections = (
        Section("Who waits, and how much longer", (_picture(study), table)),
        summary_section(claims(study), caption=BY_INTERVALS),
        method_section("experiments.conditional", fewest=FEWEST),
        items_section("supercomputers", "conditional", {_ITEM: Compared((), claims=tuple(claims(study)))}, every=False),
        origin_section(study.logs, origin),
    )
    less = [*study.missing, *([] if study.options.others else ["larger shares were not simulated"])]
    return Report("Conditional backfilling: asking before a job moves", _lead(study), sections, not_the_full(less))


def _lead(study: Results) -> str:
    few = study.settings[0].percent
    months = {(run.log.name, run.month) for run in study.runs}
    promised, broken = study.broken()
    costs = "; with a notice of ".join(
        f"{words}, their mean turn-around time changes by {_spread(study, Asking(few, notice), 'asked')}, and the "
        f"mean of the others by {_spread(study, Asking(few, notice), 'others')}"
        for notice, words in NOTICES.items()
    )
    return (
        "S³ promises each job a start when it is submitted, and moves it to an earlier one when processors become "
        "free. A job that must start together with others elsewhere cannot simply be moved. S³ offers it the earlier "
        "start and holds both starts until the job has answered; the notice is the time to answer, and the job does "
        f"not start before this time is over (conditional backfilling). In {many(len(months), 'month')} of "
        f"{many(len(study.logs), 'log')}, if {few}% of the jobs have a notice of {costs} (by log). Of {promised:,} "
        f"promises in all simulations, {broken:,} were broken."
    )


def _spread(study: Results, asking: Asking, group: str) -> str:
    return spread(study.change(log, asking, group) for _, log in study.logs)


def _picture(study: Results) -> Picture:
    percents = [percent for percent in PERCENTS if any(one.percent == percent for one in study.settings)]
    caption = (
        "Change of the mean turn-around time of jobs with a notice and of those without, against the same jobs if no "
        "job has one. Lines are 90% intervals over months."
    )
    drawn = draw_changes(
        study,
        {words: [Asking(percent, notice) for percent in percents] for notice, words in NOTICES.items()},
        ("with a notice", "without"),
        ("jobs with a notice (%)", "change of the mean turn-around time (%)"),
    )
    return Picture("conditional-changes", drawn, caption)


_COLUMNS = (
    Shown[Row]("log", lambda row: row.log.source.trace, left=True),
    Shown[Row]("jobs with a notice", lambda row: str(row.setting), left=True),
    Shown[Row]("of", lambda row: {"asked": "these jobs", "others": "the others", "all": "all"}[row.group], left=True),
    *CHANGES,
)

TABLES = {
    "conditional-months": Records[Results](
        "a row for each month, share and notice, and group of jobs (asked or others); sums are over its jobs",
        Results.records,
        {
            "month": (
                *MONTH,
                Field("percent", "share of jobs that have a notice", "%"),
                Field("notice", "notice", "s"),
            ),
            **group_fields(GROUPS, "where no job has a notice"),
        },
    )
}
"""By the names of their files."""
