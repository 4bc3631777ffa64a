"""The search for the start of one record (backfill.c, _attempt_backfill).

The search tries one start after another: of the nodes that no plan needs between this start and the job's end, the
will-run test finds the end of a running job from which the job fits. If that is after the next start at which nodes
become free, or conflicts with a plan, the next start is tried. This is *Slurm's* start, not always the earliest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gas.compiled import lean_kernel
from gas.slurm.choosing import choose_to_start, fits_if_idle
from gas.slurm.closures import reserved
from gas.slurm.fitting import (
    CPUS,
    HAS_GRES,
    HAS_REQUIRED,
    LEAST,
    LINEAR,
    NODE_CPUS,
    NODE_MEMORY,
    ORDER,
    PER_NODE,
    TASK_CPUS,
    capable,
    cpus_on,
)  # fmt: skip
from gas.slurm.machine import Machine, Use
from gas.slurm.node_sets import Words, appears, at_least, has_outside, keep, of_given, put, unpacked
from gas.slurm.owners import exclude_kept, kept_until
from gas.slurm.rows import IN_RESERVATION, NOW_ONLY, NOWHERE, PLANNED, STARTED, WINDOW, Closures, Parameters, Records
from gas.slurm.startable import reach_now, reach_until
from gas.slurm.table import Table, overlaps, slot_at, span_of
from gas.slurm.taking import Choice, Work, work_of
from gas.slurm.versions import Rules
from gas.slurm.will_run import NEVER, Running, add, will_run

__all__ = ["Room", "Search", "leaving_first", "room_of", "seek"]

FAR = 1 << 60

MOST_TRIES = 20_000
"""Largest number of starts that are tried for one record."""


class Room(NamedTuple):
    """The working memory of searches, allocated once for all records.

    Attributes
    ----------
    required, there, inside
        A record's required nodes, those of its partition, and those offered to it.
    present, most, trial
        By node, the CPUs that it can give: at the tried start; on an idle machine; in the current choice.
    soonest, until
        By node, the first end of a job on it, and the last end of jobs that keep it from a record.
    nodes, some, planned, offered
        Sets of nodes.
    reach
        The nodes with free resources, or with a job that ends before the next tried start.
    ended
        Number of jobs removed so far because they end before the tried start.
    work
        The working memory of choices.
    """

    required: NDArray[np.bool_]
    there: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    present: NDArray[np.int64]
    most: NDArray[np.int64]
    trial: NDArray[np.int64]
    soonest: NDArray[np.int64]
    until: NDArray[np.int64]
    nodes: Words
    some: Words
    planned: Words
    offered: Words
    reach: Words
    ended: NDArray[np.int64]
    work: Work


class Search(NamedTuple):
    """The data and working memory of all searches of a cycle; `gas.slurm.cycle.run_cycle` documents them."""

    records: Records
    closures: Closures
    sets: Words
    options: NDArray[np.int64]
    preemptable: NDArray[np.bool_]
    leaving: NDArray[np.bool_]
    machine: Machine
    use: Use
    idle: Use
    running: Running
    table: Table
    parameters: Parameters
    rules: Rules
    room: Room


def room_of(machine: Machine, words: int, jobs: int) -> Room:
    """Return working memory for searches; `words` is the length of a set, `jobs` the largest number of running jobs."""
    size = len(machine.cpus)

    def flags() -> NDArray[np.bool_]:
        return np.zeros(size, np.bool_)

    def numbers() -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def some() -> Words:
        return np.zeros(words, np.uint64)

    return Room(
        flags(), flags(), flags(), numbers(), numbers(), numbers(), np.full(size, FAR, np.int64), numbers(), some(),
        some(), some(), some(), some(), np.zeros(1, np.int64), work_of(machine, jobs),
    )  # fmt: skip


@lean_kernel
def leaving_first(running: Running, job: int, soonest: NDArray[np.int64]) -> None:
    """Lower the first end on each node of a running job to the end of this job."""
    for share in range(running.first[job], running.first[job] + running.shares[job]):
        soonest[running.node[share]] = min(soonest[running.node[share]], running.end[job])


@lean_kernel
def _let_end(
    start: int,
    need: NDArray[np.int64],
    gres: NDArray[np.int64],
    machine: Machine,
    use: Use,
    running: Running,
    inclusive: bool,
    room: Room,
) -> None:
    """Remove the jobs that end before a start, and update the CPUs that their nodes can give."""
    while room.ended[0] < running.total[0]:
        job = running.order[room.ended[0]]
        if running.end[job] > start or (running.end[job] == start and not inclusive):
            return
        add(use, running, job, -1)
        for share in range(running.first[job], running.first[job] + running.shares[job]):
            node = running.node[share]
            if room.there[node]:
                room.present[node] = cpus_on(node, need, gres, machine, use)
        room.ended[0] += 1


@lean_kernel
def seek(
    at: int,
    now_only: bool,
    not_before: int,
    search: Search,
    given: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Return the outcome of a record, its start, and whether it reached the will-run test; write its CPUs by node.

    Allocations change during the search, and are restored at its end.
    """
    use, running, room = search.use, search.running, search.room
    found = _seek(at, now_only, not_before, search, given)
    for one in range(room.ended[0]):
        add(use, running, running.order[one], 1)
    room.ended[0] = 0
    return found


@lean_kernel
def _seek(
    at: int,
    now_only: bool,
    not_before: int,
    search: Search,
    given: NDArray[np.int64],
) -> tuple[int, int, bool]:
    # returns in many places; `seek` then restores `use`
    records, closures, sets, options, preemptable, leaving, machine, use, idle, running = search[:10]
    table, parameters, rules, room = search[10:]
    now, need, gres = parameters.now, records.need[at], records.gres[at]
    limit, resolution = records.limit[at], parameters.resolution
    size = len(machine.cpus)
    required, there, inside, present, most = room.required, room.there, room.inside, room.present, room.most
    nodes, some, planned, offered, trial = room.nodes, room.some, room.planned, room.offered, room.trial
    unpacked(sets[records.required[at]], required)
    choice = Choice(need, gres, required, machine, use, room.work, trial)
    on_idle = Choice(need, gres, required, machine, idle, room.work, trial)
    # no release rounds the tried start
    start = max(now, not_before)
    tested = False
    kept = kept_until(records.sharing[at], now, running, room.until)
    unpacked(sets[records.nodes[at]], there)
    least_cpus = max(need[TASK_CPUS] * max(need[PER_NODE], 1), need[NODE_CPUS])
    preempts, linear_select = False, need[ORDER] == LINEAR
    for kind in range(len(preemptable)):
        preempts = preempts or preemptable[kind]
    # a start without enough nodes in reach fails; the CPUs of each node are calculated only when needed
    quick = not preempts and not linear_select
    quick = quick and not (need[HAS_GRES] and len(machine.near) > 0)  # then even a failed test changes weights
    reach, left_by, calculated = room.reach, 0, False
    reach_now(need, machine, use, reach)
    with_licences = False
    if parameters.licenses:
        for one in range(records.licences.shape[1]):
            with_licences = with_licences or records.licences[at, one] > 0
    for _ in range(MOST_TRIES):
        start, overlapped = reserved(at, start, records, closures, sets, nodes)
        if start < 0:
            return IN_RESERVATION, -1, tested
        free_again = -1
        if kept and (rules.future or parameters.plan_all):
            free_again = exclude_kept(room.until, start, nodes)
        elif kept:
            exclude_kept(room.until, 0, nodes)
        if rules.window_ends and start > now + parameters.window:
            return WINDOW, -1, tested
        end = start + limit
        put(offered, nodes)
        later = -1
        conflict, hopeless = False, free_again >= 0 and not at_least(nodes, need[LEAST])
        total = table.total[0]
        for slot in range(slot_at(table, start) if not hopeless else total, total):
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
                elif later >= 0:
                    put(some, offered)
                    if quick and tested:
                        left_by = reach_until(later, left_by, running, reach)
                        keep(some, reach)
                    if not at_least(some, need[LEAST]):
                        hopeless = True
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
        if later < 0:
            later = free_again
        found = NEVER
        if not conflict and not hopeless:
            for option in range(records.features[at, 0], records.features[at, 0] + records.features[at, 1]):
                put(some, offered)
                keep(some, sets[options[option]])
                if not at_least(some, need[LEAST]):
                    continue
                if need[HAS_REQUIRED] and has_outside(sets[records.required[at]], some):
                    continue
                tested = True
                if quick and (later >= 0 or now_only):
                    if not now_only:
                        left_by = reach_until(later, left_by, running, reach)
                    put(planned, some)
                    keep(planned, reach)
                    if not at_least(planned, need[LEAST]):
                        continue
                if not calculated:
                    calculated = True
                    capable(there, need, gres, machine, use, present)
                    capable(there, need, gres, machine, idle, most)
                unpacked(some, inside)
                # a node's configuration is checked before its free resources (job_mgr.c, job_req_node_filter)
                for node in range(size):
                    if need[NODE_MEMORY] > machine.memory[node] or least_cpus > machine.cpus[node]:
                        inside[node] = False
                # the most that the nodes can give before the next tried start
                able, cpus = 0, 0
                for node in range(size):
                    if inside[node]:
                        left = later < 0 or preempts or linear_select or room.soonest[node] <= later
                        share_of_it = most[node] if left else present[node]
                        if share_of_it > 0:
                            able += 1
                            cpus += share_of_it
                if (able < need[LEAST] or cpus < need[CPUS]) and not (need[HAS_GRES] and len(machine.near) > 0):
                    continue  # in the other case, the test would fail, but change weights of nodes
                if not fits_if_idle(inside, on_idle, idle, rules):
                    continue
                if rules.future and start > now and not linear_select:
                    _let_end(start, need, gres, machine, use, running, rules.inclusive, room)
                one_start = will_run(
                    now, start, later, now_only, inside, present, room.ended[0], choice, preemptable, preempts,
                    running, rules, parameters.window_linear, parameters.grace,
                )  # fmt: skip
                if one_start != NEVER and (found == NEVER or one_start < found):
                    found = one_start
                    for node in range(size):
                        given[node] = trial[node]
        if found != NEVER:
            found = max(found, start)
            of_given(given, planned)
            first, last = span_of(found, limit, table.begin[0], resolution, rules.ends_up)
            if not rules.least_step:
                # earlier releases compare without the minimum of one step
                last = found + limit
                last = -(-last // resolution) * resolution if rules.ends_up else last // resolution * resolution
            if (
                rules.early_overlap
                and found > now
                and overlaps(table, planned, records.licences[at], with_licences, first, last)
            ):
                start = found if found > start else found + resolution
                continue
            if parameters.plan_all and found > start and len(closures.end) > 0:
                # Slurm plans this start, and notices only at that time that the job would reach into a reservation
                moved, _ = reserved(at, found, records, closures, sets, some)
                if moved != found or has_outside(planned, some):
                    start = found
                    continue
            if found <= now:
                for node in range(size):
                    if given[node] > 0 and leaving[node]:
                        return PLANNED, now + 1, tested
                # a start selects nodes again, without those that the job cannot share (select_nodes)
                for option in range(records.features[at, 0], records.features[at, 0] + records.features[at, 1]):
                    put(some, offered)
                    keep(some, sets[options[option]])
                    unpacked(some, inside)
                    if fits_if_idle(inside, choice, idle, rules):
                        if linear_select:
                            for node in range(size):
                                room.work.capacity[node] = present[node] if inside[node] else 0
                            starts = Choice(need, gres, required, machine, use, room.work, given)
                            choose_to_start(room.work.capacity, starts, rules.first_node, rules.weakest)
                        return STARTED, now, tested
                return PLANNED, now, tested
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
        if later < 0 and parameters.plan_all:
            # Slurm gives up here until something changes
            for slot in range(slot_at(table, start), table.total[0]):
                if table.begin[slot] > start:
                    put(some, nodes)
                    keep(some, table.free[table.row[slot]])
                    if at_least(some, need[LEAST]):
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
