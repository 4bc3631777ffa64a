"""The search for the start of one record (backfill.c, _attempt_backfill).

Starts are tried: the nodes that no plan needs from that start until the job would end are offered to the will-run test,
which says at which end of running jobs it fits them. Where that is beyond the next start at which nodes appear, or in
the way of a plan, the next start is tried. This finds *Slurm's* start, which is not always the earliest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.slurm.fitting import CPUS, HAS_REQUIRED, LEAST, Machine, Use, capable
from gas.slurm.node_sets import Words, appears, count, has_outside, keep, meets, of_given, remove, unpacked
from gas.slurm.rows import IN_RESERVATION, NOW_ONLY, NOWHERE, PLANNED, STARTED, WINDOW, Closures, Parameters, Records
from gas.slurm.table import Table, overlaps, span_of
from gas.slurm.versions import Rules
from gas.slurm.will_run import NEVER, Running, will_run

__all__ = ["reserved", "seek"]

FAR = 1 << 60

MOST_TRIES = 20_000
"""How many starts of one record are tried at the most."""


@kernel
def reserved(
    at: int,
    start: int,
    records: Records,
    closures: Closures,
    sets: Words,
    nodes: Words,
) -> tuple[int, bool]:
    """Take away nodes that are reserved for others; return from when on it can be tried, and whether any overlapped.

    -1 is never (reservation.c, job_test_resv).
    """
    required = records.required[at]
    own = records.reservation[at]
    overlapped = False
    for _ in range(10):
        moved = False
        nodes[:] = sets[records.nodes[at]]
        overlapped = False
        if own >= 0:
            if start < closures.start[own] or start >= closures.end[own]:
                return -1, False
            keep(nodes, sets[closures.nodes[own]])
        for one in range(len(closures.start)):
            if one == own or records.allowed[at, one]:
                continue
            if closures.start[one] < start + records.limit[at] and closures.end[one] > start:
                closed = sets[closures.nodes[one]]
                if own < 0 and (
                    (closures.whole[one, records.partition[at]] and meets(closed, nodes))
                    or (records.need[at, HAS_REQUIRED] and meets(closed, sets[required]))
                ):
                    start = closures.end[one]
                    moved = True
                    overlapped = True
                    break
                if meets(closed, nodes):
                    overlapped = True
                remove(nodes, closed)
        if not moved:
            break
    return start, overlapped


@kernel
def seek(
    at: int,
    now_only: bool,
    not_before: int,
    records: Records,
    closures: Closures,
    sets: Words,
    options: NDArray[np.int64],
    preemptable: NDArray[np.bool_],
    leaving: NDArray[np.bool_],
    machine: Machine,
    use: Use,
    idle: Use,
    running: Running,
    table: Table,
    parameters: Parameters,
    rules: Rules,
    given: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Return what becomes of a record, its start, and whether it reached the will-run test; write its CPUs by node."""
    now, need, gres = parameters.now, records.need[at], records.gres[at]
    limit, resolution = records.limit[at], parameters.resolution
    size = len(machine.cpus)
    required = np.zeros(size, np.bool_)
    unpacked(sets[records.required[at]], required)
    # the start that is tried was rounded in no release
    start = max(now, not_before)
    tested = False
    there = np.zeros(size, np.bool_)
    unpacked(sets[records.nodes[at]], there)
    present = np.zeros(size, np.int64)
    capable(there, need, gres, machine, use, present)
    most = np.zeros(size, np.int64)
    capable(there, need, gres, machine, idle, most)
    soonest = np.full(size, FAR, np.int64)  # when the first job leaves a node
    for at_job in range(running.total[0]):
        for share in range(running.first[at_job], running.first[at_job] + running.shares[at_job]):
            soonest[running.node[share]] = min(soonest[running.node[share]], running.end[at_job])
    preempts = preemptable.any()
    nodes, some, planned = sets[0].copy(), sets[0].copy(), sets[0].copy()
    trial = np.zeros(size, np.int64)
    with_licences = parameters.licenses and records.licences[at].sum() > 0
    for _ in range(MOST_TRIES):
        start, overlapped = reserved(at, start, records, closures, sets, nodes)
        if start < 0:
            return IN_RESERVATION, -1, tested
        if rules.window_ends and start > now + parameters.window:
            return WINDOW, -1, tested
        end = start + limit
        offered = nodes.copy()
        later = -1
        conflict = False
        total = table.total[0]
        for slot in range(total):
            if table.end[slot] <= start:
                continue
            here = table.free[table.row[slot]]
            following = table.free[table.row[min(slot + 1, total - 1)]]
            if slot + 1 < total and later < 0 and appears(nodes, following, offered, here):
                later = table.end[slot]
            if table.begin[slot] <= end:
                keep(offered, here)
                if with_licences:
                    short = False
                    for one in range(records.licences.shape[1]):
                        if records.licences[at, one] > table.licences[table.row[slot], one]:
                            short = True
                    if short:
                        conflict = True
                        later = table.end[slot]
                        if rules.first_conflict:
                            break
                elif later >= 0 and count(offered) < need[LEAST]:
                    break
            else:
                if rules.next_slot and later < 0 and slot + 2 < total:
                    later = table.end[slot + 1]
                break
        if overlapped:
            first = -1
            for one in range(len(closures.end)):
                if closures.end[one] >= start and (first < 0 or closures.end[one] < first):
                    first = closures.end[one]
            if first >= 0:
                first = -(-first // resolution) * resolution + 1
                if first < now + parameters.window and (later < 0 or first < later):
                    later = first
        found = NEVER
        if not conflict:
            for option in range(records.features[at, 0], records.features[at, 0] + records.features[at, 1]):
                some[:] = offered
                keep(some, sets[options[option]])
                if count(some) < need[LEAST]:
                    continue
                if need[HAS_REQUIRED] and has_outside(sets[records.required[at]], some):
                    continue
                tested = True
                unpacked(some, there)
                # what they can give at the most before the next start is tried
                able, cpus = 0, 0
                for node in range(size):
                    if there[node]:
                        left = later < 0 or preempts or soonest[node] <= later
                        share_of_it = most[node] if left else present[node]
                        if share_of_it > 0:
                            able += 1
                            cpus += share_of_it
                if able < need[LEAST] or cpus < need[CPUS]:
                    continue
                one_start = will_run(
                    now, start, later, now_only, there, present, need, gres, required, preemptable, machine, use,
                    running, rules.future, rules.inclusive, rules.relevant_end, rules.first_node, rules.weakest,
                    parameters.window_linear, parameters.grace, trial,
                )  # fmt: skip
                if one_start != NEVER and (found == NEVER or one_start < found):
                    found = one_start
                    given[:] = trial
        if found != NEVER:
            found = max(found, start)
            of_given(given, planned)
            first, last = span_of(found, limit, table.begin[0], resolution, rules.ends_up)
            if not rules.least_step:
                # before, the end was compared as it is
                last = found + limit
                last = -(-last // resolution) * resolution if rules.ends_up else last // resolution * resolution
            if (
                rules.early_overlap
                and found > now
                and overlaps(table, planned, records.licences[at], with_licences, first, last)
            ):
                start = found if found > start else found + resolution
                continue
            if parameters.beyond and found > start and len(closures.end) > 0:
                # Slurm plans it so, and finds when the time has come that it would reach into a reservation
                moved, _ = reserved(at, found, records, closures, sets, some)
                if moved != found or has_outside(planned, some):
                    start = found
                    continue
            if found <= now:
                for node in range(size):
                    if given[node] > 0 and leaving[node]:
                        return PLANNED, now + 1, tested
                return STARTED, now, tested
            if now_only:
                return NOW_ONLY, found, tested
            if later < 0 or found <= later:
                if found > now + parameters.window:
                    return WINDOW, found, tested
                if not rules.early_overlap and overlaps(
                    table, planned, records.licences[at], with_licences, first, last
                ):
                    start = found if found > start else found + resolution
                    continue
                return PLANNED, found, tested
        elif now_only:
            return NOW_ONLY, -1, tested
        if later < 0 and parameters.beyond:
            # Slurm gives up here until something has changed
            for slot in range(table.total[0]):
                if table.begin[slot] > start:
                    some[:] = nodes
                    keep(some, table.free[table.row[slot]])
                    if count(some) >= need[LEAST]:
                        later = table.begin[slot]
                        break
            if later < 0 and records.reservation[at] < 0:
                for one in range(len(closures.end)):
                    if closures.end[one] > start and (later < 0 or closures.end[one] < later):
                        later = closures.end[one]
        if later < 0:
            return NOWHERE, -1, tested
        start = later
    return NOWHERE, -1, tested
