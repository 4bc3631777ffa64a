"""The search for the set-up of Tables 5.1 to 5.7, as the command line finds it."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

from experiments.framework.options import FirstSeed, whole_number
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.setups.report import TABLES, lead, setups_report
from experiments.setups.results import Options, Results, planned
from experiments.setups.run import setup_run
from experiments.setups.setups import named

__all__ = ["STUDY"]


Runs: TypeAlias = Annotated[
    int, whole_number("--runs", 2, help="Jobs of each month that a benchmark replaces, one at a time.")
]
SetUps: TypeAlias = Annotated[
    list[str], typer.Option("--set-up", metavar="WORDS", help="First set-up, such as static=log,times=2. Repeatable.")
]
Changes: TypeAlias = Annotated[
    int, whole_number("--changes", 0, 3, help="Number of choices that may differ from the first set-up.")
]
USUAL: Final = ["usual"]


def setups_options(seed: FirstSeed = 0, runs: Runs = 60, setup: SetUps = USUAL, changes: Changes = 1) -> Options:
    """Find the set-up of Tables 5.1 to 5.7 of Cirne & Berman.

    The paper does not state every detail of its simulations. Tries set-ups that differ from the first one in up to
    --changes choices, and shows how many of the published means each reproduces.
    """
    return Options(seed, runs=runs, around=tuple(map(named, setup)), changes=changes)


STUDY = Study(
    "setups",
    setups_options,
    traces={site.trace for site in SITES},
    runs=planned,
    run=setup_run,
    summarise=Results.of,
    report=setups_report,
    tables=TABLES,
    headline=lead,
    quick={"runs": 10},
    by_month=True,
)
