"""Tables of the candidates of a plan: the first, the trade-offs among them, all others, and what is impossible."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from gas.agent.choice import predicted
from gas.cli.tables import print_table, say, wants_ascii
from gas.planner import Candidate, Plan
from gas.times import duration_text, relative_text

__all__ = ["interval", "show_best_candidates", "show_impossible", "show_trade_offs", "when"]

MOST_SHOWN, MOST_EXPLAINED = 12, 100
"""How many candidates are printed without and with --all; --json prints all."""

_KEYS = ("scheduler", "processors", "proces-\nsors")


def show_best_candidates(found: Plan) -> None:
    """Print the first candidates, and the best among them wherever it stands."""
    shown = found.candidates[:MOST_SHOWN]
    if found.best is not None and found.best not in shown:
        shown[-1] = found.best
    if shown:
        best = shown.index(found.best) if found.best in shown else None
        columns = ["", "scheduler", "processors", "walltime", "runs", *_when_titles(found, shown), "proc-hours"]
        print_table(columns, [_row(c, found) for c in shown], best=best, left=("", "scheduler"))
    if len(shown) < len(found.candidates):
        say(f"({len(found.candidates) - len(shown)} more candidates: --explain)")


def show_trade_offs(found: Plan, *, everything: bool) -> None:
    """Print the candidates that none beats in both finish and processor-hours; with `everything`, the others too.

    Of many, some between the earliest and the cheapest; the best is among them in any case. It fits 80 columns.
    """
    if not found.candidates:
        return
    front = found.undominated
    if found.best is not None and found.best not in front:
        front.insert(bisect_right([found.score(c) for c in front], found.score(found.best)), found.best)
    shown = front if everything else _spread(found, front, MOST_SHOWN)
    start, finish = "starts", "finishes"
    if (likely := predicted(found)) is not None:
        start = "expected\nstart"
        finish = "expected\nfinish" if likely.risk is None else f"{100 * likely.risk:g}%\nfinish by"
    rows = [
        (
            _mark(c, found),
            c.scheduler,
            str(c.processors),
            duration_text(c.walltime),
            when(c, found)[0],
            relative_text(found.score(c), found.now),
            f"{c.processor_seconds / 3600:.2f}",
            _against_the_best(c, found),
        )
        for c in shown
    ]
    say("Trade-offs (each finishes sooner than those below it, which use less):")
    titles = ["", "scheduler", "proces-\nsors", "walltime", start, finish, "proc-\nhours", "against the best"]
    best = shown.index(found.best) if found.best in shown else None
    print_table(titles, rows, best=best, left=("", "scheduler", "against the best"), whole=_KEYS)
    others = [c for c in found.candidates if c not in set(front)]
    if not everything:
        between = len(front) - len(shown)
        more = [f"{between} between these"] if between else []
        more += [f"{len(others)} that others beat in both"] if others else []
        if more:
            say(f"(more candidates: {', '.join(more)}: --all)")
        return
    if others:
        say("\nBeaten in both by one of the above:")
        listed = others[:MOST_EXPLAINED]
        columns = ["", "scheduler", "proces-\nsors", "walltime", "runs", *_when_titles(found, listed), "proc-\nhours"]
        rows = [(*_row(c, found), found.why_lost(c)) for c in listed]
        print_table([*columns, "why not"], rows, left=("", "scheduler", "why not"), whole=_KEYS)
        if len(listed) < len(others):
            say(f"({len(others) - len(listed)} more candidates: --json)")


def show_impossible(found: Plan, *, everything: bool) -> None:
    """Print the sizes that are impossible, and why."""
    most, way = (MOST_EXPLAINED, "--json") if everything else (MOST_SHOWN, "--all")
    more = len(found.rejected) - most
    say("Impossible:" if more <= 0 else f"Impossible ({more} more: {way}):")
    rows = [(r.scheduler, str(r.processors), r.reason) for r in found.rejected[:most]]
    print_table(["scheduler", "processors", "because"], rows, left=("scheduler", "because"), whole=_KEYS)


def _row(candidate: Candidate, found: Plan) -> tuple[str, ...]:
    return (
        _mark(candidate, found),
        candidate.scheduler,
        str(candidate.processors),
        duration_text(candidate.walltime),
        duration_text(candidate.execution_time),
        *when(candidate, found),
        f"{candidate.processor_seconds / 3600:.2f}",
    )


def _mark(candidate: Candidate, found: Plan) -> str:
    return "" if candidate != found.best else ">" if wants_ascii() else "→"


def _against_the_best(candidate: Candidate, found: Plan) -> str:
    """Return in words by how much a candidate is later and cheaper than the best, or the reverse."""
    best = found.best
    if best is None or candidate == best:
        return "" if best is None else "best"
    apart = found.score(candidate) - found.score(best)
    saved = 1 - candidate.processor_seconds / best.processor_seconds
    time = "as early" if not apart else f"{duration_text(abs(apart))} {'later' if apart > 0 else 'sooner'}"
    if round(100 * abs(saved)) == 0:
        return time
    return f"{time}, {abs(saved):.0%} {'cheaper' if saved > 0 else 'dearer'}"


def _spread(found: Plan, front: Sequence[Candidate], most: int) -> list[Candidate]:
    """Return some of the front: its ends, the best, and between them the cheapest by turn-arounds in equal ratios."""
    if len(front) <= most:
        return list(front)
    scores = [max(1, found.score(c) - found.now) for c in front]
    ratio = (scores[-1] / scores[0]) ** (1 / (most - 2))
    chosen = {bisect_right(scores, scores[0] * ratio**step + 1e-6) - 1 for step in range(1, most - 2)}
    chosen |= {0, len(front) - 1} | ({front.index(found.best)} if found.best in front else set())
    return [front[i] for i in sorted(chosen)]


def _when_titles(found: Plan, shown: Sequence[Candidate]) -> list[str]:
    likely = predicted(found)
    if likely is None:
        return ["starts", "finishes"]
    promises = all(c.kind == "promise" for c in shown)
    finishes = "finishes" if likely.risk is None else f"{100 * likely.risk:g}%\nfinish by"
    return ["starts", f"{interval()}\nof starts", "no later\nthan" if promises else "planned", finishes]


def when(candidate: Candidate, found: Plan) -> tuple[str, ...]:
    """Return when a candidate starts and finishes; of a prediction also between which instants, and by when at last.

    The finish is the one that decides.
    """
    start, finish = relative_text(candidate.start, found.now), relative_text(candidate.finish, found.now)
    by_likely = predicted(found)
    if by_likely is None:
        return start, finish
    likely = by_likely.predictions.get(candidate)
    if likely is None:
        return start, "not predicted", start, finish
    low, high = relative_text(likely.start_low, found.now), relative_text(likely.start_high, found.now)
    between = low if low == high else f"{low} to {high.removeprefix('in ')}"
    return relative_text(likely.start, found.now), between, start, relative_text(by_likely.score(candidate), found.now)


def interval() -> str:
    """Return the probability of the interval in which starts are predicted, in percent."""
    from gas.prediction.choice import INTERVAL

    return f"{INTERVAL:.0%}"
