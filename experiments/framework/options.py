"""Options that the commands of studies share."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

__all__ = ["DaskOption", "FirstSeed", "LogsOption", "MonthsOption", "OtherTerms", "OutputOption"]
__all__ += ["QuickOption", "Seeds", "SeedsOption", "ShardOption", "TracesOption", "WorkersOption", "whole_number"]
__all__ += ["whole_seed"]

_SEEDS: Final = 2**62
"""The largest seed; a study counts on from it."""


def whole_number(name: str, least: int, most: int | None = None, *, help: str) -> Any:
    """Return an option that takes a whole number, and says in words of ours what it takes."""
    return typer.Option(name, metavar="N", min=least, max=most, parser=_reader(least, most), help=help)


def whole_seed(help: str) -> Any:
    """Return the option ``--seed``, whose limits are of no interest to those who look for help."""
    return typer.Option("--seed", metavar="N", parser=_reader(0, _SEEDS), help=help)


def _reader(least: int, most: int | None) -> Callable[[Any], int]:
    def read(given: Any) -> int:
        if re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", str(given), re.ASCII):
            number = int(given)
            if least <= number and (most is None or number <= most):
                return number
        limits = f"of {least:,} or more" if most is None else f"from {least:,} to {most:,}"
        raise ValueError(f"must be a whole number {limits}, not {str(given)!r}")  # typer says of which option

    return read


TracesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--traces", metavar="DIR", envvar="GAS_TRACES", help="Folder of the logs, named as in the archive."),
]

OutputOption: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where the report goes; results are kept there too.")
]

WorkersOption: TypeAlias = Annotated[
    int | None, whole_number("--workers", 1, 256, help="Processes (default: one a processor).")
]

ShardOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Compute the I-th of N parts only, without a report (job arrays)."),
]

DaskOption: TypeAlias = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler instead.")
]

LogsOption: TypeAlias = Annotated[
    list[str], typer.Option("--log", metavar="LOG", help="Only this log, such as KTH, or a file; may be repeated.")
]

MonthsOption: TypeAlias = Annotated[
    list[str], typer.Option("--month", metavar="MONTH", help="Only this month, such as 1996-10; may be repeated.")
]

QuickOption: TypeAlias = Annotated[
    bool, typer.Option("--quick", help="Few seeds and runs, and no other terms: a first look, labelled so.")
]

FirstSeed: TypeAlias = Annotated[int, whole_seed("First random seed.")]

Seeds: TypeAlias = Annotated[int, whole_number("--seeds", 1, 1000, help="How many, on the paper's terms.")]

SeedsOption: TypeAlias = Annotated[int, whole_number("--seeds", 1, help="Number of seeds; this study takes one.")]

OtherTerms: TypeAlias = Annotated[
    bool, typer.Option("--other-terms/--no-other-terms", help="Other opponents, data sets and policies, too.")
]
