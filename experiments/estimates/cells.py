"""Our figures next to those of Tables 2 to 4 of Mu'alem & Feitelson, and why they differ.

Causes are sought only in what is available: the version of the log, and whether another rule that the paper leaves open
gives nearly the published figure. Otherwise the cause is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from experiments.estimates.easy import EASY_READINGS, EasyReading
from experiments.estimates.results import DOUBLED, EXACT, USERS, Change, Results, Terms, uniform
from experiments.estimates.use import COUNTS
from experiments.framework.items import is_near
from experiments.framework.logs import Found
from experiments.published import FACTORS, Count, Measure, overall, table2, table3
from gas.intervals import Interval, interval

__all__ = ["APART", "NOT_KNOWN", "Counted", "Doubling", "Mean", "counts", "doublings", "easy_off", "lacking", "means"]
__all__ += ["signs"]

APART = 5.0
"""Deviation of a mean in per cent above which a reason is needed."""

COUNTED = 1.0
"""Deviation of a count in per cent above which a reason is needed."""

NOT_KNOWN = "cause unknown"


def lacking(study: Results, log: Found) -> int:
    """Return how many jobs of the paper's version of a log are not in the available one."""
    use = study.asked(log, "use")
    return max(log.source.jobs - (use["jobs"] if use else 0), 0)


# -------------------------------------------------------------------------------------------------------------- Table 2


@dataclass(frozen=True)
class Counted:
    """A number of jobs of Table 2, in one reading of its definition."""

    paper: Count
    reading: str
    ours: int | None
    """None if it cannot be counted, or there is no log."""
    of: int | None
    """Jobs that are 100 per cent."""
    lacking: int
    """Jobs that the available log lacks: the paper's count may be higher by this number, never lower."""

    @property
    def off(self) -> float | None:
        """Deviation of our count in per cent."""
        return None if self.ours is None else 100 * (self.ours / self.paper.jobs - 1)

    @property
    def near(self) -> bool | None:
        """Whether both counts agree within 1%."""
        return None if self.ours is None else bool(is_near(self.ours, self.paper.jobs, COUNTED))

    @property
    def possible(self) -> bool | None:
        """Whether the lacking jobs could account for the difference."""
        return None if self.ours is None else self.ours <= self.paper.jobs <= self.ours + self.lacking

    @property
    def reason(self) -> str:
        """Why they differ."""
        if self.ours is None:
            return "no log in SWF says which jobs these were" if self.reading == "" else "log not found"
        apart = self.paper.jobs - self.ours
        if not apart:
            return ""
        if self.possible:
            if self.paper.parameter == "total jobs":
                return "another version of the log"
            return f"{apart:,} of the {self.lacking:,} jobs missing from the log may be of this kind"
        if self.near:
            return "another version of the log, or the edges of a class"
        return NOT_KNOWN


def counts(study: Results, *, every: bool = False) -> list[Counted]:
    """Return the counts of Table 2, each in the chosen reading, or in all."""
    found = []
    for row in table2():
        log = study.log(row.trace)
        use = study.asked(log, "use") if log else None
        readings = list(COUNTS.get(row.parameter, {"": None}))
        for i, reading in enumerate(readings if every else readings[:1]):
            if log is None or use is None or not reading:
                found.append(Counted(row, reading, None, None, 0))
                continue
            whole = "total jobs" if row.of in ("", "total") else row.of
            of = list(use["counts"][whole].values())
            ours = use["counts"][row.parameter][reading]
            found.append(Counted(row, reading, ours, of[i if row.of == "100% peak" else 0], lacking(study, log)))
    return found


# ------------------------------------------------------------------------------------------------------- Tables 3 and 4


_OF_TABLE_3 = (USERS, *map(uniform, FACTORS))


def _terms(factor: int | None) -> Terms:
    return USERS if factor is None else uniform(factor)


@dataclass(frozen=True)
class Mean:
    """A mean of Table 3."""

    trace: str
    policy: str
    measure: Measure
    factor: int | None
    """None: the users' own estimates."""
    paper: float
    paper_exact: float
    """The paper's mean with f = 1."""
    ours: Interval | None
    change: Change | None
    """Our change from f = 1 to this factor; None for f = 1 itself."""
    why: tuple[str, ...] = ()
    """Why our mean differs, and why it is on the other side of that with f = 1."""

    @property
    def off(self) -> float | None:
        """Deviation of our mean in per cent."""
        return None if self.ours is None else 100 * (self.ours.mean / self.paper - 1)

    @property
    def paper_change(self) -> float:
        """Per cent by which the paper's mean exceeds that with f = 1."""
        return 100 * (self.paper / self.paper_exact - 1)

    @property
    def paper_sign(self) -> int:
        """-1 if the paper's mean is below that with f = 1."""
        return (self.paper > self.paper_exact) - (self.paper < self.paper_exact)

    @property
    def agrees(self) -> bool | None:
        """Whether it is on the same side of f = 1; None for f = 1 itself, and if that is not resolved."""
        return self.change.sign == self.paper_sign if self.change and self.change.sign else None


def means(study: Results) -> list[Mean]:
    """Return the means of Table 3, in the paper's order."""
    exact = {(row.trace, row.policy, row.measure): row.mean for row in table3() if row.factor == 1}
    found = []
    for row in table3():
        log, terms = study.log(row.trace), _terms(row.factor)
        ours = study.mean(log, row.policy, row.measure, terms)
        change = study.change(log, row.policy, row.measure, EXACT, terms) if log and row.factor != 1 else None
        key = row.trace, row.policy, row.measure
        cell = Mean(*key, row.factor, row.mean, exact[key], ours, change)
        if log and ours:
            why = _why(study, log, row.policy, row.measure, terms, row.mean)
            why += _why_sign(study, log, row.policy, row.measure, (EXACT, terms), cell.paper_sign)
            cell = replace(cell, why=why)
        found.append(cell)
    return found


def _why(study: Results, log: Found, policy: str, measure: Measure, terms: Terms, paper: float) -> tuple[str, ...]:
    """Return why a mean differs from the paper's by more than `APART` per cent; empty if it does not."""
    here = study.mean(log, policy, measure, terms)
    off = 100 * (here.mean / paper - 1) if here else 0.0
    if abs(off) <= APART:
        return ()
    reasons = []
    for words, other in _other_rules(terms):
        mean = study.mean(log, policy, measure, other)
        left = 100 * (mean.mean / paper - 1) if mean else off
        if abs(left) <= APART:
            reasons.append(f"within {APART:g}% with {words} ({left:+.1f}%)")
        elif abs(left) < abs(off) / 2:
            reasons.append(f"less than half as far off with {words} ({left:+.1f}%)")
    for reading in EASY_READINGS[1:] if policy == "easy" else ():
        then = easy_off(study, log, reading, measure, terms.factor, paper) if terms in _OF_TABLE_3 else None
        if then is not None and abs(then.mean) <= APART:
            reasons.append(f"within {APART:g}% with {reading.name} ({then.mean:+.1f}%)")
    return tuple(reasons + _version(study, log, off)) or (NOT_KNOWN,)


def easy_off(
    study: Results, log: Found, reading: EasyReading, measure: Measure, factor: int | None, paper: float
) -> Interval | None:
    """Return by how many per cent a mean of EASY in a reading exceeds the paper's, over seeds; None if not run."""
    estimates = "users" if factor is None else str(factor)
    found = [result["means"][estimates][measure] for result in study.easy(log, reading.name)]
    return interval([100 * (mean / paper - 1) for mean in found]) if found else None


def _version(study: Results, log: Found, off: float) -> list[str]:
    """Return how another version of the log may explain a mean that is `off` per cent too high."""
    short = lacking(study, log)
    if short <= 0.01 * log.source.jobs:
        return []
    words = f"another version of the log, without {short:,} of the paper's jobs"
    # If the lacking jobs were as short as possible, the mean over all jobs would be lower by their share.
    most = 100 * short / (log.source.jobs - short)
    if off <= most:
        return [words]
    return [f"{words} (these can lower the mean by at most {most:.1f}%; the rest: {NOT_KNOWN})"]


def _why_sign(
    study: Results, log: Found, policy: str, measure: Measure, pair: tuple[Terms, Terms], sign: int
) -> tuple[str, ...]:
    """Return why a change has another sign than the paper's; empty if its sign is the same or not resolved."""
    change = study.change(log, policy, measure, *pair)
    if change is None or not change.sign or change.sign == sign:
        return ()
    reasons = []
    for words, other in _other_rules(pair[1]):
        there = study.change(log, policy, measure, replace(pair[0], order=other.order), other)
        if there is not None and there.sign == sign:
            reasons.append(f"the paper's with {words} ({there.percent.mean:+.1f}%)")
    return tuple(f"sign: {reason}" for reason in reasons or [NOT_KNOWN])


def _other_rules(terms: Terms) -> list[tuple[str, Terms]]:
    rules = [("order event", replace(terms, order="event"))]
    if terms.estimates != "uniform":
        rules.append(("overrun extend", replace(terms, overrun="extend")))
        rules.append(("overrun extend and order event", replace(terms, overrun="extend", order="event")))
    return rules


@dataclass(frozen=True)
class Doubling:
    """A row and scheme of Table 4: the change from users' estimates to twice these."""

    trace: str
    policy: str
    measure: Measure
    paper: tuple[float, float]
    paper_change: float
    ours: tuple[float, float] | None
    change: Change | None
    why: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """Whether the change has the paper's sign; None if there is no change, or it is not resolved."""
        if self.change is None or not self.change.sign:
            return None
        return self.change.sign == (self.paper_change > 0) - (self.paper_change < 0)


def doublings(study: Results) -> list[Doubling]:
    """Return the changes of Table 4, in the paper's order."""
    found = []
    for row in overall():
        log = study.log(row.trace)
        before, after = (study.mean(log, row.policy, row.measure, terms) for terms in (USERS, DOUBLED))
        ours = (before.mean, after.mean) if before and after else None
        change = study.change(log, row.policy, row.measure, USERS, DOUBLED) if log else None
        why: tuple[str, ...] = ()
        if log and ours:
            why = tuple(
                f"{name}: {reason}"
                for name, terms, paper in (("as they are", USERS, row.mean), ("doubled", DOUBLED, row.doubled))
                for reason in _why(study, log, row.policy, row.measure, terms, paper)
            )
            sign = (row.percent > 0) - (row.percent < 0)
            why += _why_sign(study, log, row.policy, row.measure, (USERS, DOUBLED), sign)
        found.append(
            Doubling(row.trace, row.policy, row.measure, (row.mean, row.doubled), row.percent, ours, change, why)
        )
    return found


# -------------------------------------------------------------------------------------------------- how many of them


def signs(cells: Sequence[Mean] | Sequence[Doubling]) -> tuple[int, int]:
    """Return how many cells agree in sign with the paper, and for how many the sign is resolved."""
    known = [cell.agrees for cell in cells if cell.agrees is not None]
    return sum(known), len(known)
