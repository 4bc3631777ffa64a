"""What the paper says of EASY and conservative backfilling, and what came out here.

Statements about the models are tested in two ways. The paper's (Mu'alem & Feitelson 2001, 3.1): each run of a scheme at
a load goes on until its own stopping rule holds, and its mean there is what is compared. Two runs that stop after
different numbers of batches are then means of different stretches of the jobs, so that each statement is also tested
over the batches that both schemes completed; both verdicts are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.backfilling.comparison import NAMES, count
from experiments.backfilling.results import BASE, DOUBLED, Results
from experiments.framework.claims import Claim
from experiments.framework.ledger import Result
from experiments.published import MEASURES, POLICIES, Measure, overall
from gas.printable import many

__all__ = ["ALIKE", "HIGH_LOAD", "SAME_SHARE", "WITHIN", "alike", "as_much_backfilled", "claims", "cut", "headline"]
__all__ += ["more_backfilled", "percent"]

HIGH_LOAD = 0.75
"""From here on a load is called high."""

ALIKE = 10.0
"""Per cent within which both schemes are called practically identical; the paper's own intervals are 6 to 9% wide."""

SAME_SHARE = 2.0
"""Percentage points within which both schemes are said to backfill the same share of jobs."""

WITHIN = 5.0
"""Per cent by which overall means may be off."""


def claims(study: Results) -> list[Claim]:
    """What the paper says, and what came out here."""
    return [*_overall_means(study), _doubling(study), _signs(study), *_of_models(study), *_of_backfilling(study)]


def _overall_means(study: Results) -> list[Claim]:
    found = []
    for row in sorted(overall(), key=lambda row: MEASURES.index(row.measure)):
        marked = row.measure == "response" and row.trace in ("KTH", "CTC")
        ours = study.overall(row.trace, row.measure, row.policy)
        mean, unit = (f"{row.mean:,.0f}", " s") if row.measure == "response" else (f"{row.mean:,.1f}", "")
        text = f"mean {_NAMES[row.measure]} of {row.trace} under {NAMES[row.policy]} is {mean}{unit}"
        if marked:
            text += f" (within {WITHIN:g}%)"
        if ours is None:
            found.append(_claim("Table 4", text, _NO_LOG, None))
            continue
        off = (ours / row.mean - 1) * 100
        here = f"{ours:,.0f}{unit}, {off:+.1f}%" if unit else f"{ours:,.1f}, {off:+.1f}%"
        found.append(_claim("Table 4", text, here, abs(off) <= WITHIN if marked else None, reported=not marked))
    return found


def _doubling(study: Results) -> Claim:
    same, away = 0, []
    for row in overall():
        plain, doubled = (study.overall(row.trace, row.measure, row.policy, v) for v in (BASE, DOUBLED))
        if plain is None or doubled is None:
            continue
        change = (doubled / plain - 1) * 100
        if (change > 0) == (row.percent > 0):
            same += 1
        else:
            away.append(f"{_NAMES[row.measure]} of {row.trace} under {NAMES[row.policy]} {change:+.1f}%")
    rows = len(overall())
    here = f"{same} of {same + len(away)}" + (f"; not: {', '.join(away)}" if away else "")
    return _claim(
        "Table 4",
        f"doubling users' estimates moves each of the {rows} means in the paper's direction",
        here if same + len(away) else _NO_LOG,
        same == rows if same + len(away) == rows else None,
    )


def _signs(study: Results) -> Claim:
    cells = [cell for cell in study.cells if cell.trace in ("KTH", "CTC")]
    counts, resolved = count(cells), count(cell for cell in cells if cell.resolved)
    text = f"KTH and CTC, {len(cells)} cells: the difference has the paper's sign wherever it exceeds its 90% interval"
    here = f"{resolved.agree} of {resolved.cells}; with the unresolved ones, {counts.agree} of {counts.cells}"
    compared = resolved.cells and counts.cells == len(cells)
    return _claim("Table 1", text, here, resolved.agree == resolved.cells if compared else None)


def _of_models(study: Results) -> list[Claim]:
    f = study.points("F")
    high = [(load, point) for load, point in study.points("J") if load >= HIGH_LOAD]
    return [
        _compared(
            f"model F: both schemes are practically identical (mean response within {ALIKE:g}%)",
            f,
            "response",
            lambda change: abs(change) <= ALIKE,
            _why_f(alike(study)),
        ),
        _compared(
            "model J: under high loads EASY has the lower mean response", high, "response", lambda change: change > 0
        ),
        _compared(
            "model J: under high loads EASY has the slightly higher bounded slowdown (size not tested)",
            high,
            "slowdown",
            lambda change: change < 0,
        ),
    ]


def _why_f(found: Sequence[str]) -> str:
    why = "not established; most constants of Feitelson's model are unknown, so model F only resembles it"
    return f"{why}; with {' or '.join(f'“{name}”' for name in found)} it holds at the loads tried" if found else why


def _of_backfilling(study: Results) -> list[Claim]:
    shares = {policy: study.backfilled("SDSC", policy) for policy in POLICIES}
    easy, conservative = shares["easy"], shares["conservative"]
    known = easy is not None and conservative is not None
    return [
        _gaps(
            f"model F: both schemes backfill the same share of jobs (within {SAME_SHARE:g} points)",
            study.points("F"),
            lambda gap: abs(gap) <= SAME_SHARE,
            _why_f(as_much_backfilled(study)),
        ),
        _gaps("model J: EASY backfills slightly more (size not tested)", study.points("J"), lambda gap: gap > 0),
        _claim(
            "Fig. 5",
            "SDSC: conservative backfills more",
            f"EASY {easy:.1%}, conservative {conservative:.1%}" if known else _NO_LOG,
            conservative > easy if easy is not None and conservative is not None else None,
        ),
    ]


def headline(found: Sequence[Claim]) -> str:
    """Return how many statements hold, for each of the two ways in which runs of a model are compared."""
    plain = [claim.holds for claim in found if not claim.two_ways and claim.holds is not None]
    own = [claim.holds for claim in found if claim.two_ways and claim.holds is not None]
    shared = [claim.shared for claim in found if claim.two_ways and claim.shared is not None]
    parts = [f"Of the statements on logs that could be tested, {_of(plain)}."]
    if own or shared:
        parts.append(
            f"Of those on models, {_of(own)} with each run at its own end, as the paper compares them, and "
            f"{_of(shared)} over the batches that both schemes completed."
        )
    return " ".join(parts)


def _of(verdicts: Sequence[bool]) -> str:
    return f"{sum(verdicts)} of {len(verdicts)} {'holds' if sum(verdicts) == 1 else 'hold'}"


def alike(study: Results) -> list[str]:
    """Return the changes of model F with which both schemes' mean responses are practically identical at all loads."""
    return _changes(study, lambda point: abs(percent(point, "response")) <= ALIKE)


def as_much_backfilled(study: Results) -> list[str]:
    """Return the changes of model F with which both schemes backfill the same share of jobs at all loads."""
    return _changes(study, lambda point: abs(more_backfilled(point)) <= SAME_SHARE)


def _changes(study: Results, good: Callable[[Result], bool]) -> list[str]:
    return [name for name, points in study.changes().items() if all(good(point) for _, point in points)]


_NO_LOG = "log not found"
_NAMES: dict[Measure, str] = {"response": "response", "slowdown": "bounded slowdown"}


def percent(point: Mapping[str, Any], measure: Measure, *, shared: bool = False) -> float:
    """Return by how many per cent conservative is above EASY: each where its own run stops, or over what both share."""
    easy, conservative = ((point[p]["together"] if shared else point[p])[measure] for p in POLICIES)
    return float((conservative / easy - 1) * 100)


def more_backfilled(point: Mapping[str, Any], *, shared: bool = False) -> float:
    """Return by how many percentage points EASY backfills more, in the same two ways."""
    easy, conservative = ((point[p]["together"] if shared else point[p])["backfilled"] for p in POLICIES)
    return float((easy - conservative) * 100)


def cut(point: Mapping[str, Any]) -> bool:
    """Return whether both runs were stopped because their mean response exceeded the threshold.

    Neither has settled then: each is the mean up to some instant in a queue that grows, and the two instants differ.
    """
    return all(point[policy]["reason"] == "threshold" for policy in POLICIES)


Points = Sequence[tuple[float, Result]]


def _compared(text: str, points: Points, measure: Measure, good: Callable[[float], bool], why: str = "") -> Claim:
    """Return a claim about a difference at each load, tested at each run's own end and over the same batches."""
    if not points:
        return _claim("Fig. 4", text, "not run at such loads", None, two_ways=True)
    own = [percent(point, measure) for _, point in points if not cut(point)]
    shared = [percent(point, measure, shared=True) for _, point in points]
    holds, holds_shared = all(map(good, own)) if own else None, all(map(good, shared))
    parts = [f"own end: {_counted(holds, own, good)}"]
    stopped = [f"load {load:g} ({percent(point, measure):+.1f}%)" for load, point in points if cut(point)]
    if stopped:
        parts.append(f"not counted, since both runs were stopped above 30,000 s: {', '.join(stopped)}")
    parts.append(f"same batches: {_counted(holds_shared, shared, good)}")
    return _claim("Fig. 4", text, "; ".join(parts), holds, why, two_ways=True, shared=holds_shared)


def _counted(holds: bool | None, changes: Sequence[float], good: Callable[[float], bool]) -> str:
    if not changes:
        return _word(holds)
    at = f"at {sum(map(good, changes))} of {many(len(changes), 'load')}"
    return f"{_word(holds)}, {at}, conservative {_range(changes)} against EASY"


def _word(holds: bool | None) -> str:
    return "not tested" if holds is None else "yes" if holds else "no"


def _gaps(text: str, points: Points, good: Callable[[float], bool], why: str = "") -> Claim:
    """Return the same for a difference in the share of jobs that is backfilled."""
    if not points:
        return _claim("Fig. 5", text, "the model was not run", None, two_ways=True)
    own = [more_backfilled(point) for _, point in points]
    shared = [more_backfilled(point, shared=True) for _, point in points]
    here = [
        f"{where}: {_word(all(map(good, gaps)))}, at {sum(map(good, gaps))} of {many(len(gaps), 'load')}, "
        f"EASY {_span(min(gaps), max(gaps), ' points')} against conservative"
        for gaps, where in ((own, "own end"), (shared, "same batches"))
    ]
    apart = [
        f"{load:g} (EASY after {point['easy']['batches']}, conservative after {point['conservative']['batches']})"
        for (load, point), gap in zip(points, own, strict=True)
        if not good(gap) and good(more_backfilled(point, shared=True))
    ]
    if apart:
        stretches = "runs that stop after different numbers of batches simulate different jobs"
        why = f"{why}; {stretches}: load {', '.join(apart)}" if why else f"{stretches}: load {', '.join(apart)}"
    verdicts = all(map(good, own)), all(map(good, shared))
    return _claim("Fig. 5", text, "; ".join(here), verdicts[0], why, two_ways=True, shared=verdicts[1])


def _range(percents: Sequence[float]) -> str:
    return _span(min(percents), max(percents), "%")


def _span(low: float, high: float, unit: str) -> str:
    """Return a range in words; a single value where it has no width."""
    ends = [f"{low:+.1f}", f"{high:+.1f}"]
    between = "% to " if unit == "%" else " to "
    return f"{between.join(dict.fromkeys(ends))}{unit}"


def _claim(
    where: str,
    text: str,
    here: str,
    holds: bool | None,
    why: str = "",
    *,
    two_ways: bool = False,
    shared: bool | None = None,
    reported: bool = False,
) -> Claim:
    """Return a statement with its place in the paper first."""
    return Claim(
        *(text, holds, here, where, why), two_ways=two_ways, shared=shared, reported=reported, untested="not tested"
    )
