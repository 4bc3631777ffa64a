"""The sentences of ``gas backtest`` about choosing by predictions: how much sooner which jobs would have ended."""

from __future__ import annotations

from typing import Any

from gas.intervals import Interval
from gas.prediction.backtest import LONGEST_QUEUE
from gas.prediction.classes import FACTOR_SHARE, FEWEST, shortly
from gas.prediction.savings import FASTER, Saving, Savings
from gas.prediction.scores import FACTOR_FROM
from gas.printable import many
from gas.report.blocks import Block, Cell, Column, Mark, Table, Text, heads

__all__ = ["savings_blocks", "savings_sentences", "savings_table", "savings_wire"]


def savings_sentences(savings: Savings) -> list[str]:
    """Return the possible savings in sentences, with their uncertainty."""
    if not savings.classes:
        return [
            f"No predicted job was submitted while 1 to {LONGEST_QUEUE} others waited: there was nothing to choose."
        ]
    everybody = savings.classes[0]
    mean = everybody.change(everybody.saved.mean)
    width = everybody.saved.half_width
    within = "" if width is None or everybody.jobs < FEWEST else f" ± {100 * everybody.change(width):.0f}"
    best, plan = (everybody.change(everybody.requested - one) for one in (everybody.best, everybody.planned))
    unsure = "" if width is None or _sign(everybody.saved) else ", which is not significant"
    found = [
        f"Suppose that Gas had chosen by prediction, for {many(everybody.jobs, 'job')} submitted while others waited, "
        "among half, the same and twice their processors. Their mean turn-around time would have been "
        f"{_change(mean, within)}{unsure} (choosing by plan: {_change(plan)}; the best choice in hindsight: "
        f"{_change(best)}); {everybody.later:.0%} would have ended later. This result is from a replay that assumes "
        f"that twice the processors make a job {FASTER} times as fast, and that the run time at each size is known, as "
        "from a speed-up model."
    ]
    losers = [one for one in savings.classes[1:] if one.jobs >= FEWEST and _sign(one.saved) == "bad"]
    if losers:
        each = "; ".join(f"{one.kind} {one.name} ({_change(one.change(one.saved.mean))})" for one in losers)
        found.append(f"Significantly longer for: {each}.")
    if savings.near is not None and savings.delayed >= FEWEST:
        hint = "; so the saving is only a rough indication" if savings.near < FACTOR_SHARE else ""
        found.append(
            "At the recorded sizes, the replay gives a wait within a factor of two of the recorded one for "
            f"{savings.near:.0%} of {savings.delayed:,} jobs that waited for more than {shortly(FACTOR_FROM)}{hint}."
        )
    return found


def savings_table(savings: Savings) -> Table:
    """Return the table of possible savings by class of jobs."""
    rows = tuple(
        (
            one.kind or "all",
            one.name if one.kind else "",
            f"{one.jobs:,}",
            *(shortly(round(value)) for value in (one.requested, one.planned, one.predicted, one.best)),
            _saved(one),
            f"{one.later:.0%}",
        )
        for one in savings.classes
    )
    means = heads("as requested", "by plan", "by prediction", "best in hindsight", group="mean turn-around time")
    columns = (Column("jobs by", left=True), Column("", left=True), Column("jobs"), *means)
    return Table((*columns, *heads("saved", "ended later", group="by prediction, against the request")), rows)


def savings_blocks(savings: Savings) -> tuple[Block, ...]:
    """Return the blocks of a page about savings."""
    words = Text(" ".join(savings_sentences(savings)))
    return (words, savings_table(savings)) if savings.classes else (words,)


def savings_wire(savings: Savings) -> dict[str, Any]:
    """Return all figures as JSON."""
    return {
        "faster_by_twice_the_processors": FASTER,
        "replayed_within_factor_2": savings.near,
        "waited": savings.delayed,
        "classes": [
            {
                "by": one.kind or None,
                "name": one.name,
                "jobs": one.jobs,
                "mean_turnaround": {name: getattr(one, name) for name in ("requested", "planned", "predicted", "best")},
                "saved": {"mean": one.saved.mean, "half_width": one.saved.half_width},
                "later": one.later,
            }
            for one in savings.classes
        ],
    }


def _change(share: float, within: str = "") -> str:
    """Return a change of turn-around times in words."""
    return f"{100 * abs(share):.0f}{within}% {'shorter' if share >= 0 else 'longer'}"


def _sign(saved: Interval) -> Mark:
    """Return whether time is saved ("good") or lost ("bad") beyond the interval; "" if that is not resolved."""
    if saved.half_width is None or abs(saved.mean) <= saved.half_width:
        return ""
    return "good" if saved.mean > 0 else "bad"


def _saved(one: Saving) -> Cell | str:
    """Return the change in per cent of the requests' mean, with its interval unless it is of few."""
    mean, width = 100 * one.change(one.saved.mean), one.saved.half_width
    if one.jobs < FEWEST or width is None:
        return Cell(f"{mean:.0f}%", "quiet")
    return Cell(f"{mean:.0f} ± {100 * one.change(width):.0f}%", _sign(one.saved))
