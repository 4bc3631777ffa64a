"""Tables that explain a plan: the trade-offs among its candidates, the other candidates, and impossible requests."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from gas.agent.choice import predicted
from gas.cli.plan import (
    IN_TIME,
    MOST_SHOWN,
    counted,
    explain_star,
    in_time,
    mark_of,
    row_of,
    size_of,
    when,
    when_titles,
)
from gas.cli.tables import print_table, say
from gas.planner import Candidate, Plan
from gas.times import duration_text, relative_text

__all__ = ["show_impossible", "show_trade_offs"]

MOST_EXPLAINED = 100
"""Number of candidates printed with --all; --json prints all."""

_KEYS = ("scheduler", "processors", "proces-\nsors", "GPUs", "nodes")


def show_trade_offs(found: Plan, *, everything: bool) -> None:
    """Print the candidates that no other beats in both finish and processor-hours; with `everything`, the others too.

    If there are many, print some between the earliest and the cheapest, always including the best. Fits 80 columns.
    """
    if not found.candidates:
        return
    front = found.undominated
    likely = predicted(found)
    sure = [IN_TIME] if likely is not None and likely.deadline is not None else []
    for one in [found.best, *([] if likely is None else likely.prices)]:
        if one in found.candidates and one not in front:
            front.insert(bisect_right([found.score(c) for c in front], found.score(one)), one)
    shown = front if everything else _spread(found, front, MOST_SHOWN)
    start, finish = "starts", "finishes"
    if likely is not None:
        start = "predicted\nstart"
        finish = "predicted\nfinish" if likely.risk is None else f"{100 * likely.risk:g}% sure\nto finish"
    rows = [
        (
            mark_of(c, found),
            c.scheduler,
            size_of(c),
            duration_text(c.walltime),
            when(c, found)[0] + ("" if likely is None or c in likely.predictions else " (planned)"),
            relative_text(found.score(c), found.now) if likely is None else when(c, found)[3],
            *([in_time(c, likely)] if likely is not None and sure else []),
            f"{c.processor_seconds / 3600:.2f}",
            _against_the_best(c, found),
        )
        for c in shown
    ]
    least = "lowest cost or highest probability of meeting the deadline" if sure else "lowest cost"
    say(f"Trade-offs (from earliest finish to {least}):")
    size, hours = counted(found, narrow=True)
    titles = ["", "scheduler", size, "walltime", start, finish, *sure, hours, "against the best"]
    best = shown.index(found.best) if found.best in shown else None
    print_table(titles, rows, best=best, left=("", "scheduler", "against the best"), whole=_KEYS)
    if sure:
        explain_star(found, shown)
    others = [c for c in found.candidates if c not in set(front)]
    if not everything:
        between = len(front) - len(shown)
        more = [f"{between} between these"] if between else []
        more += [f"{len(others)} no better in any respect"] if others else []
        if more:
            say(f"(more candidates with --all: {', '.join(more)})")
        return
    if others:
        say("\nNo better in any respect than a candidate above:")
        listed = others[:MOST_EXPLAINED]
        columns = ["", "scheduler", size, "walltime", "runs", *when_titles(found, listed), hours]
        others_rows = [(*row_of(c, found), found.why_lost(c)) for c in listed]
        print_table([*columns, "why not"], others_rows, left=("", "scheduler", "why not"), whole=_KEYS)
        explain_star(found, listed)
        if len(listed) < len(others):
            say(f"({len(others) - len(listed)} more candidates: --json)")


def show_impossible(found: Plan, *, everything: bool) -> None:
    """Print the impossible sizes with the reasons."""
    most, way = (MOST_EXPLAINED, "--json") if everything else (MOST_SHOWN, "--all")
    more = len(found.rejected) - most
    say("Impossible:" if more <= 0 else f"Impossible ({more} more: {way}):")
    rows = [(r.scheduler, str(r.processors), r.reason) for r in found.rejected[:most]]
    print_table(["scheduler", counted(found)[0], "because"], rows, left=("scheduler", "because"), whole=_KEYS)


def _against_the_best(candidate: Candidate, found: Plan) -> str:
    """Return in words how much later and cheaper a candidate is than the best, or the reverse."""
    best = found.best
    if best is None or candidate == best:
        return "" if best is None else "best"
    apart = found.score(candidate) - found.score(best)
    saved = 1 - candidate.processor_seconds / best.processor_seconds
    time = "as early" if not apart else f"{duration_text(abs(apart))} {'later' if apart > 0 else 'sooner'}"
    if round(100 * abs(saved)) == 0:
        return time
    return f"{time}, {abs(saved):.0%} {'cheaper' if saved > 0 else 'more expensive'}"


def _spread(found: Plan, front: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return some of the front: its ends, the best, and the cheapest ones at even ratios of turn-around times."""
    if len(front) <= most:
        return list(front)
    scores = [max(1, found.score(c) - found.now) for c in front]
    ratio = (scores[-1] / scores[0]) ** (1 / (most - 2))
    chosen = {bisect_right(scores, scores[0] * ratio**step + 1e-6) - 1 for step in range(1, most - 2)}
    chosen |= {0, len(front) - 1} | ({front.index(found.best)} if found.best in front else set())
    return [front[i] for i in sorted(chosen)]
