"""The simulated shares of jobs with a notice, and the notices."""

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
"""Percentages of jobs with a notice; the comparison is with no notices."""

NOTICES: Final = {600: "10 minutes", 3600: "an hour"}
"""Notices in seconds, and in words."""


@dataclass(frozen=True)
class Asking:
    """The share of jobs with a notice, and the notice."""

    percent: int
    notice: int

    def __str__(self) -> str:
        return f"{self.percent}%, {NOTICES[self.notice]}"


def month_runs(options: Seeded, logs: Sequence[Found]) -> tuple[list[GroupRun], list[str]]:
    """Return all runs of the study with the available logs, and the omitted months with reasons."""
    return group_runs(options, [Asking(percent, notice) for percent in PERCENTS for notice in NOTICES], logs)


class Results(GroupResults):
    """All runs and their results, in the same order."""

    groups = GROUPS
