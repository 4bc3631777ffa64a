"""The changing and the constant parts of the state while one kernel simulates a queue (`gas.slurm.drain`)."""

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
"""Columns of `Flow.numbers`: the numbers of waiting, running and arrived jobs; the clock (`gas.slurm.clock.Clock`); the
times of the last start, of the last event, and of the next calculation of priorities; the number of starts."""


class Line(NamedTuple):
    """The constant parts of the records of a simulated queue.

    Attributes
    ----------
    place, may
        By record: the place of its job; whether it may ever start.
    rank, tie
        By record: the sort keys before its priority, and after it.
    tried, arriving
        By record: its priority without age, and at its submission.
    first, first_run
        By place: the index of its first record, and of the first run time of its tasks.
    begins
        By place: the epoch second before which it does not start.
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
    """The times of both schedulers (`gas.slurm.clock.Clock`) and of priority calculations (`gas.slurm.ageing`).

    Attributes
    ----------
    weight, oldest, period
        PriorityWeightAge, PriorityMaxAge, PriorityCalcPeriod; the period is 0 if priorities do not change.
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
    """The changing parts of the state, and working memory.

    Attributes
    ----------
    order, queue, priority
        The submitted records in order; those that are tried now; and the priority by record.
    arrived, eligible, tasks, begun
        By place: whether it is submitted, since when it is eligible, the number of its tasks that have not started, and
        the start of the first (-1 before).
    awaited
        The awaited places.
    ends, slots
        A heap (`gas.heap`) of the ends of running jobs, by number; and the number by place in `Running`.
    licences
        By number of the running job.
    comes, comer
        Later arrivals: their times, and their places.
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
    """The machine and its queue as arrays for kernels; `gas.slurm.state.State` documents the parts.

    `every` is the set of all nodes, `planned` of those that the backfill scheduler plans.
    """

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
    planned: Words
    closed: NDArray[np.bool_]
    tried: NDArray[np.int64]
