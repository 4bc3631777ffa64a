"""Jann's model: each range of sizes has its own run times and interarrival times, fitted to a log.

J. Jann, P. Pattnaik, H. Franke, F. Wang, J. Skovira and J. Riordan, "Modeling of workload in MPPs", Job Scheduling
Strategies for Parallel Processing, 1997. Sizes are divided into ranges, by powers of two or by multiples of five; in
each, run times and interarrival times are hyper-Erlang of common order with the first three moments of a log. The
authors' tables are not available, so the model is fitted here, to any log (`fit`); the fitted model can be stored in a
file (`JannModel.to_toml`), which contains no line of the log.

`ctc_model` is as close to the published one as possible: fitted to the CTC SP2's log of the same days, 25 June to 12
September 1996, for the same 322 processors. The published one was fitted to 17,440 jobs, this one to 17,826 (of version
3.1-cln of the log, which leaves out one user).

Our choices where the available sources are silent:

- A range with too few jobs, or whose jobs all arrived in one second, joins the neighbour with fewer jobs.
- Within a range, sizes have their frequencies in the log, which keeps its emphasis on powers of two.
- Each range's arrivals are a stationary process (its first interarrival time is a residual one), so that the mix of
  jobs is right from second 0 on; all are merged.
- Run times are rounded to whole seconds, at least 1.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from workloads.generated import check_request, generated_log
from workloads.hyper_erlang import HyperErlang
from workloads.jobs import rigid_jobs
from workloads.log import Log

__all__ = ["JannModel", "Ranges", "SizeRange", "ctc_model", "fit", "generate", "size_ranges"]

Ranges = Literal["powers-of-two", "multiples-of-five"]
"""How sizes are divided: 1, 2, 3-4, 5-8, … or 1-5, 6-10, …"""

SCHEMA = "gas.jann/1"
LEAST_JOBS = 30


@dataclass(frozen=True)
class SizeRange:
    """The jobs of one range of sizes."""

    first: int
    """The smallest size of the range, in processors."""
    last: int
    """The largest size."""
    sizes: tuple[int, ...]
    """The sizes that occur, ascending."""
    counts: tuple[int, ...]
    """Number of jobs of the log with each size."""
    run_time: HyperErlang
    interarrival: HyperErlang

    def __post_init__(self) -> None:
        where = f"range {self.first}-{self.last}"
        if not 1 <= self.first <= self.last:
            raise ValueError(f"{where}: needs 1 <= first <= last")
        ascending = all(a < b for a, b in pairwise(self.sizes))
        if not self.sizes or not ascending or not self.first <= self.sizes[0] <= self.sizes[-1] <= self.last:
            raise ValueError(f"{where}: sizes {list(self.sizes)} must ascend within the range")
        if len(self.counts) != len(self.sizes) or min(self.counts) < 1:
            raise ValueError(f"{where}: counts {list(self.counts)} must be 1 or more, one for each size")
        if not self.interarrival.mean > 0:
            raise ValueError(f"{where}: interarrival times have the mean 0; jobs would never end to arrive")


@dataclass(frozen=True)
class JannModel:
    """A fitted model."""

    machine: int
    """Processors of the machine that it was fitted for."""
    ranges: tuple[SizeRange, ...]
    source: str = "unknown"
    """The log that it was fitted to."""
    acknowledgements: tuple[str, ...] = ()
    """Whom to thank for that log."""

    def __post_init__(self) -> None:
        if not self.ranges:
            raise ValueError("a model needs at least one range of sizes")
        for one, other in pairwise(self.ranges):
            if one.last >= other.first:
                raise ValueError(f"ranges {one.first}-{one.last} and {other.first}-{other.last} must ascend")
        if self.largest_size > self.machine:
            raise ValueError(f"jobs of {self.largest_size} processors cannot run on a machine of {self.machine}")

    @property
    def largest_size(self) -> int:
        """Most processors that a job can request."""
        return self.ranges[-1].sizes[-1]

    @property
    def load(self) -> float:
        """The expected offered load of the model on its machine."""
        busy = 0.0
        for one in self.ranges:
            size = float(np.average(one.sizes, weights=one.counts))
            busy += size * one.run_time.mean / one.interarrival.mean
        return busy / self.machine

    def to_toml(self) -> str:
        """Return the model as a TOML document, from which `from_toml` makes an equal one."""
        lines = [
            "# A workload model after Jann et al. (1997): per range of sizes, hyper-Erlang run and interarrival times.",
            "# Stage means are in seconds; matched says how many of the log's moments a distribution has.",
            f"schema = {_text(SCHEMA)}",
            f"machine = {self.machine}",
            f"source = {_text(self.source)}",
            f"acknowledgements = [{', '.join(map(_text, self.acknowledgements))}]",
        ]
        for one in self.ranges:
            lines += [
                "",
                "[[ranges]]",
                f"first = {one.first}",
                f"last = {one.last}",
                f"sizes = {list(one.sizes)}",
                f"counts = {list(one.counts)}",
                f"run_time = {_table(one.run_time)}",
                f"interarrival = {_table(one.interarrival)}",
            ]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str, name: str = "model") -> JannModel:
        """Return the model in a TOML document.

        Raises
        ------
        ValueError
            The document is not a model; the message names the place.
        """
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{name}: is not TOML: {error}") from None
        if document.get("schema") != SCHEMA:
            raise ValueError(f'{name}: is not a Jann model: schema is {document.get("schema")!r}, expected "{SCHEMA}"')
        try:
            ranges = []
            for number, entry in enumerate(_list(document, "ranges", dict), 1):
                ranges.append(_range(entry, f"range {number}"))
            return cls(
                machine=_number(document, "machine", int),
                ranges=tuple(ranges),
                source=_of_type(document, "source", str),
                acknowledgements=tuple(_list(document, "acknowledgements", str)),
            )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def fit(
    log: Log, processors: int | None = None, *, ranges: Ranges = "powers-of-two", least_jobs: int = LEAST_JOBS
) -> JannModel:
    """Return the model with the moments of a log.

    Run times are those of the log, independently of estimates; interarrival times are between the first and the last
    job of each range.

    Parameters
    ----------
    processors
        Processors of the machine, by default the header's; larger jobs are left out (`workloads.rigid_jobs`).
    least_jobs
        A range with fewer jobs joins a neighbour, until one range is left.

    Raises
    ------
    ValueError
        The log does not have two different submit times, or `ranges` is unknown.
    """
    if ranges not in get_args(Ranges):
        raise ValueError(f'ranges "{ranges}" are not known; known: {", ".join(get_args(Ranges))}')
    jobs = rigid_jobs(log, processors)
    if len(jobs) < 2 or jobs.submit[0] == jobs.submit[-1]:
        raise ValueError(f"{log.name}: {len(jobs)} usable jobs with one submit time have no interarrival times to fit")
    rows = [
        np.flatnonzero((jobs.processors >= a) & (jobs.processors <= b)) for a, b in size_ranges(jobs.machine, ranges)
    ]
    bounds = size_ranges(jobs.machine, ranges)
    while len(rows) > 1:
        thin = [i for i, mine in enumerate(rows) if mine.size < least_jobs or not np.ptp(jobs.submit[mine])]
        if not thin:
            break
        i = min(thin, key=lambda i: rows[i].size)
        other = min((k for k in (i - 1, i + 1) if 0 <= k < len(rows)), key=lambda k: rows[k].size)
        low, high = sorted((i, other))
        rows[low : high + 1] = [np.sort(np.concatenate([rows[low], rows[high]]))]
        bounds[low : high + 1] = [(bounds[low][0], bounds[high][1])]
    fitted = []
    for (first, last), mine in zip(bounds, rows, strict=True):
        sizes, counts = np.unique(jobs.processors[mine], return_counts=True)
        fitted.append(
            SizeRange(
                first,
                last,
                tuple(sizes.tolist()),
                tuple(counts.tolist()),
                run_time=HyperErlang.of_values(jobs.run_time[mine]),
                interarrival=HyperErlang.of_values(np.diff(jobs.submit[mine])),
            )
        )
    return JannModel(jobs.machine, tuple(fitted), log.name, log.acknowledgements)


def size_ranges(machine: int, ranges: Ranges) -> list[tuple[int, int]]:
    """Return the first and the last size of each range on a machine; the last range ends with the machine."""
    if ranges == "powers-of-two":
        lasts = [2**k for k in range((machine - 1).bit_length())]
    else:
        lasts = list(range(5, machine, 5))
    lasts.append(machine)
    return list(zip([1, *(last + 1 for last in lasts[:-1])], lasts, strict=True))


def ctc_model() -> JannModel:
    """Return the model fitted to the CTC SP2's log from 25 June to 12 September 1996, for 322 processors."""
    name = "jann_ctc.toml"
    return JannModel.from_toml(files("workloads").joinpath(name).read_text(encoding="utf-8"), name)


def generate(
    jobs: int,
    processors: int | None = None,
    *,
    generator: np.random.Generator,
    model: JannModel | None = None,
    load: float | None = None,
) -> Log:
    """Return a log of jobs drawn from a fitted model, by default `ctc_model`.

    There are no estimates; see `workloads.estimates`.

    Parameters
    ----------
    jobs
        Number of jobs.
    processors
        Processors of the machine, by default the model's; at least the model's largest job.
    load
        The offered load to reach by scaling interarrival times; by default that of the model.

    Raises
    ------
    ValueError
        There are no jobs, the machine is too small, or the load cannot be reached.
    """
    model = model or ctc_model()
    machine = model.machine if processors is None else processors
    check_request(jobs, machine)
    if machine < model.largest_size:
        raise ValueError(
            f"a machine of {machine} processors is too small for the model, whose largest jobs need "
            f"{model.largest_size}; fit it to the jobs of the log that the machine can run: fit(log, {machine})"
        )
    submit, kind = _arrivals(jobs, model, generator)
    sizes = np.empty(jobs, dtype=np.int64)
    seconds = np.empty(jobs)
    for number, one in enumerate(model.ranges):
        mine = np.flatnonzero(kind == number)
        below = np.cumsum(one.counts) / sum(one.counts)
        sizes[mine] = np.array(one.sizes)[np.searchsorted(below[:-1], generator.random(mine.size), side="right")]
        seconds[mine] = np.maximum(np.rint(one.run_time.draw(mine.size, generator)), 1)
    return generated_log(
        "jann",
        submit=submit,
        sizes=sizes,
        run_times=seconds,
        machine=machine,
        load=load,
        computer=f"Jann model fitted to {model.source}",
        thanks=["Joefon Jann et al., for the form of the model", *model.acknowledgements],
        notes=[_described(one) for one in model.ranges],
    )


def _arrivals(
    jobs: int, model: JannModel, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int16]]:
    """Return the first arrivals of all ranges together, and the range of each."""
    laws = [one.interarrival for one in model.ranges]
    horizon = jobs / sum(1 / law.mean for law in laws)
    arrivals = [np.array([law.draw_residual(generator)]) for law in laws]
    while True:
        for number, law in enumerate(laws):
            parts, last = [arrivals[number]], float(arrivals[number][-1])
            while last <= horizon:
                more = law.draw(math.ceil(1.02 * (horizon - last) / law.mean) + 10, generator)
                more[0] += last
                np.cumsum(more, out=more)
                last = float(more[-1])
                parts.append(more)
            arrivals[number] = np.concatenate(parts)
        # Beyond the horizon, further arrivals of some ranges were not drawn.
        if sum(int(np.searchsorted(times, horizon, side="right")) for times in arrivals) >= jobs:
            break
        horizon *= 1.05
    together = np.concatenate(arrivals)
    kind = np.repeat(np.arange(len(laws), dtype=np.int16), [times.size for times in arrivals])
    del arrivals
    first = np.argsort(together, kind="stable")[:jobs]
    return together[first], kind[first]


def _described(one: SizeRange) -> str:
    name = str(one.first) if one.first == one.last else f"{one.first}-{one.last}"
    parts = []
    for what, law in (("run time", one.run_time), ("interarrival time", one.interarrival)):
        parts.append(f"{what} order {law.order}, p {law.p:.6g}, stages of {law.stage1:.6g} and {law.stage2:.6g} s")
    return f"jobs of {name} processors: {'; '.join(parts)}"


# The file of a model


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _table(law: HyperErlang) -> str:
    return (
        f"{{ order = {law.order}, p = {law.p!r}, stage1 = {law.stage1!r}, stage2 = {law.stage2!r}, "
        f"matched = {law.matched} }}"
    )


def _range(entry: Mapping[str, Any], where: str) -> SizeRange:
    try:
        return SizeRange(
            first=_number(entry, "first", int),
            last=_number(entry, "last", int),
            sizes=tuple(_list(entry, "sizes", int)),
            counts=tuple(_list(entry, "counts", int)),
            run_time=_law(entry, "run_time"),
            interarrival=_law(entry, "interarrival"),
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _law(entry: Mapping[str, Any], key: str) -> HyperErlang:
    table = _of_type(entry, key, dict)
    try:
        return HyperErlang(
            order=_number(table, "order", int),
            p=_number(table, "p", float),
            stage1=_number(table, "stage1", float),
            stage2=_number(table, "stage2", float),
            matched=_number(table, "matched", int),
        )
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _of_type(table: Mapping[str, Any], key: str, kind: type) -> Any:
    if key not in table:
        raise ValueError(f'has no "{key}"')
    if not isinstance(table[key], kind) or isinstance(table[key], bool):
        raise ValueError(f"{key} = {table[key]!r} is not of the kind that belongs there")
    return table[key]


def _number(table: Mapping[str, Any], key: str, kind: type) -> Any:
    value = table.get(key)
    return float(value) if kind is float and type(value) is int else _of_type(table, key, kind)


def _list(table: Mapping[str, Any], key: str, kind: type) -> Sequence[Any]:
    values: list[Any] = _of_type(table, key, list)
    for value in values:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{key} has {value!r}, which does not belong there")
    return values
