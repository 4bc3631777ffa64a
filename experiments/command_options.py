"""Options that the commands of studies share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["AccuracyOption", "DaskOption", "DatasetOption", "EraOption", "MixOption", "OpponentOption", "OutputOption"]
__all__ += ["PolicyOption", "ShardOption", "SizesOption", "TracesOption", "WorkersOption"]

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

MixOption: TypeAlias = Annotated[
    str, typer.Option("--mix", metavar="MIX", help="Of the benchmarks: thirds, uniform, unrestricted or restricted.")
]

OpponentOption: TypeAlias = Annotated[
    str, typer.Option("--opponent", metavar="WHICH", help="The static request: uniform, powers or own.")
]

DatasetOption: TypeAlias = Annotated[
    str, typer.Option("--dataset", metavar="NAME", help="Benchmark times: default, or a data set's name.")
]

SizesOption: TypeAlias = Annotated[
    bool, typer.Option("--filled/--measured-sizes", help="All sizes between the measured ones, or these alone.")
]

EraOption: TypeAlias = Annotated[
    bool, typer.Option("--era/--as-measured", help="Times slowed down to nodes of the paper's era, or as measured.")
]

AccuracyOption: TypeAlias = Annotated[
    float, typer.Option("--accuracy", metavar="X", help="Execution time of a benchmark over its walltime, up to 1.")
]

PolicyOption: TypeAlias = Annotated[str, typer.Option("--policy", metavar="NAME", help="One that plans ahead.")]
