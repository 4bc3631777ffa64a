"""Statements on conditional backfilling, and whether they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.conditional.results import NOTICES, Asking, Results
from experiments.framework.claims import Claim, decided_once
from experiments.framework.logs import Found
from experiments.framework.verdicts import Part, Test, above, below, decided_claim

__all__ = ["claims"]


@decided_once
def claims(study: Results) -> Sequence[Claim]:
    """Return the claims about promises, jobs with a notice, all other jobs, and all jobs."""
    percents = sorted({one.percent for one in study.settings})
    few, most = percents[0], percents[-1]
    short, long = (Asking(few, notice) for notice in NOTICES)

    def one(text: str, value: Callable[[Found], Part], test: Test) -> Claim:
        return decided_claim(text, {log.source.trace: value(log) for _, log in study.logs}, test)

    def change(asking: Asking, group: str) -> Callable[[Found], Part]:
        return lambda log: study.change(log, asking, group)

    def later(asking: Asking, group: str) -> Callable[[Found], Part]:
        return lambda log: study.part(log, asking, group, "later")

    found = [study.promises()]
    for notice, words in NOTICES.items():
        asking = Asking(few, notice)
        found += [
            one(
                f"If {few}% of the jobs have a notice of {words}, their mean turn-around time rises.",
                change(asking, "asked"),
                above(0),
            ),
            one(
                f"If {few}% of the jobs have a notice of {words}, the mean turn-around time of the others falls.",
                change(asking, "others"),
                below(0),
            ),
            one(
                f"If {most}% of the jobs have a notice of {words}, the mean turn-around time of all jobs rises.",
                change(Asking(most, notice), "all"),
                above(0),
            ),
            one(
                f"If {few}% of the jobs have a notice of {words}, fewer than 10% of the others end more than a "
                "minute later.",
                later(asking, "others"),
                below(10),
            ),
        ]
    found.append(
        one(
            f"If {few}% of the jobs have a notice, their mean turn-around time is higher with {NOTICES[long.notice]} "
            f"than with {NOTICES[short.notice]}.",
            lambda log: study.against(log, long, short, "asked"),
            above(0),
        )
    )
    return found
