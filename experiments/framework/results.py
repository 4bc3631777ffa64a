"""What came of a study whose runs are of one log each: runs and their results, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found

__all__ = ["LogResults"]


class OfLog(Protocol):
    """A run of a log."""

    @property
    def log(self) -> Found:
        """The log."""
        ...

    @property
    def label(self) -> str:
        """What the list of costs calls it."""
        ...

    @property
    def configuration(self) -> Configuration:
        """What determines its result."""
        ...


Options = TypeVar("Options")
Run = TypeVar("Run", bound=OfLog)


@dataclass(frozen=True, eq=False)
class LogResults(Generic[Options, Run]):
    """All runs and their results, in the same order, of rigid jobs."""

    options: Options
    runs: Sequence[Run]
    results: Sequence[Result]
    missing: Sequence[str] = ()
    """Logs that are not at hand."""

    @cached_property
    def logs(self) -> list[Found]:
        """The logs that take part."""
        return list(dict.fromkeys(run.log for run in self.runs))

    @property
    def done(self) -> list[tuple[str, Configuration, Result]]:
        """Everything that was computed: what it was, a configuration and how many jobs; none of them is moldable."""
        pairs = zip(self.runs, self.results, strict=True)
        return [(run.label, run.configuration, {"jobs": result["jobs"], "moldable": 0}) for run, result in pairs]
