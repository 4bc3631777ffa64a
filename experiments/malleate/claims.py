"""Statements of the study, and whether they hold: only where an interval over months or logs decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from experiments.framework.claims import Claim
from experiments.framework.logs import Found
from experiments.malleate.results import Results
from gas.intervals import Interval

__all__ = ["MALLEABLE", "PUBLISHED", "claims", "found_on_all"]

MALLEABLE: Final = "malleable-own"
"""Of malleable jobs the strategy that others are measured by; it is chosen here, not by what came out."""

PUBLISHED: Final = (-67.0, -37.0)
"""Changes of mean turn-around times in per cent by the best strategy on Cori, Eagle and Theta, all jobs malleable
(Zojer, Posner and Özden 2026, abstract)."""


Value: TypeAlias = Callable[[Results, Found], Interval | None]
"""What is found on a log."""

Test: TypeAlias = Callable[[Interval], bool | None]
"""Whether it is as stated; None where the interval does not decide."""


def found_on_all(study: Results, value: Value, test: Test, unit: str = "%") -> tuple[bool | None, str]:
    """Return whether a statement holds on every log, and in words what is found.

    True where the 90% interval of each log decides for it. False where one decides against it, and still does at the
    level at which one of that many would by chance in a tenth of the cases (Bonferroni). Else, and without any log,
    None.
    """
    words, verdicts = [], []
    strict = replace(study, level=1 - (1 - study.level) / max(len(study.logs), 1))
    for log in study.logs:
        found, surely = value(study, log), value(strict, log)
        if found is None or surely is None:
            continue
        words.append(f"{log.source.trace} {found.text(1 if unit == '%' else 2)}{unit}")
        known = found.half_width is not None and surely.half_width is not None
        verdicts.append(False if known and test(surely) is False else (known and test(found) is True) or None)
    if not words:
        return None, "no log"
    return False if False in verdicts else None if None in verdicts else True, "; ".join(words)


def _below(limit: float) -> Test:
    def test(found: Interval) -> bool | None:
        assert found.half_width is not None
        if found.mean + found.half_width < limit:
            return True
        return False if found.mean - found.half_width > limit else None

    return test


def _above(limit: float) -> Test:
    below = _below(limit)

    def test(found: Interval) -> bool | None:
        verdict = below(found)
        return None if verdict is None else not verdict

    return test


def _between(low: float, high: float) -> Test:
    def test(found: Interval) -> bool | None:
        verdicts = (_above(low)(found), _below(high)(found))
        return False if False in verdicts else None if None in verdicts else True

    return test


def claims(study: Results) -> Sequence[Claim]:
    """Return the statements."""
    least, most = min(study.percents(study.base)), max(study.percents(study.base))

    def change(percent: int, strategy: str, group: str = "all") -> Value:
        return lambda of, log: of.change(log, percent, strategy, group=group)

    def one(text: str, value: Value, test: Test, unit: str = "%") -> Claim:
        holds, here = found_on_all(study, value, test, unit)
        return Claim(text, holds, here, untested="not resolved")

    return [
        one(
            f"If {most}% of the jobs are malleable (own size first), the mean turn-around time falls.",
            change(most, MALLEABLE),
            _below(0),
        ),
        one(
            f"It falls by {-PUBLISHED[1]:.0f} to {-PUBLISHED[0]:.0f}%, as was published for three other machines.",
            change(most, MALLEABLE),
            _between(*PUBLISHED),
        ),
        one(
            f"If {most}% of the jobs choose their sizes by Gas's predictions at submission, it falls.",
            change(most, "gas-predicted"),
            _below(0),
        ),
        one(
            "Choosing by predictions saves at least half of what malleable jobs save.",
            lambda of, log: of.share(log, most, "gas-predicted", MALLEABLE),
            _above(0.5),
            "",
        ),
        one(
            "Choosing by predictions leaves the mean lower than choosing by walltimes.",
            lambda of, log: of.against(log, most, "gas-predicted", "gas"),
            _below(0),
        ),
        one(
            "Choosing by predictions leaves the mean lower than Slurm's -N min-max.",
            lambda of, log: of.against(log, most, "gas-predicted", "slurm"),
            _below(0),
        ),
        one(
            f"With {least}% of adopters, those who choose by predictions gain.",
            change(least, "gas-predicted", "adopters"),
            _below(0),
        ),
        one(
            f"With {least}% of adopters, jobs that stay rigid do not lose (mean) when others choose by predictions.",
            change(least, "gas-predicted", "others"),
            _below(0),
        ),
        one(
            f"With {most}% of adopters who choose by predictions, fewer than 10% of the jobs end more than a minute "
            "later than as rigid jobs.",
            lambda of, log: of.part(log, most, "gas-predicted", "later"),
            _below(10),
        ),
        one(
            f"With {most}% malleable jobs, fewer than 10% of the jobs end more than a minute later.",
            lambda of, log: of.part(log, most, MALLEABLE, "later"),
            _below(10),
        ),
    ]
