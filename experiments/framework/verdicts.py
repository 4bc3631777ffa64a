"""Whether a statement about several parts holds, where each part has an interval: the one rule for all studies.

Shown are 90% intervals; verdicts take 98% ones, so that of statements about noise at least 95 in 100 are not resolved
(a test counts them), although intervals of ratios over a dozen months are somewhat too narrow. A statement holds where
the interval of each part decides for it. It does not hold where that of one part decides against it at a level that is
higher by the number of parts (Bonferroni). That no difference was seen is never a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from experiments.framework.claims import Claim
from gas.intervals import Interval

__all__ = ["BY_INTERVALS", "DECIDES", "LEVEL", "Part", "Test", "above", "below", "between", "decided", "decided_claim"]

LEVEL: Final = 0.9
"""Of intervals that are shown."""

DECIDES: Final = 0.98
"""Of the interval by which a part alone decides."""

BY_INTERVALS: Final = (
    "A statement holds if the 98% interval over months of every part decides for it, and does not if that of one part "
    "decides against it, allowing for how many parts there are. Otherwise it is not resolved. ± is half of a 90% "
    "interval."
)
"""The caption where that is so."""

Part: TypeAlias = Callable[[float], Interval | None]
"""Of a part, its value with an interval of a level; None where it has none."""

Test: TypeAlias = Callable[[Interval], bool | None]
"""Whether a value is as stated; None where its interval, or the lack of one, does not decide."""


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
    """Return a test: a value is between two limits, which count as between."""

    def test(found: Interval) -> bool | None:
        if found.half_width is None:
            return None
        least, most = found.mean - found.half_width, found.mean + found.half_width
        if low <= least and most <= high:
            return True
        return None if least <= high and most >= low else False

    return test


def decided(parts: Mapping[str, Part], test: Test) -> tuple[bool | None, dict[str, Interval]]:
    """Return whether a statement holds, None where that is not resolved, and the value of each part that has one."""
    strictly = 1 - (1 - DECIDES) / max(len(parts), 1)
    found: dict[str, Interval] = {}
    verdicts: set[bool | None] = set()
    for name, part in parts.items():
        shown, alone, among = (part(level) for level in (LEVEL, DECIDES, strictly))
        if shown is None or alone is None or among is None:
            continue
        found[name] = shown
        verdicts.add(False if test(among) is False else test(alone) or None)
    return (False if False in verdicts else True if verdicts == {True} else None), found


def decided_claim(text: str, parts: Mapping[str, Part], test: Test, *, digits: int = 1, unit: str = "%") -> Claim:
    """Return a statement with its verdict and the value of each part."""
    holds, found = decided(parts, test)
    here = "; ".join(f"{name} {value.text(digits)}{unit}" for name, value in found.items())
    return Claim(text, holds, here or "not run", untested="not resolved" if found else "no verdict")
