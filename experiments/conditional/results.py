"""Which shares and notices are simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from experiments.conditional.run import GROUPS
from experiments.framework.group_results import GroupResults, GroupRun, group_runs
from experiments.framework.logs import Found
from experiments.framework.results import Seeded

__all__ = ["NOTICES", "PERCENTS", "Asking", "Results", "month_runs"]

PERCENTS: Final = (25, 50, 100)
"""Of the jobs that have a notice; those without any are what others are compared with."""

NOTICES: Final = {600: "10 minutes", 3600: "an hour"}
"""In seconds, and in words."""


@dataclass(frozen=True)
class Asking:
    """How many jobs have a notice, and which."""

    percent: int
    notice: int

    def __str__(self) -> str:
        return f"{self.percent}%, {NOTICES[self.notice]}"


def month_runs(options: Seeded, logs: Sequence[Found]) -> tuple[list[GroupRun], list[str]]:
    """Return all runs of the study with the logs at hand, and which months are left out and why."""
    return group_runs(options, [Asking(percent, notice) for percent in PERCENTS for notice in NOTICES], logs)


class Results(GroupResults):
    """All runs and their results, in the same order."""

    groups = GROUPS
