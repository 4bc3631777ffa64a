"""Options that the commands of studies share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["DaskOption", "OutputOption", "ShardOption", "TracesOption", "WorkersOption"]

TracesOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--traces", metavar="DIR", envvar="GAS_TRACES", help="The folder of the logs, under their archive names."
    ),
]

OutputOption: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Where the report goes; results are kept there too.")
]

WorkersOption: TypeAlias = Annotated[
    int | None, typer.Option("--workers", min=1, max=256, help="Processes (default: one a processor).")
]

ShardOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--shard", metavar="I/N", help="Compute the I-th of N parts only, without a report (job arrays)."),
]

DaskOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler instead."),
]
