"""Differences between the schedulers of Slurm releases, each with the first release and its evidence."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["ROWS", "Row", "Rules", "release_of"]

Release = tuple[int, int, int]


class Row(NamedTuple):
    """A rule that a release changed.

    Attributes
    ----------
    rule
        Its name in `Rules`.
    since
        The first release with the rule.
    evidence
        Its source (file, function), and observations.
    """

    rule: str
    since: Release
    evidence: str


class Rules(NamedTuple):
    """The rules of a release.

    Attributes
    ----------
    first_task
        The published start of an array is that of its first planned task; before, of its last.
    task_depth
        bf_max_job_test also stops an array after a task that starts.
    throttle
        No more tasks of an array are planned than may run at once.
    window_ends
        A start beyond the window is not tried.
    fresh_weights
        Node weights are reset for each test; before, weights lowered for a job with GPUs persist for later jobs.
    whole_tasks
        Leftover CPUs of a node that do not make up a whole task do not count.
    cpus_of_gpus
        The CPUs of a job include those for its GPUs (--cpus-per-gpu).
    more_nodes, few_nodes
        A job with a total number of GPUs may get more nodes than it has tasks; from `few_nodes` on it may not.
    least_step
        A plan counts as at least one step of bf_resolution when compared with others.
    ends_up
        Ends of plans are rounded up; before, down.
    future
        The will-run test knows the tried start and the next one: it tests "now" only for a start now, removes the jobs
        that end before the tried start, and considers no end after the next one.
    early_overlap
        A start is compared with plans before it is compared with the next start to try.
    next_slot
        If no nodes become free, the next start to try is the end of the slot after the job's end.
    inclusive
        Jobs that end exactly at the tried start are removed too.
    retry_step
        A start that would be tried again unchanged is moved one step later.
    first_conflict
        The first slot without enough licences determines the next start; before, the last.
    relevant_end
        A job starts at the last end of a job on its nodes; before, at the last end of the group.
    last_counted
        A least loaded node (LLN) is credited with the CPUs of the last node examined.
    weakest
        A failed choice is tried again without the one weakest node; before, without all nodes with the fewest CPUs.
    whole_partition
        Jobs in a partition without sharing count as whole-node jobs in the test.
    first_node
        A job of at most one node gets the first node that fits; before, the fullest.
    switch_cpus
        A switch needs enough nodes and CPUs, higher weights are added until there are as many nodes as the job wants,
        and the switches above count only nodes not taken yet; before, it needs enough nodes, and weights are added
        until there are the least that the job needs.
    no_lone_task
        A job of one task that requests several tasks per node is never planned.
    own_tasks
        With tasks per node, nodes are chosen by the CPUs of that many tasks, and get only the tasks that exist; before,
        they are chosen by all CPUs that they could give, and each gets the requested number of tasks.
    tasks_by_gpus
        If a job has as many GPUs in all as tasks, each task has one; before, GPUs and tasks are independent.
    bound_gpus, bound_tasks
        With GPUs in all, a node counts with no more CPUs than those of all tasks; from `bound_tasks` on, with any GPUs.
    magnetic_ends
        A magnetic reservation attracts only jobs that would end before it does.
    lone_tasks, tasks_together
        Under CR_Core, a job with GPUs per task that leaves threads of its cores unused starts only if no node gets more
        of its tasks than sockets; from `tasks_together` on this is lifted.
    shared_memory_cpus
        All tasks on a node share the extra CPUs that the job gets for its memory per node.
    all_options
        Plans use all options of a constraint in brackets; before, none that follows one in parentheses.
    subaccounts
        The accounts of a partition (AllowAccounts, DenyAccounts) include all accounts below them.
    all_tasks
        Each node gets the requested number of tasks per node again, and a job without a number of nodes gets no more
        nodes than its tasks need.
    """

    first_task: bool
    task_depth: bool
    throttle: bool
    window_ends: bool
    fresh_weights: bool
    whole_tasks: bool
    cpus_of_gpus: bool
    more_nodes: bool
    few_nodes: bool
    least_step: bool
    ends_up: bool
    future: bool
    early_overlap: bool
    next_slot: bool
    inclusive: bool
    retry_step: bool
    first_conflict: bool
    relevant_end: bool
    last_counted: bool
    weakest: bool
    whole_partition: bool
    first_node: bool
    switch_cpus: bool
    no_lone_task: bool
    own_tasks: bool
    tasks_by_gpus: bool
    bound_gpus: bool
    bound_tasks: bool
    magnetic_ends: bool
    lone_tasks: bool
    tasks_together: bool
    shared_memory_cpus: bool
    all_options: bool
    subaccounts: bool
    all_tasks: bool

    @classmethod
    def of(cls, version: str) -> Rules:
        """Return the rules of a release such as 24.11.5; those of the latest if it cannot be read."""
        release = release_of(version)
        known = {row.rule: release is None or release >= row.since for row in ROWS}
        return cls(**known)


ROWS = (
    Row("first_task", (23, 2, 0), "backfill.c, _attempt_backfill, start of an array; seen on 22.05 and 24.11"),
    Row("task_depth", (23, 2, 1), "backfill.c, _attempt_backfill, after a started task"),
    Row("throttle", (23, 2, 4), "backfill.c, _job_runnable_now and the next task; seen on 22.05 and 24.11"),
    Row("window_ends", (23, 11, 2), "backfill.c, _attempt_backfill, test of the start against the window"),
    Row(
        "fresh_weights",
        (23, 11, 0),
        "job_test.c, _set_sched_weight; seen: on 22.05 a job without GPUs goes to nodes with GPUs after one with GPUs; "
        "in queues with GPUs, all of 138 plans start as with the weights that tests leave",
    ),
    Row(
        "whole_tasks",
        (24, 11, 0),
        "seen on 24.11 and 26.05, not on 22.05: -c 2 on three free CPUs; job_test.c, _allocate_sc; between unknown",
    ),
    Row(
        "cpus_of_gpus",
        (24, 11, 0),
        "seen on 22.05 and 24.11: -n 4 --gpus-per-task=1 --cpus-per-gpu=3 has NumCPUs=4, then 12; between unknown",
    ),
    Row("more_nodes", (24, 11, 0), "job_test.c; seen on 24.11, not on 22.05: -n 2 --gpus=8; between unknown"),
    Row(
        "few_nodes",
        (26, 5, 0),
        "seen on 26.05: -n 4 --gpus=12 waits for nodes with four GPUs, and its NumNodes ends at its tasks",
    ),
    Row("least_step", (24, 5, 4), "backfill.c, _test_resv_overlap"),
    Row("ends_up", (24, 11, 0), "backfill.c, _set_slot_time and _bf_reserve_running; seen on 22.05 and 24.11"),
    Row("future", (24, 11, 0), "job_test.c, _future_run_test; seen on 22.05 and 24.11"),
    Row("early_overlap", (24, 11, 0), "backfill.c, _attempt_backfill, after the will-run test"),
    Row("next_slot", (24, 11, 0), "backfill.c, _attempt_backfill, next start that is tried"),
    Row("inclusive", (25, 5, 0), "job_test.c, _future_run_test"),
    Row("retry_step", (25, 5, 0), "backfill.c, _attempt_backfill; an endless loop before"),
    Row("first_conflict", (25, 5, 0), "backfill.c, _attempt_backfill, licences of the slots"),
    Row("relevant_end", (25, 5, 1), "job_test.c, _get_last_relevant_job; by tag not in 25.05.0"),
    Row(
        "last_counted",
        (25, 11, 0),
        "topology/common, _eval_nodes_lln; seen on 26.05, not on 24.11: -n 17 does not fit on nodes with 1, 1, 1, 1, "
        "1, 4, 4, 2, 2 and 1 free CPUs; between unknown",
    ),
    Row("weakest", (25, 11, 0), "topology/common, eval_nodes, the retry without nodes"),
    Row("whole_partition", (25, 11, 5), "backfill.c, _attempt_backfill, OverSubscribe=EXCLUSIVE"),
    Row("magnetic_ends", (26, 5, 0), "seen on 26.05, not on 22.05 and 24.11; between unknown"),
    Row(
        "first_node",
        (26, 5, 0),
        "job_test.c, _get_one_res; seen on 26.05: -n 1 shows NumNodes=1-1, and gets the first of nodes with 12, 8 and "
        "10 CPUs, while --gres=gpu:1 alone shows NumNodes=1 and gets the second",
    ),
    Row(
        "switch_cpus",
        (24, 11, 0),
        "topology/tree; seen: on leaves with 1, 2 and 3 nodes of 4 CPUs, -n 10 begins with the leaf of one node on "
        "22.05, and gets that of three on 24.11 and 26.05; between unknown",
    ),
    Row(
        "no_lone_task",
        (26, 5, 0),
        "seen on 26.05, not on 24.11: -n 1 --ntasks-per-node=2 waits for Resources forever, with NumNodes=1-1; "
        "-n 2 --ntasks-per-node=3 starts",
    ),
    Row(
        "own_tasks",
        (24, 11, 0),
        "job_test.c, _job_test (ncpus), and dist_tasks.c; seen: -n 7 --ntasks-per-node=3 gets 3, 3 and 3 CPUs on three "
        "nodes on 22.05, and 3, 2 and 2 on 24.11 (as on 22.05 after it was held and released, with NumTasks=9, or "
        "without -n); -n 2 --ntasks-per-node=3 goes to a node with three free CPUs on 22.05, to the first with more on "
        "24.11; between unknown",
    ),
    Row(
        "tasks_by_gpus",
        (24, 11, 0),
        "seen on all releases: on three nodes with 8 CPUs and 4 GPUs, -n 10 --gpus=10 gets 7, 2 and 1 CPUs on 22.05, "
        "and 4, 4 and 2 on 24.11 and 26.05; -n 8 --gpus=5 gets 7 and 1; if the second of four has one CPU free, "
        "-n 7 --gpus=7 gets 4, 1 and 2 on the first three, as with --gpus-per-task=1, and on 22.05 6 and 1 on two; "
        "between unknown",
    ),
    Row(
        "bound_gpus",
        (24, 11, 0),
        "seen in the log of select/cons_tres: on nodes with 12, 8 and 10 CPUs, -n 4 --gpus=2 counts 4 of each on 24.11 "
        "and 26.05, and -n 5 --gres=gpu:1 all of them on 24.11; on 22.05 -n 2 --gpus=1 gets the second, as if all "
        "counted, and -n 1 --gpus=1 the first on all releases (job_test.c, _select_cores); between unknown",
    ),
    Row(
        "bound_tasks",
        (26, 5, 0),
        "seen in the log of topology/common: there -n 5 --gres=gpu:1 counts 5 of each, -n 9 counts 9, 8 and 9, and "
        "-n 5 without GPUs counts all of them; between unknown",
    ),
    Row(
        "lone_tasks",
        (24, 11, 0),
        "seen on 24.11 under CR_Core and CR_Core_Memory: -n 3 --gpus-per-task=1 --hint=nomultithread waits for "
        "Resources forever on idle nodes with one or two sockets; it starts with -N 3, with -n 2 on nodes with two "
        "sockets, and with --gpus-per-node or --gpus; not on 22.05, nor under CR_CPU; between unknown",
    ),
    Row("tasks_together", (26, 5, 0), "seen on 26.05, where such jobs start; between unknown"),
    Row(
        "shared_memory_cpus",
        (24, 11, 0),
        "seen on 24.11 and 26.05 with MaxMemPerCPU=400: -n 3 --mem=1700 gets six CPUs, on 22.05 five; nodes with 8 "
        "CPUs reject -n 18 --mem=1000, but not on 22.05; between unknown",
    ),
    Row(
        "all_options",
        (24, 11, 0),
        "seen on 22.05 and 26.05: if the nodes of fast&ib are free in 30 minutes, and those of slow in ten, "
        "[(fast&ib)|slow] is planned in 30 and in ten minutes, [slow|(fast&ib)] in ten; between unknown",
    ),
    Row("subaccounts", (24, 11, 0), "slurm.conf(5); seen on 24.11 and 26.05, not on 22.05; between unknown"),
    Row(
        "all_tasks",
        (26, 5, 0),
        "seen on 26.05: -n 7 --ntasks-per-node=3 gets 3, 3 and 3 CPUs, and shows NumNodes=3-3; between unknown",
    ),
)


def release_of(version: str) -> Release | None:
    """Return the numbers of a release, or None if there are none."""
    found = re.match(r"\D*(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", version)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))
