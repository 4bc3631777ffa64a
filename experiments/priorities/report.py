"""The report on classes of jobs in S³: the gain of the higher class, and the loss of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from experiments.framework.claims import Claim, decided_once, summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.group_picture import draw_changes
from experiments.framework.group_results import (
    CHANGES,
    FEWEST,
    MONTH,
    GroupResults,
    GroupRun,
    Row,
    group_fields,
    group_runs,
    spread,
)
from experiments.framework.items import Compared, items_section
from experiments.framework.logs import Found
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.results import Seeded
from experiments.framework.verdicts import BY_INTERVALS, Part, Test, above, below, between, decided_claim
from experiments.priorities.run import GROUPS
from gas.printable import many
from gas.report.blocks import Picture, Report, Section, not_the_full

__all__ = ["PERCENTS", "TABLES", "Results", "Share", "claims", "month_runs", "priorities_report"]

PERCENTS: Final = (10, 25, 50)
"""Percentages of urgent jobs."""

_ITEM: Final = "Section 6.1: priorities"


@dataclass(frozen=True)
class Share:
    """The share of urgent jobs."""

    percent: int


def month_runs(options: Seeded, logs: Sequence[Found]) -> tuple[list[GroupRun], list[str]]:
    """Return all runs of the study with the available logs, and the omitted months with reasons."""
    return group_runs(options, [Share(percent) for percent in PERCENTS], logs)


class Results(GroupResults):
    """All runs and their results, in the same order."""

    groups = GROUPS


@decided_once
def claims(study: Results) -> Sequence[Claim]:
    """Return the claims about promises, urgent jobs, all other jobs, and all jobs."""
    few, most = study.settings[0], study.settings[-1]

    def one(text: str, share: Share, group: str, test: Test, what: str = "turnaround") -> Claim:
        parts: dict[str, Part] = {
            log.source.trace: study.part(log, share, group, what)
            if what == "later"
            else study.change(log, share, group, what)
            for _, log in study.logs
        }
        return decided_claim(text.format(percent=share.percent), parts, test)

    return [
        study.promises(),
        one("If {percent}% of the jobs are urgent, their mean wait falls by more than half.", few, "urgent",
            below(-50), "wait"),
        one("If {percent}% of the jobs are urgent, the mean turn-around time of the others rises.", few, "others",
            above(0)),
        one("If {percent}% of the jobs are urgent, fewer than 20% of the others end more than a minute later.", few,
            "others", below(20), "later"),
        one("If {percent}% of the jobs are urgent, their mean turn-around time falls.", most, "urgent", below(0)),
        one("If {percent}% of the jobs are urgent, the mean turn-around time of all jobs changes by at most 5%.",
            most, "all", between(-5, 5)),
    ]  # fmt: skip


def priorities_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    table = table_of(study.shown(), _COLUMNS, "± is half of a 90% interval over months.")
    sections = (
        Section("Who gains, and who pays", (_picture(study), table)),
        summary_section(claims(study), caption=BY_INTERVALS),
        method_section("experiments.priorities", fewest=FEWEST),
        items_section("supercomputers", "priorities", {_ITEM: Compared((), claims=tuple(claims(study)))}, every=False),
        origin_section(study.logs, origin),
    )
    less = [*study.missing, *([] if study.options.others else ["larger shares were not simulated"])]
    return Report("Job classes that keep all promises", _lead(study), sections, not_the_full(less))


def _lead(study: Results) -> str:
    few = study.settings[0]
    months = {(run.log.name, run.month) for run in study.runs}
    promised, broken = study.broken()

    def means(group: str, what: str) -> str:
        return spread(study.change(log, few, group, what) for _, log in study.logs)

    return (
        "S³ promises each job a start when it is submitted. When earlier starts become free, urgent jobs (those of a "
        "higher class) move first. No promise is broken for them: they only gain starts that no job was promised. "
        f"In {many(len(months), 'month')} of {many(len(study.logs), 'log')}, if {few.percent}% of the jobs are "
        f"urgent, their mean wait changes by {means('urgent', 'wait')} (by log), and that of the others by "
        f"{means('others', 'wait')}. Of {promised:,} promises in all simulations, {broken:,} were broken."
    )


def _picture(study: Results) -> Picture:
    drawn = draw_changes(
        study,
        {"": study.settings},
        ("urgent", "others"),
        ("urgent jobs (%)", "change of the mean wait (%)"),
        what="wait",
    )
    caption = (
        "Change of the mean wait of urgent jobs and of the others, against the same jobs where all are of one class. "
        "Lines are 90% intervals over months."
    )
    return Picture("priorities-changes", drawn, caption)


_COLUMNS = (
    Shown[Row]("log", lambda row: row.log.source.trace, left=True),
    Shown[Row]("urgent jobs (%)", lambda row: str(row.setting.percent)),
    Shown[Row]("of", lambda row: {"urgent": "urgent jobs", "others": "the others", "all": "all"}[row.group], left=True),
    *CHANGES,
)

TABLES = {
    "priorities-months": Records[Results](
        "a row for each month, share, and group of jobs (urgent or others); sums are over its jobs",
        Results.records,
        {
            "month": (*MONTH, Field("percent", "share of urgent jobs", "%")),
            **group_fields(GROUPS, "where all jobs are of one class"),
        },
    )
}
"""By the names of their files."""
