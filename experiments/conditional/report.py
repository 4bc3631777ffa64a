"""The report on conditional backfilling: who waits longer, and by how much."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.conditional.claims import claims
from experiments.conditional.pictures import draw_changes
from experiments.conditional.results import FEWEST, NOTICES, Asking, Results
from experiments.conditional.run import GROUPS
from experiments.framework.claims import summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.logs import Found
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import BY_INTERVALS, LEVEL, Part
from gas.printable import many
from gas.report.blocks import Picture, Report, Section, Table, not_the_full

__all__ = ["TABLES", "conditional_report"]


def conditional_report(study: Results, origin: Origin) -> Report:
    """Return the report; the same study of the same origin gives the same bytes."""
    sections = (
        Section("Who waits, and how much longer", (_picture(study), _table(study))),
        summary_section(claims(study), caption=BY_INTERVALS),
        method_section("experiments.conditional", fewest=FEWEST),
        origin_section(study.logs, origin),
    )
    less = [*study.missing, *([] if study.options.others else ["larger shares were not simulated"])]
    return Report("Asked before they are moved", _lead(study), sections, not_the_full(less))


def _lead(study: Results) -> str:
    few = study.settings[0].percent
    months = {(run.log.name, run.month) for run in study.runs}
    promised, broken = study.broken()
    costs = "; with one of ".join(
        f"{words}, the mean turn-around time of these changes by {_spread(study, Asking(few, notice), 'asked')}, and "
        f"that of the others by {_spread(study, Asking(few, notice), 'others')}"
        for notice, words in NOTICES.items()
    )
    return (
        "S³ promises each job a start when it is submitted, and moves it to an earlier one when processors become "
        "free. A job that must start together with others elsewhere cannot just be moved: it is offered the earlier "
        "start, keeps its own until it has answered, and has a notice, a time to answer, before which it does not "
        f"start (conditional backfilling). In {many(len(months), 'month')} of {many(len(study.logs), 'log')}, where "
        f"{few}% of the jobs have a notice of {costs} (by log). Of {promised:,} promises in all simulations, "
        f"{broken:,} were "
        "broken."
    )


def _spread(study: Results, asking: Asking, group: str) -> str:
    found = [study.change(log, asking, group)(LEVEL) for _, log in study.logs]
    means = sorted(one.mean for one in found if one is not None)
    if not means:
        return "an unknown part"
    low, high = (f"{round(mean):+d}%".replace("-", "−") for mean in (means[0], means[-1]))
    return low if low == high else f"{low} to {high}"


def _picture(study: Results) -> Picture:
    found = {
        (log.source.trace, asking, group): value
        for _, log in study.logs
        for asking in study.settings
        for group in GROUPS
        if (value := study.change(log, asking, group)(LEVEL)) is not None
    }
    logs = [log.source.trace for _, log in study.logs]
    percents = sorted({one.percent for one in study.settings})
    caption = (
        "Change of the mean turn-around time of jobs with a notice and of those without, against the same jobs when "
        "none is asked. Lines are 90% intervals over months."
    )
    return Picture("conditional-changes", draw_changes(logs, percents, found), caption)


@dataclass(frozen=True)
class _Row:
    study: Results
    log: Found
    asking: Asking
    group: str

    def change(self, what: str) -> str:
        return _shown(self.study.change(self.log, self.asking, self.group, what))

    def part(self, what: str) -> str:
        return _shown(self.study.part(self.log, self.asking, self.group, what))


def _shown(part: Part) -> str:
    found = part(LEVEL)
    return "" if found is None else found.text(1)


_COLUMNS = (
    Shown[_Row]("log", lambda row: row.log.source.trace, left=True),
    Shown[_Row]("jobs with a notice", lambda row: str(row.asking), left=True),
    Shown[_Row]("of", lambda row: {"asked": "these", "others": "the others", "all": "all"}[row.group], left=True),
    Shown[_Row]("mean turn-around", lambda row: row.change("turnaround"), "change (%)"),
    Shown[_Row](
        "geometric mean", lambda row: _shown(row.study.geometric_change(row.log, row.asking, row.group)), "change (%)"
    ),
    Shown[_Row]("mean wait", lambda row: row.change("wait"), "change (%)"),
    Shown[_Row]("later", lambda row: row.part("later"), "jobs, by more than a minute (%)"),
    Shown[_Row]("sooner", lambda row: row.part("sooner"), "jobs, by more than a minute (%)"),
)


def _table(study: Results) -> Table:
    rows = (
        _Row(study, log, asking, group)
        for _, log in study.logs
        for asking in study.settings
        for group in (("asked", "others", "all") if asking.percent < 100 else ("all",))
    )
    return table_of(rows, _COLUMNS, "± is half of a 90% interval over months.")


def _months(study: Results) -> Iterable[dict[str, object]]:
    for run, result in study.pairs:
        about = {"log": run.site.trace, "month": run.month, "seed": run.seed}
        for one in result["settings"]:
            of = {**about, "percent": one["percent"], "notice": one["notice"]}
            for group in GROUPS:
                sums = {("log_sum" + key[3:] if key.startswith("log") else key): one[group][key] for key in one[group]}
                yield {**of, "group": group, "broken": one["broken"], "broken_before": result["broken"], **sums}


TABLES = {
    "conditional-months": Records[Results](
        "a row for each month, share and notice, and group of jobs; sums are over its jobs",
        _months,
        {
            "month": (
                Field("log", "log (the paper's name)"),
                Field("month", "month of submission"),
                Field("seed", "random seed of which jobs have a notice"),
                Field("percent", "share of jobs that have a notice", "%"),
                Field("notice", "notice", "s"),
            ),
            "all jobs of the simulation": (
                Field("broken", "jobs that started later than they were promised"),
                Field("broken_before", "the same when none is asked"),
            ),
            "group": (
                Field("group", "asked (jobs with a notice) or others"),
                Field("jobs", "number of jobs"),
                Field("turnaround", "sum of turn-around times", "s"),
                Field("turnaround_before", "the same when none is asked", "s"),
                Field("wait", "sum of waits", "s"),
                Field("wait_before", "the same when none is asked", "s"),
                Field("log_sum", "sum of natural logarithms of turn-around times in seconds"),
                Field("log_sum_before", "the same when none is asked"),
                Field("later", "jobs that end more than a minute later than when none is asked"),
                Field("sooner", "jobs that end more than a minute sooner"),
            ),
        },
    )
}
"""By the names of their files."""
