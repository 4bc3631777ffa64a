"""The Lublin-Feitelson model: streams of rigid batch and interactive jobs with a daily cycle.

U. Lublin and D. G. Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
Journal of Parallel and Distributed Computing 63(11), 2003; constants and procedure as in the authors' program
m_lublin99.c. There are three differences:

- Arrival times are the same function of the random draws, but in closed form: the program's walk from slot to slot
  computes the inverse of the cumulative slot weights. The program also cuts off the fraction of a second at every
  arrival, so that its clock slowly falls behind its daily cycle; here only the result is cut off.
- A size that is rounded to a power of two is rounded to one that the type can have: on 100 processors 64, not 128.
- In the program, sizes are fitted to a machine by hand; here `TypeModel.scaled` does it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workloads.generated import check_request, constants_text, generated_log
from workloads.log import Log

__all__ = ["BATCH", "INTERACTIVE", "ONE_TYPE", "LublinModel", "TypeModel", "generate"]

_SLOTS = 48
_SLOT = 1800  # seconds
_CYCLE_START = 11  # number of the slot, from 1, in which the gamma of the daily cycle begins: 05:00
_SMALLEST_MACHINE = 8
_MOST_DRAWS = 1000  # of one number; enough if one in fifty is kept


@dataclass(frozen=True)
class TypeModel:
    """The constants of one type of jobs, by the names of the paper; all logarithms of times are natural."""

    p_serial: float
    """Share of jobs on one processor."""
    p_pow2: float
    """Share of jobs on a power of two above one, besides those with one by chance."""
    low: float
    """log2 of the smallest parallel size, give or take 0.2."""
    med: float
    """log2 of the size at which the distribution of sizes bends."""
    hi: float
    """log2 of the largest size."""
    p_u: float
    """Share of the parallel sizes below `med`."""
    a1: float
    """Shape of the gamma distribution of ln(run time) of short jobs."""
    b1: float
    """Its scale."""
    a2: float
    """Shape of the gamma distribution of ln(run time) of long jobs."""
    b2: float
    """Its scale."""
    pa: float
    """Short jobs have the share pa · size + pb, within [0, 1]."""
    pb: float
    aarr: float
    """Shape of the gamma distribution of ln(interarrival time) in the rush hours."""
    barr: float
    """Its scale."""
    anum: float
    """Shape of the gamma distribution over the slots of the day that gives their weights."""
    bnum: float
    """Its scale."""
    arar: float
    """Factor on `aarr` for the whole day instead of the rush hours."""

    def __post_init__(self) -> None:
        if min(self.p_serial, self.p_pow2) < 0 or self.p_serial + self.p_pow2 > 1:
            raise ValueError(
                f"p_serial {self.p_serial} and p_pow2 {self.p_pow2} are not shares that add up to at most 1"
            )
        if not 0 <= self.p_u <= 1:
            raise ValueError(f"p_u {self.p_u} is not a share; give a number from 0 to 1")
        if not 0 <= self.low <= self.med <= self.hi:
            raise ValueError(f"sizes need 0 <= low <= med <= hi, not {self.low}, {self.med}, {self.hi}")
        for name in ("a1", "b1", "a2", "b2", "aarr", "barr", "anum", "bnum", "arar"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} {getattr(self, name)} must be above 0")

    def scaled(self, factor: float) -> TypeModel:
        """Return the type on a machine `factor` times as large.

        `hi` and `med` move by log2(factor), so that each type keeps its share of the machine. On small machines, as
        the authors advise for 8 processors (med 1.5, low 0.8), `med` stays at least `hi` / 2 and `low` decreases.
        """
        if factor == 1:
            return self
        hi = self.hi + math.log2(factor)
        med = max(self.med + math.log2(factor), hi / 2)
        # 0.6 is the least log2 that is rounded to 2 processors.
        return replace(self, hi=hi, med=med, low=min(self.low, max(med - 0.7, 0.6)))


BATCH = TypeModel(
    p_serial=0.2927, p_pow2=0.6686, low=1.2, med=5, hi=7, p_u=0.875,
    a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, anum=6.1271, bnum=5.2740, arar=1.0519,
)  # fmt: skip
INTERACTIVE = TypeModel(
    p_serial=0.1541, p_pow2=0.625, low=1, med=3, hi=5.5, p_u=0.705,
    a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118, pb=0.9156,
    aarr=6.5510, barr=0.6621, anum=8.9186, bnum=3.6680, arar=0.9797,
)  # fmt: skip
ONE_TYPE = TypeModel(
    p_serial=0.244, p_pow2=0.576, low=0.8, med=4.5, hi=7, p_u=0.86,
    a1=4.2, b1=0.94, a2=312, b2=0.03, pa=-0.0054, pb=0.78,
    aarr=10.2303, barr=0.4871, anum=8.1737, bnum=3.9631, arar=1.0225,
)  # fmt: skip


@dataclass(frozen=True)
class LublinModel:
    """All constants of the model; the defaults are the published ones, for a machine of 128 processors."""

    interactive: TypeModel = INTERACTIVE
    batch: TypeModel = BATCH
    one: TypeModel = ONE_TYPE
    """For logs that do not distinguish the types."""
    machine: int = 128
    """The processors for which the sizes of the types are stated."""
    longest_ln_run_time: float = 12.0
    """Longer run times, above e^12 s or about 45 hours, are drawn again."""
    longest_ln_interarrival: float = 13.0
    """Longer interarrival times, above e^13 s or about 5 days, are drawn again."""

    def __post_init__(self) -> None:
        if self.machine < 1:
            raise ValueError(f"machine {self.machine} must be 1 or more")


_QUEUES = {"interactive": 0, "batch": 1, "one": -1}
"""Codes of the types in the log's queue field; in the same second, interactive jobs come first."""


def generate(
    jobs: int,
    processors: int,
    *,
    generator: np.random.Generator,
    types: str | Sequence[str] = ("batch", "interactive"),
    load: float | None = None,
    model: LublinModel | None = None,
) -> Log:
    """Return a log of jobs drawn from the model.

    Second 0 is a midnight, of 1 January 1970 in UTC by the header. The queue field is the type: 0 interactive,
    1 batch, -1 with types "one". There are no estimates; see `workloads.estimates`.

    Parameters
    ----------
    jobs
        Number of jobs.
    processors
        Processors of the machine, at least 8; sizes are scaled to it.
    types
        "batch", "interactive", both, or "one" for the model that does not distinguish them.
    load
        The offered load to reach by scaling interarrival times; by default that of the model. The daily cycle is
        stretched with them.

    Raises
    ------
    ValueError
        There are no jobs, the machine is too small, types are unknown, or the load cannot be reached.
    """
    chosen = _chosen(types)
    model = model or LublinModel()
    check_request(jobs, processors)
    if processors < _SMALLEST_MACHINE:
        raise ValueError(f"a machine of {processors} processors is too small for the model; it needs 8 or more")

    scaled = {name: getattr(model, name).scaled(processors / model.machine) for name in chosen}
    # The types are independent, so each gets as many arrivals as could be needed.
    arrivals = np.concatenate([np.trunc(arrival_times(scaled[name], jobs, generator, model)) for name in chosen])
    first = np.argsort(arrivals, kind="stable")[:jobs]
    submit = arrivals[first]
    kind = (first // jobs).astype(np.int8)
    del arrivals, first

    sizes = np.empty(jobs, dtype=np.int64)
    seconds = np.empty(jobs, dtype=np.int64)
    queue = np.empty(jobs, dtype=np.int64)
    for number, name in enumerate(chosen):
        mine = np.flatnonzero(kind == number)
        sizes[mine] = draw_sizes(scaled[name], mine.size, generator)
        seconds[mine] = draw_run_times(scaled[name], sizes[mine], generator, model)
        queue[mine] = _QUEUES[name]

    queues = [("Queue", f"{_QUEUES[name]} {name}") for name in chosen if name != "one"]
    return generated_log(
        "lublin",
        submit=submit,
        sizes=sizes,
        run_times=seconds,
        machine=processors,
        load=load,
        computer="Lublin-Feitelson model",
        thanks=["Uri Lublin and Dror Feitelson, for the model"],
        entries=[
            ("MaxRuntime", int(math.exp(model.longest_ln_run_time))),
            *([("MaxQueues", len(queues)), *queues] if queues else []),
        ],
        notes=[f"{name}, for {processors} processors: {constants_text(scaled[name])}" for name in chosen],
        columns={"queue": queue},
    )


def slot_weights(kind: TypeModel) -> NDArray[np.float64]:
    """Return the weights of the 48 half hours of the day from midnight on; their mean is 1."""
    from scipy.special import gammainc

    number = np.arange(_CYCLE_START, _CYCLE_START + _SLOTS)
    share = gammainc(kind.anum, (number + 0.5) / kind.bnum) - gammainc(kind.anum, (number - 0.5) / kind.bnum)
    weights = np.empty(_SLOTS)
    weights[(number - 1) % _SLOTS] = share / share.mean()
    return weights


def arrival_times(
    kind: TypeModel, count: int, generator: np.random.Generator, model: LublinModel
) -> NDArray[np.float64]:
    """Return the first arrivals after midnight, in seconds and fractions.

    Each interarrival time is first drawn as if all slots had weight 1, in slots; a slot of weight w consumes w of them.
    """
    logarithms = _below(
        model.longest_ln_interarrival,
        count,
        lambda again: generator.gamma(kind.aarr * kind.arar, kind.barr, again.size),
        "interarrival times are longer than longest_ln_interarrival {:g} allows; lower aarr, barr or arar, or raise it",
    )
    days, within = np.divmod(np.cumsum(np.exp(logarithms) / _SLOT), _SLOTS)
    taken = np.concatenate([[0.0], np.cumsum(slot_weights(kind))])
    taken[-1] = _SLOTS
    return _SLOT * (_SLOTS * days + np.interp(within, taken, np.arange(_SLOTS + 1)))


def draw_sizes(kind: TypeModel, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return processors per job: serial, a power of two, or any, from a two-stage uniform distribution of log2."""
    u = generator.random(count)
    below = generator.random(count) <= kind.p_u
    log2 = generator.uniform(np.where(below, kind.low, kind.med), np.where(below, kind.med, kind.hi))
    power = np.minimum(np.floor(log2 + 0.5), np.floor(kind.hi))
    log2 = np.where(u <= kind.p_serial + kind.p_pow2, power, log2)
    return np.where(u <= kind.p_serial, 1, np.floor(2**log2 + 0.5)).astype(np.int64)


def draw_run_times(
    kind: TypeModel, sizes: NDArray[np.int64], generator: np.random.Generator, model: LublinModel
) -> NDArray[np.int64]:
    """Return run times in seconds, at least 1; their logarithm is hyper-gamma, and large jobs are more often long."""
    short = np.clip(kind.pa * sizes + kind.pb, 0, 1)

    def drawn(again: NDArray[np.int64]) -> NDArray[np.float64]:
        is_short = generator.random(again.size) <= short[again]
        return generator.gamma(np.where(is_short, kind.a1, kind.a2), np.where(is_short, kind.b1, kind.b2))

    logarithms = _below(
        model.longest_ln_run_time,
        sizes.size,
        drawn,
        "run times are longer than longest_ln_run_time {:g} allows; lower a1, b1, a2 or b2, or raise it",
    )
    seconds: NDArray[np.int64] = np.exp(logarithms).astype(np.int64)
    return seconds


def _below(
    limit: float, count: int, draw: Callable[[NDArray[np.int64]], NDArray[np.float64]], why: str
) -> NDArray[np.float64]:
    """Return numbers of at most a limit; larger ones are drawn again, given their positions, up to a maximum."""
    found = np.full(count, np.inf)
    for _ in range(_MOST_DRAWS):
        again = np.flatnonzero(found > limit)
        if again.size == 0:
            return found
        found[again] = draw(again)
    raise ValueError(f"nearly all {why.format(limit)}")


def _chosen(types: str | Sequence[str]) -> tuple[str, ...]:
    """Return the types in the order of their jobs in the same second."""
    named = (types,) if isinstance(types, str) else tuple(types)
    chosen = tuple(name for name in _QUEUES if name in named)
    if len(chosen) != len(named) or not chosen or ("one" in chosen and len(chosen) > 1):
        raise ValueError(f'types {types!r} are not known; give "batch", "interactive", both, or "one"')
    return chosen
