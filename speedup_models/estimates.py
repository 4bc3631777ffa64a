"""Fitted parameters with their intervals, and the largest error of a usable fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["COVERAGE", "POOR", "Estimate", "four_digits", "percent"]

COVERAGE: Final = 0.95
"""Coverage of intervals and bands."""

POOR: Final = 0.15
"""Typical relative error, of a fit or at left-out sizes, from which on a model is not usable."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A fitted parameter with its interval: None if there is none, infinite if the timings set no limit."""

    value: float
    low: float | None
    high: float | None

    def interval(self) -> str:
        """Return the interval in words."""
        if self.low is None or self.high is None:
            return "no interval"
        if self.low == 0 and math.isinf(self.high):
            return "not limited"
        low = four_digits(self.low)
        return f"at least {low}" if math.isinf(self.high) else f"{low} to {four_digits(self.high)}"


def four_digits(value: float) -> str:
    """Return a number to four digits; without an exponent up to a billion."""
    text = f"{value:.4g}"
    return f"{float(text):,.0f}" if "e+" in text and abs(value) < 1e9 else text


def percent(share: float | None) -> str:
    """Return a relative error as text, a dash for None."""
    if share is None:
        return "-"
    if share < 1e-4:
        return "0%" if share == 0 else "<0.01%"
    return f"{100 * share:.2g}%" if share < 0.1 else f"{100 * share:.0f}%"
