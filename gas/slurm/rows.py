"""The arrays that one cycle of the backfill scheduler reads and writes: its queue, its parameters, its plans."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel

__all__ = ["STATES", "Closures", "Found", "Parameters", "Plans", "Records", "empty_plans", "leaves_more", "nodes_of"]

STATES = (
    SKIPPED, PLANNED, STARTED, DEPTH, USER_DEPTH, PARTITION_DEPTH, USER_PARTITION_DEPTH, ACCOUNT_DEPTH, WINDOW, NOWHERE,
    NOW_ONLY, UNHELD, LATER_TASKS, REJECTED, TABLE_FULL, LICENCES, IN_RESERVATION, SAME_JOB,
    UNRESERVED,
) = range(19)  # fmt: skip
"""What becomes of a record.

SKIPPED was not to be considered, PLANNED has a plan, STARTED starts now. DEPTH and the like: not considered because a
number was reached. WINDOW: its start is beyond the window; NOWHERE: the search ends without one; NOW_ONLY: it starts
now or is not planned; UNHELD: its start is found, and holds nothing; LATER_TASKS: no more tasks of the array are
planned; REJECTED: a task of the same array could not be; TABLE_FULL: there are no more slots; LICENCES: there are not
enough now; IN_RESERVATION: its reservation has not begun or has ended; SAME_JOB: the job started in another partition;
UNRESERVED: its start is found, and holds nothing because of its QOS.
"""


class Records(NamedTuple):
    """The queue, a record a place; numbers of users, partitions and so on are only compared.

    Attributes
    ----------
    considered, probe
        Whether it is looked at, and whether it is only asked for and changes nothing.
    now_only, unheld, unreserved
        It starts now or is not planned; it does not start and is planned, but holds nothing; it holds nothing unless it
        starts now.
    job, user, partition, user_partition, account, array, array_partition, leader
        Numbers; those of the array are -1 where it is none, that of the heterogeneous job as well.
    tasks, room
        Of an array: how many tasks wait, and how many of them may run besides those that do.
    limit
        Seconds for which it is planned.
    not_before
        Epoch second before which it does not start.
    nodes, features, required, behind, pinned
        Numbers of sets: of its partition; with the features that it wants, which are so many alternatives (first,
        count) in `options`; that it must have; that come after others of their weight, -1 if none do
        (`gas.slurm.together`); of its published plan, -1 if there is none.
    pinned_start
        When that starts; without a set, when a plan starts of which the nodes are not published, else 0.
    reservation
        The one that it names or is attracted by, -1 if none.
    kind, sharing
        Which kind of preemptor it is, and with whom it shares nodes (`gas.slurm.owners`).
    licences
        How many of each.
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
    """Reservations: when, the number of the set of their nodes, which partitions they close wholly, and licences.

    Partitions and licences are columns. Jobs of a flexible one are not bound to it. Before one that moves ahead with
    time there is room for so many seconds whenever a job starts; -1 of others.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    nodes: NDArray[np.int64]
    whole: NDArray[np.bool_]
    licences: NDArray[np.int64]
    flexible: NDArray[np.bool_]
    room: NDArray[np.int64]


class Parameters(NamedTuple):
    """Of SchedulerParameters, by their names without bf_; 0 means no limit, and times are seconds.

    Attributes
    ----------
    now, begin
        The instant of the cycle, and where the table begins.
    beyond
        Whether it is planned on where Slurm's search ends, to see when the rest of the queue may come.
    grace
        How many seconds after its end a job is guessed to be gone which should be.
    starts_only
        Whether only what starts now is asked for: nothing is planned behind the last record that might.
    most_plans
        After how many plans others only start now; no parameter of Slurm's.
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
    beyond: bool
    starts_only: bool = False
    most_plans: int = 0


class Plans(NamedTuple):
    """What comes of a cycle.

    Attributes
    ----------
    state, start, best
        By record: what became of it, when it starts (-1 if that is not known), and the row of that plan (-1: none).
    record, from_, limit, first
        By row: whose plan it is, from when, for how many seconds, and where its nodes begin; they end where those of
        the next row begin.
    node, cpus
        Its nodes, one after the other, and the CPUs that it has of each.
    total
        How many rows there are.
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
def leaves_more(state: Any, considered: Any, now_only: Any, unheld: Any, probe: Any) -> Any:
    """Return whether a record leaves a cycle more to do: it is planned, or was not come to behind all that might start.

    Of one record, in a kernel, or of the columns of all.
    """
    unseen = (state < 0) & considered & ((now_only | unheld) ^ True)
    return ((state == PLANNED) | (state == UNRESERVED) | unseen) & (probe ^ True)


def empty_plans(records: int, rows: int, nodes: int) -> Plans:
    """Return room for so many plans on so many nodes."""
    return Plans(
        np.full(records, -1, np.int64), np.full(records, -1, np.int64), np.full(records, -1, np.int64),
        np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows + 1, np.int64),
        np.zeros(rows * nodes, np.int32), np.zeros(rows * nodes, np.int32), np.zeros(1, np.int64),
    )  # fmt: skip


def nodes_of(plans: Plans, row: int) -> NDArray[np.int32]:
    """Return the nodes of a plan."""
    return plans.node[plans.first[row] : plans.first[row + 1]]


def shares_of(plans: Plans, row: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the nodes of a plan, and the CPUs that it has of each."""
    return nodes_of(plans, row), plans.cpus[plans.first[row] : plans.first[row + 1]]


class Found(NamedTuple):
    """What the searches of a cycle found, one after the other, but for those of probes, which change nothing.

    Attributes
    ----------
    record, state, start, tested
        Of which record, what became of it, its start, and whether it reached the will-run test.
    row
        The row of its plan, -1 if it has none.
    first, node, cpus
        Of the plans of that cycle.
    total
        How many searches there were.
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
