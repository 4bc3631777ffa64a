"""Machines of the Gas paper, and the months of their logs that it used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.framework.logs import Found, jobs_by_month

__all__ = ["SITES", "Site", "at_sites"]


@dataclass(frozen=True)
class Site:
    """A machine of the paper, and the months of its log that the paper used."""

    trace: str
    processors: int
    months: tuple[str, ...]
    paper_runs: int
    """Number of the paper's 4,579 runs on this machine (solved from Tables 5.1 to 5.4)."""


def _months(first_year: int, first: int, count: int) -> tuple[str, ...]:
    return tuple(f"{first_year + (first - 1 + i) // 12}-{(first - 1 + i) % 12 + 1:02}" for i in range(count))


SITES = (
    Site("SDSC", 128, _months(1999, 1, 4), 855),
    Site("CTC", 430, _months(1996, 7, 11), 1867),
    Site("KTH", 100, _months(1996, 10, 11), 1857),
)
"""The paper names 26 months and counts 22; which four it left out is unknown, so none is left out here."""


def at_sites(logs: Sequence[Found]) -> list[tuple[Site, Found, dict[str, int]]]:
    """Return the logs of these machines, in the order of `SITES`, with the number of jobs submitted in each month.

    The user's own logs follow, each on a machine of its own, with all of its months.
    """
    known = [(site, log, jobs_by_month(log)) for site in SITES for log in logs if log.source.trace == site.trace]
    traces = {site.trace for site in SITES}
    for log in logs:
        if log.own and log.source.trace not in traces:
            months = jobs_by_month(log)
            known.append((Site(log.source.trace, log.source.processors, tuple(months), 0), log, months))
    return known
