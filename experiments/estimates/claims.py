"""What Mu'alem & Feitelson (2001, section 4) say of estimates, and what came out here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.estimates.cells import COUNTED, Mean, beaten, counts, doublings, means, signs
from experiments.estimates.history import READINGS
from experiments.estimates.results import EXACT, Change, Results, Terms, uniform
from experiments.framework.claims import Claim
from experiments.published import FACTORS, HISTORY, MEASURES, POLICIES, Measure, table3
from gas.intervals import Interval

__all__ = ["NAMES", "SCHEMES", "best_factor", "changed", "claims", "coverage", "estimates", "over_seeds"]

NAMES: dict[Measure, str] = {"response": "mean response", "slowdown": "bounded slowdown"}

SCHEMES = {"easy": "EASY", "conservative": "conservative"}

POINTS = 2.0
"""Percentage points within which the shares of section 4.4 should be."""


def claims(study: Results) -> list[Claim]:
    """Return the paper's statements, each with its verdict here."""
    cells = means(study)
    return [
        *_counted(study),
        *_history(study),
        _overestimating(study, "conservative"),
        _overestimating(study, "easy"),
        _originals(study, cells),
        _same_signs(cells),
        *_doubled(study),
    ]


def _counted(study: Results) -> list[Claim]:
    found = []
    for trace in ("KTH", "CTC", "SDSC"):
        rows = [row for row in counts(study) if row.paper.trace == trace and row.off is not None]
        if not rows:
            continue
        near = sum(row.near is True for row in rows)
        made_up = sum(row.possible is True for row in rows if not row.near)
        here = f"{near} of {len(rows)}" + (f"; {made_up} more lower by at most the missing jobs" if made_up else "")
        rest = [f"{row.paper.parameter} {row.off:+.1f}%" for row in rows if not row.near and not row.possible]
        here += f"; not: {', '.join(rest)}" if rest else ""
        # Where the log is another one, only what its missing jobs cannot explain would speak against it.
        text = f"Table 2: the counts of {trace} are the paper's within {COUNTED:g}%"
        same_log = rows[0].lacking <= COUNTED / 100 * rows[0].paper.jobs
        text += "" if same_log else f" or lower by at most the {rows[0].lacking:,} jobs missing from the log"
        found.append(Claim(text, all(row.near or (row.possible and not same_log) for row in rows), here))
    return found


def coverage(figures: dict[str, int]) -> dict[str, float]:
    """Return the shares of section 4.4 in per cent of the jobs that were not killed."""
    whole = max(figures["not killed"], 1)
    return {name: 100 * figures[name] / whole for name in _SHARES if name in figures}


_SHARES = ("with data", "underestimated", "underestimated with data", "underestimated with two runs")


def _history(study: Results) -> list[Claim]:
    log = study.log("CTC")
    found = study.asked(log, "history") if log else None
    if found is None:
        return []
    here, paper = coverage(found["readings"][READINGS[0].name]), coverage(HISTORY)
    words = {
        "with data": "a history exists for",
        "underestimated": "the estimate from history is too short for",
        "underestimated with data": "it is too short despite a history for",
    }
    return [
        Claim(
            f"section 4.4, CTC: {text} {paper[name]:.1f}% of the jobs (within {POINTS:g} points)",
            abs(here[name] - paper[name]) <= POINTS,
            f"{here[name]:.1f}%",
        )
        for name, text in words.items()
    ]


def best_factor(study: Results, trace: str, policy: str, measure: Measure) -> tuple[int, Change] | None:
    """Return the factor above 1 with the lowest mean, and what it changes against f = 1."""
    log = study.log(trace)
    if log is None:
        return None
    found = [
        (factor, change)
        for factor in FACTORS
        if factor > 1 and (change := study.change(log, policy, measure, EXACT, uniform(factor))) is not None
    ]
    return min(found, key=lambda one: one[1].percent.mean) if found else None


def changed(change: Change) -> str:
    """Return a change with its interval over seeds and over weeks."""
    return f"{over_seeds(change)} (weeks {change.low:+.1f} to {change.high:+.1f}%)"


def over_seeds(change: Change) -> str:
    """Return a change with its interval over seeds, if there are several."""
    half = change.percent.half_width
    return f"{change.percent.mean:+.1f}" + ("" if half is None else f" ± {half:.1f}") + "%"


def _overestimating(study: Results, policy: str) -> Claim:
    text = (
        f"Table 3, {SCHEMES[policy]}: some f above 1 gives a lower mean than exact estimates, for each log and measure "
        "where it does in the paper"
    )
    here, verdicts = [], []
    for log in study.logs:
        for measure in MEASURES:
            trace = log.source.trace
            best = best_factor(study, trace, policy, measure)
            if best is None:
                continue
            factor, change = best
            below = _papers_best(trace, policy, measure)
            if below < 0:
                verdicts.append(change.sign < 0 if change.of_seeds else None)
            here.append(f"{trace} {NAMES[measure]} f = {factor}: {changed(change)}, paper's best {below:+.1f}%")
    if not verdicts:
        return Claim(text, None, "not simulated")
    words = f"{verdicts.count(True)} of {len(verdicts)}; {'; '.join(here)}"
    holds = False if False in verdicts else None if None in verdicts else True
    return Claim(text, holds, words, untested="not resolved")


def _papers_best(trace: str, policy: str, measure: Measure) -> float:
    """Return by how many per cent the lowest mean of the paper with an f above 1 differs from that with f = 1."""
    key = trace, policy, measure
    by_factor = {row.factor: row.mean for row in table3() if (row.trace, row.policy, row.measure) == key}
    best = min(mean for factor, mean in by_factor.items() if factor not in (None, 1))
    return 100 * (best / by_factor[1] - 1)


def _originals(study: Results, cells: Sequence[Mean]) -> Claim:
    text = "Table 3: users' own estimates typically give a worse mean than those drawn with an f above 1"
    at_hand = [cell for cell in cells if cell.ours is not None]
    own = {(cell.trace, cell.policy, cell.measure): cell for cell in at_hand if cell.factor is None}
    originals = {key: cell.ours.mean for key, cell in own.items() if cell.ours}
    worse, pairs = beaten(at_hand, originals)
    if not pairs:
        return Claim(text, None, "not simulated")
    printed = [replace(cell, ours=Interval(cell.paper, None)) for cell in at_hand]
    paper, of = beaten(printed, {key: cell.paper for key, cell in own.items()})
    here = f"in {worse} of {pairs} pairs (paper: {paper} of {of})"
    for policy in POLICIES:
        one, all_of = beaten([cell for cell in at_hand if cell.policy == policy], originals)
        here += f"; {SCHEMES[policy]} {one} of {all_of}"
    longer = {
        key: mean.mean
        for key in own
        if (mean := study.mean(study.log(key[0]), key[1], key[2], Terms("users", overrun="extend"))) is not None
    }
    if longer:  # the same work as with drawn estimates: no job is killed
        here += "; with overrun extend {} of {}".format(*beaten(at_hand, longer))
    return Claim(text, 2 * worse > pairs, here)


def _same_signs(cells: Sequence[Mean]) -> Claim:
    text = "Table 3: each change from f = 1 that exceeds its interval over weeks has the paper's sign"
    agree, compared = signs(cells)
    if not compared:
        return Claim(text, None, "not simulated")
    right, resolved = signs([cell for cell in cells if cell.change and cell.change.of_weeks])
    here = f"{right} of {resolved}; with the unresolved ones, {agree} of {compared}"
    apart = [
        f"{cell.trace} {NAMES[cell.measure]} {SCHEMES[cell.policy]} {estimates(cell.factor)} {changed(cell.change)}, "
        f"paper {cell.paper_change:+.1f}%"
        for cell in cells
        if cell.agrees is False and cell.change
    ]
    holds = right == resolved if resolved else None
    here = "; ".join([here + ("; other sign:" if apart else ""), *apart]).replace(":;", ":")
    return Claim(text, holds, here, untested="not resolved")


def estimates(factor: int | None) -> str:
    """Return what a mean of Table 3 is under."""
    return "users'" if factor is None else f"f = {factor}"


def _doubled(study: Results) -> list[Claim]:
    found = []
    for policy in POLICIES:
        rows = [row for row in doublings(study) if row.policy == policy and row.change is not None]
        text = (
            f"Table 4, {SCHEMES[policy]}: doubling users' estimates moves each mean in the paper's direction where the "
            "change exceeds its interval over weeks"
        )
        if not rows:
            found.append(Claim(text, None, "not simulated"))
            continue
        agree, compared = signs([row for row in rows if row.change and row.change.of_weeks])
        here = "{} of {}; with the unresolved ones, {} of {}; ".format(agree, compared, *signs(rows)) + "; ".join(
            f"{row.trace} {NAMES[row.measure]} {row.change.percent.mean:+.1f}% ({row.change.low:+.1f} to "
            f"{row.change.high:+.1f}%; paper {row.paper_percent:+.1f}%)"
            for row in rows
            if row.change
        )
        found.append(Claim(text, agree == compared if compared else None, here, untested="not resolved"))
    return found
