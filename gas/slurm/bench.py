"""The working memory of a cycle of the backfill scheduler, allocated once for all records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.slurm.machine import Machine
from gas.slurm.node_sets import Words
from gas.slurm.rows import Records
from gas.slurm.search import Room, room_of
from gas.slurm.will_run import Running

__all__ = ["Bench", "bench_of"]


class Bench(NamedTuple):
    """The working memory and progress of one cycle.

    Attributes
    ----------
    of_user, of_partition, of_both, of_account, held_by_partition
        Number of jobs tested or planned so far, by number of the user, the partition and so on.
    started, planned, rejected, latest_part
        By number of a job, or of an array in a partition: its outcome; by number of a heterogeneous job: the start of
        its last component.
    given, scratch, taken, where
        A record's CPUs by node; and the set of these nodes.
    preemptable
        By kind of running job; the last kind is jobs that start in this cycle.
    near
        By node, a copy of `Machine.near` while a probe is tested.
    """

    of_user: NDArray[np.int64]
    of_partition: NDArray[np.int64]
    of_both: NDArray[np.int64]
    of_account: NDArray[np.int64]
    held_by_partition: NDArray[np.int64]
    started: NDArray[np.bool_]
    planned: NDArray[np.bool_]
    rejected: NDArray[np.bool_]
    latest_part: NDArray[np.int64]
    given: NDArray[np.int64]
    scratch: NDArray[np.int64]
    taken: Words
    where: NDArray[np.bool_]
    preemptable: NDArray[np.bool_]
    near: NDArray[np.int64]
    room: Room


def bench_of(records: Records, machine: Machine, running: Running, sets: Words, preempts: NDArray[np.bool_]) -> Bench:
    """Return the working memory of a cycle."""
    numbered = (
        records.job, records.user, records.partition, records.user_partition, records.account, records.leader,
        records.array_partition,
    )  # fmt: skip
    most = 1 + max(int(one.max(initial=0)) for one in numbered)
    size, words = len(machine.cpus), sets.shape[1]

    def numbers(count: int) -> NDArray[np.int64]:
        return np.zeros(count, np.int64)

    def flags(count: int) -> NDArray[np.bool_]:
        return np.zeros(count, np.bool_)

    return Bench(
        numbers(most), numbers(most), numbers(most), numbers(most), numbers(most), flags(most), flags(most),
        flags(most), numbers(most), numbers(size), numbers(size), np.zeros(words, np.uint64), flags(size),
        flags(preempts.shape[1] + 1), numbers(len(machine.near)), room_of(machine, words, len(running.end)),
    )  # fmt: skip
