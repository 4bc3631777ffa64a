"""Statements of a paper, or requirements on a study, and whether they hold here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from gas.printable import many
from gas.report.blocks import Cell, Column, Section, Table, no, yes

__all__ = ["Claim", "decided_once", "headline", "summary_section", "verdict"]

P = ParamSpec("P")
S = TypeVar("S")


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, or a requirement on a study, and our finding."""

    text: str
    holds: bool | None
    """None if it could not be tested."""
    here: str
    where: str = ""
    """Place in the paper."""
    why: str = ""
    """Possible cause if it does not hold."""
    reported: bool = False
    """Whether it is only reported, without a requirement; then `holds` is None."""
    untested: str = "no verdict"
    """The verdict if it could not be tested."""

    @property
    def verdict(self) -> str:
        """Whether it holds, in a word or two."""
        if self.holds is None:
            return "reported" if self.reported else self.untested
        return "yes" if self.holds else "no"


def decided_once(
    claims: Callable[Concatenate[S, P], Sequence[Claim]],
) -> Callable[Concatenate[S, P], tuple[Claim, ...]]:
    """Decide the claims of each study only once: they are shown as verdicts, by item and by the command.

    Results do not change, and other arguments are hashable.
    """

    @wraps(claims)
    def found(study: S, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Claim, ...]:
        known = vars(study).setdefault("_decided", {})
        key = (claims, args, tuple(kwargs.items()))
        if key not in known:
            known[key] = tuple(claims(study, *args, **kwargs))
        decided: tuple[Claim, ...] = known[key]
        return decided

    return found


def verdict(claim: Claim) -> Cell:
    """Return the verdict as the cell of a table."""
    return Cell(claim.verdict, "quiet") if claim.holds is None else yes() if claim.holds else no()


_WORDS: Final = {
    "yes": ("holds", "hold"),
    "no": ("does not", "do not"),
    "not resolved": ("is not resolved", "are not resolved"),
    "not judged": ("is not judged", "are not judged"),
    "not tested": ("is not tested", "are not tested"),
    "no verdict": ("has no verdict", "have no verdict"),
    "reported": ("is reported", "are reported"),
}
"""Each verdict in words, of one statement and of several."""


def headline(found: Sequence[Claim]) -> str:
    """Return how many statements hold, do not, and are not resolved."""
    verdicts = [claim.verdict for claim in found]
    counts = ", ".join(
        f"{count} {one if count == 1 else several}"
        for word, (one, several) in _WORDS.items()
        if (count := verdicts.count(word))
    )
    return f"Of {many(len(found), 'statement')}, {counts}." if found else "No statement was tested."


def summary_section(
    found: Sequence[Claim], title: str = "Verdicts", who: str = "statement", caption: str = ""
) -> Section:
    """Return a paper's statements and whether they hold here; the caption explains the rule of verdicts."""
    rows = tuple((verdict(claim), claim.text, claim.here) for claim in found)
    columns = (Column("holds", left=True), Column(who, left=True), Column("here", left=True))
    return Section(title, (Table(columns, rows, caption),))
