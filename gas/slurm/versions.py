"""What Slurm's schedulers do otherwise from one release to the next, each with the first release and its evidence."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["ROWS", "Row", "Rules", "release_of"]

Release = tuple[int, int, int]


class Row(NamedTuple):
    """One rule that a release changed.

    Attributes
    ----------
    rule
        Its name in `Rules`.
    since
        The first release that has it.
    evidence
        Where it was read (file, function), and what was seen of it.
    """

    rule: str
    since: Release
    evidence: str


class Rules(NamedTuple):
    """What a release does.

    Attributes
    ----------
    first_task
        The published start of an array is that of its first planned task; before, of its last.
    task_depth
        bf_max_job_test ends an array after a task that was started, too.
    throttle
        No more tasks of an array are planned than may run at once.
    window_ends
        A start beyond the window is not tried.
    fresh_weights
        Weights of nodes are set for each test; before, what a job with GPUs lowered them by stays for those behind it.
    whole_tasks
        Of CPUs of a node that are no multiple of those of a task, the rest does not count.
    cpus_of_gpus
        The CPUs that a job asks for are those of its GPUs too (--cpus-per-gpu).
    more_nodes
        A job that asks for GPUs in all may get more nodes than it has tasks.
    few_nodes
        It may not any more.
    least_step
        A plan is taken to last a step of bf_resolution when it is compared with others.
    ends_up
        Ends of plans are rounded up; before, down.
    future
        The will-run test gets the start that is tried and the next one: it tests "now" only for a start now, takes
        away the jobs that end before, and looks at no end after the next start.
    early_overlap
        A start is compared with the plans before it is compared with the next start that is tried.
    next_slot
        Where no nodes appear, the next start that is tried is the end of the slot after the job's end.
    inclusive
        Jobs that end exactly at the start that is tried are taken away too.
    retry_step
        A start that is tried again without being later becomes a step later.
    first_conflict
        The first slot without enough licences decides on the next start; before, the last.
    relevant_end
        A job starts at the last end of a job on the nodes that it gets; before, at the last end of the group.
    weakest
        A choice that fails is tried again without the one weakest node; before, without all of the fewest CPUs.
    whole_partition
        Jobs of a partition that shares nothing count as whole-node jobs in the test.
    first_node
        A job of one node at the most gets the first node that fits; before, the fullest.
    no_lone_task
        A job of one task that asks for several tasks a node is never planned.
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
    weakest: bool
    whole_partition: bool
    first_node: bool
    no_lone_task: bool

    @classmethod
    def of(cls, version: str) -> Rules:
        """Return the rules of a release, written as in 24.11.5; those of the latest one if it cannot be read."""
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
        "job_test.c, _set_sched_weight; seen: on 22.05 a job without GPUs goes to nodes with GPUs behind one with, and "
        "of 138 plans of jobs with GPUs among others all start as with the weights that tests leave",
    ),
    Row(
        "whole_tasks",
        (24, 11, 0),
        "seen: not on 22.05, on 24.11 and 26.05 (-c 2 on three free CPUs), job_test.c, _allocate_sc; between unknown",
    ),
    Row(
        "cpus_of_gpus",
        (24, 11, 0),
        "seen on 22.05 and 24.11: NumCPUs of -n 4 --gpus-per-task=1 --cpus-per-gpu=3 is 4, then 12; between unknown",
    ),
    Row("more_nodes", (24, 11, 0), "job_test.c; seen: not on 22.05, on 24.11 (-n 2 --gpus=8); between unknown"),
    Row(
        "few_nodes",
        (26, 5, 0),
        "seen on 26.05 (-n 4 --gpus=12 waits for nodes of four GPUs), whose NumNodes ends there",
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
    Row("weakest", (25, 11, 0), "topology/common, eval_nodes, the retry without nodes"),
    Row("whole_partition", (25, 11, 5), "backfill.c, _attempt_backfill, OverSubscribe=EXCLUSIVE"),
    Row("first_node", (26, 5, 0), "job_test.c, _get_one_res"),
    Row(
        "no_lone_task",
        (26, 5, 0),
        "seen on 26.05, not on 24.11: -n 1 --ntasks-per-node=2 waits for Resources for ever, as NumNodes=1-1; with "
        "-n 2 --ntasks-per-node=3 it does not",
    ),
)


def release_of(version: str) -> Release | None:
    """Return the numbers of a release, or None if there are none."""
    found = re.match(r"\D*(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", version)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))
