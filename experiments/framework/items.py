"""Where each table and figure of a paper is reproduced, and how close our figures are to the printed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from experiments.framework.claims import Claim
from experiments.framework.columns import Shown, table_of
from experiments.published import Item, items
from gas.report.blocks import Section, Text

__all__ = ["MET", "NEAR", "Compared", "Pair", "is_near", "items_section"]

NEAR: Final = 10.0
"""Per cent within which our figure is close to a printed one."""

MET: Final = 25.0
"""Per cent within which a mean meets a printed one, in the search for a set-up that the paper does not state."""

_STUDIES: Final = "gas experiment "


def is_near(ours: Any, printed: Any, percent: float = NEAR) -> Any:
    """Return whether our figure differs from a printed one by at most these per cent of it; of arrays, for each."""
    return abs(ours - printed) * 100 <= percent * abs(printed)


@dataclass(frozen=True)
class Pair:
    """A printed figure and ours; None if we have none.

    Attributes
    ----------
    agrees
        For a difference: whether its sign is the printed one; None if it is not resolved.
    """

    printed: float
    ours: float | None
    agrees: bool | None = None

    @property
    def is_near(self) -> bool:
        """Whether ours is within 10% of the printed one."""
        return self.is_within(NEAR)

    def is_within(self, percent: float) -> bool:
        """Return whether ours differs from the printed one by at most these per cent of it."""
        return self.ours is not None and bool(is_near(self.ours, self.printed, percent))


@dataclass(frozen=True)
class Compared:
    """Printed figures of an item, with ours."""

    pairs: tuple[Pair, ...]
    cause: str = ""
    """Why they differ, and whether that was tested."""
    claims: tuple[Claim, ...] = ()
    """The paper's statements on the item, also if it prints no figures."""

    @property
    def known(self) -> list[Pair]:
        """Pairs for which we have a figure."""
        return [pair for pair in self.pairs if pair.ours is not None]


def items_section(paper: str, study: str, compared: Mapping[str, Compared], *, every: bool = True) -> Section:
    """Return the list of a paper's items, with the closeness of our figures for the items of this study.

    Parameters
    ----------
    paper
        As in `experiments.published.Item.paper`.
    study
        The name of the study of the report.
    compared
        Figures by the name of their item.
    every
        Whether items of other studies are listed too.

    Raises
    ------
    ValueError
        An item of this study is not in `compared`: its row would be empty.
    """
    rows = [item for item in items() if item.paper == paper and (every or item.study == study)]
    if lacking := [item.name for item in rows if item.study == study and item.name not in compared]:
        raise ValueError(f"{', '.join(lacking)}: reproduced by {study}, so needs figures, statements or a cause")

    def cells(item: Item) -> str:
        found = compared.get(item.name)
        return f"{len(found.known)} of {len(found.pairs)}" if found and found.pairs else ""

    def near(item: Item) -> str:
        found = compared.get(item.name)
        return f"{sum(pair.is_near for pair in found.known)}" if found and found.pairs else ""

    def signs(item: Item) -> str:
        known = compared[item.name].known if item.name in compared else []
        resolved = [pair.agrees for pair in known if pair.agrees is not None]
        return f"{sum(resolved)} of {len(resolved)}" if resolved else ""

    def statements(item: Item) -> str:
        judged = compared[item.name].claims if item.name in compared else ()
        resolved = [claim.holds for claim in judged if claim.holds is not None]
        others = Counter(claim.verdict for claim in judged if claim.holds is None)
        words = [f"{sum(resolved)} of {len(resolved)}"] if resolved else []
        return "; ".join([*words, *(f"{count} {word}" for word, count in others.items())])

    def where(item: Item) -> str:
        if not item.study:
            return item.absent
        title = item.section.rstrip(": ")
        return title if item.study == study else f"{_STUDIES}{item.study}"

    table = table_of(
        rows,
        (
            Shown("item", lambda item: item.name, left=True),
            Shown("shows", lambda item: item.shows, left=True),
            Shown("where, or why not", where, left=True),
            Shown("figures compared", cells),
            Shown(f"within {NEAR:.0f}%", near),
            Shown("signs that agree, of those resolved", signs),
            Shown("statements that hold, of those resolved", statements, left=True),
            Shown(
                "cause of differences, and how it was tested",
                lambda item: compared[item.name].cause if item.name in compared else "",
                left=True,
            ),
        ),
    )
    whose = (
        "All tables and figures of the paper, and its other questions; those of another study are compared in its "
        "report."
        if every
        else "The questions of the paper that this study examines."
    )
    text = (
        f"{whose} Figures compared: how many of the printed figures this report compares with its own. A sign is "
        "resolved if our difference's 98% interval excludes 0."
    )
    return Section("Items of the paper", (Text(text), table))
