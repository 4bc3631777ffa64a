"""The arrays of one cycle of the backfill scheduler: its queue, reservations, parameters and plans.

Here and wherever kernels take arrays, classes list their fields one by one: numba compiles named tuples, which have no
common base. Lists of one shape therefore hold different things.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel

__all__ = ["STATES", "Closures", "Found", "Parameters", "Plans", "Records", "empty_plans", "leaves_work", "nodes_of"]

STATES = (
    SKIPPED, PLANNED, STARTED, DEPTH, USER_DEPTH, PARTITION_DEPTH, USER_PARTITION_DEPTH, ACCOUNT_DEPTH, WINDOW, NOWHERE,
    NOW_ONLY, UNHELD, LATER_TASKS, REJECTED, TABLE_FULL, LICENCES, IN_RESERVATION, SAME_JOB,
    UNRESERVED,
) = range(19)  # fmt: skip
"""The outcome of a record.

- SKIPPED: it was not considered.
- PLANNED, STARTED: it has a plan; it starts now.
- DEPTH, and others in _DEPTH: a limit on the number of jobs was reached before it.
- WINDOW: its start is beyond bf_window.
- NOWHERE: the search found no start.
- NOW_ONLY: it cannot start now, and is not planned otherwise.
- UNHELD: it has a start, but no resources are held for it.
- LATER_TASKS: no more tasks of its array are planned.
- REJECTED: another task of its array could not be planned.
- TABLE_FULL: there are no more slots.
- LICENCES: too few licences are free now.
- IN_RESERVATION: its reservation has not begun, or has ended.
- SAME_JOB: the job started in another partition.
- UNRESERVED: it has a start, but because of its QOS no resources are held for it.
"""


class Records(NamedTuple):
    """The queue, by record; numbers of users, partitions and so on are arbitrary.

    Attributes
    ----------
    considered, probe
        Whether it is considered, and whether it is a probe, which changes nothing for others.
    now_only, unheld, unreserved
        It starts now or is not planned; it is planned without starting or holding anything; it holds nothing unless it
        starts now.
    job, user, partition, user_partition, account, array, array_partition, leader
        Numbers; -1 for the array or leader of a job that has none.
    tasks, room
        Of an array: the number of waiting tasks, and how many of these may run in addition to its running ones.
    limit
        Seconds for which it is planned.
    not_before
        Epoch second before which it does not start.
    nodes, features, required, behind, pinned
        Numbers of sets of nodes: its partition's; those with its features, as alternatives (first, count) in `options`;
        its required nodes; those that come after others of the same weight (`gas.slurm.together`; -1: none); those of
        its published plan (-1: none).
    pinned_start
        Start of the published plan, also if its nodes are not published; else 0.
    reservation
        The one that it names or that attracts it; -1 if none.
    kind, sharing
        Its kind as a preemptor, and with whom it shares nodes (`gas.slurm.owners`).
    licences
        Number of each kind.
    need, gres
        As in `gas.slurm.fitting`.
    """

    considered: NDArray[np.bool_]
    probe: NDArray[np.bool_]
    now_only: NDArray[np.bool_]
    unheld: NDArray[np.bool_]
    unreserved: NDArray[np.bool_]
    job: NDArray[np.int64]
    user: NDArray[np.int64]
    partition: NDArray[np.int64]
    user_partition: NDArray[np.int64]
    account: NDArray[np.int64]
    array: NDArray[np.int64]
    array_partition: NDArray[np.int64]
    leader: NDArray[np.int64]
    tasks: NDArray[np.int64]
    room: NDArray[np.int64]
    limit: NDArray[np.int64]
    not_before: NDArray[np.int64]
    nodes: NDArray[np.int64]
    features: NDArray[np.int64]
    required: NDArray[np.int64]
    behind: NDArray[np.int64]
    pinned: NDArray[np.int64]
    pinned_start: NDArray[np.int64]
    reservation: NDArray[np.int64]
    kind: NDArray[np.int64]
    sharing: NDArray[np.int64]
    licences: NDArray[np.int64]
    need: NDArray[np.int64]
    gres: NDArray[np.int64]


class Closures(NamedTuple):
    """Reservations: their times, sets of nodes, the partitions that they close wholly, and their licences, by column.

    Jobs of a flexible reservation are not confined to it; those of an ANY_NODES reservation, such as one of licences,
    only to its time. `room` is the seconds that a job can run before a floating one, whenever it starts; -1 for others.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    nodes: NDArray[np.int64]
    whole: NDArray[np.bool_]
    licences: NDArray[np.int64]
    flexible: NDArray[np.bool_]
    anywhere: NDArray[np.bool_]
    room: NDArray[np.int64]


class Parameters(NamedTuple):
    """SchedulerParameters, by their names without bf_; 0 means no limit, and times are seconds.

    Attributes
    ----------
    now, begin
        Epoch seconds: of the cycle, and of the beginning of the time table.
    plan_all
        Whether to plan on where Slurm's search ends, for the expected starts of the rest of the queue.
    grace
        Seconds after which a job past its end is assumed to be gone.
    starts_only
        Whether only starts now are requested: nothing is planned after the last record that might start.
    most_plans
        Number of plans after which further records only start now; not a parameter of Slurm.
    """

    now: int
    begin: int
    resolution: int
    window: int
    max_job_test: int
    max_job_user: int
    max_job_part: int
    max_job_user_part: int
    max_job_assoc: int
    max_job_array_resv: int
    job_part_count_reserve: int
    one_resv_per_job: bool
    licenses: bool
    node_space_size: int
    window_linear: int
    grace: int
    plan_all: bool
    starts_only: bool = False
    most_plans: int = 0


class Plans(NamedTuple):
    """The outcome of a cycle.

    Attributes
    ----------
    state, start, best
        By record: its outcome, its start (-1 if unknown), and the row of that plan (-1: none).
    record, from_, limit, first
        By row, one for each plan: its record, start and length in seconds, and the index of its first node; its nodes
        end where those of the next row begin.
    node, cpus
        The nodes of all rows, and the CPUs on each.
    total
        Number of rows.
    """

    state: NDArray[np.int64]
    start: NDArray[np.int64]
    best: NDArray[np.int64]
    record: NDArray[np.int64]
    from_: NDArray[np.int64]
    limit: NDArray[np.int64]
    first: NDArray[np.int64]
    node: NDArray[np.int32]
    cpus: NDArray[np.int32]
    total: NDArray[np.int64]


@lean_kernel
def leaves_work(state: Any, considered: Any, now_only: Any, unheld: Any, probe: Any) -> Any:
    """Return whether a record leaves work for the next cycle: it is planned, or the cycle ended before it.

    The arguments are those of one record, or columns of all.
    """
    unseen = (state < 0) & considered & ((now_only | unheld) ^ True)
    return ((state == PLANNED) | (state == UNRESERVED) | unseen) & (probe ^ True)


def empty_plans(records: int, rows: int, nodes: int) -> Plans:
    """Return empty plans, with space for these numbers."""
    return Plans(
        np.full(records, -1, np.int64), np.full(records, -1, np.int64), np.full(records, -1, np.int64),
        np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows + 1, np.int64),
        np.zeros(rows * nodes, np.int32), np.zeros(rows * nodes, np.int32), np.zeros(1, np.int64),
    )  # fmt: skip


def nodes_of(plans: Plans, row: int) -> NDArray[np.int32]:
    """Return the nodes of a plan."""
    return plans.node[plans.first[row] : plans.first[row + 1]]


def shares_of(plans: Plans, row: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the nodes of a plan, and its CPUs on each."""
    return nodes_of(plans, row), plans.cpus[plans.first[row] : plans.first[row + 1]]


class Found(NamedTuple):
    """The results of a cycle's searches, in order, without those of probes.

    Attributes
    ----------
    record, state, start, tested
        The record, its outcome, its start, and whether it reached the will-run test.
    row
        The row of its plan; -1 if it has none.
    first, node, cpus
        As in that cycle's `Plans`.
    total
        Number of searches.
    """

    record: NDArray[np.int64]
    state: NDArray[np.int64]
    start: NDArray[np.int64]
    tested: NDArray[np.bool_]
    row: NDArray[np.int64]
    first: NDArray[np.int64]
    node: NDArray[np.int32]
    cpus: NDArray[np.int32]
    total: NDArray[np.int64]
