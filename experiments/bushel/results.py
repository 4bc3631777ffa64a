"""The study of many moldable jobs at a time: the list of runs and their results (the Gas paper, section 5.3).

A run is all months of a log that the paper used, with a share of the jobs moldable, one way to make them moldable, and
a seed. With the same seed, jobs that are moldable at a small share are also moldable at a larger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found
from experiments.framework.results import Seeded, SiteResults
from experiments.framework.sites import Site, at_sites
from experiments.framework.study import Computed
from experiments.moldable import substitution
from experiments.moldable.benchmarks import Form, Mix
from experiments.moldable.moldability import Moldability
from experiments.moldable.substitution import Opponent
from experiments.moldable.terms import BASE, TERMS, Terms
from gas.errors import BadInput
from gas.intervals import Interval, ratio_by_months

__all__ = [
    "DRAWN",
    "DRAWN_PERCENTS",
    "FASTER",
    "FASTER_PERCENTS",
    "FULL_SEEDS",
    "KINDS",
    "MIXES",
    "OPPONENTS",
    "PERCENTS",
    "Drawn",
    "Results",
]
__all__ += ["OTHER_DRAWN_PERCENTS", "OTHER_PERCENTS", "Kind", "Options", "Run", "bushel_runs", "summarised"]


@dataclass(frozen=True)
class Drawn:
    """The jobs of the log become moldable, with speed-ups drawn at random."""

    name: str
    """The difference from the first of `DRAWN`."""
    moldability: Moldability = field(default_factory=Moldability)
    perfect: bool = False
    """Whether the true run times are the estimates."""


Kind: TypeAlias = Terms | Drawn
"""How jobs become moldable: benchmarks replace them, or they get speed-ups of their own."""

OPPONENTS: Mapping[Opponent, str] = {which: substitution.OPPONENTS[which] for which in ("own", "uniform")}
"""How static requests are chosen in the runs beyond the paper's tables; the paper does not say how it chose them."""

MIXES: Mapping[Mix, str] = {
    "thirds": "a third of the benchmarks for each constraint",
    "unrestricted": "only benchmarks that take any number of processors",
    "restricted": "only benchmarks that do not",
}
"""The paper's: those of Tables 5.8 to 5.14, and of 5.15 to 5.17."""

KINDS: Mapping[tuple[Mix, Opponent], Terms] = {
    (mix, opponent): replace(BASE, name=f"{words}; static request: {how}", mix=mix, opponent=opponent)
    for mix, words in MIXES.items()
    for opponent, how in OPPONENTS.items()
}

FASTER: Mapping[Mix, Terms] = {
    mix: replace(
        KINDS[mix, "own"],
        name=f"{words}; benchmarks for at most 128 processors, 0.6 times as long",
        form=Form(slower=0.6, largest=128),
    )
    for mix, words in MIXES.items()
}
"""With sizes and speeds that `gas experiment setups` fitted to Tables 5.2 to 5.7."""

DRAWN = (
    Drawn("own speed-ups, as Cirne and Berman later drew them"),
    Drawn("constraints on sizes as in their survey", Moldability(constraint="survey")),
    Drawn("no constraints on sizes", Moldability(constraint="none")),
    Drawn("users name every size that their job accepts", Moldability(limited=False)),
    Drawn("users ask for twice what they need", Moldability(accuracy=0.5)),
    Drawn("estimates are the run times", perfect=True),
)

PERCENTS = tuple(range(5, 55, 5))
"""Percentages of moldable jobs in the paper."""
DRAWN_PERCENTS = (5, 10, 25, 50, 75, 100)
OTHER_PERCENTS = (20, 50)
"""Percentages of moldable jobs on other terms than the paper's."""
OTHER_DRAWN_PERCENTS = (50, 100)

FASTER_PERCENTS = (10, 20, 30)

FULL_SEEDS = 3

_SUMS: Final[Mapping[str, tuple[str, ...]]] = {
    "moldable": ("moldable_{world}",),
    "others": ("others_{world}",),
    "all": ("moldable_{world}", "others_{world}"),
}
"""Names of the sums of turn-around times of a group of jobs in a world."""
_COUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "moldable": ("moldable",),
    "others": ("others",),
    "all": ("moldable", "others"),
}


@dataclass(frozen=True)
class Options(Seeded):
    """What a user chooses."""

    seeds: int = FULL_SEEDS


@dataclass(frozen=True)
class Run:
    """The months of a log with some jobs moldable."""

    log: Found
    site: Site
    months: tuple[str, ...]
    kind: Kind
    percent: int
    seed: int

    @property
    def configuration(self) -> Configuration:
        """Return what determines the result, see `experiments.bushel.run.bushel_run`."""
        kind = self.kind
        moldable: dict[str, Any]
        if isinstance(kind, Drawn):
            moldable, policy, load = asdict(kind.moldability), "s3", 1.0
        else:
            moldable = {"mix": kind.mix, "opponent": kind.opponent, "form": asdict(kind.form)}
            policy, load = kind.policy, kind.load
        return {
            "log": self.log.sha256,
            "processors": self.site.processors,
            "months": list(self.months),
            "percent": self.percent,
            "seed": self.seed,
            "policy": policy,
            "load": load,
            "estimates": "perfect" if kind.perfect else "users",
            "moldable": moldable,
        }


def bushel_runs(options: Options, logs: Sequence[Found]) -> list[Run]:
    """Return all runs of the study with the available logs.

    Raises
    ------
    BadInput
        There are no runs.
    """
    found = []
    every_seed = range(options.seed, options.seed + options.seeds)
    for site, log, there in at_sites(logs):
        months = tuple(month for month in site.months if month in there and log.takes(month))
        if months:
            found += [
                Run(log, site, months, kind, percent, seed)
                for kind, percents, seeds in _wanted(options, every_seed)
                for percent in percents
                for seed in seeds
            ]
    if not found:
        raise BadInput("none of the logs has a month that the paper used; name others with --traces")
    return found


def _wanted(options: Options, every_seed: range) -> Iterable[tuple[Kind, Sequence[int], range]]:
    yield from ((kind, PERCENTS, every_seed) for kind in KINDS.values())
    yield DRAWN[0], DRAWN_PERCENTS, every_seed
    if options.others:
        others = [terms for terms in TERMS[1:] if terms.opponent != "own" and terms.begin == BASE.begin]
        yield from ((terms, OTHER_PERCENTS, every_seed[:1]) for terms in others)
        yield from ((terms, FASTER_PERCENTS, every_seed[:1]) for terms in FASTER.values())
        yield from ((drawn, OTHER_DRAWN_PERCENTS, every_seed[:1]) for drawn in DRAWN[1:])


class Results(SiteResults[Options, Run]):
    """All runs and their results, in the same order."""

    @cached_property
    def kinds(self) -> list[Kind]:
        """All ways in which jobs became moldable."""
        return list(dict.fromkeys(run.kind for run in self.runs))

    @cached_property
    def _runs_by_point(self) -> dict[tuple[str, Kind, int], list[tuple[Run, Result]]]:
        found: dict[tuple[str, Kind, int], list[tuple[Run, Result]]] = {}
        for run, result in self.pairs:
            found.setdefault((run.site.trace, run.kind, run.percent), []).append((run, result))
        return found

    def at(self, trace: str, kind: Kind, percent: int) -> list[Result]:
        """Return the results of a log, a way and a share, one per seed; empty if too few jobs could be replaced."""
        found = self._runs_by_point.get((trace, kind, percent), [])
        return [result for _, result in found if result["moldable"]]

    def percents(self, trace: str, kind: Kind) -> list[int]:
        """Return the shares with results, ascending."""
        percents = {percent for log, way, percent in self._runs_by_point if (log, way) == (trace, kind)}
        return sorted(percent for percent in percents if self.at(trace, kind, percent))

    def mean(self, trace: str, kind: Kind, percent: int, group: str, world: str) -> Interval | None:
        """Return the mean turn-around time of a group of jobs over all seeds, with its interval over months.

        Parameters
        ----------
        group
            "moldable", "others" (the rigid jobs) or "all".
        world
            "static", "gas", or for "others" also "before" (in the original log).

        Returns
        -------
        Interval or None
            Seconds; None if there are no such jobs.
        """
        every = list(self.by_month(trace, kind, percent).values())
        if not every:
            return None
        times, jobs = (
            np.sum([of[name.format(world=world)] for of in every for name in names[group]], axis=0)
            for names in (_SUMS, _COUNTS)
        )
        return ratio_by_months(times, jobs) if jobs.any() else None

    def figure(self, trace: str, kind: Kind, percent: int, *names: str) -> float | None:
        """Return the mean over seeds of a figure, given by its path of names in the results; None if it is nowhere.

        ``figure("KTH", KINDS["thirds", "own"], 5, "gas", "median")``
        """
        values = []
        for result in self.at(trace, kind, percent):
            value: Any = result
            for name in names:
                value = None if value is None else value.get(name)
            if value is not None:
                values.append(float(value))
        return float(np.mean(values)) if values else None

    def by_month(self, trace: str, kind: Kind, percent: int) -> dict[int, dict[str, NDArray[np.float64]]]:
        """Return sums over the jobs of each month by name, per seed; empty if too few jobs could be replaced."""
        return {
            run.seed: {name: np.array(sums, np.float64) for name, sums in result["by_month"].items()}
            for run, result in self._runs_by_point.get((trace, kind, percent), [])
            if result["moldable"]
        }

    def gain(self, trace: str, kind: Kind, percent: int) -> Interval | None:
        """Return the turn-around time of static requests / Gas over all seeds, with its interval over months."""
        every = list(self.by_month(trace, kind, percent).values())
        if not every:
            return None
        static, gas = (np.sum([of[f"moldable_{world}"] for of in every], axis=0) for world in ("static", "gas"))
        return ratio_by_months(static, gas) if gas.any() else None


def summarised(computed: Computed[Options, Run]) -> Results:
    """Return the results.

    Raises
    ------
    BadInput
        No log has moldable jobs.
    """
    if not any(result["moldable"] for result in computed.results):
        raise BadInput("no log has jobs that can be replaced or made moldable: all are too large, or there is none")
    return Results.of(computed)
