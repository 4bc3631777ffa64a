"""Prepares a queue for `gas.slurm.drain`, which simulates it hundreds of times with varying run times and arrivals.

A `Sampler` is made once from a `Beginning`; `Sampler.room` returns the working memory of one thread, and `Sampler.run`
runs a sample in it. `outside` lists what the kernel does not support: `gas.slurm.forward` simulates such queues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gas.compiled import compiled, fastest, is_ready
from gas.heap import CREATED, TIME, empty_heap
from gas.slurm.beginning import Beginning
from gas.slurm.bench import bench_of
from gas.slurm.clock import Clock
from gas.slurm.cluster import Cluster, Job, Node, Partition
from gas.slurm.cycle import run_cycle
from gas.slurm.drain import drain
from gas.slurm.flow import COUNT, NOW, Flow, Line, Pace, Site
from gas.slurm.forward import Forward
from gas.slurm.machine import Use, idle_of, powered_on
from gas.slurm.main_pass import run_pass
from gas.slurm.node_sets import words_of
from gas.slurm.order import end_of
from gas.slurm.placement import fit_idle
from gas.slurm.rows import Found, empty_plans
from gas.slurm.table import empty_table
from gas.slurm.will_run import Running
from gas.times import LONGEST

__all__ = ["Room", "Sampler", "compile_plans", "compile_starts", "outside"]


def outside(begin: Beginning) -> str:
    """Return in words what the kernel does not support in a queue; empty if it supports everything."""
    waiting, state = begin.waiting, begin.state
    reasons = {
        "limits of accounts and QOS": waiting.restraints.count,
        "fair share": waiting.ageing.depends_on_usage,
        "dependencies or reservations of jobs": waiting.bound,
        "arrays with a limit of tasks, or in several partitions": waiting.throttled or waiting.one_by_one,
        "bf_licenses": state.parameters.licenses,
        "weights of nodes that jobs with GPUs leave": len(state.machine.near) > 0 and bool(state.rows.gres.any()),
    }
    return ", ".join(name for name, there in reasons.items() if there)


def compile_starts() -> None:
    """Compile the kernels that start jobs at once: a third of the work; the others refer to them."""
    compiled(run_pass)
    Forward(_one_job(), {1: 1}).run(120)
    compiled(fit_idle)
    _one_job()


def compile_plans() -> None:
    """Compile the kernels that plan jobs, then `drain`, which needs those of `compile_starts`, perhaps made meanwhile.

    At the same time, another process may compile them: half of the time has passed when they are needed.
    """
    compiled(run_cycle)
    begin = _one_job()
    Forward(begin, {1: 1}).run(120)
    compiled(drain)
    sampler, first = Sampler(begin), np.zeros(1, np.int64)
    sampler.run(sampler.room(), first[:0], first + 1, first, first[:0], 60)


def _one_job() -> Beginning:
    """Return a queue of one job on one node."""
    one_job = Job(1, "", "", "PENDING", ("p",), 1, 1, time_limit=60, tasks_asked=1)
    return Beginning.of(Cluster("", 0, "", (Node("n", 1),), (one_job,), (), (Partition("p", ("n",)),)))


@dataclass(frozen=True)
class Room:
    """The working memory of one thread."""

    site: Site
    flow: Flow


class Sampler:
    """A prepared queue.

    Attributes
    ----------
    first_run
        By place, the index of the first run time of its tasks.
    counts
        By place, the number of these run times.
    holders
        Number of jobs that are running at the beginning.

    Parameters
    ----------
    coarse, most_plans
        As in `gas.slurm.forward.Forward`.
    samples
        Expected number of samples, which decides whether compiling pays.
    """

    def __init__(self, begin: Beginning, coarse: float = 0.0, most_plans: int = 0, samples: int = 1) -> None:
        self._most_plans = most_plans
        self._kernel = fastest(drain, begin.steps * (samples if is_ready(drain) else 1))
        self.begin, cluster, waiting = begin, begin.cluster, begin.waiting
        ageing, state = waiting.ageing, begin.state
        size, jobs = len(waiting.records), len(waiting.jobs)
        keys = waiting.keys
        tie = np.empty(size, np.int64)
        tie[np.lexsort((keys[:, 0], keys[:, 1], keys[:, 2]))] = np.arange(size)
        counts = [len(one) for one in waiting.of_task]
        self.first_run = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.counts = np.array(counts, np.int64)
        self.holders = int(state.running.total[0])
        rank = np.unique(keys[:, [4, 3]], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        self.line = Line(
            waiting.places, ~waiting.dropped & ~waiting.held[waiting.places], rank, tie, *ageing.bases(),
            np.searchsorted(waiting.places, np.arange(jobs + 1)).astype(np.int64), self.first_run,
            waiting.begins,
        )  # fmt: skip
        clock = Clock.of(cluster)
        self.pace = Pace(
            clock.now, clock.interval, clock.every, clock.delay, clock.depth, clock.partition_depth,
            clock.at_ends, float(ageing.weight), ageing.oldest,
            ageing.period if ageing.multifactor else 0, coarse,
        )  # fmt: skip
        self.clock = clock
        self.held = np.zeros((self.holders, len(state.licences)), np.int64)
        for number, job in enumerate(state.running_jobs):
            self.held[number] = [job.licences.get(name, 0) for name in state.licence_names]
        there = np.flatnonzero(waiting.arrived[waiting.places])
        self.order = there[np.lexsort((tie[there], -ageing.values[there], rank[there]))]

    def room(self) -> Room:
        """Return the working memory of one thread."""
        begin, state, waiting = self.begin, self.begin.state, self.begin.waiting
        size, jobs, nodes = len(waiting.records), len(waiting.jobs), len(state.names)
        rows, parameters = state.rows, state.parameters._replace(starts_only=True, most_plans=self._most_plans)
        records = rows._replace(
            tasks=rows.tasks.copy(), probe=rows.probe.copy(), room=np.full(size, 1 << 40, np.int64),
            not_before=np.zeros(size, np.int64),
        )  # fmt: skip
        probes, tasks = int(waiting.probes.sum()), self.counts[waiting.places]  # a job may be planned in each partition
        plans = int(np.minimum(tasks, max(parameters.max_job_array_resv, 1)).sum())
        if parameters.max_job_test > 0:
            plans = min(plans, parameters.max_job_test + 64 + parameters.max_job_array_resv)
        most = max(plans, min(int(self.counts.sum()), waiting.room)) + probes + 1  # or starts of a pass
        none, empty = np.zeros(0, np.int64), empty_plans(0, 0, 0)
        known = Found(none, none, none, np.zeros(0, np.bool_), none, empty.first, empty.node, empty.cpus,
                      np.zeros(1, np.int64))  # fmt: skip
        runs = int(self.first_run[-1]) + self.holders
        every = words_of(np.ones((1, nodes), np.bool_))[0]
        planned = powered_on(state.machine)
        running = Running._make(one.copy() for one in state.running)
        site = Site(
            records, np.zeros(size, np.int8), words_of(begin.whole), state.closures, begin.sets, state.options,
            state.preempts, state.leaving.copy(), state.machine._replace(near=state.machine.near.copy()),
            Use._make(one.copy() for one in state.use), idle_of(state.use), running, state.licences.copy(),
            state.all_licences, parameters, state.rules,
            empty_table(0, 1, planned, state.all_licences[:0], 2 * most + 2), empty_plans(size, most, nodes), known,
            bench_of(rows, state.machine, running, begin.sets, state.preempts), every, every.copy(),
            words_of(planned[np.newaxis])[0],
            np.zeros(len(begin.whole) + len(state.closures.start), np.bool_), np.zeros(len(begin.whole) + 1, np.int64),
        )  # fmt: skip

        def numbers(count: int) -> NDArray[np.int64]:
            return np.zeros(count, np.int64)

        flow = Flow(
            numbers(size), numbers(size), np.zeros(size), np.zeros(jobs, np.bool_), numbers(jobs), numbers(jobs),
            numbers(jobs), none, empty_heap(runs), numbers(len(running.end)),
            np.zeros((runs, len(state.licences)), np.int64), none, none, numbers(COUNT),
        )  # fmt: skip
        return Room(site, flow)

    def ends(self, seconds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the actual ends of the jobs that are running at the beginning; `LONGEST` means at their limits.

        Run times count from the start of a job, and from now for hidden jobs.
        """
        state, now = self.begin.state, self.begin.cluster.now
        limits = state.running.end[: self.holders].copy()
        begun = np.full(self.holders, now, np.int64)
        for at, job in enumerate(state.running_jobs):
            limits[at], begun[at] = end_of(job, now), job.start or now
        return np.maximum(np.where(seconds >= LONGEST, limits, begun + seconds), now)

    def run(
        self,
        room: Room,
        ends: NDArray[np.int64],
        seconds: NDArray[np.int64],
        awaited: NDArray[np.int64],
        gone: NDArray[np.int64],
        until: int,
        *,
        probes: bool = True,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> NDArray[np.int64]:
        """Run a sample until the awaited jobs have started; return the start at each place, -1 if there was none.

        Parameters
        ----------
        ends
            Ends of the jobs that are running at the beginning.
        seconds
            Run time of each task; `LONGEST` means until its limit.
        awaited, gone
            Places of the awaited jobs, and of jobs that are left out.
        probes
            Whether probes hold nothing; else they are ordinary jobs.
        meanwhile
            Called after each instant if the kernel runs in plain Python; it may raise to give up the sample.
        """
        site, state, waiting = room.site, self.begin.state, self.begin.waiting
        there = max(*state.running.total.tolist(), 2)  # the rest of the arrays is unused
        for old, new in zip(state.running, site.running, strict=True):
            new[:there] = old[:there]
        for old, new in zip((*state.use, state.licences), (*site.use, site.licences), strict=True):
            np.copyto(new, old)
        np.copyto(site.leaving, state.leaving)
        site.records.probe[:] = waiting.probes[waiting.places] & probes
        present = self.counts.copy()
        present[gone] = 0
        comers = np.flatnonzero(~waiting.arrived & (present > 0))
        comers = comers[np.argsort(waiting.comes_at[comers], kind="stable")]
        flow = room.flow._replace(awaited=awaited, comes=waiting.comes_at[comers], comer=comers)
        flow.tasks[:], flow.begun[:], flow.eligible[:] = present, -1, waiting.eligible
        flow.arrived[:], flow.priority[:] = waiting.arrived, waiting.ageing.values
        order = self.order[present[waiting.places[self.order]] > 0]
        flow.order[: len(order)] = order
        by_end = np.argsort(ends, kind="stable")
        first = int(self.first_run[-1])
        flow.ends[TIME, : self.holders], flow.ends[CREATED:, : self.holders] = ends[by_end], first + by_end
        flow.slots[: self.holders] = first + np.arange(self.holders)
        flow.licences[first:] = self.held
        clock, now = self.clock, self.begin.cluster.now
        flow.numbers[:] = (
            len(order), self.holders, 0, now, clock.backfill, clock.full, clock.last, clock.changed, clock.asked,
            -1, now, waiting.ageing.next, 0,
        )  # fmt: skip
        leaves = now + 1 if state.leaving.any() else -1
        reached = until if self._kernel is not drain else now  # in plain Python it returns after each instant
        while self._kernel(reached, leaves, seconds, self.line, self.pace, flow, site) > reached < until:
            reached = min(int(flow.numbers[NOW]), until)
            meanwhile()
        return flow.begun
