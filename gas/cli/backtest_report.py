"""The output of ``gas backtest``: tables for the terminal, a page with pictures, ``gas.backtest/1``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gas.cli.backtest_words import (
    Extent,
    bad_sentences,
    good_sentences,
    held_share,
    of_few,
    percent,
    seconds_text,
    share_text,
)
from gas.cli.savings_report import savings_blocks, savings_sentences, savings_wire
from gas.intervals import Interval
from gas.prediction.backtest import Outcome
from gas.prediction.classes import FACTOR_SHARE, FEWEST, HELD, JobClass, best_baseline
from gas.prediction.ledger import INTERVAL
from gas.prediction.savings import Savings
from gas.prediction.scores import NAMES, Scores, answered, scores_of
from gas.report.blocks import Block, Bullets, Cell, Column, Picture, Report, Section, Table, Text, heads
from workloads import Log

__all__ = ["Backtested", "report_of", "summary_of", "tables_of", "wire_of"]


class Backtested(NamedTuple):
    """A backtested log, with its results."""

    log: Log
    extent: Extent
    outcomes: Sequence[Outcome]
    classes: Sequence[JobClass]
    savings: Savings


# ------------------------------------------------------------------------------------------------------- tables


def tables_of(outcomes: Sequence[Outcome], classes: Sequence[JobClass]) -> tuple[Table, Table]:
    """Return the table of prediction methods and the table of classes."""
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
            seconds_text(one.width),
            seconds_text(one.median_error),
            f"{one.delayed:,}",
            _marked(one.within_factor_2, one.delayed, one.far_off),
            _marked(one.beaten, one.told_apart, one.no_better),
        )
        for one in classes
    )
    columns = (
        Column("jobs by", left=True),
        Column("", left=True),
        *heads("jobs", "90% intervals held", "median width"),
        *heads("median error", "waited > 10 min", "factor 2", "Gas nearer"),
    )
    return ways, Table(columns, rows)


def summary_of(logs: Sequence[Backtested]) -> Table:
    """Return the table of several logs: the accuracy for each, and the number of worse classes."""
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
                seconds_text(scores_of(both, "median").median_error),
                seconds_text(scores_of(both, name).median_error),
                f"{everybody.delayed:,}",
                _marked(everybody.within_factor_2, everybody.delayed, everybody.far_off),
                f"{worse} of {judged}",
            )
        )
    titles = "jobs", "90% intervals held", "median error", "best simple", "waited > 10 min", "factor 2", "classes worse"
    return Table((Column("log", left=True), *heads(*titles)), tuple(rows))


def _ways(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, ...]]:
    """Yield the row of each method; if a method did not predict every job, the next row is Gas for the same jobs."""
    for name, words in NAMES.items():
        said = answered(outcomes, name)
        yield words, *_cells(scores_of(said, name))
        if 0 < len(said) < len(outcomes):
            yield "– Gas for the same jobs", *_cells(scores_of(said, "median"))


def _marked(found: Interval | None, count: int, worse: bool) -> Cell | str:
    """Return a share, marked if it is below its bound."""
    if found is None or count < FEWEST:
        return Cell(of_few(found, count), "quiet")
    return Cell(f"{share_text(found)} !", "bad") if worse else share_text(found)


def _cells(found: Scores) -> tuple[str, ...]:
    return (
        f"{found.jobs:,}",
        seconds_text(found.median_error),
        seconds_text(found.mean_error),
        percent(found.within_1_minute),
        percent(found.within_10_minutes),
        percent(found.within_factor_2),
    )


# --------------------------------------------------------------------------------------------------------- page

_METHOD = (
    "Gas predicted each job from what was known at its submission: running, waiting and ended jobs, and the waits of "
    "past jobs with a similar queue. As in `gas plan --predict`, it simulated the queue forward, mixed in learned "
    "waits, and corrected the interval by the outcomes known by then. Then it compared the prediction with the "
    "recorded start."
)
_LIMITS = (
    "The log does not show reservations, limits, holds, dependencies and down nodes. If these delay jobs, starts are "
    "later than predicted, until earlier outcomes have corrected the intervals.",
    "Each partition is assumed to have as many processors as it has used at most so far. If all partitions together "
    "have no more than the machine, each is simulated with its own processors; otherwise the machine is simulated as "
    "one pool.",
    "± is half of a 90% interval over twelve consecutive parts of the log. A class is marked (!) only if its whole "
    f"interval is below the bound ({HELD:.0%} of the intervals contain the start, {FACTOR_SHARE:.0%} of the waits are "
    "within a factor of two, Gas is nearer in half of the cases); of twenty classes, one may be marked by chance.",
    "Classes by recorded wait are known only in hindsight: at submission, the class of a job is unknown.",
)
_SIMPLE = (
    "Simple predictions: the median wait of the last 50 started jobs of similar size and walltime (“last similar "
    "jobs”), and the planned start if all jobs use their whole walltimes (“whole walltimes used”). Errors are "
    "distances of predicted and recorded start; “≤ 1 min” is the share of the jobs with an error of at most a minute. "
    "“factor 2” is the share, among jobs that waited for more than 10 minutes, whose wait was predicted within a "
    "factor of two, after adding a minute to both waits."
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
        "Left: how often the predicted interval contained the recorded start, for intervals of 10% to 95% probability. "
        "On the dashed line this is as often as it should be; below the line, intervals are too narrow. If a job "
        "starts at once, as predicted, every interval contains its start. Right: the recorded wait of each job "
        "against the predicted one; between the dashed lines, predictions are within a factor of two."
    )
    course = (
        "The share of 90% intervals that contained the recorded start, over the time of the log: each point is the "
        "share among the last predictions, whose number is at the axis. The grey band is 85 to 95%."
    )
    shown = (
        "Classes of jobs, with intervals over twelve parts of the log; orange marks classes significantly below the "
        "dashed bound. Numbers on the right count jobs; pale classes have too few to be judged."
    )
    name = log.name.removesuffix(".gz").removesuffix(".swf")
    where = ", ".join(text for text in (log.header.computer, log.header.installation) if text)
    thanks = "; ".join(" ".join(text.split()) for text in log.acknowledgements)
    source = [text for text in (where and f"Log: {where}.", thanks and f"Acknowledgement: {thanks}") if text]
    poor = bad_sentences(classes, more=extent.more_than(outcomes))
    waits: tuple[Block, ...] = picture("waits", waited), ways, Text(_SIMPLE)
    method = Text(" ".join(extent.sentences(outcomes))), Text(_METHOD), Bullets((*_LIMITS, *source))
    return Report(
        f"Accuracy of predicted starts: {name}",
        " ".join(good_sentences(outcomes, classes)),
        (
            Section("Where predictions are poor", (Bullets(tuple(poor)),)),
            Section("Predicted and recorded waits", waits),
            Section("Classes of jobs", (picture("classes", shown), groups)),
            Section("What choosing by predictions would have saved", savings_blocks(savings)),
            Section("Over the time of the log", (picture("course", course),)),
            Section("How this was computed", method),
        ),
    )


# --------------------------------------------------------------------------------------------------------- JSON


def wire_of(
    log: Log, extent: Extent, outcomes: Sequence[Outcome], classes: Sequence[JobClass], savings: Savings
) -> dict[str, Any]:
    """Return all figures as JSON."""
    from gas.prediction.scores import by_wait

    certain = [one for one in outcomes if one.one_instant]
    return {
        "schema": "gas.backtest/1",
        "log": log.name,
        "processors": extent.machine,
        "most_used": extent.most_used,
        "overfull": extent.overfull,
        "doubt": extent.doubt,
        "jobs": extent.jobs,
        "without_walltime": extent.unlimited,
        "left_out": extent.left_out,
        "possible": extent.possible,
        "predicted": len(outcomes),
        "fewer_samples": sum(0 < one.samples < extent.samples for one in outcomes),
        "not_simulated": sum(one.samples == 0 for one in outcomes),
        "interval": INTERVAL,
        "inside": held_share(outcomes),
        "one_instant": {
            "jobs": len(certain),
            "inside": held_share(certain),
            "inside_of_others": held_share([one for one in outcomes if not one.one_instant]),
        },
        "best_baseline": best_baseline(outcomes),
        "scores": {name: scores_of(outcomes, name).to_wire() for name in NAMES},
        "scores_of_gas_for_the_same_jobs": {
            name: scores_of(answered(outcomes, name), "median").to_wire() for name in NAMES
        },
        "waits": [
            {
                "from": first,
                "until": end,
                "inside": held_share(part),
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
                "median_width": one.width,
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
            *bad_sentences(classes, more=extent.more_than(outcomes)),
            *savings_sentences(savings),
            *extent.sentences(outcomes),
        ],
    }


def _interval_of(found: Interval | None) -> dict[str, float | None] | None:
    return None if found is None else {"mean": found.mean, "half_width": found.half_width}
