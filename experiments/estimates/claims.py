"""Statements of Mu'alem & Feitelson (2001, section 4) on estimates, with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.estimates.cells import COUNTED, Doubling, Mean, counts, doublings, means
from experiments.estimates.history import READINGS
from experiments.estimates.results import EXACT, Change, Results, uniform
from experiments.framework.claims import Claim, decided_once
from experiments.framework.logs import Found
from experiments.framework.verdicts import Part, above, below, between, decided_claim, of_shares, scaled
from experiments.published import FACTORS, HISTORY, MEANS, MEASURES, POLICIES, SCHEMES, Measure, table3
from gas.intervals import Interval, signed

__all__ = [
    "LOST",
    "NOT_JUDGED",
    "changed",
    "claims",
    "coverage",
    "estimates",
    "over_months",
    "over_seeds",
]

SIZE = 5.0
"""Percentage points within which a change is as large as the paper's."""

NOT_JUDGED = "not judged"
"""Verdict of the counts of a log: without sampling error, they have no interval."""

LOST = 0.01
"""Share of a log's run time that may be lost by killing jobs at their users' estimates. On a machine that kills jobs at
their walltime, slightly late, the loss is smaller; where walltimes are not enforced, it is larger.
"""

POINTS = 2.0
"""Percentage points within which the shares of section 4.4 match."""


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the paper's statements with their verdicts, on its logs and on others."""
    return [*(_of_the_paper(study) if study.published_logs else ()), *_of_own_logs(study)]


def _of_the_paper(study: Results) -> list[Claim]:
    return [
        *_counted(study),
        *_history(study),
        _overestimating(study, "conservative"),
        _overestimating(study, "easy"),
        _originals(study),
        *_compared([cell for cell in means(study) if cell.factor != 1], "Table 3: each change from f = 1"),
        *_compared(doublings(study), "Table 4: each change by doubling users' estimates"),
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
        text = f"Table 2: the counts of {trace} are within {COUNTED:g}% of the paper's"
        same_log = rows[0].lacking <= COUNTED / 100 * rows[0].paper.jobs
        text += "" if same_log else f" or lower by at most the {rows[0].lacking:,} jobs missing from the log"
        found.append(Claim(text, None, here, untested=NOT_JUDGED))
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
    here, paper = found["by_month"][READINGS[0].name], coverage(HISTORY)
    words = {
        "with data": "a history exists for",
        "underestimated": "the estimate from history is too short for",
        "underestimated with data": "it is too short despite a history for",
    }
    return [
        decided_claim(
            f"section 4.4, CTC: {text} {paper[name]:.1f}% of the jobs (within {POINTS:g} points)",
            {"share": of_shares(here[name], here["not killed"])},
            between(paper[name] - POINTS, paper[name] + POINTS),
        )
        for name, text in words.items()
    ]


def changed(change: Change) -> str:
    """Return a change with its interval over seeds and over months."""
    return f"{over_seeds(change)} (months {over_months(change)})"


def over_seeds(change: Change) -> str:
    """Return a change with its interval over seeds, if there are several."""
    half = change.percent.half_width
    return f"{change.percent.mean:+.1f}" + ("" if half is None else f" ± {half:.1f}") + "%"


def over_months(change: Change | None) -> str:
    """Return a change with its interval over months; empty for None."""
    found = change.of_months if change else None
    return "" if found is None else f"{signed(found, 1)}%"


def _lowest(study: Results, log: Found, policy: str, measure: Measure) -> Part:
    """Return the change from f = 1 to the f above 1 with the lowest mean, corrected for the number of factors."""
    changes = [study.change(log, policy, measure, EXACT, uniform(f)) for f in FACTORS if f > 1]
    parts = [change.part for change in changes if change is not None]

    def part(level: float) -> Interval | None:
        found = [one for part in parts if (one := part(1 - (1 - level) / len(parts))) is not None]
        return min(found, key=lambda one: one.mean, default=None)

    return part


def _overestimating(study: Results, policy: str) -> Claim:
    text = (
        f"Table 3, {SCHEMES[policy]}: some f above 1 gives a lower mean than exact estimates, for each log and measure "
        "for which it does in the paper"
    )
    parts = {
        f"{log.source.trace} {MEANS[measure]}": _lowest(study, log, policy, measure)
        for log in study.logs
        for measure in MEASURES
        if not log.own and _papers_best(log.source.trace, policy, measure) < 0
    }
    return decided_claim(text, parts, below(0))


def _of_own_logs(study: Results) -> list[Claim]:
    """Judge the paper's statements about its logs on logs without figures in the paper."""
    if not study.own_logs:
        return []

    def lowest(policy: str) -> dict[str, Part]:
        return {
            f"{log.source.trace} {MEANS[measure]}": _lowest(study, log, policy, measure)
            for log in study.own_logs
            for measure in MEASURES
        }

    some = "some f above 1 gives a lower mean than exact estimates"
    return [
        *(decided_claim(f"other logs, {SCHEMES[one]}: {some}", lowest(one), below(0)) for one in POLICIES),
        *_above_drawn_on_own_logs(study),
    ]


def _above_drawn_on_own_logs(study: Results) -> list[Claim]:
    """Judge logs on which jobs do the same work under both: killed jobs would make users' estimates look better."""
    text = "other logs: users' own estimates give a higher mean than those drawn with an f above 1 (averaged over f)"
    same = [log for log in study.own_logs if study.run_time_lost(log) <= LOST]
    found = [decided_claim(text, _above_drawn(study, same), above(0))] if same else []
    for log in study.own_logs:
        if log not in same:
            here = f"users' estimates end {study.run_time_lost(log):.0%} of the run time: these jobs do less work"
            found.append(Claim(text.replace("other logs", log.source.trace), None, here, untested=NOT_JUDGED))
    return found


def _papers_best(trace: str, policy: str, measure: Measure) -> float:
    """Return the change in per cent from the paper's mean with f = 1 to its lowest mean with an f above 1."""
    key = trace, policy, measure
    by_factor = {row.factor: row.mean for row in table3() if (row.trace, row.policy, row.measure) == key}
    best = min(mean for factor, mean in by_factor.items() if factor not in (None, 1))
    return 100 * (best / by_factor[1] - 1)


def _originals(study: Results) -> Claim:
    """Judge the mean over all f, since the paper does not define its "typically"."""
    text = (
        "Table 3: users' own estimates give a higher mean than those drawn with an f above 1 (averaged over f), for "
        "each log, scheme and measure"
    )
    return decided_claim(text, _above_drawn(study, study.published_logs), above(0))


def _above_drawn(study: Results, logs: Sequence[Found]) -> dict[str, Part]:
    return {
        f"{log.source.trace} {SCHEMES[policy]} {MEANS[measure]}": part
        for log in logs
        for policy in POLICIES
        for measure in MEASURES
        if (part := study.above_drawn(log, policy, measure)) is not None
    }


def _compared(cells: Sequence[Mean] | Sequence[Doubling], what: str) -> list[Claim]:
    """Return claims that changes have the paper's signs and sizes."""
    signs, sizes = {}, {}
    for cell in cells:
        if cell.change is None or not cell.paper_change:
            continue
        signs[_name(cell)] = scaled(cell.change.part, 1 if cell.paper_change > 0 else -1)
        sizes[_name(cell)] = scaled(cell.change.part, 1, -cell.paper_change)
    return [
        decided_claim(f"{what} has the paper's sign (changes in its direction)", signs, above(0)),
        decided_claim(
            f"{what} is within {SIZE:g} points of the paper's (differences from it)",
            sizes,
            between(-SIZE, SIZE),
            unit=" points",
        ),
    ]


def _name(cell: Mean | Doubling) -> str:
    under = f", {estimates(cell.factor)}" if isinstance(cell, Mean) else ""
    return f"{cell.trace} {SCHEMES[cell.policy]} {MEANS[cell.measure]}{under}"


def estimates(factor: int | None) -> str:
    """Return the estimates of a mean of Table 3 in words."""
    return "users'" if factor is None else f"f = {factor}"
