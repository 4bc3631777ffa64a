"""The study of predictions: the list of runs and their results.

Calibration: for a month of a log, the starts predicted at submission for jobs that had to wait. The constants of the
prediction were chosen on the first halves of the logs, so verdicts come from the second halves.

Choice: the months, jobs and static requests of the study of one moldable job (`experiments.moldable.months`), with a
Gas that predicts next to one that assumes that each job uses its whole walltime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import Found
from experiments.framework.sites import Site, at_sites
from experiments.framework.study import Computed
from experiments.moldable import months as power_study
from experiments.moldable.benchmarks import GROUPS
from experiments.moldable.months import MonthRun, Outcomes
from experiments.moldable.terms import BASE
from experiments.prediction.bakeoff import NAMES, WaitRun, Waits, judging_from, wait_runs
from experiments.prediction.run import REVEALED
from gas.errors import BadInput
from gas.intervals import Interval, by_months, share_by_months
from gas.prediction.past import STREAMS

__all__ = ["FULL", "PARTS", "POLICY", "QUICK", "SIZES", "Calibration", "Choice", "Choices", "Month", "Options"]
__all__ += ["Predictions", "Results", "planned", "study_runs", "summarised"]

POLICY: Final = "s3"

SIZES: Final = {"up to 1/8": (0.0, 1 / 8), "to 1/2": (1 / 8, 1 / 2), "more": (1 / 2, 1.0)}
"""Shares of the machine, from above the first to the second."""

_SAMPLES_REVEALED: Final = {"running": 100, "waiting": 100, "all": STREAMS}
"""If all run times are known, only arrivals are drawn, and there are no more streams of arrivals than this."""

Month: TypeAlias = tuple[str, str]
"""A log by its name in the papers, and one of its months."""


@dataclass(frozen=True)
class Options:
    """What a user chooses.

    Attributes
    ----------
    jobs, samples
        Largest number of jobs of a month whose starts are predicted, and samples of each prediction.
    runs, seeds
        Jobs of a month that are replaced, one at a time, and seeds of the choice.
    choice_samples
        Samples of each prediction for a choice.
    months
        Only the last so many months of each log, and as many of the choice; all if None.
    waits, wait_samples
        Jobs of a log whose waits all methods predict, and samples of each prediction of Gas.
    only
        The only part to run, of `PARTS`; empty for all.
    """

    seed: int = 0
    seeds: int = 1
    jobs: int = 60
    samples: int = 300
    runs: int = 210
    choice_samples: int = 100
    months: int | None = None
    waits: int = 1_000
    wait_samples: int = 60
    only: str = ""

    def has(self, part: str) -> bool:
        """Return whether a part is run."""
        return self.only in ("", part)


PARTS: Final = ("waits", "starts", "choice")
"""All methods on all logs; starts in simulations of S³; choosing by predictions."""

FULL: Final = Options()
QUICK: Final = Options(jobs=20, samples=100, runs=40, choice_samples=50, months=2, waits=150, wait_samples=20)


@dataclass(frozen=True)
class Calibration:
    """A month of a log whose starts are predicted."""

    log: Found
    site: Site
    month: str
    held_out: bool
    revealed: str
    """The jobs whose run times are known, see `experiments.prediction.run.REVEALED`."""
    options: Options

    @property
    def configuration(self) -> Configuration:
        """Return what determines the result, see `experiments.prediction.run.calibration_run`."""
        return {
            "what": "calibration",
            "log": self.log.sha256,
            "processors": self.site.processors,
            "month": self.month,
            "jobs": self.options.jobs,
            "samples": min(_SAMPLES_REVEALED.get(self.revealed, self.options.samples), self.options.samples),
            "seed": self.options.seed,
            "policy": POLICY,
            "revealed": self.revealed,
        }


@dataclass(frozen=True)
class Choice:
    """A month of a log with a seed: Gas chooses with and without predictions."""

    of: MonthRun
    samples: int

    @property
    def log(self) -> Found:
        """The log."""
        return self.of.log

    @property
    def configuration(self) -> Configuration:
        """Return what determines the result, see `experiments.prediction.run.choice_run`."""
        return {"what": "choice", **self.of.configuration, "samples": self.samples}


Run: TypeAlias = "WaitRun | Calibration | Choice"


def study_runs(options: Options, logs: Sequence[Found]) -> tuple[list[Calibration], list[Choice], list[str]]:
    """Return all runs with the available logs, and the omitted months of the choice with reasons."""
    calibrations: list[Calibration] = []
    for site, log, jobs in at_sites(logs):
        months = sorted(jobs)
        half = -(-len(months) // 2)  # rounded up: a middle month was used to choose the constants
        held_out = dict.fromkeys(months[:half], False) | dict.fromkeys(months[half:], True)
        for month in filter(log.takes, months if options.months is None else months[-options.months :]):
            revealed = tuple(REVEALED) if held_out[month] else ("nothing",)
            calibrations += [Calibration(log, site, month, held_out[month], one, options) for one in revealed]
    of_power = power_study.Options(options.seed, options.seeds, options.runs, others=False)
    found, left_out = power_study.month_runs(of_power, logs, (BASE,))
    last: dict[str, list[str]] = {}
    for run in found:
        last.setdefault(run.site.trace, []).append(run.month)
    if options.months is not None:
        last = {trace: sorted(set(months))[-options.months :] for trace, months in last.items()}
        left_out = []
    choices = [Choice(run, options.choice_samples) for run in found if run.month in last[run.site.trace]]
    return calibrations, choices, left_out


class Predictions:
    """Columns of predictions for several jobs, and their true starts; instants and durations in seconds.

    Attributes
    ----------
    way
        Seconds from submission to the promised start, at least one.
    rank
        Share of the samples that started before the job.
    share
        Requested share of the machine.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], months: Sequence[Month], machine: Sequence[int]) -> None:
        self.rows, self.months, self.machine = rows, months, machine
        self.now, self.promise, self.start, self.mean, self.median, self.rank, processors = (
            np.array([row[name] for row in rows], np.float64)
            for name in ("now", "promise", "start", "mean", "median", "rank", "processors")
        )
        self.way = self.promise - self.now
        self.share = processors / np.array(machine, np.float64)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, chosen: NDArray[np.bool_]) -> Predictions:
        """Return a selection of the jobs."""
        places = np.flatnonzero(chosen).tolist()
        return Predictions(
            [self.rows[i] for i in places], [self.months[i] for i in places], [self.machine[i] for i in places]
        )

    def bounds(self, share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds of the starts with this probability, one of `prediction_run.SHARES`."""
        low, high = (np.array([row[f"{end}_{share:g}"] for row in self.rows], np.float64) for end in ("low", "high"))
        return low, high

    def inside(self, share: float) -> NDArray[np.bool_]:
        """Return which jobs started between the bounds."""
        low, high = self.bounds(share)
        return np.asarray((low <= self.start) & (self.start <= high))

    def below(self, share: float) -> NDArray[np.bool_]:
        """Return which jobs started before the bounds."""
        return np.asarray(self.start < self.bounds(share)[0])

    def above(self, share: float) -> NDArray[np.bool_]:
        """Return which jobs started after the bounds."""
        return np.asarray(self.start > self.bounds(share)[1])

    def width(self, share: float) -> NDArray[np.float64]:
        """Return the seconds between the bounds."""
        low, high = self.bounds(share)
        return high - low

    def coverage(self, share: float, *, level: float = 0.9) -> Interval:
        """Return the percentage that started between the bounds, with its interval over months."""
        return share_by_months(self.inside(share), self.months, level=level)


class Choices(Outcomes):
    """Columns of the outcomes of several choices; see `experiments.moldable.months.Outcomes`."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], months: Sequence[Month]) -> None:
        super().__init__(rows)
        self.months = months
        self.predicting, self.predicting_size = self._column("predicting"), self._column("predicting_size")
        self.watched, self.changes = self._column("watched"), self._column("changes")
        self.watched_by_plans = self._column("watched_by_plans")

    def left(self, ends: NDArray[np.int64], kept: NDArray[np.bool_] | None = None) -> float:
        """Return the share of the regret of promises that remains with these turn-around times; 0 if there was none."""
        rows = slice(None) if kept is None else kept
        regret = float(self.regret[rows].sum())
        return float((ends - self.best)[rows].sum()) / regret if regret else 0.0

    @property
    def predicting_loses(self) -> NDArray[np.bool_]:
        """Runs in which the static request ended sooner than Gas's with predictions."""
        return self.predicting > self.static

    @property
    def later(self) -> NDArray[np.float64]:
        """Seconds by which runs end later with predictions than without."""
        return np.asarray(self.predicting - self.gas, np.float64)

    @property
    def loses_more(self) -> NDArray[np.float64]:
        """Change of the percentage that loses by predicting: 100 if only predicting loses, -100 if only Gas does."""
        return np.where(self.predicting_loses, 100.0, 0.0) - np.where(self.loses, 100.0, 0.0)

    def mean(self, column: NDArray[Any], *, level: float = 0.9) -> Interval:
        """Return the mean of a column, with its interval over months."""
        return by_months(np.asarray(column, np.float64), self.months, level=level)


@dataclass(frozen=True, eq=False)
class Results:
    """All runs and their results, in the same order."""

    options: Options
    calibrations: Sequence[Calibration]
    calibrated: Sequence[Result]
    choices: Sequence[Choice]
    chosen: Sequence[Result]
    missing: Sequence[str] = ()
    """Logs that are not available."""
    left_out: Sequence[str] = ()
    waits: Sequence[tuple[WaitRun, Result]] = ()
    """Runs of the methods, with results."""

    @property
    def done(self) -> list[tuple[str, Configuration, Result]]:
        """Everything that was computed: a log with its part, a configuration and its result."""
        calibrated = zip(self.calibrations, self.calibrated, strict=True)
        chosen = zip(self.choices, self.chosen, strict=True)
        return [
            *((f"{run.log.name}, starts", run.configuration, result) for run, result in calibrated),
            *((f"{run.log.name}, choice", run.configuration, result) for run, result in chosen),
            *((f"{run.log.name}, {NAMES[run.method]}", run.configuration, result) for run, result in self.waits),
        ]

    @property
    def sites(self) -> list[tuple[Site, Found]]:
        """All logs that take part, at their sites."""
        others = dict.fromkeys(run.log for run, _ in self.waits if run.log not in [log for _, log in self.logs])
        return [*self.logs, *((Site(log.source.trace, log.source.processors, (), 0), log) for log in others)]

    @property
    def bakeoffs(self) -> list[tuple[Found, str]]:
        """Pairs of a log and a truth on which the methods were compared."""
        return list(dict.fromkeys((run.log, run.truth) for run, _ in self.waits))

    def compared(self, log: Found, truth: str, *, tuning: bool = False) -> Waits:
        """Return the predictions of a log in its test months, or in its tuning months."""
        results = [result for run, result in self.waits if (run.log, run.truth) == (log, truth)]
        return Waits(results, lambda month: log.takes(month) and (month < judging_from(log)) == tuning)

    @cached_property
    def logs(self) -> list[tuple[Site, Found]]:
        """Sites and their logs that take part."""
        predicted = [(run.site, run.log) for run in self.calibrations]
        return list(dict.fromkeys([*predicted, *((choice.of.site, choice.of.log) for choice in self.choices)]))

    @cached_property
    def traces(self) -> list[str]:
        """Names of these logs in the papers."""
        return [site.trace for site, _ in self.logs]

    def months(self, trace: str = "", *, held_out: bool | None = None) -> list[tuple[Calibration, Result]]:
        """Return months whose starts were predicted without knowing true run times, with results."""
        return [
            (run, result)
            for run, result in zip(self.calibrations, self.calibrated, strict=True)
            if run.revealed == "nothing" and trace in ("", run.site.trace) and held_out in (None, run.held_out)
        ]

    def predictions(
        self, trace: str = "", *, held_out: bool | None = True, revealed: str = "nothing", month: str = ""
    ) -> Predictions:
        """Return predictions on held-out months (or on all others, or on all if None), of a log or a month."""
        rows: list[Mapping[str, Any]] = []
        months: list[Month] = []
        machine: list[int] = []
        for run, result in zip(self.calibrations, self.calibrated, strict=True):
            if run.revealed != revealed or trace not in ("", run.site.trace) or held_out not in (None, run.held_out):
                continue
            if month in ("", run.month):
                rows += result["outcomes"]
                months += [(run.site.trace, run.month)] * len(result["outcomes"])
                machine += [run.site.processors] * len(result["outcomes"])
        return Predictions(rows, months, machine)

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds of the choice."""
        return sorted({choice.of.seed for choice in self.choices})

    @cached_property
    def held_out(self) -> set[Month]:
        """Months that were not used to choose constants of the prediction."""
        return {(run.site.trace, run.month) for run in self.calibrations if run.held_out}

    def outcomes(
        self,
        trace: str = "",
        *,
        group: str = "",
        month: str = "",
        seed: int | None = None,
        held_out: bool | None = None,
    ) -> Choices:
        """Return the outcomes of choices, of a log, a constraint class, a month or a seed."""
        benchmarks = GROUPS[group] if group else ()
        rows: list[Mapping[str, Any]] = []
        months: list[Month] = []
        for choice, result in zip(self.choices, self.chosen, strict=True):
            of = choice.of
            here = of.site.trace, of.month
            if trace not in ("", of.site.trace) or month not in ("", of.month) or seed not in (None, of.seed):
                continue
            if held_out is not None and held_out != (here in self.held_out):
                continue
            found = [row for row in result["outcomes"] if not benchmarks or row["benchmark"] in benchmarks]
            rows += found
            months += [here] * len(found)
        return Choices(rows, months)


def planned(options: Options, logs: Sequence[Found]) -> tuple[list[Run], list[str]]:
    """Return all runs, and the omitted months of the choice and logs with reasons.

    Raises
    ------
    BadInput
        No month is left for the choice.
    """
    runs: list[Run] = []
    left_out: list[str] = []
    if options.has("waits"):
        waits, without = wait_runs(logs, options.waits, min(options.samples, options.wait_samples), options.seed)
        runs, left_out = [*waits], [*without]
    if options.only != "waits":
        calibrations, choices, without = study_runs(options, logs)
        if not choices and options.has("choice"):
            raise BadInput(f"no month has enough jobs for {options.runs} runs; give fewer by --runs, or other months")
        runs += calibrations if options.has("starts") else []
        runs += choices if options.has("choice") else []
        left_out += without if options.has("choice") else []
    return runs, left_out


def summarised(computed: Computed[Options, Run]) -> Results:
    """Return the results."""
    calibrated = [(run, result) for run, result in computed.pairs if isinstance(run, Calibration)]
    chosen = [(run, result) for run, result in computed.pairs if isinstance(run, Choice)]
    waits = [(run, result) for run, result in computed.pairs if isinstance(run, WaitRun)]
    too_few = [f"{run.log.name} {run.of.month}: {result['too_few']}" for run, result in chosen if "too_few" in result]
    return Results(
        computed.options,
        *([run for run, _ in calibrated], [result for _, result in calibrated]),
        *([run for run, _ in chosen], [result for _, result in chosen]),
        computed.at_hand.absent,
        [*computed.left_out, *too_few],
        waits,
    )
