"""Whether a statement about several parts holds, if each part has an interval: one rule for all studies.

Reports show 90% intervals. Verdicts use 98% ones, so that of statements about noise at least 95 in 100 are not resolved
(a test counts them), although intervals of ratios over a dozen months are slightly too narrow. A statement holds if the
interval of each part is within its limit. It does not hold if the interval of one part is beyond its limit at a level
raised for the number of parts (Bonferroni). The absence of a visible difference is never a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from experiments.framework.claims import Claim
from gas.intervals import FEWEST, Interval, from_error, jackknifed, points_by_months, ratio_by_months, share_of_sums

__all__ = [
    "BY_INTERVALS",
    "DECIDES",
    "LEVEL",
    "RULE",
    "Part",
    "Test",
    "above",
    "below",
    "between",
    "decided",
    "decided_claim",
]
__all__ += ["judged", "left_out", "minus", "of_error", "of_months", "of_points", "of_samples"]
__all__ += ["of_shares", "of_sums", "outside", "scaled", "sign"]

LEVEL: Final = 0.9
"""Level of intervals that are shown."""

DECIDES: Final = 0.98
"""Level of the interval by which a single part is decided."""

RULE: Final = (
    "A statement may have several parts, such as logs or loads. It holds if the 98% interval of each part confirms it. "
    "It fails if the interval of one part contradicts it, at a level corrected for the number of parts. Otherwise it "
    "is not resolved. ± is half of a 90% interval."
)
"""How statements are judged."""

BY_INTERVALS: Final = f"{RULE} Intervals are over months."
"""The caption if intervals are over months."""

_NAMED: Final = 8
"""Largest number of parts of a statement that are all shown."""

Part: TypeAlias = Callable[[float], Interval | None]
"""Returns the value of a part with an interval of the given level; None without one."""

Test: TypeAlias = Callable[[Interval], bool | None]
"""Returns whether a value is as stated; None if its interval, or the lack of one, does not decide."""


def below(limit: float) -> Test:
    """Return a test: a value is below a limit."""

    def test(found: Interval) -> bool | None:
        if found.half_width is None:
            return None
        if found.mean + found.half_width < limit:
            return True
        return False if found.mean - found.half_width > limit else None

    return test


def above(limit: float) -> Test:
    """Return a test: a value is above a limit."""
    is_below = below(limit)

    def test(found: Interval) -> bool | None:
        holds = is_below(found)
        return None if holds is None else not holds

    return test


def between(low: float, high: float) -> Test:
    """Return a test: a value is between two limits, inclusive."""

    def test(found: Interval) -> bool | None:
        if found.half_width is None:
            return None
        least, most = found.mean - found.half_width, found.mean + found.half_width
        if low <= least and most <= high:
            return True
        return None if least <= high and most >= low else False

    return test


def outside(low: float, high: float) -> Test:
    """Return a test: a value is below one limit or above another."""
    is_between = between(low, high)

    def test(found: Interval) -> bool | None:
        holds = is_between(found)
        return None if holds is None else not holds

    return test


def of_months(values: Iterable[float]) -> Part:
    """Return as a part the mean of one value per month, with equal weights."""
    found = np.array(list(values), np.float64)
    return of_sums(found, np.ones(len(found)))


def of_sums(sums: ArrayLike, bases: ArrayLike) -> Part:
    """Return as a part the ratio of two sums, given their values by month; no value if the bases are all 0."""
    above_line, below_line = np.asarray(sums, np.float64), np.asarray(bases, np.float64)

    def part(level: float) -> Interval | None:
        return ratio_by_months(above_line, below_line, level=level) if below_line.any() else None

    return part


def of_shares(hits: ArrayLike, trials: ArrayLike) -> Part:
    """Return as a part a percentage of trials, given their numbers by month; no value if there are no trials."""
    above_line, below_line = np.asarray(hits, np.float64), np.asarray(trials, np.float64)
    return lambda level: share_of_sums(above_line, below_line, level=level) if below_line.any() else None


def of_points(more: ArrayLike, less: ArrayLike, months: Sequence[Hashable]) -> Part:
    """Return as a part the percentage of jobs of one kind minus that of another, given the month of each job.

    Without jobs there is no value.
    """
    one, other = np.asarray(more, np.bool_), np.asarray(less, np.bool_)
    return lambda level: points_by_months(one, other, months, level=level) if len(one) else None


def of_error(value: float, error: float, count: int) -> Part:
    """Return a value as a part, from its standard error and number of values; without interval for few values."""
    return lambda level: from_error(value, error, count, level=level) if count >= FEWEST else Interval(value, None)


def left_out(whole: float, without: Sequence[float]) -> Part:
    """Return a statistic as a part, from its values without each of the months in turn (the jackknife)."""
    return lambda level: jackknifed(whole, without, level=level)


def scaled(part: Part, by: float, plus: float = 0.0) -> Part:
    """Return a part in another unit, and shifted."""

    def other(level: float) -> Interval | None:
        found = part(level)
        if found is None:
            return None
        return Interval(by * found.mean + plus, None if found.half_width is None else abs(by) * found.half_width)

    return other


def minus(part: Part, other: Part) -> Part:
    """Return the difference of two parts of independent samples; half-widths are added like standard errors."""

    def difference(level: float) -> Interval | None:
        one, two = part(level), other(level)
        if one is None or two is None:
            return None
        return Interval(one.mean - two.mean, _added(one.half_width, two.half_width))

    return difference


def of_samples(parts: Sequence[Part]) -> Part:
    """Return as a part the value of the first; its interval combines those of all, as independent samples."""

    def part(level: float) -> Interval | None:
        found = [interval for part in parts if (interval := part(level)) is not None]
        return Interval(found[0].mean, _added(*(one.half_width for one in found))) if found else None

    return part


def _added(*half_widths: float | None) -> float | None:
    """Return the sum of half-widths of independent values, added like standard errors."""
    known = [half for half in half_widths if half is not None]
    return math.hypot(*known) if len(known) == len(half_widths) else None


def sign(part: Part) -> int:
    """Return 1 if a part is above zero, -1 if it is below, and 0 if that is not resolved."""
    found = part(DECIDES)
    holds = None if found is None else above(0)(found)
    return 0 if holds is None else 1 if holds else -1


def judged(parts: Mapping[str, Part], test: Test) -> dict[str, tuple[Interval, bool | None]]:
    """Return for each part with a value: the value, and whether it is as stated; None if that is not resolved."""
    strictly = 1 - (1 - DECIDES) / max(len(parts), 1)
    found: dict[str, tuple[Interval, bool | None]] = {}
    for name, part in parts.items():
        shown, alone, among = (part(level) for level in (LEVEL, DECIDES, strictly))
        if shown is not None and alone is not None and among is not None:
            found[name] = shown, False if test(among) is False else test(alone) or None
    return found


def decided(parts: Mapping[str, Part], test: Test) -> bool | None:
    """Return whether a statement holds for all parts; None if that is not resolved, or a part has no value."""
    return _together([holds for _, holds in judged(parts, test).values()], len(parts))


def _together(verdicts: Sequence[bool | None], parts: int) -> bool | None:
    if False in verdicts:
        return False
    return True if verdicts and len(verdicts) == parts and all(verdicts) else None


def _as_factor(value: Interval) -> str:
    """Return as text, with its interval, the factor of which a value is the natural logarithm."""
    factor = f"× {math.exp(value.mean):.2f}"
    if value.half_width is None:
        return factor
    least, most = (math.exp(value.mean + side * value.half_width) for side in (-1, 1))
    return f"{factor} ({least:.2f} to {most:.2f})"


def decided_claim(
    text: str,
    parts: Mapping[str, Part],
    test: Test,
    *,
    digits: int = 1,
    unit: str = "%",
    logarithms: bool = False,
) -> Claim:
    """Return a statement with its verdict and the value of each part, or of the extreme ones if there are many.

    Without any part, the verdict is that it was not run.

    Parameters
    ----------
    digits, unit
        Digits and unit of the values shown.
    logarithms
        Whether values are natural logarithms of factors; the factors are shown.
    """
    found = judged(parts, test)
    shown = _as_factor if logarithms else lambda value: f"{value.text(digits)}{unit}"
    values = {name: f"{name}: {shown(value)}" for name, (value, _) in found.items()}
    verdicts = [holds for _, holds in found.values()]
    here = "; ".join(values.values())
    if len(found) > _NAMED:
        ends = (of(found, key=lambda name: found[name][0].mean) for of in (min, max))
        words: dict[bool | None, str] = {True: "confirm", False: "contradict", None: "not resolved"}
        counts = ", ".join(f"{verdicts.count(holds)} {word}" for holds, word in words.items() if holds in verdicts)
        here = f"{len(found)} parts: {counts}; from {' to '.join(values[name] for name in ends)}"
    if found and verdicts.count(None) == len(found) and all(value.half_width is None for value, _ in found.values()):
        here += "; too few months or values for an interval"
    if missing := [name for name in parts if name not in found]:
        here += ("; " if here else "") + f"without a value: {', '.join(missing[:_NAMED])}"
    return Claim(
        text, _together(verdicts, len(parts)), here or "not run", untested="not resolved" if found else "no verdict"
    )
