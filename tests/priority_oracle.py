"""Queues in order of priority, simulated by hand: the oracle of the example policies.

It shares nothing with the package or the examples. Everything is recomputed at each instant, in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

Row = tuple[int, int, int, int]
"""The columns of a job: submit, processors, walltime, run time (at most the walltime)."""


def shortest(now: int, row: Row) -> Fraction:
    return Fraction(-row[2])


def wfp(now: int, row: Row) -> Fraction:
    """(wait / walltime)^3 times processors."""
    return Fraction(now - row[0], row[2]) ** 3 * row[1]


def starts_by_hand(
    machine: int, rows: Sequence[Row], priority: Callable[[int, Row], Fraction], *, backfilling: bool
) -> list[int]:
    """Return the start of each row; rows are in order of submission."""
    start: dict[int, int] = {}
    waiting: list[int] = []
    running: list[int] = []
    coming = list(range(len(rows)))
    while coming or running:
        now = min([rows[i][0] for i in coming[:1]] + [start[i] + rows[i][3] for i in running])
        over = [i for i in running if start[i] + rows[i][3] == now]
        if over:
            running = [i for i in running if i not in over]
            _start(now, machine, rows, priority, backfilling, waiting, running, start)
        while coming and rows[coming[0]][0] == now:
            waiting.append(coming.pop(0))
            _start(now, machine, rows, priority, backfilling, waiting, running, start)
    assert not waiting
    return [start[i] for i in range(len(rows))]


def _start(now, machine, rows, priority, backfilling, waiting, running, start):
    """Start jobs, one by one, until none can."""
    order = sorted(waiting, key=lambda i: (-priority(now, rows[i]), i))

    def free():
        return machine - sum(rows[i][1] for i in running)

    def begin(i):
        start[i] = now
        waiting.remove(i)
        running.append(i)
        order.remove(i)

    while order and rows[order[0]][1] <= free():
        begin(order[0])
    if not backfilling or not order:
        return
    head = order[0]
    for i in order[1:]:
        if rows[i][1] > free():
            continue
        # Whether the head would start later if this one ran, by all walltimes.
        before = _earliest(now, machine, rows[head][1], [(start[j] + rows[j][2], rows[j][1]) for j in running])
        those = [(start[j] + rows[j][2], rows[j][1]) for j in running] + [(now + rows[i][2], rows[i][1])]
        if _earliest(now, machine, rows[head][1], those) <= before:
            begin(i)


def _earliest(now, machine, wanted, held):
    """Return when this many processors are free, if all held ones return at their ends."""
    for instant in sorted({now, *(end for end, _ in held)}):
        if machine - sum(count for end, count in held if end > instant) >= wanted:
            return instant
    raise AssertionError("a job larger than the machine")
