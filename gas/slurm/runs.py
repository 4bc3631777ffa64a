"""The running jobs while one kernel simulates a queue, in a heap of their ends (`gas.slurm.holders`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.heap import push
from gas.slurm.flow import ENDING, LAST_START, NOW, STARTS, Flow, Line, Pace, Site
from gas.slurm.will_run import add
from gas.times import LONGEST

__all__ = ["leave", "probed", "started"]


@lean_kernel
def leave(run: int, flow: Flow, site: Site) -> None:
    """Remove a running job (`gas.slurm.holders.Holders.leave`)."""
    running = site.running
    jobs, shares = running.total[0], running.total[1]
    gone = 0
    while flow.slots[gone] != run:
        gone += 1
    add(site.use, running, gone, -1)
    first, count = running.first[gone], running.shares[gone]
    for share in range(first, shares - count):
        running.node[share], running.cpus[share] = running.node[share + count], running.cpus[share + count]
        running.memory[share], running.limited[share] = running.memory[share + count], running.limited[share + count]
        for column in range(running.gres.shape[1]):
            running.gres[share, column] = running.gres[share + count, column]
    for at in range(gone, jobs - 1):
        running.end[at], running.kind[at] = running.end[at + 1], running.kind[at + 1]
        running.whole[at], running.sharing[at] = running.whole[at + 1], running.sharing[at + 1]
        running.first[at], running.shares[at] = running.first[at + 1], running.shares[at + 1]
        flow.slots[at] = flow.slots[at + 1]
    kept = 0
    for at in range(jobs):
        slot = running.order[at]
        if slot != gone:
            running.order[kept] = slot - (slot > gone)
            kept += 1
    for at in range(jobs - 1):
        if running.first[at] > first:
            running.first[at] -= count
    running.total[0], running.total[1] = jobs - 1, shares - count
    for one in range(len(site.licences)):
        site.licences[one] += flow.licences[run, one]


@lean_kernel
def started(record: int, slot: int, seconds: NDArray[np.int64], line: Line, pace: Pace, flow: Flow, site: Site) -> None:
    """Record that the next task of a record has started, as the running job at index `slot`."""
    now, place = flow.numbers[NOW], line.place[record]
    task = line.first_run[place + 1] - line.first_run[place] - flow.tasks[place]
    real = seconds[line.first_run[place] + task]
    if real >= LONGEST:
        real = site.running.end[slot] - now
    real -= int(pace.coarse * (now - pace.begin)) // 2  # it would have started earlier
    run = line.first_run[place] + task
    flow.slots[slot] = run
    for one in range(len(site.licences)):
        flow.licences[run, one] = site.records.licences[record, one]
    push(flow.ends, flow.numbers[ENDING], now + max(real, 1), run, run)
    flow.numbers[ENDING] += 1
    flow.tasks[place] -= 1
    if flow.begun[place] < 0:
        flow.begun[place] = now
    flow.numbers[LAST_START] = now
    flow.numbers[STARTS] += 1


@lean_kernel
def probed(outcome: int, count: int, line: Line, flow: Flow, site: Site) -> None:
    """Record the probes that would start now, and remove them."""
    for at in range(count):
        record = flow.queue[at]
        place = line.place[record]
        if site.records.probe[record] and site.plans.state[record] == outcome:
            if flow.begun[place] < 0:
                flow.begun[place] = flow.numbers[NOW]
            flow.tasks[place] = 0
