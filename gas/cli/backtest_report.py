"""What ``gas backtest`` says: a few sentences, tables for the terminal, a page with pictures, ``gas.backtest/1``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gas.cli.savings_report import savings_blocks, savings_sentences, savings_wire
from gas.intervals import Interval
from gas.prediction.backtest import Outcome
from gas.prediction.classes import FACTOR_SHARE, FEWEST, HELD, JobClass, best_baseline, shortly
from gas.prediction.ledger import INTERVAL
from gas.prediction.recorded import UNLIMITED
from gas.prediction.savings import Savings
from gas.prediction.scores import FACTOR_FROM, NAMES, Scores, answered, scores_of
from gas.printable import many
from gas.report.blocks import Block, Bullets, Cell, Column, Picture, Report, Section, Table, Text, heads
from workloads import Log

__all__ = ["Backtested", "Extent", "bad_sentences", "good_sentences", "report_of", "summary_of", "tables_of", "wire_of"]

_SCORES = ("median error", "mean error", "≤ 1 min", "≤ 10 min", "factor 2")

_NAMED = 6
"""So many classes are named among those for whom predictions are not good."""


@dataclass(frozen=True)
class Extent:
    """How much of a log was predicted.

    Attributes
    ----------
    jobs
        Usable jobs of the log, `unlimited` of them without a walltime; `left_out` are not usable: their wait or run
        time is unknown, or they were cancelled while they waited.
    possible
        Those of them that could be predicted, after the first had ended.
    wanted
        How many were to be predicted.
    samples
        How often each queue was to be simulated.
    longest
        The longest queue at a prediction, in jobs.
    """

    jobs: int
    unlimited: int
    left_out: int
    possible: int
    wanted: int
    samples: int
    longest: int

    def sentences(self, outcomes: Sequence[Outcome]) -> list[str]:
        """Return what was predicted, and what was cut."""
        count = len(outcomes)
        if count == self.possible:
            found = [f"Predicted at each of {self.possible:,} submissions, all but the first of the log."]
        else:
            found = [f"Predicted at {count:,} of {self.possible:,} submissions, evenly over the log."]
        if count < min(self.wanted, self.possible):
            found.append(
                f"These are fewer than {self.wanted:,}, because queues were long, up to {many(self.longest, 'job')}; "
                f"--jobs {self.wanted} predicts as many, and takes longer."
            )
        if short := sum(one.samples < self.samples for one in outcomes):
            least = min(one.samples for one in outcomes)
            found.append(
                f"At {short:,} of them the queue was so long that it was simulated only {least} to {self.samples - 1} "
                f"times instead of {self.samples}."
            )
        if self.left_out:
            found.append(f"{many(self.left_out, 'job')} left out: no wait or run time, or cancelled while waiting.")
        if self.unlimited:
            found.append(f"{many(self.unlimited, 'job')} without walltime count with {shortly(UNLIMITED)}.")
        return found


class Backtested(NamedTuple):
    """A log that was backtested, and what came of it."""

    log: Log
    extent: Extent
    outcomes: Sequence[Outcome]
    classes: Sequence[JobClass]
    savings: Savings


def good_sentences(outcomes: Sequence[Outcome], classes: Sequence[JobClass]) -> list[str]:
    """Return how good the predictions are, in a few sentences."""
    everybody, name = classes[0], best_baseline(outcomes)
    both = answered(outcomes, name)
    gas, other = scores_of(both, "median"), scores_of(both, name)
    held = _of_few(everybody.held, everybody.jobs)
    found = [f"{INTERVAL:.0%} intervals held {held} of {many(len(outcomes), 'recorded start')}."]
    if other.jobs:
        rival = f"{_seconds(other.median_error)} for the best simple prediction ({NAMES[name]})"
        without = len(outcomes) - len(both)
        fewer = f"; it said nothing of {many(without, 'job')}, left out of this comparison" if without else ""
        found.append(f"The median error is {_seconds(gas.median_error)}, against {rival}{fewer}.")
    if everybody.within_factor_2 is not None:
        against = ""
        if other.within_factor_2 is not None:
            where = f"; Gas for the same jobs: {_percent(gas.within_factor_2)}" if len(both) < len(outcomes) else ""
            against = f" ({NAMES[name]}: {_percent(other.within_factor_2)}{where})"
        found.append(
            f"Of the {many(everybody.delayed, 'job')} that waited for more than {shortly(FACTOR_FROM)}, "
            f"{_of_few(everybody.within_factor_2, everybody.delayed)} were predicted within a factor of two{against}."
        )
    else:
        found.append(f"No job waited for more than {shortly(FACTOR_FROM)}: there was little to predict.")
    return found


def bad_sentences(classes: Sequence[JobClass]) -> list[str]:
    """Return for whom predictions are not good, beyond doubt; and what cannot be said."""
    everybody, parts = classes[0], classes[1:]
    if everybody.jobs < FEWEST:
        return [f"These are too few to say for whom predictions are good: at least {FEWEST} are needed."]
    if everybody.held.half_width is None:
        return ["The log is too short to say for whom predictions are good."]
    narrow = _listed([(one, one.jobs, one.held) for one in parts if one.too_narrow], HELD)
    far = _listed([(one, one.delayed, one.within_factor_2) for one in parts if one.far_off], FACTOR_SHARE)
    beaten = _listed([(one, one.told_apart, one.beaten) for one in parts if one.no_better], 0.5)
    found = [
        f"{what}{' on the whole, and clearly' if at_all else ''} for: {which}." if which else f"{what}."
        for what, at_all, which in (
            (f"Fewer than {HELD:.0%} of the intervals held", everybody.too_narrow, narrow),
            (f"Fewer than {FACTOR_SHARE:.0%} of the waits are within a factor of two", everybody.far_off, far),
            (
                "The simple prediction was nearer than Gas in most cases in which they differ",
                everybody.no_better,
                beaten,
            ),
        )
        if at_all or which
    ]
    few = sum(one.jobs < FEWEST for one in parts)
    if not found and few < len(parts):
        found.append(
            f"For none of {len(parts) - few} classes of jobs is it beyond doubt that fewer than {HELD:.0%} of the "
            f"intervals held, or that fewer than {FACTOR_SHARE:.0%} of the waits are within a factor of two."
        )
    if few:
        found.append(f"{few} of {len(parts)} classes have fewer than {FEWEST} predictions and cannot be judged.")
    return found


def _listed(classes: Sequence[tuple[JobClass, int, Interval | None]], bound: float) -> str:
    """Return the classes with their figures, of so many jobs each; those first that lack most of their bound."""
    known = [(one, count, share) for one, count, share in classes if share is not None]
    worst = sorted(known, key=lambda each: each[1] * (each[2].mean - bound))
    parts = [f"{one.kind} {one.name} ({_share(share)} of {count:,})" for one, count, share in worst[:_NAMED]]
    return "; ".join(parts) + (f"; and {len(worst) - _NAMED} more classes" if len(worst) > _NAMED else "")


# ------------------------------------------------------------------------------------------------------- tables


def tables_of(outcomes: Sequence[Outcome], classes: Sequence[JobClass]) -> tuple[Table, Table]:
    """Return the table of ways to predict and that of classes."""
    ways = Table(
        (
            Column("prediction", left=True),
            *heads("jobs", "median error", "mean error", "≤ 1 min", "≤ 10 min", "factor 2"),
        ),
        tuple(_ways(outcomes)),
    )
    rows = tuple(
        (
            one.kind or "all",
            one.name if one.kind else "",
            f"{one.jobs:,}",
            _marked(one.held, one.jobs, one.too_narrow),
            _seconds(one.median_error),
            f"{one.delayed:,}",
            _marked(one.within_factor_2, one.delayed, one.far_off),
            _marked(one.beaten, one.told_apart, one.no_better),
        )
        for one in classes
    )
    columns = (
        Column("jobs by", left=True),
        Column("", left=True),
        *heads("jobs", "90% intervals held", "median error", "waited > 10 min", "factor 2", "Gas nearer"),
    )
    return ways, Table(columns, rows)


def summary_of(logs: Sequence[Backtested]) -> Table:
    """Return the table of several logs: how good predictions were for each, and how many classes are worse."""
    rows = []
    for one in logs:
        everybody, parts, name = one.classes[0], one.classes[1:], best_baseline(one.outcomes)
        both = answered(one.outcomes, name)
        worse = sum(each.too_narrow or each.far_off or each.no_better for each in parts)
        judged = sum(each.jobs >= FEWEST for each in parts)
        rows.append(
            (
                one.log.name,
                f"{everybody.jobs:,}",
                _marked(everybody.held, everybody.jobs, everybody.too_narrow),
                _seconds(scores_of(both, "median").median_error),
                _seconds(scores_of(both, name).median_error),
                f"{everybody.delayed:,}",
                _marked(everybody.within_factor_2, everybody.delayed, everybody.far_off),
                f"{worse} of {judged}",
            )
        )
    titles = "jobs", "90% intervals held", "median error", "best simple", "waited > 10 min", "factor 2", "classes worse"
    return Table((Column("log", left=True), *heads(*titles)), tuple(rows))


def _ways(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, ...]]:
    """Yield the row of each way to predict; below one that did not say something of every job, Gas for the others."""
    for name, words in NAMES.items():
        said = answered(outcomes, name)
        yield words, *_cells(scores_of(said, name))
        if 0 < len(said) < len(outcomes):
            yield "– Gas for the same jobs", *_cells(scores_of(said, "median"))


def _marked(found: Interval | None, count: int, worse: bool) -> Cell | str:
    """Return a share, marked where it is below its bound."""
    if found is None or count < FEWEST:
        return Cell(_of_few(found, count), "quiet")
    return Cell(f"{_share(found)} !", "bad") if worse else _share(found)


def _of_few(found: Interval | None, count: int) -> str:
    """Return a share, without its interval if it is of few: that would be narrow by chance."""
    return _share(Interval(found.mean, None) if found is not None and count < FEWEST else found)


def _cells(found: Scores) -> tuple[str, ...]:
    return (
        f"{found.jobs:,}",
        _seconds(found.median_error),
        _seconds(found.mean_error),
        _percent(found.within_1_minute),
        _percent(found.within_10_minutes),
        _percent(found.within_factor_2),
    )


def _seconds(value: float | None) -> str:
    return "–" if value is None else shortly(round(value))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}%"


def _share(found: Interval | None) -> str:
    """Return a share in per cent with half of its interval, if there is one."""
    if found is None:
        return "–"
    width = "" if found.half_width is None else f" ± {100 * found.half_width:.0f}"
    return f"{100 * found.mean:.0f}{width}%"


# --------------------------------------------------------------------------------------------------------- page

_METHOD = (
    "Each job was predicted from what was known at its submission: who ran, who waited, whose jobs had ended, and what "
    "jobs that met a similar queue had waited. The queue was simulated forward, learned waits were mixed in, and the "
    "outcomes known by then corrected the interval, as `gas plan --predict` does. Then the prediction was compared "
    "with the recorded start."
)
_LIMITS = (
    "The log shows neither reservations nor limits, holds, dependencies and nodes that were down; where they decide, "
    "starts are later than predicted until the outcomes have taught the intervals.",
    "Partitions are taken to have processors of their own as long as the most that each had in use so far add up to no "
    "more than the machine has; else the simulation takes the machine as one pool.",
    "± is half of a 90% interval over twelve consecutive parts of the log. A class is marked (!) only if its whole "
    f"interval is below the bound ({HELD:.0%} of the intervals held, {FACTOR_SHARE:.0%} within a factor of two, Gas "
    "nearer in half of the cases); of twenty classes, one may be marked by chance.",
    "Classes by recorded wait are known in hindsight only: at submission, the class of a job is unknown.",
)
_SIMPLE = (
    "Simple predictions: the median wait of the last 50 started jobs of similar size and walltime, and the start that "
    "is planned if all jobs use their whole walltimes."
)


def report_of(
    log: Log, extent: Extent, outcomes: Sequence[Outcome], classes: Sequence[JobClass], savings: Savings
) -> Report:
    """Return the report as a page with pictures; `Missing` if matplotlib is not installed."""
    from gas.pictures.backtest import backtest_svgs

    drawn = backtest_svgs(outcomes, classes)

    def picture(name: str, caption: str) -> Picture:
        return Picture(name, drawn[name], caption)

    ways, groups = tables_of(outcomes, classes)
    waited = (
        "Left: of intervals of 10 to 95%, how many held. On the dashed line they hold as often as they say; below it "
        "they are too narrow. What is predicted to start at once lies in intervals of any probability. Right: each job "
        "by its predicted and its recorded wait; between the dashed lines it is within a factor of two."
    )
    course = "The share of 90% intervals that held in the course of the log. The band is 85 to 95%."
    shown = "Classes of jobs, with intervals over twelve parts of the log; orange is clearly below the dashed bound."
    name = log.name.removesuffix(".gz").removesuffix(".swf")
    where = ", ".join(text for text in (log.header.computer, log.header.installation) if text)
    thanks = "; ".join(" ".join(text.split()) for text in log.acknowledgements)
    source = [text for text in (where and f"Log: {where}.", thanks and f"Acknowledgement: {thanks}") if text]
    waits: tuple[Block, ...] = picture("waits", waited), ways, Text(_SIMPLE)
    method = Text(" ".join(extent.sentences(outcomes))), Text(_METHOD), Bullets((*_LIMITS, *source))
    return Report(
        f"How good predicted starts would have been: {name}",
        " ".join(good_sentences(outcomes, classes)),
        (
            Section("For whom they are not good", (Bullets(tuple(bad_sentences(classes))),)),
            Section("Predicted and recorded waits", waits),
            Section("Classes of jobs", (picture("classes", shown), groups)),
            Section("What choosing by prediction would have saved, and whom", savings_blocks(savings)),
            Section("In the course of the log", (picture("course", course),)),
            Section("How this was computed", method),
        ),
    )


# --------------------------------------------------------------------------------------------------------- JSON


def wire_of(
    log: Log, extent: Extent, outcomes: Sequence[Outcome], classes: Sequence[JobClass], savings: Savings
) -> dict[str, Any]:
    """Return all figures as JSON."""
    from gas.prediction.scores import by_wait

    def inside(part: Sequence[Outcome]) -> float:
        return sum(one.inside for one in part) / len(part)

    return {
        "schema": "gas.backtest/1",
        "log": log.name,
        "jobs": extent.jobs,
        "without_walltime": extent.unlimited,
        "left_out": extent.left_out,
        "possible": extent.possible,
        "predicted": len(outcomes),
        "fewer_samples": sum(one.samples < extent.samples for one in outcomes),
        "interval": INTERVAL,
        "inside": inside(outcomes),
        "best_baseline": best_baseline(outcomes),
        "scores": {name: scores_of(outcomes, name).to_wire() for name in NAMES},
        "scores_of_gas_for_the_same_jobs": {
            name: scores_of(answered(outcomes, name), "median").to_wire() for name in NAMES
        },
        "waits": [
            {
                "from": first,
                "until": end,
                "inside": inside(part),
                "scores": {name: scores_of(part, name).to_wire() for name in NAMES},
            }
            for (first, end), part in by_wait(outcomes)
        ],
        "classes": [
            {
                "by": one.kind or None,
                "name": one.name,
                "jobs": one.jobs,
                "held": _interval_of(one.held),
                "median_error": one.median_error,
                "waited": one.delayed,
                "within_factor_2": _interval_of(one.within_factor_2),
                "gas_nearer": _interval_of(one.beaten),
                "too_narrow": one.too_narrow,
                "far_off": one.far_off,
                "no_better": one.no_better,
            }
            for one in classes
        ],
        "savings": savings_wire(savings),
        "in_words": [
            *good_sentences(outcomes, classes),
            *bad_sentences(classes),
            *savings_sentences(savings),
            *extent.sentences(outcomes),
        ],
    }


def _interval_of(found: Interval | None) -> dict[str, float | None] | None:
    return None if found is None else {"mean": found.mean, "half_width": found.half_width}
