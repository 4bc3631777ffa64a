"""Logs without figures in the paper: the effects of other estimates on them, as in Tables 3 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.estimates.claims import LOST, changed, estimates
from experiments.estimates.results import DOUBLED, EXACT, USERS, Change, Results, Terms, uniform
from experiments.framework.columns import Shown, table_of
from experiments.framework.logs import Found
from experiments.published import FACTORS, MEANS, MEASURES, POLICIES, SCHEMES, Measure
from gas.intervals import Interval
from gas.report.blocks import Section, Text

__all__ = ["OwnMean", "own_means", "own_section"]


@dataclass(frozen=True)
class OwnMean:
    """A mean over all jobs of a log under some estimates, and its change."""

    log: Found
    terms: Terms
    measure: Measure
    policy: str
    mean: Interval
    change: Change | None
    """Change from exact estimates; for twice the users' estimates, from the users' own; None for exact estimates."""

    @property
    def named(self) -> str:
        """The estimates, in words."""
        return "users', doubled" if self.terms == DOUBLED else estimates(self.terms.factor)


def own_means(study: Results) -> list[OwnMean]:
    """Return the means of each log without figures in the paper, by estimates, measure and policy."""
    against = {USERS: EXACT, **{uniform(f): EXACT for f in FACTORS}, DOUBLED: USERS}
    return [
        OwnMean(
            log, terms, measure, policy, mean,
            study.change(log, policy, measure, before, terms) if terms != before else None,
        )
        for log in study.own_logs
        for terms, before in against.items()
        for measure in MEASURES
        for policy in POLICIES
        if (mean := study.mean(log, policy, measure, terms)) is not None
    ]  # fmt: skip


_COLUMNS: Sequence[Shown[OwnMean]] = (
    Shown("log", lambda row: row.log.source.trace, left=True),
    Shown("estimates", lambda row: row.named, left=True),
    Shown("measure", lambda row: MEANS[row.measure], left=True),
    Shown("policy", lambda row: SCHEMES[row.policy], left=True),
    Shown("mean", lambda row: row.mean.text(0 if row.measure == "response" else 2)),
    Shown("change", lambda row: "" if row.change is None else changed(row.change)),
)


def own_section(study: Results) -> Section | None:
    """Return the section; None if there are no such logs."""
    rows = own_means(study)
    if not rows:
        return None
    text = (
        "Logs of which the paper has no figures. Changes are from exact estimates (f = 1); those of doubled estimates "
        "are from users' own, with jobs killed at their original estimate in both. In brackets: with a 90% interval "
        "over months."
    )
    for log in study.own_logs:
        if (lost := study.run_time_lost(log)) > LOST:
            text += (
                f" {log.source.trace}: jobs are killed at users' estimates and lose {lost:.0%} of their run time, so "
                "that changes from exact estimates to these are not of estimates alone."
            )
    return Section("Other logs: means by estimates", (Text(text), table_of(rows, _COLUMNS)))
