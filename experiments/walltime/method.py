"""How the study of walltime adjustment was done, and what the paper leaves open."""

from __future__ import annotations

from typing import Final

from experiments.framework.method import method_section as method_of
from experiments.framework.report import Section
from experiments.walltime.results import INTREPID, Results

__all__ = ["CATEGORIES_MEAN", "method_section", "replaced"]

CATEGORIES_MEAN: Final = (
    "NA: not adjusted. OE: adjusted and long enough. UE: too short by less than 30 minutes. BE: too short by 30 "
    "minutes or more."
)
"""What the paper's categories of jobs are, in few words; how it was done says more."""


def replaced(study: Results) -> str:
    """Return what stands in for what the paper had."""
    blank = [log.name for log in study.logs if (use := study.use(log)) and not use["known"]]
    unadjusted = (
        f" {', '.join(blank)}: no job names both its user and its group, so none is similar to another by both, and "
        "none is adjusted."
        if blank
        else ""
    )
    return _stand_in(study) + unadjusted


def _stand_in(study: Results) -> str:
    traces = [log.source.trace for log in study.logs]
    others = " and ".join(log.name for log in study.logs if log.source != INTREPID)
    stands = "the group of the log stands for the paper's project, processors for its nodes"
    if INTREPID.trace in traces:
        return (
            "Intrepid's log is here as the archive has it: January to September 2009 of the paper's thirty months, "
            f"and none of the twelve on which it evaluated schedules; {stands}. {others or 'No other log'} beside it."
        )
    return (
        f"Replaced: the paper's log, of Intrepid (Blue Gene/P, 275,858 jobs, 2009 to 2011), is not at hand. {others} "
        f"stand in for it; {stands}. So figures cannot be the paper's: what can be asked is whether its statements "
        f"hold on other machines. Name Intrepid's log by `--intrepid FILE`, or put `{INTREPID.stem}-1.swf.gz` into the "
        "folder of the logs, and the study includes it."
    )


def method_section(study: Results) -> Section:
    """Return how the study was done."""
    sizes = ", ".join(f"{log.source.trace} {log.source.processors:,}" for log in study.logs)
    months = "; ".join(
        f"{log.source.trace} {averaged[0]} to {averaged[-1]} ({len(averaged)} months)"
        for log in study.logs
        if (averaged := study.averaged(log))
    )
    return method_of("experiments.walltime", sizes=sizes, months=months)
