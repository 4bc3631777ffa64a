"""What changes while a queue is run forward in one kernel (`gas.slurm.drain`), and what does not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.slurm.bench import Bench
from gas.slurm.machine import Machine, Use
from gas.slurm.node_sets import Words
from gas.slurm.rows import Closures, Found, Parameters, Plans, Records
from gas.slurm.table import Table
from gas.slurm.versions import Rules
from gas.slurm.will_run import Running

__all__ = ["Flow", "Line", "Pace", "Site"]

(WAITING, ENDING, COMING, NOW, BACKFILL, FULL, LAST, CHANGED, ASKED, LAST_START, LAST_EVENT, PRIORITIES) = range(12)
STARTS, COUNT = 12, 13  # and how many columns there are
"""Columns of `Flow.numbers`: how many wait, run and have come; the clock (`gas.slurm.clock.Clock`); when the last start
was, and the last of what `drain` calls an event, and priorities are calculated next; how many starts there were."""


class Line(NamedTuple):
    """The records of a queue, as they do not change while it is run forward.

    Attributes
    ----------
    place, may
        By record: of its job; whether it may ever start.
    rank, tie
        By record: what comes before its priority, and after it.
    tried, arriving
        By record: its priority without age; and at its submission.
    first, first_run
        By place: its first record, and where the run times of its tasks begin; they end where those of the next do.
    begins
        By place: before which epoch second it does not start.
    """

    place: NDArray[np.int64]
    may: NDArray[np.bool_]
    rank: NDArray[np.int64]
    tie: NDArray[np.int64]
    tried: NDArray[np.float64]
    arriving: NDArray[np.float64]
    first: NDArray[np.int64]
    first_run: NDArray[np.int64]
    begins: NDArray[np.int64]


class Pace(NamedTuple):
    """When both schedulers look (`gas.slurm.clock.Clock`), and when priorities are calculated (`gas.slurm.ageing`).

    Attributes
    ----------
    weight, oldest, period
        PriorityWeightAge, PriorityMaxAge, PriorityCalcPeriod; the period is 0 where priorities stay as they are.
    """

    begin: int
    interval: int
    every: int
    delay: int
    depth: int
    partition_depth: int
    at_ends: bool
    weight: float
    oldest: int
    period: int
    coarse: float


class Flow(NamedTuple):
    """What changes, and what is worked in.

    Attributes
    ----------
    order, queue, priority
        Records that have come, in their order; those of them that are tried now; and by record.
    arrived, eligible, tasks, begun
        By place: whether it has come, since when it may start, how many of its tasks have not, when the first did
        (-1 before).
    awaited
        Places that are waited for.
    ends, slots
        A heap (`gas.heap`) of the ends of what runs, by its numbers; and by place in `Running`, the number.
    licences
        By number of what runs.
    comes, comer
        Who comes when.
    """

    order: NDArray[np.int64]
    queue: NDArray[np.int64]
    priority: NDArray[np.float64]
    arrived: NDArray[np.bool_]
    eligible: NDArray[np.int64]
    tasks: NDArray[np.int64]
    begun: NDArray[np.int64]
    awaited: NDArray[np.int64]
    ends: NDArray[np.int64]
    slots: NDArray[np.int64]
    licences: NDArray[np.int64]
    comes: NDArray[np.int64]
    comer: NDArray[np.int64]
    numbers: NDArray[np.int64]


class Site(NamedTuple):
    """The machine and its queue as the kernels have them; `gas.slurm.state.State` says what each is."""

    records: Records
    limited: NDArray[np.int8]
    whole: Words
    closures: Closures
    sets: Words
    options: NDArray[np.int64]
    preempts: NDArray[np.bool_]
    leaving: NDArray[np.bool_]
    machine: Machine
    use: Use
    idle: Use
    running: Running
    licences: NDArray[np.int64]
    all_licences: NDArray[np.int64]
    parameters: Parameters
    rules: Rules
    table: Table
    plans: Plans
    known: Found
    bench: Bench
    every: Words
    available: Words
    closed: NDArray[np.bool_]
    tried: NDArray[np.int64]
