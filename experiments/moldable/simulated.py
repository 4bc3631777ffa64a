"""What studies of months of logs simulate, in words: the part of their reports that says on what figures rest."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.framework.logs import Found
from experiments.framework.method import method_section
from experiments.framework.sites import Site
from experiments.moldable.benchmarks import ERA_RATES, RATES
from gas.report.blocks import Section

__all__ = ["simulated_section"]


def simulated_section(logs: Sequence[tuple[Site, Found]], begins: str) -> Section:
    """Return the section.

    Parameters
    ----------
    begins
        What one simulation covers.
    """
    slower = ", ".join(f"{name} {RATES[name] / ERA_RATES[name]:.0f}" for name in RATES)
    uncleaned = [log.name for _, log in logs if not log.cleaned]
    cleaned = [log.name for _, log in logs if log.cleaned]
    versions = [
        *([f"{', '.join(uncleaned)} as recorded"] if uncleaned else []),
        *([f"{', '.join(cleaned)} as cleaned by the archive, without bursts of single users"] if cleaned else []),
    ]
    sites = ", ".join(f"{site.trace} {site.processors}" for site, _ in logs)
    return method_section(
        "experiments.moldable", "What is simulated", begins=begins, sites=sites, slower=slower, logs="; ".join(versions)
    )
