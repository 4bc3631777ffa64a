"""The order of the queue while one kernel simulates it: `gas.slurm.waiting` and `gas.slurm.ageing` on arrays."""

from __future__ import annotations

import numpy as np

from gas.compiled import lean_kernel
from gas.slurm.ageing import ALMOST
from gas.slurm.flow import NOW, PRIORITIES, WAITING, Flow, Line, Pace, Site

__all__ = ["age", "insert", "write_queue"]


@lean_kernel
def _before(one: int, other: int, line: Line, flow: Flow) -> bool:
    """Return whether a record comes before another (job_scheduler.c, sort_job_queue2)."""
    if line.rank[one] != line.rank[other]:
        return bool(line.rank[one] < line.rank[other])
    if flow.priority[one] != flow.priority[other]:
        return bool(flow.priority[one] > flow.priority[other])
    return bool(line.tie[one] < line.tie[other])


@lean_kernel
def insert(record: int, count: int, line: Line, flow: Flow) -> None:
    """Insert a record into the first `count` records, which are in order."""
    at = count
    while at > 0 and _before(record, flow.order[at - 1], line, flow):
        flow.order[at] = flow.order[at - 1]
        at -= 1
    flow.order[at] = record


@lean_kernel
def age(line: Line, pace: Pace, flow: Flow) -> None:
    """Recalculate priorities if it is time, and sort again (by insertion, as few records move)."""
    numbers = flow.numbers
    now = numbers[NOW]
    if pace.period == 0 or now < numbers[PRIORITIES]:
        return
    numbers[PRIORITIES] = now - (now - numbers[PRIORITIES]) % pace.period + pace.period
    for record in range(len(line.place)):
        place, waited = line.place[record], 0
        if flow.arrived[place] and flow.eligible[place] > 0:
            waited = min(max(now - flow.eligible[place], 0), pace.oldest)
        value = line.tried[record] + pace.weight * waited / pace.oldest
        flow.priority[record] = max(np.floor(value + ALMOST), 1.0)
    kept = 0
    for at in range(numbers[WAITING]):
        record = flow.order[at]
        if flow.tasks[line.place[record]] > 0:
            insert(record, kept, line, flow)
            kept += 1
    numbers[WAITING] = kept


@lean_kernel
def _waits(record: int, line: Line, flow: Flow) -> bool:
    """Return whether a record is in the queue now."""
    place = line.place[record]
    if flow.tasks[place] <= 0 or line.begins[place] > flow.numbers[NOW]:
        return False
    if flow.eligible[place] == 0:
        flow.eligible[place] = line.begins[place] if line.begins[place] > 0 else flow.numbers[NOW]
    return bool(line.may[record])


@lean_kernel
def write_queue(line: Line, flow: Flow, site: Site) -> int:
    """Write the queue without started jobs; return the number of records."""
    count, kept = 0, 0
    for at in range(flow.numbers[WAITING]):
        record = flow.order[at]
        place = line.place[record]
        if flow.tasks[place] > 0:
            flow.order[kept] = record
            kept += 1
            if _waits(record, line, flow):
                flow.queue[count] = record
                site.records.tasks[record] = flow.tasks[place]
                count += 1
    flow.numbers[WAITING] = kept
    return count
