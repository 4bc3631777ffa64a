"""Requirements on predictions with their verdicts: calibration, sharpness, and the gain from using them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.claims import Claim, decided_once
from experiments.framework.verdicts import LEVEL, below, between, decided
from experiments.prediction.results import Choices, Predictions, Results
from experiments.prediction.run import REVEALED
from experiments.published import PAPER_LOSES
from gas.intervals import FEWEST, Interval, jackknife_by_months, signed

__all__ = ["COVERED", "LEFT", "SHARE", "SHARP", "claims", "ratio", "ratio_of_medians"]

SHARE: Final = 0.9
"""Probability of the intervals that are judged."""

COVERED: Final = (85.0, 95.0)
"""The required percentage of these intervals that contain the true start."""

LEFT: Final = 1 / 3
"""The largest remaining share of the regret of promises."""

SHARP: Final = 0.5
"""Their largest allowed median width as a share of the promised wait, from submission to the promised start."""


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the statements on starts and choices with their verdicts."""
    if not study.calibrations and not study.choices:
        return []
    return [
        *(_covers(study, trace) for trace in (*study.traces, "")),
        *(_is_sharp(study, trace) for trace in study.traces),
        *(_is_sooner(study, trace) for trace in ("", *study.traces)),
        *(_loses_less(study, trace) for trace in ("", *study.traces)),
        *(_is_sooner_watched(study, trace) for trace in ("", *study.traces)),
        *(_leaves_little(study, trace) for trace in ("", *study.traces)),
    ]


def ratio(found: Predictions, share: float = SHARE) -> float:
    """Return the median of interval width / promised wait."""
    return float(np.median(found.width(share) / found.way))


def ratio_of_medians(found: Predictions, share: float = SHARE) -> float:
    """Return the median width of the intervals divided by the median promised wait."""
    return float(np.median(found.width(share)) / np.median(found.way))


def _covers(study: Results, trace: str) -> Claim:
    low, high = COVERED
    text = f"{_where(trace)}: {low:.0f} to {high:.0f}% of the 90% intervals contain the true start"
    found = study.predictions(trace)
    if not len(found):
        return Claim(text, None, "no job of a held-out month had to wait")
    covered = found.coverage(SHARE)
    below, above = (100 * part.mean() for part in (found.below(SHARE), found.above(SHARE)))
    verdict = decided({trace: lambda level: found.coverage(SHARE, level=level)}, between(low, high))
    here = f"{covered.text(1)}% of {len(found):,}, {below:.1f}% start before and {above:.1f}% after"
    return _claim(text, verdict, here, covered)


def _is_sharp(study: Results, trace: str) -> Claim:
    text = (
        f"{_where(trace)}: the median interval is at most half as wide as the promised wait (the time from "
        "submission to the promised start)"
    )
    found = study.predictions(trace)
    if not len(found):
        return Claim(text, None, "no job of a held-out month had to wait")
    each, medians = ratio(found), ratio_of_medians(found)
    width, way = found.width(SHARE), found.way

    def wider(kept: NDArray[np.bool_]) -> float:
        """Return the larger of both ratios."""
        return float(max(np.median(width[kept] / way[kept]), np.median(width[kept]) / np.median(way[kept])))

    def part(level: float) -> Interval:
        return jackknife_by_months(wider, found.months, level=level)

    here = f"{100 * each:.1f}% (median width over median promised wait: {100 * medians:.1f}%)"
    shown = [
        f"{whose} {100 * ratio(known):.1f}%"
        for one, whose in REVEALED.items()
        if one != "nothing" and len(known := study.predictions(trace, revealed=one))
    ]
    here += f"; if run times were known: {', '.join(shown)}" if shown else ""
    verdict = decided({trace: part}, between(0, SHARP))
    return _claim(text, verdict, here, part(LEVEL))


def _is_sooner(study: Results, trace: str) -> Claim:
    def here(found: Choices) -> str:
        return f"{found.predicting.mean():,.0f} s against {found.gas.mean():,.0f} s"

    text = f"{_where(trace)}: Gas has a lower mean turn-around time with predictions than without"
    return _paired(study, trace, text, lambda found: found.later, here, " s")


def _loses_less(study: Results, trace: str) -> Claim:
    def here(found: Choices) -> str:
        predicting, plain = (100 * lost.mean() for lost in (found.predicting_loses, found.loses))
        paper = "" if trace else f" (paper: {PAPER_LOSES}%)"
        return f"{predicting:.1f}% against {plain:.1f}% of {len(found):,} runs{paper}"

    text = f"{_where(trace)}: with predictions, Gas loses to the static request less often than without"
    return _paired(study, trace, text, lambda found: found.loses_more, here, " points", 1)


def _is_sooner_watched(study: Results, trace: str) -> Claim:
    def here(found: Choices) -> str:
        return f"{found.watched.mean():,.0f} s against {found.predicting.mean():,.0f} s"

    text = f"{_where(trace)}: the mean turn-around time is lower if Gas also watches the job and reshapes it"
    return _paired(study, trace, text, lambda found: found.watched - found.predicting, here, " s")


def _leaves_little(study: Results, trace: str) -> Claim:
    text = f"{_where(trace)}: choosing by predictions and watching leaves at most a third of the regret of promises"
    found = study.outcomes(trace)
    if not len(found):
        return Claim(text, None, "no month was simulated for the choice")

    def part(level: float) -> Interval:
        return jackknife_by_months(lambda kept: 100 * found.left(found.watched, kept), found.months, level=level)

    shown = part(LEVEL)
    here = f"{shown.text(1)}%, without watching {100 * found.left(found.predicting):.1f}%"
    return _claim(text, decided({trace: part}, between(0, 100 * LEFT)), here, shown)


def _paired(
    study: Results,
    trace: str,
    text: str,
    difference: Callable[[Choices], NDArray[Any]],
    words: Callable[[Choices], str],
    unit: str,
    digits: int = 0,
) -> Claim:
    found = study.outcomes(trace)
    if not len(found):
        return Claim(text, None, "no month was simulated for the choice")
    apart = difference(found)
    verdict = decided({trace: lambda level: found.mean(apart, level=level)}, below(0))
    shown = found.mean(apart)
    return _claim(text, verdict, f"{words(found)}: {signed(shown, digits)}{unit}", shown)


def _claim(text: str, verdict: bool | None, here: str, found: Interval) -> Claim:
    return Claim(text, verdict, here + _doubt(verdict, found), untested="not resolved")


def _doubt(verdict: bool | None, found: Interval) -> str:
    """Return the reason why there is no verdict; empty if there is one."""
    if verdict is not None:
        return ""
    return (
        f"; fewer than {FEWEST} months, so no interval" if found.half_width is None else "; the interval includes both"
    )


def _where(trace: str) -> str:
    return trace or "all logs"
