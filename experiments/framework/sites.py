"""Machines of the Gas paper, and the months of their logs that it took."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SITES", "Site"]


@dataclass(frozen=True)
class Site:
    """A machine of the paper and the months of its log that the paper took."""

    trace: str
    processors: int
    months: tuple[str, ...]
    paper_runs: int
    """How many of the paper's 4,579 runs were on it (solved from Tables 5.1 to 5.4)."""


def _months(first_year: int, first: int, count: int) -> tuple[str, ...]:
    return tuple(f"{first_year + (first - 1 + i) // 12}-{(first - 1 + i) % 12 + 1:02}" for i in range(count))


SITES = (
    Site("SDSC", 128, _months(1999, 1, 4), 855),
    Site("CTC", 430, _months(1996, 7, 11), 1867),
    Site("KTH", 100, _months(1996, 10, 11), 1857),
)
"""The paper names 26 months and counts 22; which four it left out is not known, so none is left out here."""
