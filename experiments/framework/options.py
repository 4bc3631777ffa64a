"""Options that the commands of studies share."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

__all__ = ["DaskOption", "FirstSeed", "OtherTerms", "OutputOption", "of_logs"]
__all__ += ["QuickOption", "Seeds", "SeedsOption", "ShardOption", "TracesOption", "WorkersOption"]
__all__ += ["other_shares", "whole_number", "whole_seed"]

_SEEDS: Final = 2**62
"""The largest seed; a study counts up from it."""


def whole_number(name: str, least: int, most: int | None = None, *, help: str) -> Any:
    """Return an option for a whole number whose errors name its limits."""
    return typer.Option(name, metavar="N", min=least, max=most, parser=_reader(least, most), help=help)


def whole_seed(help: str) -> Any:
    """Return the option ``--seed``; help does not show its limits."""
    return typer.Option("--seed", metavar="N", parser=_reader(0, _SEEDS), help=help)


def other_shares(help: str) -> Any:
    """Return the option ``--other-shares`` of studies in which a share of the jobs is treated differently."""
    return typer.Option("--other-shares/--no-other-shares", help=help)


def _reader(least: int, most: int | None) -> Callable[[Any], int]:
    def read(given: Any) -> int:
        if re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", str(given), re.ASCII):
            number = int(given)
            if least <= number and (most is None or number <= most):
                return number
        limits = f"of {least:,} or more" if most is None else f"from {least:,} to {most:,}"
        raise ValueError(f"must be a whole number {limits}, not {str(given)!r}")  # typer adds the name of the option

    return read


TracesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--traces", metavar="DIR", envvar="GAS_TRACES", help="Folder of logs, named as by gas traces get."),
]

OutputOption: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the report and the results.")
]

WorkersOption: TypeAlias = Annotated[
    int | None, whole_number("--workers", 1, 256, help="Number of processes (default: one per processor).")
]

ShardOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Compute only part I of N, without a report (for job arrays)."),
]

DaskOption: TypeAlias = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler.")
]


def of_logs(*, own: bool, by_month: bool) -> list[tuple[str, Any]]:
    """Return the options that choose logs, including the user's own, and months; only some studies show these."""
    words = f"Use only this log: KTH, KTH-SP2-1996-2{', a file or a folder' if own else ''}. Repeatable."
    log = typer.Option("--log", metavar="LOG", help=words)
    month = typer.Option("--month", metavar="MONTH", hidden=not by_month, help="Use only this month: 1996-10.")
    return [("log", Annotated[list[str], log]), ("month", Annotated[list[str], month])]


QuickOption: TypeAlias = Annotated[
    bool, typer.Option("--quick", help="Quick first look: few seeds, runs and months; only the main settings.")
]

FirstSeed: TypeAlias = Annotated[int, whole_seed("First random seed.")]

Seeds: TypeAlias = Annotated[int, whole_number("--seeds", 1, 1000, help="Number of seeds.")]

SeedsOption: TypeAlias = Annotated[int, whole_number("--seeds", 1, help="Number of seeds; this study uses only one.")]

OtherTerms: TypeAlias = Annotated[
    bool, typer.Option("--other-terms/--no-other-terms", help="Also run other static requests, times and policies.")
]
