"""What a paper says, or what is asked of a study, and whether it holds here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.framework.report import Cell, Column, Section, Table, no, yes

__all__ = ["Claim", "summary_section", "verdict"]


@dataclass(frozen=True)
class Claim:
    """A statement and what is found here."""

    text: str
    holds: bool | None
    """None where it could not be tested."""
    here: str


def verdict(claim: Claim) -> Cell:
    """Return the verdict as the cell of a table."""
    return Cell("no verdict", "quiet") if claim.holds is None else yes() if claim.holds else no()


def summary_section(found: Sequence[Claim], title: str = "Does it hold?", who: str = "statement") -> Section:
    """Return what a paper says, and whether it holds here."""
    rows = tuple((verdict(claim), claim.text, claim.here) for claim in found)
    columns = (Column("holds", left=True), Column(who, left=True), Column("here", left=True))
    return Section(title, (Table(columns, rows),))
