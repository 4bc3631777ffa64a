"""How the study of estimates was done."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.estimates.cells import APART, NOT_KNOWN
from experiments.estimates.results import RESAMPLES, Options
from experiments.framework.logs import Found
from experiments.framework.method import method_section as method_of
from experiments.framework.report import Section

__all__ = ["method_section"]


def method_section(options: Options, logs: Sequence[Found]) -> Section:
    """Return how the study was done."""
    sizes = ", ".join(f"{log.source.trace} {log.source.processors}" for log in logs)
    seeds = options.all_seeds
    drawn = f"Seeds {seeds[0]} to {seeds[-1]}, the same for all" if len(seeds) > 1 else f"Seed {seeds[0]} for all"
    return method_of(
        "experiments.estimates", sizes=sizes, drawn=drawn, resamples=RESAMPLES, apart=APART, not_known=NOT_KNOWN
    )
