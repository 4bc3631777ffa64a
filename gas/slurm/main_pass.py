"""One pass of the main scheduler, which starts jobs now (job_scheduler.c, _schedule).

It starts jobs in the order of the queue, and plans none. A job that finds no nodes closes its partition: later jobs of
this partition are not tried in this pass, and no job of another partition gets its nodes. Only the backfill scheduler
starts jobs out of turn. The main scheduler does not preempt, and never starts components of heterogeneous jobs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel, shared
from gas.slurm.choosing import choose_to_start, choose_with, fits_if_idle
from gas.slurm.closures import lacks_licences, reserved
from gas.slurm.cycle import begin, note
from gas.slurm.fitting import HAS_REQUIRED, LEAST, WHOLE, capable
from gas.slurm.machine import Machine, Use
from gas.slurm.node_sets import BITS, Words, count, has_outside, keep, put, remove, unpacked
from gas.slurm.owners import kept_until
from gas.slurm.rows import Closures, Parameters, Plans, Records
from gas.slurm.search import Room
from gas.slurm.taking import Choice
from gas.slurm.versions import Rules
from gas.slurm.will_run import Running

__all__ = ["run_pass"]

(UNTRIED, STARTED, BUSY, BEHIND, NO_LICENCES, RESERVED, TOO_DEEP, ELSEWHERE, NOT_THERE, HELD) = range(10)
"""The outcome of a record.

- BUSY: its nodes are busy (Slurm's reason is Resources).
- BEHIND: an earlier job has closed its partition (Priority).
- NO_LICENCES: too few licences are free.
- RESERVED: a reservation is in its way.
- TOO_DEEP: the pass ended before it.
- ELSEWHERE: its job started in another partition.
- NOT_THERE: the remaining nodes would not do even if they were idle (ReqNodeNotAvail). It closes nothing, so later jobs
  may start in its partition before it, unless a job holds one of these nodes exclusively, or is completing on one
  (node_scheduler.c, _pick_best_nodes; seen on 22.05, 24.11 and 26.05).
- HELD: a limit on resources holds it, whether its nodes are busy or not. It closes nothing: select_nodes returns the
  error of the limit instead (seen on 22.05, 24.11 and 26.05).
"""


@lean_kernel
def _held(nodes: Words, need: NDArray[np.int64], leaving: NDArray[np.bool_], use: Use) -> bool:
    """Return whether one of these nodes is not available to a job at all now (node_scheduler.c, nodes_busy)."""
    for node in range(len(leaving)):
        taken = leaving[node] or use.whole[node] > 0 or (need[WHOLE] and use.jobs[node] > 0)
        if taken and (nodes[node >> 6] & BITS[node & 63]) != 0:
            return True
    return False


@shared
@lean_kernel
def run_pass(
    first: int,
    order: NDArray[np.int64],
    records: Records,
    limited: NDArray[np.int8],
    whole: Words,
    closures: Closures,
    sets: Words,
    options: NDArray[np.int64],
    leaving: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    idle: Use,
    running: Running,
    licences: NDArray[np.int64],
    parameters: Parameters,
    rules: Rules,
    depth: int,
    partition_depth: int,
    singly: bool,
    available: Words,
    closed: NDArray[np.bool_],
    tried: NDArray[np.int64],
    room: Room,
    plans: Plans,
) -> int:
    """Start jobs from index `first` of the order on; return the index to continue at (the length if done).

    Updates the running jobs, licences and plans; `plans.state` has the outcomes. Probes only get an outcome and a plan.

    Parameters
    ----------
    order
        The records in the order in which they are tried.
    limited
        By record: 1 if a limit keeps it from starting and closes its partition (assoc_limit_stop); 2 if the limit is
        checked only after node selection (acct_policy_job_runnable_post_select); 3 if that limit holds it only when its
        nodes are busy. With 2 and 3, a job that the limit holds closes nothing.
    whole
        By partition: its nodes.
    idle
        The allocations on a machine without jobs.
    leaving
        Nodes on which no job can start now.
    depth, partition_depth
        Most records that are tried, in all and per partition; 0 means no limit.
    singly
        Return after each start, so that limits are checked again.
    room
        Working memory.
    available, closed, tried
        The progress of the pass: nodes that are left; closed partitions, followed by closed reservations; records tried
        in each partition, followed by their total. Initially all nodes, False and 0.
    """
    now, size, partitions = parameters.now, len(machine.cpus), len(whole)
    given, capacity, there, required = room.trial, room.present, room.there, room.required
    nodes, some, work = room.nodes, room.some, room.work
    for turn in range(first, len(order)):
        at = order[turn]
        if not records.considered[at] or plans.state[at] == ELSEWHERE:
            continue
        partition, own, need, gres = records.partition[at], records.reservation[at], records.need[at], records.gres[at]
        if (depth > 0 and tried[partitions] > depth) or (partition_depth > 0 and tried[partition] >= partition_depth):
            if plans.state[at] != STARTED:  # the first tasks of an array may have started
                plans.state[at] = TOO_DEEP
            continue
        tried[partition] += 1
        tried[partitions] += 1
        if (own < 0 and closed[partition]) or (own >= 0 and closed[partitions + own]):
            if plans.state[at] != STARTED:
                plans.state[at] = BEHIND
            continue
        unpacked(sets[records.required[at]], required)
        choice = Choice(need, gres, required, machine, use, work, given)
        on_idle = Choice(need, gres, required, machine, idle, work, given)
        kept = kept_until(records.sharing[at], now, running, room.until)
        begun = 0
        while begun < records.tasks[at]:
            if records.array[at] >= 0 and begun >= records.room[at]:
                break
            outcome, overlapped = BUSY, False
            put(some, whole[partition])
            keep(some, available)
            few = count(some) < need[LEAST]  # checked before licences and required nodes
            if not few and lacks_licences(at, now, records, closures, licences):
                if begun == 0:
                    plans.state[at] = NO_LICENCES
                if parameters.licenses:
                    return len(order)
                break
            not_yet = records.not_before[at] > now
            if not few and limited[at] != 1 and records.leader[at] < 0 and not (not_yet and limited[at] == 0):
                start, overlapped = reserved(at, now, records, closures, sets, nodes)
                if start != now:
                    outcome = RESERVED
                    if begun == 0:
                        plans.state[at] = RESERVED
                    break
                keep(nodes, available)
                if records.behind[at] >= 0:
                    unpacked(sets[records.behind[at]], work.behind)
                for option in range(records.features[at, 0], records.features[at, 0] + records.features[at, 1]):
                    put(some, nodes)
                    keep(some, sets[options[option]])
                    if count(some) < need[LEAST]:
                        continue
                    if need[HAS_REQUIRED] and has_outside(sets[records.required[at]], some):
                        continue
                    unpacked(some, there)
                    for node in range(size):
                        if leaving[node] or (kept and room.until[node] > 0):
                            there[node] = False
                    if not fits_if_idle(there, choice, idle, rules):
                        continue
                    capable(there, need, gres, machine, use, capacity)
                    if choose_to_start(capacity, choice, rules.first_node, rules.weakest):
                        outcome = STARTED
                        break
                put(some, whole[partition])
                keep(some, available)
                if outcome == BUSY and count(some) >= need[LEAST]:
                    outcome = NOT_THERE
                    for option in range(records.features[at, 0], records.features[at, 0] + records.features[at, 1]):
                        put(some, nodes)
                        keep(some, sets[options[option]])
                        unpacked(some, there)
                        capable(there, need, gres, machine, idle, capacity)
                        if choose_with(capacity, on_idle, rules.first_node, rules.weakest):
                            outcome = BUSY
                            break
                    if outcome == NOT_THERE and _held(nodes, need, leaving, use):
                        outcome = BUSY
            if records.behind[at] >= 0:
                work.behind[:] = False
            if records.probe[at]:
                plans.state[at] = outcome
                if outcome == STARTED:
                    note(plans, at, now, records.limit[at], given)
                break
            if not few and (limited[at] == 2 or (limited[at] == 3 and (outcome != STARTED or not_yet))):
                plans.state[at] = HELD
                if need[HAS_REQUIRED] and count(sets[records.required[at]]) >= need[LEAST]:
                    remove(available, sets[records.required[at]])
                break
            if outcome == STARTED and begin(at, records, machine, use, running, now, 0, given, work.missing):
                plans.state[at] = STARTED
                note(plans, at, now, records.limit[at], given)
                for one in range(len(licences)):
                    licences[one] -= records.licences[at, one]
                begun += 1
                if singly or records.array[at] < 0:
                    break
                continue
            if outcome == NOT_THERE and own < 0 and overlapped:  # not even on idle nodes (_pick_best_nodes)
                outcome = RESERVED
            if begun == 0:
                plans.state[at] = outcome
            if records.now_only[at] or outcome == RESERVED:
                break
            if own >= 0:
                closed[partitions + own] = True
            elif need[HAS_REQUIRED] and not few and count(sets[records.required[at]]) >= need[LEAST]:
                remove(available, sets[records.required[at]])
            elif outcome != NOT_THERE:
                closed[partition] = True
                remove(available, whole[partition])
            break
        if begun > 0:
            if records.array[at] < 0:
                for later_turn in range(turn + 1, len(order)):
                    if records.job[order[later_turn]] == records.job[at]:
                        plans.state[order[later_turn]] = ELSEWHERE
            if singly:
                return turn if records.array[at] >= 0 and begun < records.tasks[at] else turn + 1
    return len(order)
