"""What a paper says, or what is asked of a study, and whether it holds here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gas.printable import many
from gas.report.blocks import Cell, Column, Section, Table, no, yes

__all__ = ["Claim", "headline", "summary_section", "verdict"]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, or a mark set for a study, and what is found here."""

    text: str
    holds: bool | None
    """None where it could not be tested."""
    here: str
    where: str = ""
    """Place in the paper."""
    why: str = ""
    """What may be the cause if it does not hold."""
    reported: bool = False
    """Whether it is there to be seen, with no mark set for it; then `holds` is None."""
    untested: str = "no verdict"
    """What is said where it could not be tested."""

    @property
    def verdict(self) -> str:
        """Whether it holds, in a word or two."""
        if self.holds is None:
            return "reported" if self.reported else self.untested
        return "yes" if self.holds else "no"


def verdict(claim: Claim) -> Cell:
    """Return the verdict as the cell of a table."""
    return Cell(claim.untested, "quiet") if claim.holds is None else yes() if claim.holds else no()


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
    """Return what a paper says, and whether it holds here; the caption says how that is judged."""
    rows = tuple((verdict(claim), claim.text, claim.here) for claim in found)
    columns = (Column("holds", left=True), Column(who, left=True), Column("here", left=True))
    return Section(title, (Table(columns, rows, caption),))
