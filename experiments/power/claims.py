"""Statements of the Gas paper on one moldable job in a log, with their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.claims import Claim, decided_once
from experiments.framework.verdicts import Part, above, below, decided, decided_claim
from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.months import Outcomes, Results
from experiments.moldable.terms import Terms, perfect
from experiments.published import PAPER_LOSES
from gas.intervals import jackknife_by_months, share_by_months
from gas.printable import many

__all__ = ["FIGURES", "claims", "gain", "lower_with_gas", "survivors"]

FIGURES: Final = "Fig. 5.2 to 5.8"
"""The item of the paper that its statements on improvement factors belong to."""


def gain(outcomes: Outcomes) -> float:
    """Return the ratio of mean turn-around times, static requests to Gas; 0 if there are none."""
    return float(outcomes.static.mean() / max(outcomes.gas.mean(), 1.0)) if len(outcomes) else 0.0


@decided_once
def claims(study: Results, terms: Terms | None = None) -> list[Claim]:
    """Return the statements of the paper's section 5.2 with their verdicts, by default on the study's own terms."""
    terms = study.options.terms if terms is None else terms
    logs = [(site.trace, study.outcomes(terms, trace=site.trace)) for site, _ in study.logs]
    of_groups = [(group, study.outcomes(terms, group=group)) for group in GROUPS]
    logs, of_groups = ([one for one in some if len(one[1]) > 1] for some in (logs, of_groups))
    parts, where = logs + of_groups, _where([name for name, _ in logs], len(of_groups))
    found = [
        _below(f"the mean turn-around time of Gas's requests is below that of static requests {where}", parts, np.mean),
        _below(f"the standard deviation of turn-around times is lower with Gas {where}", parts, np.std),
        _free_gain_more(study, terms),
    ]
    if terms == study.options.terms:
        found += [_loses(study), _perfect(study)]
    return found


def _where(logs: Sequence[str], groups: int) -> str:
    """Return in words the parts for which a statement is judged: one log by its name, several by their number."""
    of_logs = f"on {logs[0]}" if len(logs) == 1 else f"on each of {many(len(logs), 'log')}"
    return f"{of_logs} and under " + (
        "1 constraint on sizes" if groups == 1 else f"each of {groups} constraints on sizes"
    )


def _below(text: str, parts: list[tuple[str, Outcomes]], measure: Callable[[NDArray[np.int64]], Any]) -> Claim:
    found = {name: _ratio(of, measure) for name, of in parts}
    claim = decided_claim(text, found, below(1), digits=2, unit="")
    return replace(claim, here=f"ratio: {claim.here}") if parts else claim


def _ratio(of: Outcomes, measure: Callable[[NDArray[np.int64]], Any]) -> Part:
    """Return a measure of turn-around times with Gas's requests, divided by that with static requests."""

    def ratio(kept: NDArray[np.bool_]) -> float:
        return float(measure(of.gas[kept])) / max(float(measure(of.static[kept])), 1e-9)

    return lambda level: jackknife_by_months(ratio, of.months, level=level)


def lower_with_gas(of: Outcomes, measure: Callable[[NDArray[np.int64]], Any]) -> bool | None:
    """Return whether a measure of turn-around times is lower with Gas's requests; None if that is not resolved."""
    return decided({"": _ratio(of, measure)}, below(1))


def _free_gain_more(study: Results, terms: Terms) -> Claim:
    gains = {group: gain(found) for group in GROUPS if len(found := study.outcomes(terms, group=group))}
    text = "benchmarks that accept any number of processors gain more than the others"
    if len(gains) < 2 or "any" not in gains:
        return Claim(text, None, "not all classes of benchmarks were run")
    every = study.outcomes(terms)
    of = np.array([next(group for group in gains if row["benchmark"] in GROUPS[group]) for row in every.rows])

    def against(group: str) -> Part:
        def advantage(kept: NDArray[np.bool_]) -> float:
            sums = [
                every.static[kept & (of == one)].sum() / max(every.gas[kept & (of == one)].sum(), 1)
                for one in ("any", group)
            ]
            return float(np.log(max(sums[0], 1e-9)) - np.log(max(sums[1], 1e-9)))

        return lambda level: jackknife_by_months(advantage, every.months, level=level)

    holds = decided({group: against(group) for group in gains if group != "any"}, above(0))
    here = ", ".join(f"{group} {value:.1f} times" for group, value in gains.items())
    return Claim(text, holds, here, FIGURES, untested="not resolved")


def _loses(study: Results) -> Claim:
    text = f"Gas's request ends later than the static one in {PAPER_LOSES}% of the runs"
    found = study.outcomes()
    if not len(found):
        return Claim(text, None, "")
    lost = share_by_months(found.loses, found.months)
    of_logs = [(site.trace, study.outcomes(trace=site.trace)) for site, _ in study.logs]
    each = ", ".join(f"{name} {share_by_months(of.loses, of.months).text(1)}%" for name, of in of_logs if len(of))
    return Claim(text, None, f"{lost.text(1)}% ({each})", FIGURES, reported=True)  # the paper sets no tolerance


def _perfect(study: Results) -> Claim:
    text = "if walltimes equal run times, Gas never loses and always chooses the best size"
    found = study.outcomes(perfect(study.options.terms))
    if not len(found):
        return Claim(text, None, "not run")
    worst: NDArray[np.int64] = found.regret
    holds = bool((worst == 0).all() and not found.loses.any())
    return Claim(
        text, holds, f"{len(found):,} runs: {int((worst > 0).sum())} with regret, {int(found.loses.sum())} lost"
    )


def survivors(study: Results) -> list[tuple[Terms, Sequence[Claim]]]:
    """Return the statements with their verdicts on each of the other terms."""
    return [(terms, claims(study, terms)) for terms in study.terms if terms != study.options.terms]
