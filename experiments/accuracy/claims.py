"""Statements on the largest error of a model with which Gas gains, by intervals over months."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Final

from experiments.accuracy.beliefs import VARIANTS, Plan
from experiments.accuracy.results import OWN, Measure, Results, fewer_lose, gain, killed, saved
from experiments.framework.claims import Claim, decided_once
from experiments.framework.verdicts import above, decided_claim

__all__ = ["claims"]

JUDGED: Final = (25, 100, 300)
"""The errors in statements."""

_TENTH: Final = 10.0
"""The percentage of runs that are expected to exceed their walltimes."""


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the statements; the paper asks the question and has no figures."""
    terms, found = study.options.terms, []
    measures: tuple[Measure, ...] = ("mean", "geometric mean")
    for variant in VARIANTS:
        found += [
            decided_claim(
                f"{variant}, error {error}%: with Gas the turn-around time is shorter than with the users' own "
                f"requests ({measure})",
                study.of_logs(terms, partial(gain, plan=Plan(variant, error, "gas"), measure=measure)),
                above(0),
            )
            for error in JUDGED
            for measure in measures
        ]
        worst = JUDGED[-1]
        found += [
            decided_claim(
                f"{variant}, error {JUDGED[1]}%: more than a tenth of Gas's requests are killed",
                study.of_logs(terms, partial(killed, plan=Plan(variant, JUDGED[1], "gas"))),
                above(_TENTH),
            ),
            decided_claim(
                f"{variant}, error {worst}%: fewer jobs lose with cautious requests",
                study.of_logs(terms, partial(fewer_lose, variant=variant, error=worst)),
                above(0),
                unit=" points",
            ),
            decided_claim(
                f"{variant}, error {worst}%: the mean turn-around time is shorter with cautious requests",
                study.of_logs(terms, partial(saved, variant=variant, error=worst)),
                above(0),
            ),
        ]
    for variant, error in product(VARIANTS if OWN in study.terms else (), JUDGED):
        found.append(
            decided_claim(
                f"{variant}, error {error}%: the same if users' own sizes are those of the replaced jobs (mean)",
                study.of_logs(OWN, partial(gain, plan=Plan(variant, error, "gas"), measure="mean")),
                above(0),
            )
        )
    return found
