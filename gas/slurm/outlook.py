"""The expected start of a job that is not submitted yet, from what the passes did with its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gas.slurm.beyond import Beyond, starts_by_itself
from gas.slurm.choosing import choose_with
from gas.slurm.closures import in_the_way
from gas.slurm.fitting import BY_SWITCHES, ORDER, capable, held_on
from gas.slurm.machine import idle_of
from gas.slurm.order import Blocked, Record
from gas.slurm.passes import Shares
from gas.slurm.reservations import NEVER_OVER
from gas.slurm.rows import Plans, nodes_of, shares_of
from gas.slurm.state import State
from gas.slurm.taking import Choice, work_of
from gas.slurm.why import FINAL, Why, why_of

__all__ = ["Outlook", "lacks", "outlook_of", "places_of"]


@dataclass(frozen=True)
class Outlook:
    """When and where a job would start.

    Attributes
    ----------
    expected
        Its expected start, in epoch seconds; None if unknown, or never.
    planned
        The start that Slurm will plan in its next cycle; None if it will have no plan at first.
    nodes
        Names of its planned or expected nodes.
    partition
        The one in which it starts.
    why, words
        Why it has no plan at first: the category, and details.
    never
        It can never start, whatever ends.
    cpus
        Its CPUs on each node.
    crowd
        Number of jobs and tasks ahead of it that were too many to plan. Its expected start is then later than the plans
        imply, by the time that its partition's CPUs need for their work.
    """

    expected: int | None
    planned: int | None = None
    nodes: tuple[str, ...] = ()
    partition: str = ""
    why: Why | None = None
    words: str = ""
    never: bool = False
    cpus: tuple[int, ...] = ()
    crowd: int = 0


def outlook_of(
    state: State, first: Plans, second: Beyond | None, turn: Mapping[int, Shares], places: Sequence[int]
) -> Outlook:
    """Return the outlook of a probe in the best of its partitions; `places` are the indices of its records."""
    best: Outlook | None = None
    later: Outlook | None = None  # when a magnetic reservation begins
    for at in places:
        record = state.records[at]
        found = _of_record(state, first, second, at, record)
        if at in turn and (found.planned is None or found.planned > state.parameters.now):
            (names, cpus), now = places_of(state, at, turn[at]), state.parameters.now
            found = Outlook(now, now, names, record.partition.name, cpus=cpus)
        if record.blocked is Blocked.RESERVATION and (later is None or _key(found) < _key(later)):
            later = found
        if best is None or _key(found) < _key(best):
            best = found
    if best is None:
        return Outlook(None, why=Why.PARTITION, words="there is no such partition", never=True)
    if later is None or later.expected is None or best.expected is None or best.expected <= later.expected:
        return best
    return replace(later, planned=best.planned, why=best.why, words=best.words)


def _key(one: Outlook) -> tuple[int, int]:
    late = 1 << 60
    return (late if one.planned is None else one.planned, late if one.expected is None else one.expected)


def _of_record(state: State, first: Plans, second: Beyond | None, at: int, record: Record) -> Outlook:
    planned: int | None = None
    shares = np.zeros(0, np.int32), np.zeros(0, np.int32)
    why = why_of(record, int(first.state[at]))
    if why is None and first.start[at] >= 0:
        planned = int(first.start[at])
        shares = shares_of(first, int(first.best[at]))
    expected = planned
    if second is not None and (starts_by_itself(record) or record.release is not None):
        late = planned is None or planned >= second.since.get(at, 1 << 60)
        late = late or (planned is not None and _closed(state, at, planned, nodes_of(first, int(first.best[at]))))
        if late and at in second.start:
            expected = second.start[at]
            if planned is None:
                shares = second.row[at]
        elif late and planned is None:
            expected = None
    crowd = 0
    if planned is None and expected is not None and second is not None and at in second.crowd:
        crowd, busy = second.crowd[at]
        expected += busy
    never = why in FINAL
    words = record.why
    if why is Why.LICENCES and record.release is None:
        expected, words = None, "too few licences are free now, and it is not known when more will be"
    own = int(state.rows.reservation[at])
    bound = own >= 0 and not state.closures.flexible[own]
    if bound and expected is not None and expected + int(state.rows.limit[at]) > state.closures.end[own]:
        expected, words = None, "its reservation ends before the job would"  # Slurm kills it then (ResvOverRun)
    if expected is not None and expected >= NEVER_OVER:
        expected = None
    ahead = (state.closures.room >= 0) & (state.closures.room < state.rows.limit[at])
    if planned is None and expected is None and ahead.any():
        words = words or "it would reach into a reservation that moves ahead with time (TIME_FLOAT)"
    # if nodes are chosen by switches, Slurm may reject a job that fits now: on an idle machine it would choose a top
    # switch with too few CPUs (seen on 22.05: "Requested node configuration is not available")
    small = state.rows.need[at, ORDER] == BY_SWITCHES and not state.machine.tree.by_cpus
    if not never and ((planned is None and expected is None) or small):
        lacking = lacks(state, at)
        never, words = bool(lacking), lacking or words
        if lacking:
            planned, expected, shares = None, None, (np.zeros(0, np.int32), np.zeros(0, np.int32))
    names, cpus = places_of(state, at, shares)
    return Outlook(expected, planned, names, record.partition.name, why, words, never, cpus, crowd)


def places_of(state: State, at: int, shares: Shares) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the names of a record's nodes, and the CPUs that it holds on each, in whole cores."""
    there, asked = shares[0].tolist(), shares[1].tolist()
    need = state.rows.need[at]
    cpus = (held_on(node, given, need, state.machine) for node, given in zip(there, asked, strict=True))
    return tuple(state.names[place] for place in there), tuple(cpus)


def _closed(state: State, at: int, start: int, nodes: NDArray[np.int32]) -> bool:
    """Return whether a plan reaches into a reservation that is not open to the job; Slurm notices only at the start."""
    closures, rows = state.closures, state.rows
    return any(
        in_the_way(one, start, int(rows.limit[at]), closures)
        and one != rows.reservation[at]
        and bool(np.any(state.sets[closures.nodes[one]][nodes]))
        for one in range(len(closures.start))
    )


def lacks(state: State, at: int) -> str:
    """Return what keeps a record from starting even on an idle machine; empty if nothing does."""
    rows, machine = state.rows, state.machine
    need, gres = rows.need[at], rows.gres[at]
    idle = idle_of(state.use)
    given, chosen = np.zeros(len(state.names), np.int64), np.zeros(len(state.names), np.int64)
    first, count = rows.features[at].tolist()
    required = state.sets[rows.required[at]]
    most = 0
    for option in state.options[first : first + count].tolist():
        nodes = state.sets[rows.nodes[at]] & state.sets[option]
        most = max(most, int(np.count_nonzero(nodes)))
        capable(nodes, need, gres, machine, idle, given)
        choice = Choice(need, gres, required, machine, idle, work_of(machine, 0), chosen)
        if choose_with(given, choice, state.rules.first_node, state.rules.weakest):
            return ""
    record = state.records[at]
    if not np.any(state.sets[rows.nodes[at]]):
        return f"partition {record.partition.name} has no usable node"
    if most == 0:
        return f"no node of partition {record.partition.name} has the features {record.job.features}"
    if not np.any(given):
        return f"no node of partition {record.partition.name} has the CPUs, memory and GPUs that it requests"
    return f"partition {record.partition.name} can never satisfy its request"
