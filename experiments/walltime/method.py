"""How the study of walltime adjustment was done, and what the paper leaves open."""

from __future__ import annotations

from typing import Final

from experiments.framework.report import Bullets, Section
from experiments.walltime.results import INTREPID, Study

__all__ = ["CATEGORIES_MEAN", "method_section", "replaced"]

CATEGORIES_MEAN: Final = (
    "NA: not adjusted. OE: adjusted and long enough. UE: too short by less than 30 minutes. BE: too short by 30 "
    "minutes or more."
)
"""What the paper's categories of jobs are, in few words; how it was done says more."""


def replaced(study: Study) -> str:
    """Return what stands in for what the paper had."""
    blank = [log.name for log in study.logs if (use := study.use(log)) and not use["known"]]
    nobody = (
        f" {', '.join(blank)}: no job names both its user and its group, so none is similar to another by both, and "
        "none is adjusted."
        if blank
        else ""
    )
    return _stand_in(study) + nobody


def _stand_in(study: Study) -> str:
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


def method_section(study: Study) -> Section:
    """Return how the study was done."""
    sizes = ", ".join(f"{log.source.trace} {log.source.processors:,}" for log in study.logs)
    months = "; ".join(
        f"{log.source.trace} {averaged[0]} to {averaged[-1]} ({len(averaged)} months)"
        for log in study.logs
        if (averaged := study.averaged(log))
    )
    return Section(
        "How it was done",
        (
            Bullets(
                (
                    "Accuracy needs no simulation. The record is replayed: a job is adjusted, when it is submitted, by "
                    "similar jobs that had ended by then; at one instant ends come before submissions. All jobs take "
                    "part that ran and asked for a time; those with no history yet are not adjusted and count.",
                    "R is run time over request, at most 1; run times beyond the request count as the request, in "
                    "accuracy too (section 3.2: “for simplicity”).",
                    "A is the nearest-rank percentile of the similar jobs' R; the paper names no rule. The adjusted "
                    "walltime is A times the request in whole seconds, rounded up. Histories hold the users' requests, "
                    "not adjusted values. A month of a window has 30 days. KTH's log is shorter than 12 months, so "
                    "that window is all of it.",
                    "NA: the adjusted walltime is the request, for want of history or because A is 1 (the paper: it "
                    "“remains the same”). OE: the run time at most the adjusted walltime, that below the request. UE: "
                    "too short by less than 30 minutes. BE: too short by 30 minutes or more; exactly 30 is neither in "
                    "the paper, and BE here.",
                    "Fig. 4 to 7 are with all ended jobs; Fig. 8 to 10 without a floor (the paper: “the same set of "
                    "previous tests”); Fig. 11 with a floor of 0.5, which its curves show, and one month, which is a "
                    "guess.",
                    "Table 2: standard deviations by n, of groups of at least ten jobs, averaged over groups.",
                    "Schedules: EASY on the whole log, in one simulation each, on machines of these sizes: "
                    f"{sizes}. Under WFP the queue is put in the order of (wait / walltime)³ · processors in each "
                    "pass, by the adjusted walltime; a job that outlives its request is ended there, one that outlives "
                    "its adjusted walltime never is: under regular adjustment the scheduler takes it to run to its own "
                    "request from then on. Who has ended, and when, is known from the simulation itself.",
                    "A job belongs to the month of its submission in the time zone of the log. Jobs of no length have "
                    "no slowdown. The weighted wait is Σ w p / Σ p of a month's jobs, p being the wait (FCFS) or (wait "
                    "/ request)³ · processors by the users' request (WFP) at the start.",
                    f"Averages are over months that begin 30 days after the first submission or later: {months}. "
                    "Before that hardly any job has a history; such months are shown, in grey. Each month counts the "
                    "same.",
                    "Intervals are 90%, after Student, over those months, each paired with itself without adjustment "
                    "(or under the other adjustment). Months are taken to be independent, which at high load "
                    "neighbours are not quite.",
                    "“Months apart” is nearer to the paper, which made twelve workloads of twelve months: each month "
                    "is simulated alone from an empty machine, adjusted by what had ended in the record.",
                    "Intrepid gave jobs whole partitions of a torus; nothing of that is simulated.",
                    "Misprints of the paper that were read as meant: p75 in 6.2.1 is p70; Fig. 16 is the regular "
                    "scheme.",
                )
            ),
        ),
    )
