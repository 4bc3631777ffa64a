"""The study of several supercomputers: the list of runs, the gain from submitting everywhere, and its price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found
from experiments.framework.results import StudyResults
from experiments.framework.sites import Site, at_sites
from experiments.framework.study import Computed
from experiments.framework.verdicts import LEVEL, Part, of_sums, scaled
from experiments.moldable.benchmarks import Form
from experiments.moldable.machines import Strategy
from gas.coallocation import COST
from gas.errors import BadInput
from gas.intervals import Interval

__all__ = [
    "BOUNDARIES",
    "FULL_SEEDS",
    "GAMES",
    "HOME",
    "PAY",
    "PERFECT",
    "SHARES",
    "SPREAD",
    "Game",
    "Options",
    "Place",
    "Results",
    "Setting",
]
__all__ += [
    "TrialRun",
    "applications_mean",
    "break_even",
    "equilibrium",
    "mean_of",
    "pooled",
    "rigid_jobs_mean",
    "rigid_mean",
    "rigid_mean_of",
]
__all__ += ["summarised", "trial_runs"]


@dataclass(frozen=True)
class Game:
    """A temptation: some applications deviate from a strategy that seems better for all."""

    name: str
    others: Strategy
    some: Strategy


GAMES = (
    Game("Gas, everywhere", "choose", "everywhere"),
    Game("Gas, hedged", "choose", "hedge"),
    Game("static, everywhere", "choose-static", "everywhere-static"),
)

SPREAD = Game("Gas, coallocated", "choose", "coallocate")
"""Not a temptation but another way to choose: it needs no charge."""

HOME: tuple[Strategy, ...] = ("home-static", "home")
"""What all applications do in runs without a temptation."""

_CHOOSE_AND_HOME: tuple[Strategy, Strategy] = ("choose", "home")

SHARES = (0, 25, 50, 75, 100)
"""Per cent of the applications that deviate."""


@dataclass(frozen=True)
class Setting:
    """The terms on which applications take part; None is the user's choice."""

    name: str
    percent: int | None = None
    accuracy: float = 1.0
    perfect: bool = False
    """Whether the true run times of all other jobs are their estimates."""
    boundary: float = COST
    """Factor on the time of an application that runs on several machines together."""


BASE = Setting("as chosen")
PERFECT = Setting("estimates are the run times", perfect=True)
OTHERS = (
    Setting("30% of the jobs are applications", percent=30),
    Setting("applications use up half of their walltime", accuracy=0.5),
    PERFECT,
)

BOUNDARIES = (
    Setting("several machines cost no time", boundary=1.0),
    Setting("50% longer on several machines", boundary=1.5),
)

FULL_SEEDS = 3
_FEWEST = 10
"""Months with fewer applications are left out."""


@dataclass(frozen=True)
class Options:
    """What a user chooses."""

    seed: int = 0
    seeds: int = FULL_SEEDS
    percent: int = 10
    months: int = 4
    others: bool = True
    """Whether other settings are also run."""


@dataclass(frozen=True)
class Place:
    """A machine and a month of its log."""

    log: Found
    site: Site
    month: str

    def __str__(self) -> str:
        return f"{self.site.trace} {self.month}"


@dataclass(frozen=True)
class TrialRun:
    """Some machines and the strategies of applications on them."""

    places: tuple[Place, ...]
    setting: Setting
    seed: int
    percent: int
    others: Strategy
    some: Strategy
    share: int
    deviating: bool

    @property
    def configuration(self) -> Configuration:
        """Return what determines the result, see `experiments.supercomputers.run.supercomputers_run`."""
        return {
            "machines": [
                {"log": one.log.sha256, "processors": one.site.processors, "month": one.month} for one in self.places
            ],
            "percent": self.percent if self.setting.percent is None else self.setting.percent,
            "seed": self.seed,
            "mix": "thirds",
            "opponent": "uniform",
            "form": asdict(Form(accuracy=self.setting.accuracy)),
            "policy": "s3",
            "boundary": self.setting.boundary,
            "estimates": "perfect" if self.setting.perfect else "users",
            "others": self.others,
            "some": self.some,
            "share": self.share,
            "deviating": self.deviating,
        }


def trial_runs(options: Options, logs: Sequence[Found]) -> tuple[list[TrialRun], list[str]]:
    """Return all runs of the study with the available logs, and the omitted months with reasons.

    Raises
    ------
    BadInput
        There are fewer than two machines.
    """
    at_site: dict[Site, list[Place]] = {}
    left_out = []
    for site, log, jobs in at_sites(logs):
        months = list(filter(log.takes, site.months))
        enough = [month for month in months if jobs.get(month, 0) * options.percent >= 100 * _FEWEST]
        first = months[: options.months]
        # A log of the user may begin in the middle of a month; of other logs, take the months that the paper chose.
        if taken := enough[: options.months] if log.own else [month for month in first if month in enough]:
            at_site[site] = [Place(log, site, month) for month in taken]
        left_out += [
            f"{log.name}: {month} has {jobs.get(month, 0)} jobs, too few for {_FEWEST} applications"
            for month in first
            if month not in enough
        ]
    if len(at_site) < 2:
        raise BadInput(
            "several supercomputers need at least two logs with months of enough jobs; give the folder of CTC-SP2, "
            "KTH-SP2 and SDSC-SP2 by --traces, or files by --log, or give more applications by --percent"
        )
    together = list(zip(*at_site.values(), strict=False))
    pairs = list(combinations(together[0], 2)) if len(at_site) > 2 else []
    runs = []
    for places in (*together, *pairs):
        for seed in range(options.seed, options.seed + options.seeds):
            runs += _runs(places, BASE, seed, options.percent, SHARES, home=True)
    if options.others:
        for setting in OTHERS:
            for places in together[:2]:
                runs += _runs(places, setting, options.seed, options.percent, (0, 100), home=False)
        for setting in BOUNDARIES:
            for places in together:
                runs += _spread(places, setting, options.seed, options.percent)
    return runs, left_out


def _runs(
    places: tuple[Place, ...], setting: Setting, seed: int, percent: int, shares: Iterable[int], *, home: bool
) -> list[TrialRun]:
    found = [TrialRun(places, setting, seed, percent, one, one, 0, False) for one in HOME] if home else []
    found += _spread(places, setting, seed, percent) if home else []
    return found + [
        TrialRun(places, setting, seed, percent, game.others, game.some, share, True)
        for game in GAMES
        for share in shares
    ]


def _spread(places: tuple[Place, ...], setting: Setting, seed: int, percent: int) -> list[TrialRun]:
    """Return the runs in which none, and in which all applications may also use several machines together."""
    of_game = SPREAD.others, SPREAD.some
    return [TrialRun(places, setting, seed, percent, *of_game, share, True) for share in (SHARES[0], SHARES[-1])]


# ---------------------------------------------------------------------------------------------------------- results


class Results(StudyResults[Options, TrialRun]):
    """All runs and their results, in the same order."""

    @property
    def done(self) -> list[tuple[str, Configuration, Result]]:
        """Everything that was computed: the logs, a configuration, and its counts of jobs and of moldable ones."""
        return [
            (" + ".join(place.site.trace for place in run.places), run.configuration, _counted(result))
            for run, result in self.pairs
        ]

    @cached_property
    def together(self) -> list[tuple[Place, ...]]:
        """The sets of machines, the largest first."""
        return list(dict.fromkeys(run.places for run in self.runs))

    @cached_property
    def most(self) -> int:
        """Number of machines in the largest sets."""
        return max(len(places) for places in self.together)

    @cached_property
    def logs(self) -> list[tuple[Site, Found]]:
        """Sites and their logs that take part."""
        return list(dict.fromkeys((one.site, one.log) for run in self.runs for one in run.places))

    @cached_property
    def settings(self) -> list[Setting]:
        """Other settings that were run."""
        known = dict.fromkeys(run.setting for run in self.runs)
        return [setting for setting in known if setting not in (BASE, *BOUNDARIES)]

    @cached_property
    def boundaries(self) -> list[Setting]:
        """Settings with another factor for running across the boundary between machines than usual."""
        return [setting for setting in BOUNDARIES if any(run.setting == setting for run in self.runs)]

    def of_game(
        self, game: Game, share: int, setting: Setting = BASE, places: tuple[Place, ...] | None = None
    ) -> list[Result]:
        """Return the results of a game at a share; by default on all of the largest sets of machines."""
        return self._results(game.others, game.some, share, setting, places)

    def of_all(self, strategy: Strategy, places: tuple[Place, ...] | None = None) -> list[Result]:
        """Return the results of runs in which all applications follow one strategy."""
        for game in (*GAMES, SPREAD):
            if strategy in (game.others, game.some):
                return self.of_game(game, 100 if strategy == game.some else 0, BASE, places)
        return self._results(strategy, strategy, 0, BASE, places)

    @property
    def months(self) -> list[tuple[Place, ...]]:
        """The largest sets of machines, each with a month of its own."""
        return [places for places in self.together if len(places) == self.most]

    def gained(self, game: Game, share: int, of: str = "all", setting: Setting = BASE) -> Part:
        """Return how many seconds sooner a deviating application ends, over months; of "all" or "waiting" ones."""
        runs = [self.of_game(game, share, setting, places) for places in self.months]
        weights = [[one["applications" if of == "all" else "waiting"] for one in found] for found in runs]
        gains = [[one["gain"][of]["mean"] or 0.0 for one in found] for found in runs]
        return of_sums([np.dot(a, b) for a, b in zip(weights, gains, strict=True)], [sum(these) for these in weights])

    def longer(self, game: Game, share: int, whose: Figure, setting: Setting = BASE) -> Part:
        """Return by how many per cent a mean exceeds that of the same runs where no user deviates, over months."""
        return _change(
            [self.of_game(game, share, setting, places) for places in self.months],
            [self.of_game(game, SHARES[0], setting, places) for places in self.months],
            whose,
        )

    def chosen(self) -> Part:
        """Return by how many per cent applications that choose a machine take longer than those at home."""
        choose, home = ([self.of_all(one, places) for places in self.months] for one in _CHOOSE_AND_HOME)
        return _change(choose, home, applications_mean)

    def mean_over_months(self, strategy: Strategy) -> Interval | None:
        """Return the mean turn-around time of applications that all follow one strategy, over months."""
        runs = [self.of_all(strategy, places) for places in self.months]
        sums = [[applications_mean(one) for one in found] for found in runs]
        return of_sums(*([sum(pair[at] for pair in of) for of in sums] for at in (0, 1)))(LEVEL)

    def _results(
        self, others: Strategy, some: Strategy, share: int, setting: Setting, places: tuple[Place, ...] | None
    ) -> list[Result]:
        wanted = (others, some, share, setting)
        return [
            result
            for run, result in self.pairs
            if (run.others, run.some, run.share, run.setting) == wanted
            if (len(run.places) == self.most if places is None else run.places == places)
        ]


def _counted(result: Result) -> Result:
    rigid = sum(one["rigid"] for one in result["machines"])
    return {"jobs": result["applications"] + rigid, "moldable": result["applications"]}


Figure: TypeAlias = Callable[[Result], tuple[float, float]]
"""Returns the sum of a figure over jobs of a run, and the number of these jobs."""


def applications_mean(result: Result) -> tuple[float, float]:
    """Return the sum of the turn-around times of a run's applications, and their number."""
    return result["applications"] * (result["mean"] or 0.0), result["applications"]


def rigid_jobs_mean(result: Result) -> tuple[float, float]:
    """Return the sum of the turn-around times of a run's rigid jobs, and their number."""
    count = sum(one["rigid"] for one in result["machines"])
    return count * rigid_mean(result), count


def _change(one: Sequence[Sequence[Result]], other: Sequence[Sequence[Result]], figure: Figure) -> Part:
    """Return by how many per cent one mean exceeds the other over the same jobs, from the runs of each month."""
    sums = [[sum(figure(run)[0] for run in of_month) for of_month in runs] for runs in (one, other)]
    return scaled(of_sums(sums[0], sums[1]), 100, -100)


def rigid_mean(result: Mapping[str, Any]) -> float:
    """Return the mean turn-around time of all rigid jobs on all machines."""
    count = sum(one["rigid"] for one in result["machines"])
    total: float = sum(one["rigid"] * (one["rigid_mean"] or 0.0) for one in result["machines"])
    mean: float = total / max(count, 1)
    return mean


def mean_of(results: Sequence[Result], name: str) -> float:
    """Return the mean of a figure over the applications of all runs."""
    weights = [one["applications"] for one in results]
    return float(sum(w * (one[name] or 0.0) for w, one in zip(weights, results, strict=True)) / max(sum(weights), 1))


def rigid_mean_of(results: Sequence[Result]) -> float:
    """Return the mean of `rigid_mean` over several runs, with equal weights."""
    return float(np.mean([rigid_mean(one) for one in results]))


def pooled(results: Sequence[Result], name: str, of: str = "all") -> float:
    """Return a mean of gains over the applications of several runs; "all" of them or those "waiting"."""
    weights = [one["applications"] if of == "all" else one["waiting"] for one in results]
    total: float = sum(w * (one["gain"][of][name] or 0.0) for w, one in zip(weights, results, strict=True))
    mean: float = total / max(sum(weights), 1)
    return mean


PAY = {"seconds": "extra", "share": "extra_time"}
"""The currency of the charge for each submission beyond the first, and the mean to which the charge is proportional.
Seconds, or a share of the execution time (which is the same share of the processor time of the run).
"""


def break_even(results: Sequence[Result], currency: str) -> float:
    """Return the charge per submission beyond the first at which deviating gains nothing; negative if it loses."""
    paid = pooled(results, PAY[currency])
    return pooled(results, "mean") / paid if paid > 0 else 0.0


def equilibrium(shares: Sequence[float], net: Sequence[float]) -> float:
    """Return the share that deviates if deviating gains `net` at each share of others, interpolated linearly.

    Zero if the first to deviate loses; otherwise the least share at which one more gains nothing; otherwise all.
    """
    if net[0] <= 0:
        return float(shares[0])
    for i in range(1, len(net)):
        if net[i] <= 0:
            part = net[i - 1] / (net[i - 1] - net[i])
            return float(shares[i - 1] + part * (shares[i] - shares[i - 1]))
    return float(shares[-1])


def summarised(computed: Computed[Options, TrialRun]) -> Results:
    """Return the results.

    Raises
    ------
    BadInput
        There were no applications.
    """
    if not any(result["applications"] for result in computed.results):
        raise BadInput("no machine has jobs that applications can replace; name other logs with --traces")
    return Results.of(computed)
