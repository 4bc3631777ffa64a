"""Execution times of the NAS Parallel Benchmarks MG, LU, SP, BT and EP, classes B and C.

They come with the package, in ``data/npb.csv``; each row has its dataset, its origin, and whether it was measured or
derived:

=======================  ========================================================================================
cluster-2012             class C, all five benchmarks, measured on one cluster; the default for class C
cluster-2012-derived     class B, all five, *not measured*: class C seconds of the same cluster times the ratio of
                         operation counts. The default for class B, since no measured series covers SP and LU. Where
                         both classes were measured (jpfmm-2015) the rule is within 4% at small counts, but about 40%
                         too optimistic for BT on 9 and 16 processes, where communication dominates.
ethernet-r641            class B of BT, EP and MG, measured over Ethernet
jpfmm-2015               classes B and C of BT and EP, measured on up to 16 processors
slow-network-2012        class C of EP, MG and SP, measured; MG and SP get slower with more processors
=======================  ========================================================================================

These are not the times that the Gas paper used: those (NASA's public results of 1999) could not be found.

The column ``runs`` is the number of runs or placements behind a row's least, median and largest seconds. Times are the
least measured ones for a count (``seconds_min``): for the data of 2012 those of the best placement of processes on
nodes, otherwise those of the fastest run. Counts are the working processes; for SP and BT some runs had more launched,
of which only a perfect square took part.

Rows flagged ``12-per-node`` (SP and BT on 36, 81, 169 and 361 processors) were only run with all 12 cores of each
node in use. They are bound by memory and slower than their neighbours, so a curve includes them only on request.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from documents.fields import Fields, nearest
from speedup_models.constraints import Constraint
from speedup_models.model import ModelError, processor_counts
from speedup_models.table import Table

__all__ = ["BENCHMARKS", "CLASSES", "DEFAULT", "Dataset", "Nas", "Row", "datasets", "nas_from_fields", "rows"]

BENCHMARKS: Final[dict[str, Constraint]] = {
    "MG": Constraint("power-of-two"),
    "LU": Constraint("power-of-two"),
    "SP": Constraint("perfect-square"),
    "BT": Constraint("perfect-square"),
    "EP": Constraint("any"),
}
"""The processor counts that each benchmark accepts."""

CLASSES: Final = ("B", "C")

DEFAULT: Final = {"B": "cluster-2012-derived", "C": "cluster-2012"}
"""The dataset of each class if none is named."""


class Row(NamedTuple):
    """One row of ``data/npb.csv``, without the columns that no model needs."""

    dataset: str
    benchmark: str
    problem_class: str
    processors: int
    seconds: float
    kind: str
    flag: str
    origin: str


class Dataset(NamedTuple):
    """Times with one origin: its curves as (benchmark, class), and whether they were measured or derived."""

    name: str
    kind: str
    curves: tuple[tuple[str, str], ...]
    origin: str


@cache
def rows() -> tuple[Row, ...]:
    """Return the packaged times, in the order of the file."""
    source = resources.files("speedup_models").joinpath("data", "npb.csv")
    return tuple(
        Row(
            dataset=row["dataset"],
            benchmark=row["benchmark"],
            problem_class=row["class"],
            processors=int(row["processors"]),
            seconds=float(row["seconds_min"]),
            kind=row["kind"],
            flag=row["flag"],
            origin=row["origin"],
        )
        for row in csv.DictReader(source.read_text(encoding="utf-8").splitlines())
    )


@cache
def datasets() -> tuple[Dataset, ...]:
    """Return the datasets in the order of the file."""
    names = dict.fromkeys(row.dataset for row in rows())
    found = []
    for name in names:
        own = [row for row in rows() if row.dataset == name]
        curves = dict.fromkeys((row.benchmark, row.problem_class) for row in own)
        found.append(Dataset(name, own[0].kind, tuple(curves), own[0].origin))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Nas:
    """One benchmark at one class, from one dataset; `Nas.packaged` makes it.

    Attributes
    ----------
    curve
        The dataset's times for it.
    kind, origin
        Whether they were measured or derived, and their source.
    """

    benchmark: str
    problem_class: str
    dataset: str
    kind: str
    origin: str
    curve: Table

    @classmethod
    def packaged(
        cls,
        benchmark: str,
        problem_class: str,
        dataset: str | None = None,
        *,
        interpolate: bool = False,
        flagged: bool = False,
    ) -> Nas:
        """Return a benchmark's times from one dataset; rows of different datasets are never mixed.

        Parameters
        ----------
        dataset
            One of `datasets`; by default `DEFAULT` of the class.
        interpolate
            Also answer for every count that the benchmark accepts between the least and the largest measured one (as
            `Table` does).
        flagged
            Include the counts that were only run with all cores of each node in use.

        Raises
        ------
        ModelError
            There is no such benchmark, class or dataset, or the dataset lacks this benchmark and class.
        """
        if benchmark not in BENCHMARKS:
            raise ModelError(f'NAS benchmark "{benchmark}" is not known{nearest(benchmark, BENCHMARKS)}')
        if problem_class not in CLASSES:
            raise ModelError(f'NAS class "{problem_class}" is not known{nearest(problem_class, CLASSES)}')
        chosen = dataset if dataset is not None else DEFAULT[problem_class]
        names = [known.name for known in datasets()]
        if chosen not in names:
            raise ModelError(f'NAS dataset "{chosen}" is not known{nearest(chosen, names)}')
        own = [
            row
            for row in rows()
            if (row.dataset, row.benchmark, row.problem_class) == (chosen, benchmark, problem_class)
            and (flagged or not row.flag)
        ]
        if not own:
            having = [known.name for known in datasets() if (benchmark, problem_class) in known.curves]
            raise ModelError(
                f'NAS dataset "{chosen}" has no {benchmark} class {problem_class}; these have: {", ".join(having)}'
            )
        curve = Table.of({row.processors: row.seconds for row in own}, interpolate=interpolate)
        return cls(benchmark, problem_class, chosen, own[0].kind, own[0].origin, curve)

    @property
    def name(self) -> str:
        """Return the benchmark and its class; the dataset if it is not the default; and whether it is derived."""
        name = f"NAS {self.benchmark} class {self.problem_class}"
        if self.dataset != DEFAULT[self.problem_class]:
            name += f", {self.dataset}"
        return name if self.kind == "measured" else f"{name} ({self.kind}, not measured)"

    @property
    def constraint(self) -> Constraint:
        """Return the processor counts that the benchmark accepts."""
        return BENCHMARKS[self.benchmark]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the counts with a time: the measured ones or, with interpolation, all accepted counts between them."""
        counts = self.curve.counts
        if not self.curve.interpolate:
            return counts
        return tuple(n for n in range(counts[0], counts[-1] + 1) if self.constraint.permits(n))

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the execution time in seconds on each count, NaN on counts not in `sizes`."""
        n = processor_counts(processors)
        return np.where(np.isin(n, self.sizes), self.curve.seconds(n), np.nan)


def nas_from_fields(fields: Fields) -> Nas:
    """Return the model of a [speedup] table.

    Its keys are benchmark, class and, optional, dataset, interpolate and flagged.
    """
    benchmark = fields.text("benchmark", choices=BENCHMARKS)
    problem_class = fields.text("class", choices=CLASSES)
    dataset = fields.text("dataset", None, choices=[known.name for known in datasets()])
    interpolate = fields.boolean("interpolate", False)
    flagged = fields.boolean("flagged", False)
    try:
        return Nas.packaged(benchmark, problem_class, dataset, interpolate=interpolate, flagged=flagged)
    except ModelError as error:
        raise fields.fail("dataset", str(error)) from None
