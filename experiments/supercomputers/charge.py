"""Section of the report on charges for submissions (the Gas paper, sections 6.1 and 6.2 ii)."""

from __future__ import annotations

import numpy as np

from experiments.supercomputers.pictures import draw_charge
from experiments.supercomputers.results import (
    GAMES,
    PAY,
    SHARES,
    Game,
    Results,
    break_even,
    equilibrium,
    mean_of,
    pooled,
    rigid_mean_of,
)
from gas.report.blocks import Block, Column, Picture, Section, Table, Text, heads

__all__ = ["charge_section"]

_CHARGE = (
    "A submission beyond the first costs its user either a number of seconds or a share of the execution time of the "
    "run: with a grant of processor time, a charge of a share φ of the processor time of the run is worth φ times its "
    "execution time on its processors. At the break-even charge, deviating gains nothing on average. In equilibrium, "
    "no user deviates if the first to do so loses; otherwise users deviate until one more gains nothing (interpolated "
    "linearly between the simulated shares). If the gain does not fall steadily, there may be other equilibria at "
    "larger shares; the smallest is shown."
)
_CHARGES = {
    "seconds": (0, 30, 60, 90, 120, 150, 200, 300, 450, 600, 750, 900, 1050, 1200, 1500, 1800, 3600),
    "share": (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0),
}


def charge_section(study: Results) -> Section:
    """Return the section: break-even charges, and the share of applications that deviates at each charge."""
    rows = []
    for game in GAMES:
        figures = []
        for share in SHARES:
            found = study.of_game(game, share)
            seconds, part = break_even(found, "seconds"), break_even(found, "share")
            figures += [f"{seconds:,.0f}", f"{100 * part:,.1f}%"] if seconds > 0 else ["–", "–"]
        rows.append((game.name, *figures))
    columns = (
        Column("deviation", left=True),
        *(Column(unit, f"if {share}% deviate") for share in SHARES for unit in ("s", "of the run")),
    )
    below = "Break-even charges for each submission beyond the first. A dash: deviating loses even without a charge."
    blocks: list[Block] = [Text(_CHARGE), Table(columns, tuple(rows), below)]
    swept = [_swept(study, game) for game in GAMES if break_even(study.of_game(game, 0), "seconds") > 0]
    never = [game.name for game in GAMES if break_even(study.of_game(game, 0), "seconds") <= 0]
    if swept:
        columns = (
            *heads("deviation", "charge", left=True),
            Column("share that deviates"),
            *heads("applications", "rigid jobs", group="mean turn-around time (s)"),
        )
        blocks.append(Table(columns, tuple(row for table in swept for row in table), "In equilibrium, by the charge."))
        blocks.append(
            Picture(
                "supercomputers-charge",
                draw_charge({game.name: _curves(study, game) for game in GAMES}),
                "The share of applications that deviates in equilibrium, over the charge for each submission beyond "
                "the first: in seconds, and as a share of the execution time of the run.",
            )
        )
    if never:
        blocks.append(
            Text(f"{', '.join(never)}: even without a charge, the first to deviate gains nothing on average.")
        )
    return Section("Charges", tuple(blocks))


def _net(study: Results, game: Game, currency: str, charge: float) -> list[float]:
    found = [study.of_game(game, share) for share in SHARES]
    return [pooled(one, "mean") - charge * pooled(one, PAY[currency]) for one in found]


def _swept(study: Results, game: Game) -> list[tuple[str, ...]]:
    applications = [mean_of(study.of_game(game, share), "mean") for share in SHARES]
    rigid = [rigid_mean_of(study.of_game(game, share)) for share in SHARES]
    rows: list[tuple[str, ...]] = []
    for currency, charges in _CHARGES.items():
        for charge in charges[0 if currency == "seconds" else 1 :]:
            share = equilibrium(SHARES, _net(study, game, currency, charge))
            rows.append(
                (
                    game.name if not rows else "",
                    f"{charge:,} s" if currency == "seconds" else f"{100 * charge:.0f}% of the run",
                    f"{share:.0f}%",
                    f"{np.interp(share, SHARES, applications):,.0f}",
                    f"{np.interp(share, SHARES, rigid):,.0f}",
                )
            )
            if share == 0:
                break
    return rows


def _curves(study: Results, game: Game) -> dict[str, tuple[list[float], list[float]]]:
    """Return, for each currency, charges up to where no application deviates, and the share in equilibrium at each."""
    found = {}
    for currency in PAY:
        most = max(0.0, *(break_even(study.of_game(one, share), currency) for one in GAMES for share in SHARES))
        charges = np.linspace(0, 1.1 * most, 221).tolist()
        found[currency] = (charges, [equilibrium(SHARES, _net(study, game, currency, charge)) for charge in charges])
    return found
