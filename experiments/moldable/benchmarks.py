"""The NAS benchmarks as moldable applications, in several forms, so that studies can show how much depends on them.

The times that the Gas paper used (NASA's public results of 1999) are lost. Ours were measured on machines of later
years, so studies use every available data set, with missing sizes filled in, and slowed down to nodes of the paper's
era.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from gas.application import Application, Requests
from gas.errors import BadInput
from speedup_models import Table
from speedup_models.nas import BENCHMARKS, CLASSES, DEFAULT, Nas, datasets

__all__ = ["ERA_RATES", "GROUPS", "MIXES", "RATES", "Form", "Mix", "application", "choices", "is_there", "requests"]

GROUPS: Mapping[str, tuple[str, ...]] = {"power-of-two": ("MG", "LU"), "perfect-square": ("SP", "BT"), "any": ("EP",)}
"""The benchmarks of each constraint class (paper, section 5.1)."""

Mix = Literal["thirds", "uniform", "unrestricted", "restricted"]

MIXES: Mapping[Mix, Mapping[str, float]] = {
    "thirds": {"MG": 1 / 6, "LU": 1 / 6, "SP": 1 / 6, "BT": 1 / 6, "EP": 1 / 3},
    "uniform": dict.fromkeys(BENCHMARKS, 1 / 5),
    "unrestricted": {"EP": 1.0},
    "restricted": dict.fromkeys(("MG", "LU", "SP", "BT"), 1 / 4),
}
"""Probability of each benchmark: a third for each constraint (the paper, 5.2), or a fifth each (later code of its
authors); only benchmarks without a constraint, or only those with one (5.3).
"""

RATES: Mapping[str, float] = {"BT": 2140.0, "SP": 1650.0, "LU": 2370.0, "MG": 2460.0, "EP": 31.0}
"""Millions of operations per second of one process on the cluster of the default times, from fits to its curves."""

ERA_RATES: Mapping[str, float] = {"BT": 44.0, "SP": 35.0, "LU": 49.0, "MG": 51.0, "EP": 2.6}
"""The same rates on a node of the paper's era."""


@dataclass(frozen=True)
class Form:
    """The form of the benchmarks: data set, sizes and speed.

    Attributes
    ----------
    dataset
        Times of each class: "default", or a data set that has them (`speedup_models.nas.datasets`).
    filled
        True: every size that a benchmark accepts between its smallest and its largest measured one, interpolated
        linearly on log-log axes. False: the measured sizes only.
    era
        Whether times are slowed down to nodes of the paper's era, or as measured.
    accuracy
        Execution time divided by requested walltime, above 0 and at most 1.
    slower
        A further factor on all times.
    largest
        Size at which times end. Curves that end earlier continue at the rate of their last two points, on powers of
        two or of four, as the benchmark accepts. 0: as measured.
    """

    dataset: str = "default"
    filled: bool = True
    era: bool = True
    accuracy: float = 1.0
    slower: float = 1.0
    largest: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.accuracy <= 1:
            raise BadInput(f"accuracy {self.accuracy}: must be above 0 and at most 1 (run time over requested time)")


def is_there(benchmark: str, problem_class: str, dataset: str) -> bool:
    """Return whether a data set has times of a class of a benchmark."""
    if dataset == "default":
        return True
    return any(known.name == dataset and (benchmark, problem_class) in known.curves for known in datasets())


def application(benchmark: str, problem_class: str, form: Form) -> Application:
    """Return the application of a class of a benchmark.

    Raises
    ------
    ModelError
        The data set has no such times.
    """
    dataset = DEFAULT[problem_class] if form.dataset == "default" else form.dataset
    nas = Nas.packaged(benchmark, problem_class, dataset, interpolate=form.filled)
    slower = form.slower * (RATES[benchmark] / ERA_RATES[benchmark] if form.era else 1)
    if slower != 1:
        curve = Table(nas.curve.counts, tuple(t * slower for t in nas.curve.times), nas.curve.interpolate)
        nas = replace(nas, curve=curve)
    if form.largest:
        nas = replace(nas, curve=_until(nas.curve, form.largest, 4 if nas.constraint.kind == "perfect-square" else 2))
    return Application(nas, nas.constraint, safety=1 / form.accuracy, name=f"{benchmark.lower()}.{problem_class}")


def _until(curve: Table, largest: int, step: int) -> Table:
    """Return a curve that ends at the size `largest`; a shorter one is continued in factors of `step`."""
    times = dict(zip(curve.counts, curve.times, strict=True))
    (before, slow), (last, time) = list(times.items())[-2:]
    power = math.log(time / slow) / math.log(last / before)
    while last * step <= largest:
        times[last * step] = times[last] * step**power
        last *= step
    return Table.of({n: t for n, t in times.items() if n <= largest}, interpolate=curve.interpolate)


def choices(mix: Mix, form: Form, machine: int) -> list[tuple[str, str, float]]:
    """Return benchmarks, classes and probabilities of a mix: those with times on a machine of that size.

    Classes are equally likely. The share of a missing curve goes to the other class of the benchmark; if that is
    missing too, in a mix by constraint, to the other benchmark of the constraint; then to all others in proportion.
    """
    there = {
        benchmark: classes
        for benchmark in MIXES[mix]
        if (classes := [c for c in CLASSES if _can_run(benchmark, c, form, machine)])
    }
    if not there:
        raise BadInput(f"mix {mix}: no benchmark of it has times in data set {form.dataset} on {machine} processors")
    shares = {benchmark: MIXES[mix][benchmark] for benchmark in there}
    if mix == "thirds":
        for group in GROUPS.values():
            left = [benchmark for benchmark in group if benchmark in shares]
            shares |= dict.fromkeys(left, sum(MIXES[mix][benchmark] for benchmark in group) / max(len(left), 1))
    total = sum(shares.values())
    return [(b, c, shares[b] / total / len(classes)) for b, classes in there.items() for c in classes]


def _can_run(benchmark: str, problem_class: str, form: Form, machine: int) -> bool:
    known = is_there(benchmark, problem_class, form.dataset)
    return known and len(requests(application(benchmark, problem_class, form), machine)[0]) > 0


def requests(app: Application, machine: int) -> Requests:
    """Return the sizes that an application can use on a machine, with its execution time and walltime on each."""
    return app.requests(machine)
