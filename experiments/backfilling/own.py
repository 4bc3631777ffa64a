"""Logs without figures in the paper: results of both schemes, and the paper's statements judged on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments.backfilling.comparison import difference
from experiments.backfilling.results import BASE, DOUBLED, Results
from experiments.framework.claims import Claim, decided_once
from experiments.framework.logs import Found
from experiments.framework.verdicts import LEVEL, Part, below, decided_claim, of_error, of_sums, scaled
from experiments.published import MEANS, MEASURES, POLICIES, SCHEMES, Difference, Measure

__all__ = ["OwnMonth", "from_easy", "own_claims", "own_months"]


@dataclass(frozen=True)
class OwnMonth:
    """A measure of one month of a log."""

    log: Found
    measure: Measure
    figures: Mapping[str, Any]
    """Figures of the month, see `experiments.backfilling.run.log_run`."""
    ours: Difference

    @property
    def half_width(self) -> float | None:
        """Half of the 90% interval of the difference in per cent, over days; None if there is none."""
        error = self.figures["error"]["difference"][self.measure] / self.ours.easy * 100
        found = of_error(self.ours.percent, error, self.figures["days"])(LEVEL)
        return found.half_width if found else None


def own_months(study: Results) -> list[OwnMonth]:
    """Return the months of each log of which the paper has no figures, under the study's own rules."""
    return [
        OwnMonth(log, measure, month, ours)
        for log in study.own_logs
        for measure in MEASURES
        for month in study.result(log)["months"]
        if (ours := difference(month, measure)) is not None
    ]


def from_easy(study: Results, log: Found, measure: Measure, variant: str = BASE) -> Part | None:
    """Return by how many per cent conservative's mean over all jobs is above EASY's; None where no job ran."""
    return _change(study, log, measure, ("conservative", variant), ("easy", variant))


def _change(
    study: Results, log: Found, measure: Measure, then: tuple[str, str], before: tuple[str, str]
) -> Part | None:
    """Return a change in per cent from one scheme under some rules to another, with intervals over months."""
    sums, bases = (study.sums_of([log], policy, measure, variant) for policy, variant in (then, before))
    return None if sums is None or bases is None else scaled(of_sums(sums, bases), 100, -100)


@decided_once
def own_claims(study: Results) -> list[Claim]:
    """Return what the paper says of both schemes, judged on each log of which it has no figures."""
    found = []
    for log in study.own_logs:
        apart = {MEANS[measure]: from_easy(study, log, measure) for measure in MEASURES}
        doubled = {
            f"{SCHEMES[policy]} {MEANS[measure]}": _change(study, log, measure, (policy, DOUBLED), (policy, BASE))
            for policy in POLICIES
            for measure in MEASURES
        }
        for text, parts in (
            ("both means are lower under conservative than under EASY", apart),
            ("doubling users' estimates lowers each mean", doubled),
        ):
            known = {name: part for name, part in parts.items() if part is not None}
            claim = decided_claim(f"{log.source.trace}: {text}", known, below(0))
            found.append(replace(claim, where="other logs"))
    return found
