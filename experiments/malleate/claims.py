"""Claims of the study, with verdicts if there are intervals over months or logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from experiments.framework.claims import Claim, decided_once
from experiments.framework.logs import Found
from experiments.framework.verdicts import Part, Test, above, below, between, decided_claim
from experiments.malleate.fairness import CLASSES
from experiments.malleate.results import AMDAHL, BASE, Case, Results, Setting
from gas.intervals import Interval

__all__ = ["MALLEABLE", "PUBLISHED", "claims"]

MALLEABLE: Final = "malleable-own"
"""The strategy of malleable jobs to which others are compared; it is fixed here, independently of the results."""

PUBLISHED: Final = (-67.0, -37.0)
"""Changes of mean turn-around times in per cent by the best strategy on Cori, Eagle and Theta, all jobs malleable
(Zojer, Posner and Özden 2026, abstract)."""


_BOTH: Final = {"gas-predicted": "choose by predictions", MALLEABLE: "are malleable"}

Value: TypeAlias = Callable[[Results, Found], Interval | None]
"""Takes the results and a log, and returns an interval at the level of the results."""


@decided_once
def claims(study: Results) -> Sequence[Claim]:
    """Return the claims with their verdicts."""
    least, most = min(study.percents(study.base)), max(study.percents(study.base))

    def change(percent: int, strategy: str, group: str = "all") -> Value:
        return lambda of, log: of.change(Case(log, of.base, percent, strategy, group=group))

    def one(text: str, value: Value, test: Test, digits: int = 1, unit: str = "%", setting: Setting = BASE) -> Claim:
        logs = [log for log in study.logs if setting == BASE or study.results_of(log, setting, 100)]
        parts = {log.source.trace: _of(study, value, log) for log in logs}
        return decided_claim(text, parts, test, digits=digits, unit=unit)

    def of_classes(text: str, strategy: str) -> Claim:
        parts = {
            f"{log.source.trace}, {name}": _of(study, change(most, strategy, name), log)
            for log in study.logs
            for name in CLASSES
        }
        return decided_claim(text, parts, below(0))

    return [
        one(
            f"If {most}% of the jobs are malleable (own size first), the mean turn-around time falls.",
            change(most, MALLEABLE),
            below(0),
        ),
        one(
            f"It falls by {-PUBLISHED[1]:.0f} to {-PUBLISHED[0]:.0f}%, as published for three other machines.",
            change(most, MALLEABLE),
            between(*PUBLISHED),
        ),
        one(
            f"If {most}% of the jobs choose their sizes by Gas's predictions at submission, it falls.",
            change(most, "gas-predicted"),
            below(0),
        ),
        one(
            "Choosing by predictions saves at least half of what malleable jobs save.",
            lambda of, log: of.share(Case(log, of.base, most, "gas-predicted"), MALLEABLE),
            above(0.5),
            2,
            "",
        ),
        one(
            "Choosing by predictions leaves the mean lower than choosing by walltimes.",
            lambda of, log: of.against(Case(log, of.base, most, "gas-predicted"), "gas"),
            below(0),
        ),
        one(
            "Choosing by predictions leaves the mean lower than Slurm's -N min-max.",
            lambda of, log: of.against(Case(log, of.base, most, "gas-predicted"), "slurm"),
            below(0),
        ),
        one(
            f"If {least}% of the jobs choose by predictions, their mean falls.",
            change(least, "gas-predicted", "adopters"),
            below(0),
        ),
        one(
            f"If {least}% of the jobs choose by predictions, the mean of the others, which stay rigid, also falls.",
            change(least, "gas-predicted", "others"),
            below(0),
        ),
        one(
            f"If {most}% of the jobs choose by predictions, fewer than 10% end more than a minute later than as rigid "
            "jobs.",
            lambda of, log: of.part(Case(log, of.base, most, "gas-predicted", what="later")),
            below(10),
        ),
        one(
            f"If {most}% of the jobs are malleable, fewer than 10% end more than a minute later.",
            lambda of, log: of.part(Case(log, of.base, most, MALLEABLE, what="later")),
            below(10),
        ),
        *(
            of_classes(
                f"If {most}% of the jobs {what}, the mean falls in each class of jobs (short or long, narrow or wide).",
                name,
            )
            for name, what in _BOTH.items()
        ),
        *(
            one(
                f"If {most}% of the jobs {what}, users' mean slowdowns are spread more evenly (rise of Jain's index).",
                lambda of, log, name=name: of.evenness(log, most, name),  # type: ignore[misc]
                above(0),
                3,
                "",
            )
            for name, what in _BOTH.items()
        ),
        one(
            f"If {most}% of the jobs choose by predictions, choosing again while queued leaves the mean lower than "
            "choosing once.",
            lambda of, log: of.against(Case(log, of.base, most, "gas-predicted-again"), "gas-predicted"),
            below(0),
        ),
        one(
            "If all jobs choose by predictions and speed up by Amdahl's law, the mean also falls.",
            lambda of, log: of.change(Case(log, AMDAHL, 100, "gas-predicted")),
            below(0),
            setting=AMDAHL,
        ),
        one(
            "If all jobs are malleable and speed up by Amdahl's law, the mean also falls.",
            lambda of, log: of.change(Case(log, AMDAHL, 100, MALLEABLE)),
            below(0),
            setting=AMDAHL,
        ),
    ]


def _of(study: Results, value: Value, log: Found) -> Part:
    return lambda level: value(replace(study, level=level), log)
