"""The study of many clusters: the list of runs, and results by the number of clusters to choose among."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found
from experiments.framework.results import StudyResults
from experiments.framework.verdicts import Part, of_shares, of_sums, scaled
from experiments.moldable.machines import Strategy
from gas.errors import BadInput
from gas.printable import many

__all__ = ["FULL", "WAYS", "Options", "Results", "TogetherRun", "together_runs"]

FULL: Final = 200
"""Number of clusters in the full study."""

STEP: Final = 5
"""Factor by which the number of clusters to choose among grows."""

WAYS: tuple[tuple[Strategy, str], ...] = (("choose-static", "static request"), ("choose", "request of Gas"))


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    clusters: int = FULL
    most: int = 25
    """Largest number of clusters among which an application can choose."""


@dataclass(frozen=True)
class TogetherRun:
    """Some clusters whose applications all choose among these in one way."""

    seed: int
    size: int
    """Number of clusters to choose among; the last group of the study may have fewer."""
    first: int
    count: int
    strategy: Strategy

    @property
    def configuration(self) -> Configuration:
        """What determines its result, see `experiments.clusters.run.clusters_run`."""
        return {"seed": self.seed, "first": self.first, "count": self.count, "strategy": self.strategy}


def together_runs(options: Options, logs: Sequence[Found]) -> tuple[list[TogetherRun], list[str]]:
    """Return all runs, those of most clusters first: they take longest.

    Raises
    ------
    BadInput
        The study has fewer clusters than requested to choose among.
    """
    if options.most > options.clusters:
        raise BadInput(f"--most {options.most}: there are only {options.clusters} clusters; name more by --clusters")
    sizes = [STEP**power for power in range(11) if STEP**power < options.most] + [options.most]
    return [
        TogetherRun(options.seed, size, first, min(size, options.clusters - first), strategy)
        for size in reversed(sizes)
        for first in range(0, options.clusters, size)
        for strategy, _ in WAYS
    ], []


class Results(StudyResults[Options, TogetherRun]):
    """All runs and their results, in the same order."""

    def label(self, run: Any) -> str:
        """Return the name of a run in the list of costs."""
        return many(run.count, "cluster")

    @property
    def done(self) -> list[tuple[str, Configuration, Result]]:
        """Everything that was computed: its name, a configuration, and its numbers of jobs and moldable ones."""
        return [
            (
                self.label(run),
                run.configuration,
                {"jobs": one["applications"] + one["rigid"], "moldable": one["applications"]},
            )
            for run, one in self.pairs
        ]

    @cached_property
    def sizes(self) -> list[int]:
        """Numbers of clusters to choose among, ascending."""
        return sorted({run.size for run in self.runs})

    def sums(self, strategy: Strategy, size: int, *names: str) -> list[NDArray[np.float64]]:
        """Return sums of figures, each with a value for every largest group of clusters.

        Smaller groups are parts of these, so the values of all sizes are of the same clusters.
        """
        most = self.sizes[-1]
        found = np.zeros((len(names), -(-self.options.clusters // most)))
        for run, one in self.pairs:
            if (run.strategy, run.size) == (strategy, size):
                found[:, run.first // most] += [one[name] for name in names]
        return list(found)

    def mean(self, strategy: Strategy, size: int, of: str = "applications") -> Part:
        """Return a mean turn-around time (s), of "applications" or of "rigid" jobs."""
        seconds = "turnaround" if of == "applications" else "rigid_turnaround"
        return of_sums(*self.sums(strategy, size, seconds, of))

    def away(self, strategy: Strategy, size: int) -> Part:
        """Return the percentage of applications that ran on another cluster than their own."""
        return of_shares(*self.sums(strategy, size, "away", "applications"))

    def change(self, one: tuple[Strategy, int], other: tuple[Strategy, int], of: str = "turnaround") -> Part:
        """Return by how many per cent a sum of turn-around times exceeds that of the same jobs in another way."""
        return scaled(of_sums(*(self.sums(*way, of)[0] for way in (one, other))), 100, -100)
