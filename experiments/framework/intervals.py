"""A mean over seeds and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Interval", "counted", "interval", "sureness"]


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and half of its 90% interval; None with a single seed."""

    mean: float
    half_width: float | None

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = 0) -> str:
        """Return both with so many digits behind the point."""
        width = "" if self.half_width is None else f" ± {self.half_width:,.{digits}f}"
        return f"{self.mean:,.{digits}f}{width}"


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of one value a seed, with its interval after Student."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, None)
    from scipy.stats import t

    return Interval(mean, float(t.ppf(0.95, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))))


def counted(count: int, thing: str) -> str:
    """Return a number of things in words: 1 seed, 2 seeds."""
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def sureness(seeds: int) -> str:
    """Return what is said under figures about how sure they are."""
    return f"± is half of a 90% interval over {seeds} seeds." if seeds > 1 else "One seed: there are no intervals."
