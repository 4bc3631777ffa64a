"""The results of a study: runs and their results, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found
from experiments.framework.sites import Site
from experiments.framework.study import Computed, HasConfiguration

__all__ = ["LogResults", "Seeded", "SiteResults", "StudyResults"]


class HasLog(HasConfiguration, Protocol):
    """A run of a log."""

    @property
    def log(self) -> Found:
        """The log."""
        ...


class AtSite(HasLog, Protocol):
    """A run of a log on a machine of the Gas paper."""

    @property
    def site(self) -> Site:
        """The machine."""
        ...


@dataclass(frozen=True)
class Seeded:
    """What a user chooses in a study that is repeated with several seeds."""

    seed: int = 0
    seeds: int = 1
    others: bool = True
    """Whether other terms are also run."""


Options = TypeVar("Options")
Run = TypeVar("Run", bound=HasConfiguration)
LogRun = TypeVar("LogRun", bound=HasLog)
SiteRun = TypeVar("SiteRun", bound=AtSite)


@dataclass(frozen=True, eq=False)
class StudyResults(Generic[Options, Run]):
    """All runs and their results, in the same order."""

    options: Options
    runs: Sequence[Run]
    results: Sequence[Result]
    missing: Sequence[str] = ()
    """Logs that are not available."""
    left_out: Sequence[str] = ()
    """Parts of logs without a run, with reasons."""

    @classmethod
    def of(cls, computed: Computed[Any, Any]) -> Self:
        """Return the results of a computed study."""
        absent = computed.at_hand.absent
        return cls(computed.options, computed.runs, computed.results, absent, computed.left_out)

    @property
    def pairs(self) -> list[tuple[Run, Result]]:
        """Runs with their results."""
        return list(zip(self.runs, self.results, strict=True))

    def label(self, run: Any) -> str:
        """Return the name of a run in the list of costs: its log."""
        return str(run.log.name)

    @property
    def done(self) -> list[tuple[str, Configuration, Result]]:
        """Everything that was computed: its name, a configuration and its result."""
        return [(self.label(run), run.configuration, result) for run, result in self.pairs]


class LogResults(StudyResults[Options, LogRun]):
    """The results of a study of logs."""

    @cached_property
    def logs(self) -> list[Found]:
        """The logs that take part."""
        return list(dict.fromkeys(run.log for run in self.runs))


class SiteResults(StudyResults[Options, SiteRun]):
    """The results of a study of logs on the machines of the Gas paper."""

    @cached_property
    def logs(self) -> list[tuple[Site, Found]]:
        """Sites and their logs that take part."""
        return list(dict.fromkeys((run.site, run.log) for run in self.runs))
