"""Jobs that the main scheduler starts at submission, although the backfill scheduler has planned their nodes.

It closes the partition of a job that finds no nodes, unless the remaining nodes would not do even if they were idle.
Then a later job in the same partition may start, regardless of plans (`gas.slurm.main_pass`); this requires partitions
that share nodes, or a reservation in the way. Also, only the main scheduler starts jobs on powered-down nodes.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from gas.compiled import fastest
from gas.slurm.cluster import Cluster
from gas.slurm.machine import Use, idle_of, powered_on
from gas.slurm.main_pass import UNTRIED, run_pass
from gas.slurm.node_sets import words_of
from gas.slurm.order import Blocked, Record
from gas.slurm.rows import empty_plans, shares_of
from gas.slurm.search import room_of
from gas.slurm.state import State
from gas.slurm.will_run import Running

__all__ = ["out_of_turn"]

NEVER = ("assoc_limit_stop", "bf_licenses")
"""With these parameters the main scheduler starts few jobs, which Gas does not predict."""


BEFORE_NODES = re.compile("Jobs|Submit|Wall")
"""Limits that are checked before node selection (acct_policy.c, acct_policy_job_runnable_pre_select)."""


def out_of_turn(cluster: Cluster, state: State) -> dict[int, tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Return the probes that a pass of the main scheduler would start now, by record: their nodes, and CPUs on each.

    The state is not changed.
    """
    rows, given = state.rows, cluster.scheduling.parameters
    waiting = rows.considered & ~rows.probe
    one_queue = len(np.unique(rows.partition[rows.considered])) < 2 and not len(state.closures.start)
    off = not powered_on(state.machine).all()  # only this pass starts jobs on powered-down nodes
    if not rows.probe.any() or (not off and (not waiting.any() or one_queue)):
        return {}
    if waiting.any() and (given.get("sched_interval") == "-1" or any(one in given for one in NEVER)):
        return {}
    size, count = len(state.names), len(rows.job)
    places = {name: place for place, name in enumerate(state.names)}
    whole = np.zeros((int(rows.partition.max()) + 1, size), np.bool_)
    for number, record in zip(rows.partition.tolist(), state.records, strict=True):
        if not whole[number].any():
            whole[number, [places[name] for name in record.partition.nodes if name in places]] = True
    room = int(np.count_nonzero(rows.probe)) + len(state.running.end)
    plans = empty_plans(count, room, size)
    plans.state[:] = UNTRIED
    use, running = Use(*(one.copy() for one in state.use)), Running(*(one.copy() for one in state.running))
    idle = idle_of(state.use)
    left = words_of(np.ones((1, size), np.bool_))[0]
    closed = np.zeros(len(whole) + len(state.closures.start), np.bool_)
    limited = np.array([2 * _after_nodes(record) for record in state.records], np.int8)
    fastest(run_pass, count * size * 10, large="how Slurm plans")(
        0, np.arange(len(rows.job)), rows._replace(considered=rows.considered | (limited > 0)), limited,
        words_of(whole & state.usable),
        state.closures, words_of(state.sets), state.options, state.leaving, state.machine, use, idle, running,
        state.licences.copy(), state.parameters, state.rules, 0, 0, False, left, closed,
        np.zeros(len(whole) + 1, np.int64), room_of(state.machine, len(left), 0), plans,
    )  # fmt: skip
    started = np.flatnonzero((plans.start >= 0) & rows.probe).tolist()
    return {at: shares_of(plans, int(plans.best[at])) for at in started}


def _after_nodes(record: Record) -> bool:
    """Return whether a waiting job is held by a limit that is checked only after node selection."""
    held = record.blocked is Blocked.LIMIT and record.probe is None
    return held and record.why.startswith(("Assoc", "QOS", "Max")) and BEFORE_NODES.search(record.why) is None
