"""What studies of months of logs simulate, in words: the part of their reports that says on what figures rest."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.framework.logs import Found
from experiments.framework.report import Bullets, Section
from experiments.framework.sites import Site
from experiments.moldable.benchmarks import ERA_RATES, RATES

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
        *([f"{', '.join(cleaned)} as the archive cleaned it of bursts of single users"] if cleaned else []),
    ]
    sites = ", ".join(f"{site.trace} {site.processors}" for site, _ in logs)
    return Section(
        "What is simulated",
        (
            Bullets(
                (
                    "S³, unless it is said otherwise: conservative backfilling in which every job gets, when it is "
                    "submitted, the earliest start that delays no other, and when a job ends early the others move "
                    "forward, in the order of their submission, until none can. No start ever gets later.",
                    f"{begins} The machine is empty at the beginning.",
                    f"Processors of the machines, as in the paper: {sites}. (The CTC log's header names its batch "
                    "partition alone.)",
                    "A job asks for the processors and the time that the log says were requested; where it does not "
                    "say, those that it used. A job that outlives its request is ended there. Jobs larger than the "
                    "machine, without processors or without a run time are left out.",
                    "Benchmark, class (B or C) and static request are drawn first; then the job that used up the "
                    "nearest processor time gives way, none twice.",
                    "Benchmarks: MG and LU run on powers of two processors (power-of-two), SP and BT on squares "
                    "(perfect-square), EP on any number (any, or unrestricted; the others are restricted).",
                    f"Nodes of the paper's era are this many times slower than those measured: {slower}.",
                    f"Logs: {'; '.join(versions)}. Of several versions the uncleaned one is taken, as the paper is "
                    "older than the cleaning.",
                )
            ),
        ),
    )
