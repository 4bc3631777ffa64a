"""The time table of the backfill scheduler: the nodes and licences that are not planned, by span of time.

Slurm keeps it as a list of slots without gaps (backfill.c, node_space). Entering a plan splits the slots at its ends,
and joins at most one pair of equal neighbours, so equal neighbours may remain. The functions are kernels: plain
functions on arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.node_sets import Words, count, has_outside, put, remove, words_of

__all__ = ["Table", "check", "empty_table", "enter", "overlaps", "slot_at", "span_of"]


class Table(NamedTuple):
    """The slots.

    Attributes
    ----------
    begin, end, row
        By slot: its span, and the row of its nodes and licences.
    free, size, licences
        By row: the set of free nodes, their number, and the numbers of free licences.
    total
        Number of slots, of rows in use (limited by bf_node_space_size), and of rows.
    """

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    row: NDArray[np.int64]
    free: Words
    size: NDArray[np.int64]
    licences: NDArray[np.int64]
    total: NDArray[np.int64]


def empty_table(begin: int, end: int, nodes: NDArray[np.bool_], licences: NDArray[np.int64], room: int) -> Table:
    """Return a table of one slot in which these nodes and licences are free, with space for `room` slots."""
    table = Table(
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64),
        np.zeros((room, max(-(-len(nodes) // 64), 1)), np.uint64), np.zeros(room, np.int64),
        np.zeros((room, len(licences)), np.int64), np.array([1, 1, room], np.int64),
    )  # fmt: skip
    table.begin[0], table.end[0], table.licences[0] = begin, end, licences
    table.free[0] = words_of(nodes[np.newaxis])[0]
    table.size[0] = np.count_nonzero(nodes)
    return table


def check(table: Table) -> list[str]:
    """Return the inconsistencies of a table, in words."""
    wrong = []
    for slot in range(int(table.total[0])):
        if table.end[slot] < table.begin[slot]:
            wrong.append(f"slot {slot} ends before it begins")
        if slot and table.begin[slot] != table.end[slot - 1]:
            wrong.append(f"slot {slot} does not begin where the one before ends")
        if table.size[table.row[slot]] != count(table.free[table.row[slot]]):
            wrong.append(f"slot {slot} has another number of nodes than it says")
    if len({*table.row[: table.total[0]].tolist()}) != table.total[0]:
        wrong.append("two slots have one row")
    return wrong


@lean_kernel
def span_of(start: int, limit: int, begin: int, resolution: int, ends_up: bool) -> tuple[int, int]:
    """Return the span of a plan in the table: at least one step of the resolution (_add_reservation)."""
    first = max(start // resolution * resolution, begin)
    last = start + limit
    last = -(-last // resolution) * resolution if ends_up else last // resolution * resolution
    return first, max(last, first + resolution)


@lean_kernel
def slot_at(table: Table, instant: int) -> int:
    """Return the first slot that ends after an instant; the number of slots if none does."""
    low, high = 0, table.total[0]
    while low < high:
        middle = (low + high) // 2
        if table.end[middle] > instant:
            high = middle
        else:
            low = middle + 1
    return int(low)


@lean_kernel
def overlaps(
    table: Table,
    nodes: Words,
    licences: NDArray[np.int64],
    with_licences: bool,
    first: int,
    last: int,
) -> bool:
    """Return whether any of these nodes or licences are planned for others in a span."""
    for slot in range(slot_at(table, first), table.total[0]):
        if table.begin[slot] >= last:
            break
        row = table.row[slot]
        if has_outside(nodes, table.free[row]):
            return True
        if with_licences:
            for one in range(len(licences)):
                if licences[one] > table.licences[row, one]:
                    return True
    return False


@lean_kernel
def _split(table: Table, slot: int, instant: int) -> bool:
    """Split a slot at an instant; return whether the table had space."""
    total, new = table.total[0], table.total[1]
    if new >= table.total[2]:
        return False
    for at in range(total, slot + 1, -1):
        table.begin[at], table.end[at], table.row[at] = table.begin[at - 1], table.end[at - 1], table.row[at - 1]
    table.begin[slot + 1], table.end[slot + 1], table.row[slot + 1] = instant, table.end[slot], new
    table.end[slot] = instant
    old = table.row[slot]
    put(table.free[new], table.free[old])
    table.size[new] = table.size[old]
    for one in range(table.licences.shape[1]):
        table.licences[new, one] = table.licences[old, one]
    table.total[0] += 1
    table.total[1] += 1
    return True


@lean_kernel
def enter(
    table: Table,
    nodes: Words,
    licences: NDArray[np.int64],
    first: int,
    last: int,
    merge: bool,
) -> bool:
    """Take nodes and licences from a span; return whether the table had space (_add_reservation)."""
    slot = 0
    while slot < table.total[0]:
        if table.end[slot] > first:
            if not _split(table, slot, first):
                return False
            break
        if table.end[slot] == first:
            break
        slot += 1
    else:
        return True  # beyond the table
    slot += 1
    while slot < table.total[0]:
        if last < table.end[slot]:
            if last > table.begin[slot] and not _split(table, slot, last):
                return False
            break
        if last == table.end[slot]:
            break
        slot += 1
    for at in range(table.total[0]):
        if table.begin[at] >= last:
            break
        if table.begin[at] >= first and table.end[at] <= last:
            row = table.row[at]
            remove(table.free[row], nodes)
            table.size[row] = count(table.free[row])
            for one in range(table.licences.shape[1]):
                table.licences[row, one] -= licences[one]
    if merge:
        _join(table)
    return True


@lean_kernel
def _join(table: Table) -> None:
    """Join the first pair of equal neighbours."""
    for slot in range(table.total[0] - 1):
        one, other = table.row[slot], table.row[slot + 1]
        equal = table.size[one] == table.size[other]
        if equal:
            for word in range(table.free.shape[1]):
                if table.free[one, word] != table.free[other, word]:
                    equal = False
                    break
            for column in range(table.licences.shape[1]):
                if table.licences[one, column] != table.licences[other, column]:
                    equal = False
        if equal:
            table.end[slot] = table.end[slot + 1]
            for at in range(slot + 1, table.total[0] - 1):
                table.begin[at], table.end[at], table.row[at] = (
                    table.begin[at + 1],
                    table.end[at + 1],
                    table.row[at + 1],
                )
            table.total[0] -= 1
            return
