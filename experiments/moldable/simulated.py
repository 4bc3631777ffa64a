"""What studies of months of logs simulate, in words: the section of their reports on the basis of their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from experiments.framework.logs import Found
from experiments.framework.method import method_section
from experiments.framework.months import Begin
from experiments.framework.sites import Site
from experiments.moldable.benchmarks import ERA_RATES, RATES
from gas.report.blocks import Section

__all__ = ["EACH_MONTH", "simulated_section"]


EACH_MONTH: Final[Mapping[Begin, str]] = {
    "warm": "Each month is a simulation of its own. The month before it, if the log has one, runs first, so that the "
    "machine is warm at the beginning; jobs of the month before do not count.",
    "empty": "Each month is a simulation of its own. The machine is empty at the beginning.",
}
"""What one simulation covers, for `simulated_section`."""


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
