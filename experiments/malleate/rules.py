"""The ways to run jobs that the study compares, as values; kernels take their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["AT_START", "AT_SUBMISSION", "EVER_AGAIN", "NEVER", "STRATEGIES", "Strategy"]
__all__ += ["EASY", "FIXED", "KEEP_OWN", "PLAN_AGAIN", "START_OWN", "START_SMALLEST"]

# Discipline of the queue.
EASY, PLAN_AGAIN = 0, 1

# When an adopter's size is chosen.
NEVER, AT_SUBMISSION, EVER_AGAIN, AT_START = 0, 1, 2, 3

# Sizes of a running adopter.
FIXED, START_SMALLEST, START_OWN, KEEP_OWN = 0, 1, 2, 3


@dataclass(frozen=True)
class Strategy:
    """What adopters do, and what their scheduler does with them. All other jobs are rigid under the same scheduler.

    Attributes
    ----------
    title
        Name in reports.
    group
        "rigid", "moldable" or "malleable".
    about
        Description in one sentence.
    when
        When an adopter's size is chosen.
    samples
        Number of simulations of the queue by which a size is chosen; 0 if it is chosen by walltimes.
    discipline
        Discipline of the queue.
    runs
        Sizes of a running adopter.
    from_own
        Whether an adopter cannot have sizes below its own.
    """

    title: str
    group: str
    about: str
    when: int = NEVER
    samples: int = 0
    discipline: int = EASY
    runs: int = FIXED
    from_own: bool = False


STRATEGIES: Final[Mapping[str, Strategy]] = {
    "rigid": Strategy("rigid", "rigid", "Every job keeps the size that the log has. EASY backfilling."),
    "slurm": Strategy(
        "Slurm, -N min-max",
        "moldable",
        "A job starts as soon as its smallest size fits, at the largest of its sizes that fits then. It has one time "
        "limit, that of its smallest size. EASY backfilling.",
        when=AT_START,
    ),
    "slurm-own": Strategy(
        "Slurm, -N own-max",
        "moldable",
        "The same with the job's own size as the smallest of its range.",
        when=AT_START,
        from_own=True,
    ),
    "oar": Strategy(
        "OAR, moldable",
        "moldable",
        "At every event the whole queue is planned again in order of submission, and each job takes the size with "
        "which it ends first by walltimes.",
        when=EVER_AGAIN,
        discipline=PLAN_AGAIN,
    ),
    "gas": Strategy(
        "Gas, by walltimes",
        "moldable",
        "At its submission a job takes the size with which it ends first by the availability list: running jobs hold "
        "their processors for their walltimes, and waiting jobs follow in order. EASY backfilling.",
        when=AT_SUBMISSION,
    ),
    "gas-predicted": Strategy(
        "Gas, by prediction",
        "moldable",
        "At its submission a job takes the size with which it ends first in the mean of simulations of its queue, in "
        "which the run times of other jobs are drawn from the shares of walltimes that their users' last jobs used.",
        when=AT_SUBMISSION,
        samples=5,
    ),
    "gas-again": Strategy(
        "Gas, by walltimes, again while queued",
        "moldable",
        "Like Gas, by walltimes, but waiting jobs choose again every ten minutes, without losing their places.",
        when=EVER_AGAIN,
    ),
    "gas-predicted-again": Strategy(
        "Gas, by prediction, again while queued",
        "moldable",
        "Like Gas, by prediction, but every ten minutes the first 20 waiting jobs choose again, without losing their "
        "places.",
        when=EVER_AGAIN,
        samples=5,
    ),
    "malleable-smallest": Strategy(
        "malleable, smallest first",
        "malleable",
        "A job starts at its smallest size; running jobs shrink to their smallest sizes to let the first job in the "
        "queue start, and grow into processors that are left.",
        runs=START_SMALLEST,
    ),
    "malleable-own": Strategy(
        "malleable, own size first",
        "malleable",
        "A job starts at its own size if it can, else at a smaller one; jobs shrink and grow in the same way.",
        runs=START_OWN,
    ),
    "malleable-keep": Strategy(
        "malleable, own size kept",
        "malleable",
        "A job starts at its own size and never shrinks below it; it grows into processors that are left.",
        runs=KEEP_OWN,
    ),
}
"""By the names in tables. Strategies of malleable jobs follow the common pools and KeepPref of Zojer, Posner and Özden,
Evaluating Malleable Job Scheduling in HPC Clusters using Real-World Workloads, arXiv:2602.17318, 2026.
"""
