"""What the Gas paper says of one moldable job in the system, and whether it holds here."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments.framework.claims import Claim
from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.months import Outcomes, Results
from experiments.moldable.terms import Terms, perfect
from experiments.published import PAPER_LOSES
from gas.intervals import interval

__all__ = ["claims", "gain", "survivors"]


def gain(outcomes: Outcomes) -> float:
    """Return how many times as long static requests take as Gas's, in the mean; 0 where there are none."""
    return float(outcomes.static.mean() / max(outcomes.gas.mean(), 1.0)) if len(outcomes) else 0.0


def claims(study: Results, terms: Terms | None = None) -> list[Claim]:
    """Return the statements of the paper's section 5.2, each with its verdict on some terms (the study's own)."""
    terms = study.options.terms if terms is None else terms
    parts = [(site.trace, study.outcomes(terms, trace=site.trace)) for site, _ in study.logs]
    parts += [(group, study.outcomes(terms, group=group)) for group in GROUPS]
    parts = [(name, found) for name, found in parts if len(found) > 1]
    found = [
        _below("Gas's mean turn-around time is below static's in every log and class", parts, np.mean),
        _below(
            "the standard deviation of Gas's turn-around times is below static's, too", parts, partial(np.std, ddof=1)
        ),
        _free_gain_more(study, terms),
    ]
    if terms == study.options.terms:
        found += [_loses(study), _perfect(study)]
    return found


def _below(text: str, parts: list[tuple[str, Outcomes]], measure: object) -> Claim:
    assert callable(measure)
    figures = [(name, measure(found.gas), measure(found.static)) for name, found in parts]
    here = "; ".join(f"{name} {gas:,.0f} against {static:,.0f}" for name, gas, static in figures)
    return Claim(text, all(gas < static for _, gas, static in figures) if figures else None, here)


def _free_gain_more(study: Results, terms: Terms) -> Claim:
    gains = {group: gain(found) for group in GROUPS if len(found := study.outcomes(terms, group=group))}
    text = "benchmarks that accept any number of processors gain more than the others"
    if len(gains) < 2 or "any" not in gains:
        return Claim(text, None, "not every class took part")
    others = max(value for group, value in gains.items() if group != "any")
    here = ", ".join(f"{group} {value:.1f} times" for group, value in gains.items())
    return Claim(text, gains["any"] > others, here)


def _loses(study: Results) -> Claim:
    text = f"Gas does worse than static in {PAPER_LOSES}% of the runs"
    of_seeds = [study.outcomes(seed=seed) for seed in study.seeds]
    shares = [100 * float(found.loses.mean()) for found in of_seeds if len(found)]
    if not shares:
        return Claim(text, None, "")
    found = interval(shares)
    return Claim(text, None, f"{found.text(1)}%")  # a figure to look at: nothing says how near is near


def _perfect(study: Results) -> Claim:
    text = "with the run times as estimates Gas never loses, and no other size was better in hindsight"
    found = study.outcomes(perfect(study.options.terms))
    if not len(found):
        return Claim(text, None, "not run")
    worst: NDArray[np.int64] = found.regret
    holds = bool((worst == 0).all() and not found.loses.any())
    return Claim(
        text, holds, f"{len(found):,} runs, {int((worst > 0).sum())} with regret, {int(found.loses.sum())} lost"
    )


def survivors(study: Results) -> list[tuple[Terms, list[Claim]]]:
    """Return which statements hold on the other terms."""
    return [(terms, claims(study, terms)) for terms in study.terms if terms != study.options.terms]
