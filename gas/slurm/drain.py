"""Simulates a queue forward in one kernel: the loop of `gas.slurm.forward` over the kernels of both schedulers.

It supports queues in which a start affects only the machine, licences and arrays; `gas.slurm.sampler` checks this.
All instants, starts and nodes equal those of `gas.slurm.forward`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.heap import TIME, pop
from gas.slurm.cycle import run_cycle
from gas.slurm.flow import (
    ASKED,
    BACKFILL,
    CHANGED,
    COMING,
    ENDING,
    FULL,
    LAST,
    LAST_EVENT,
    LAST_START,
    NOW,
    PRIORITIES,
    WAITING,
    Flow,
    Line,
    Pace,
    Site,
)  # fmt: skip
from gas.slurm.main_pass import STARTED as PASSED
from gas.slurm.main_pass import run_pass
from gas.slurm.node_sets import count as node_count
from gas.slurm.node_sets import put
from gas.slurm.rows import STARTED, Closures, Parameters, leaves_work
from gas.slurm.runs import leave, probed, started
from gas.slurm.search import FAR
from gas.slurm.turns import age, insert, write_queue

__all__ = ["drain"]

NEVER = 1 << 60


# -- schedulers


@lean_kernel
def _at(now: int, given: Parameters) -> Parameters:
    """Return the parameters of a cycle at an instant."""
    return Parameters(
        now, now // given.resolution * given.resolution, given.resolution, given.window, given.max_job_test,
        given.max_job_user, given.max_job_part, given.max_job_user_part, given.max_job_assoc, given.max_job_array_resv,
        given.job_part_count_reserve, given.one_resv_per_job, given.licenses, given.node_space_size,
        given.window_linear, given.grace, given.plan_all, given.starts_only, given.most_plans,
    )  # fmt: skip


@lean_kernel
def _main(depth: int, seconds: NDArray[np.int64], line: Line, pace: Pace, flow: Flow, site: Site) -> None:
    """Run a pass of the main scheduler."""
    plans, numbers, room = site.plans, flow.numbers, site.bench.room
    count = write_queue(line, flow, site)
    if count == 0:
        return
    numbers[CHANGED] = 1
    plans.total[0] = 0
    for at in range(count):
        record = flow.queue[at]
        plans.state[record], plans.start[record], plans.best[record] = 0, -1, -1
    put(site.available, site.every)
    site.closed[:] = False
    site.tried[:] = 0
    slot = site.running.total[0]
    run_pass(
        0, flow.queue[:count], site.records, site.limited, site.whole, site.closures, site.sets, site.options,
        site.leaving, site.machine, site.use, site.idle, site.running, site.licences,
        _at(numbers[NOW], site.parameters), site.rules, depth, pace.partition_depth, False, site.available,
        site.closed, site.tried, room, plans,
    )  # fmt: skip
    total = site.running.total[0]
    for row in range(plans.total[0]):
        record = plans.record[row]
        if slot < total and not site.records.probe[record]:
            started(record, slot, seconds, line, pace, flow, site)
            slot += 1
    probed(PASSED, count, line, flow, site)


@lean_kernel
def _backfill(seconds: NDArray[np.int64], line: Line, pace: Pace, flow: Flow, site: Site) -> bool:
    """Run a cycle of the backfill scheduler; return whether it plans anything."""
    plans, table, bench, now = site.plans, site.table, site.bench, flow.numbers[NOW]
    count = write_queue(line, flow, site)
    if count == 0:
        return False
    plans.total[0] = 0
    for at in range(count):
        record = flow.queue[at]
        plans.state[record], plans.start[record], plans.best[record] = -1, -1, -1
    parameters = _at(now, site.parameters)
    table.begin[0], table.row[0] = parameters.begin, 0
    table.end[0] = parameters.begin + parameters.window // parameters.resolution * parameters.resolution
    table.total[0], table.total[1] = 1, 1
    put(table.free[0], site.planned)
    table.size[0] = node_count(table.free[0])
    bench.of_user[:] = 0
    bench.of_partition[:] = 0
    bench.of_both[:] = 0
    bench.of_account[:] = 0
    bench.held_by_partition[:] = 0
    bench.latest_part[:] = 0
    bench.started[:] = False
    bench.planned[:] = False
    bench.rejected[:] = False
    bench.preemptable[:] = False
    bench.room.soonest[:] = FAR
    before = site.running.total[0]
    run_cycle(
        flow.queue[:count], site.records, site.closures, site.sets, site.options, site.preempts, site.leaving,
        site.machine, site.use, site.idle, site.running, table, site.licences, parameters, site.rules, plans,
        site.known, site.known, bench,
    )  # fmt: skip
    planned, rows = False, site.records
    for at in range(count):
        record = flow.queue[at]
        planned = planned or leaves_work(
            plans.state[record], rows.considered[record], rows.now_only[record], rows.unheld[record], rows.probe[record]
        )
    probed(STARTED, count, line, flow, site)
    slot, total = before, site.running.total[0]
    for row in range(plans.total[0]):
        record = plans.record[row]
        if slot < total and plans.from_[row] == now and not site.records.probe[record]:
            started(record, slot, seconds, line, pace, flow, site)
            slot += 1
    return planned


# -- time


@lean_kernel
def _instant(seconds: NDArray[np.int64], leaves: int, line: Line, pace: Pace, flow: Flow, site: Site) -> None:
    """Handle the events that are due now, in the order of `gas.slurm.forward`."""
    numbers = flow.numbers
    now, ended = numbers[NOW], False
    age(line, pace, flow)
    if now >= numbers[FULL]:
        numbers[FULL], numbers[ASKED], numbers[LAST] = now + pace.every, 0, now
        _main(0, seconds, line, pace, flow, site)
    elif numbers[ASKED] and now >= numbers[LAST] + pace.delay:
        numbers[ASKED], numbers[LAST] = 0, now
        _main(pace.depth, seconds, line, pace, flow, site)
    while numbers[ENDING] > 0 and flow.ends[TIME, 0] <= now:
        leave(pop(flow.ends, numbers[ENDING]), flow, site)
        numbers[ENDING] -= 1
        ended = True
    if 0 <= leaves <= now and site.leaving.any():
        site.leaving[:] = False
        ended = True
    if ended:
        numbers[CHANGED] = 1
        if pace.at_ends:
            _main(pace.depth, seconds, line, pace, flow, site)
        else:
            numbers[ASKED] = 1
    while numbers[COMING] < len(flow.comes) and flow.comes[numbers[COMING]] <= now:
        place = flow.comer[numbers[COMING]]
        numbers[COMING] += 1
        numbers[CHANGED] = 1
        flow.arrived[place] = True
        for record in range(line.first[place], line.first[place + 1]):
            flow.priority[record] = line.arriving[record]
            insert(record, numbers[WAITING], line, flow)
            numbers[WAITING] += 1
        numbers[ASKED] = 1
    if numbers[CHANGED] and now >= numbers[BACKFILL] and pace.interval > 0:
        numbers[BACKFILL] = now + pace.interval
        planned = _backfill(seconds, line, pace, flow, site)
        numbers[CHANGED] = planned or numbers[LAST_START] == now


@lean_kernel
def _next_event(leaves: int, line: Line, flow: Flow, closures: Closures) -> int:
    """Return the next arrival, end or begin time, whatever the schedulers do."""
    numbers, following = flow.numbers, NEVER
    now = numbers[NOW]
    if numbers[ENDING] > 0:
        following = flow.ends[TIME, 0]
    if numbers[COMING] < len(flow.comes):
        following = min(following, flow.comes[numbers[COMING]])
    if leaves > now:
        following = min(following, leaves)
    for place in range(len(line.begins)):
        if line.begins[place] > now:
            following = min(following, line.begins[place])
    for one in range(len(closures.start)):
        if closures.start[one] > now:
            following = min(following, closures.start[one])
        if closures.end[one] > now:
            following = min(following, closures.end[one])
    return following


@lean_kernel
def _any_waits(line: Line, flow: Flow) -> bool:
    """Return whether a waiting job may start at some time."""
    for at in range(flow.numbers[WAITING]):
        record = flow.order[at]
        if flow.tasks[line.place[record]] > 0 and line.may[record]:
            return True
    return False


@lean_kernel
def drain(until: int, leaves: int, seconds: NDArray[np.int64], line: Line, pace: Pace, flow: Flow, site: Site) -> int:
    """Advance from instant to instant until all awaited jobs have started; return the last instant.

    Parameters
    ----------
    leaves
        The instant at which jobs can start again on nodes that are completing others; -1 if there are none.
    seconds
        Run time of each task; `LONGEST` means until its limit.
    """
    numbers = flow.numbers
    while numbers[NOW] <= until:
        now = numbers[NOW]
        _instant(seconds, leaves, line, pace, flow, site)
        left = False
        for place in flow.awaited:
            left = left or flow.begun[place] < 0
        if not left:
            break
        event = _next_event(leaves, line, flow, site.closures)
        if event == NEVER and now > numbers[LAST_EVENT] + 2 * (pace.every + pace.interval):
            break  # no more ends or arrivals, and both schedulers have run since without starting a job
        if not _any_waits(line, flow):
            if event == NEVER or numbers[COMING] >= len(flow.comes):
                break
            following = max(event, now + 1)
        else:
            due = event
            if numbers[ASKED]:
                due = min(due, numbers[LAST] + pace.delay)
            if numbers[CHANGED] and pace.interval > 0:
                due = min(due, numbers[BACKFILL])
            if due == NEVER and numbers[FULL] - now == pace.every:
                break
            if due != NEVER and pace.period > 0:
                due = min(due, numbers[PRIORITIES])
            following = max(min(due, numbers[FULL]), now + 1)
        numbers[NOW] = max(following, now + int(pace.coarse * (now - pace.begin)))
        if event <= numbers[NOW]:
            numbers[LAST_EVENT] = numbers[NOW]
    return int(numbers[NOW])
