"""Forward simulation of a queue: starts by both schedulers if actual run times are known.

The main scheduler runs when an epilog has ended, batch_sched_delay after its last pass if anything else has happened,
and every sched_interval (slurmctld, _slurmctld_background; job_scheduler.c, schedule). No batch job starts in the
submission itself (job_mgr.c, job_allocate: only salloc and srun allocate; none of 226 did on 22.05, 24.11 and 26.05).
The backfill scheduler runs bf_interval after its last cycle if something has changed; a plan that it makes counts as a
change (backfill.c, backfill_agent and _more_work; on 22.05, 24.11 and 26.05, the next cycle followed so after 965 of
968 cycles with plans, and after 204 of 271 without).

Instants are whole seconds; events of the same second are handled in the order main scheduler, ends, submissions,
backfill scheduler. On 24.11 and 26.05, passes begin at whole seconds (1,480 of 1,540 within the first 0.05 s), so they
notice an end in the next second at the earliest. On 22.05 they begin anywhere in a second; the same order is closest
there, because many jobs end just after the instant at which a pass started them. Cycles begin anywhere.

A job that exceeds its time limit has failed, whatever its exit code (job_mgr.c, job_complete; seen on 22.05, 24.11 and
26.05); all others have succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from gas.slurm.beginning import Beginning
from gas.slurm.clock import Clock
from gas.slurm.cluster import Cluster, Job
from gas.slurm.cycle import begin
from gas.slurm.demand import counted_cpus
from gas.slurm.holders import Holder, Holders
from gas.slurm.machine import idle_of
from gas.slurm.main_pass import STARTED as PASSED
from gas.slurm.node_sets import words_of
from gas.slurm.passes import copied, run_state
from gas.slurm.placement import cpus_on
from gas.slurm.rows import STARTED, Plans, Records, empty_plans, leaves_work
from gas.slurm.starts import Known, Run, Start
from gas.slurm.state import State
from gas.slurm.together import Together

__all__ = ["Forward", "run_forward"]

FIRST_TASK = -1


def run_forward(
    cluster: Cluster,
    seconds: Mapping[int, int | Sequence[int]],
    arrivals: Sequence[tuple[int, Job]] = (),
    *,
    known: Mapping[tuple[int, int | None], Known] | None = None,
    until: int | None = None,
    first_cycle: int | None = None,
    first_pass: int | None = None,
    epilog: int = 0,
) -> Run:
    """Simulate the queue of a cluster forward until it is empty, or nothing more starts.

    Parameters
    ----------
    seconds
        Actual run times by number; for arrays, one per waiting task. A job not listed runs until its time limit; run
        times may exceed the limit, as Slurm ends jobs up to a minute late.
    arrivals
        Later submissions, by epoch second: waiting jobs with unique numbers. A job with priority 0 gets the priority
        that its site would give it.
    known
        Given starts, by number and task, which the schedulers do not decide.
    until
        Epoch second at which the simulation ends.
    first_cycle, first_pass
        Earliest cycle of the backfill scheduler, and first pass of the main scheduler over the whole queue.
    epilog
        Seconds from the end of a job until another can start on its nodes.
    """
    return Forward(Beginning.of(cluster, arrivals), seconds, known, first_cycle, first_pass, epilog).run(until)


class Forward:
    """The machine, its queue and its schedulers at one instant.

    Parameters
    ----------
    begin
        The initial state, which is not changed.
    seconds, known, first_cycle, first_pass, epilog
        As in `run_forward`.
    coarse
        Both schedulers run again only when this share of the elapsed time has passed since their last run; 0 means as
        often as in Slurm.
    most_plans
        Largest number of jobs without a start that a cycle plans; 0 means as many as in Slurm.
    """

    def __init__(
        self,
        begin: Beginning,
        seconds: Mapping[int, int | Sequence[int]],
        known: Mapping[tuple[int, int | None], Known] | None = None,
        first_cycle: int | None = None,
        first_pass: int | None = None,
        epilog: int = 0,
        coarse: float = 0.0,
        most_plans: int = 0,
    ) -> None:
        self.cluster, self.known, self.epilog, self.coarse = begin.cluster, dict(known or {}), epilog, coarse
        self.waiting, self.state = begin.waiting.copied(), copied(begin.state)
        self.seconds = seconds
        now = begin.cluster.now
        self.holders = Holders.of(begin.cluster, self.state, seconds)
        started = {job.id: job for job in self.state.running_jobs}
        self.jobs: dict[tuple[int, int | None], Job] = {
            (one.job, None): started[one.job] for one in self.holders.who if one.job in started
        }
        settings = begin.cluster.settings
        self.overtime = (None if settings is None else settings.overtime) or 0
        self.ends: list[tuple[int, int, int | None]] = []
        self.last_event = now
        for one in self.holders.who:
            heappush(self.ends, (one.end, one.job, FIRST_TASK))
        self.places = {name: place for place, name in enumerate(self.state.names)}
        self._nodes = {node.name: node for node in begin.cluster.nodes}
        self.whole, self.sets, self.room = begin.whole, begin.sets, begin.room()
        self.together = Together(begin.cluster, begin.waiting.records)
        self.leaving = self.state.leaving.copy()
        self.left: list[tuple[int, NDArray[np.int64]]] = []
        if self.leaving.any():
            self.left.append((now + max(epilog, 1), np.flatnonzero(self.leaving)))
        self.clock = Clock.of(begin.cluster, first_cycle, first_pass)
        self.starts: list[Start] = []
        self.probed: dict[int, int] = {}
        self.awaited: set[int] | None = None
        self.interrupted: Callable[[], bool] = lambda: False
        self.most_plans = most_plans
        # if searches change node weights for later searches and cycles, none may be skipped
        self.starts_only = not (len(self.state.machine.near) and self.state.rows.gres.any())
        self.cycles = self.passes = 0
        self.pass_kernel = begin.main_scheduler()

    # -- time

    def run(self, until: int | None) -> Run:
        """Advance from instant to instant."""
        clock = self.clock
        while (until is None or clock.now <= until) and not self.interrupted():
            self._instant()
            event = self._next_event()
            if self._stands_still(event) or (self.awaited is not None and not self.awaited):
                break
            following = self._following(event)
            if following is None:
                break
            clock.now = max(following, clock.now + int(self.coarse * (clock.now - self.cluster.now)))
            if event is not None and event <= clock.now:
                self.last_event = clock.now
        left, remarks = tuple(self.waiting.left()), tuple(self.waiting.remarks)
        return Run(tuple(self.starts), left, self.cycles, self.passes, remarks)

    def _instant(self) -> None:
        clock, now = self.clock, self.clock.now
        self.waiting.age(now)
        if any(one.start <= now for one in self.known.values()):
            self._let_end()  # a known start may need the nodes of a job that ended just before
            if "main" in self._start_known():
                clock.asked, clock.last = False, now
                self._main(clock.depth)
        depth = clock.pass_due()
        if depth is not None:
            self._main(depth)
        self._let_end()
        if list(self.waiting.arriving(now)):
            clock.changed = clock.asked = True
        if clock.cycle_due():
            planned = self._backfill()
            # both a noted plan and the launch of a started job count as changes
            clock.changed = planned or (bool(self.starts) and self.starts[-1].start == now)

    def _let_end(self) -> None:
        """Remove the jobs that end now, and run the pass that the end of an epilog triggers."""
        clock = self.clock
        ended, released = self._end(), self._release()
        clock.changed |= ended or released
        clock.asked |= released and not clock.at_ends
        if released and clock.at_ends:
            self._main(clock.depth)

    def _stands_still(self, event: int | None) -> bool:
        """Return whether no event will come, and both schedulers have run in vain since the last one."""
        clock = self.clock
        return event is None and clock.now > self.last_event + 2 * (clock.every + clock.interval)

    def _next_event(self) -> int | None:
        """Return the next arrival, end or known start, whatever the schedulers do; None if there is none."""
        now = self.clock.now
        due = [one for one in (self.ends[0][0] if self.ends else None, self.waiting.next_event(now)) if one is not None]
        due += [at for at, _ in self.left]
        due += [one.start for key, one in self.known.items() if one.start > now and self.waiting.waits(*key)]
        due += [at for one in self.cluster.reservations for at in (one.start, one.end) if at > now]
        return min(due, default=None)

    def _following(self, event: int | None) -> int | None:
        """Return the next instant at which something is due; None if nothing will change any more."""
        clock, now = self.clock, self.clock.now
        if not self.waiting.any():
            return max(event, now + 1) if event is not None and self.waiting.comes() else None
        due = [*([] if event is None else [event]), *clock.due()]
        if not due:
            return None if clock.full - now == clock.every and not self.ends else clock.full
        return max(min(*due, clock.full, self.waiting.ageing.due), now + 1)

    def _end(self) -> bool:
        """Remove the jobs that end now."""
        before = len(self.ends)
        while self.ends and self.ends[0][0] <= self.clock.now:
            end, job, task = heappop(self.ends)
            key = (job, None if task == FIRST_TASK else task)
            at = next(at for at, one in enumerate(self.holders.who) if (one.job, one.task) == key)
            nodes = self.holders.nodes(at)
            gone = self.holders.leave(at)
            self.leaving[nodes] = True
            self.left.append((end + self.epilog, nodes))
            self.state.licences[:] += gone.licences
            gone_job = self.jobs.pop(key, None)
            limit = None if gone_job is None else gone_job.end
            self.waiting.ended(key, end, well=limit is None or end <= limit + self.overtime)
        return len(self.ends) < before

    def _release(self) -> bool:
        """Free the nodes whose epilogs have ended; return whether there were any."""
        over = [one for one in self.left if one[0] <= self.clock.now]
        if over:
            self.left = [one for one in self.left if one[0] > self.clock.now]
            self.leaving[:] = False
            for _, nodes in self.left:
                self.leaving[nodes] = True
        return bool(over)

    # -- schedulers

    def _queue(self) -> tuple[NDArray[np.int64], Records]:
        """Return the indices of the records in scheduling order, and their rows."""
        waiting, now = self.waiting, self.clock.now
        index = waiting.order(now)
        rows = Records._make(column[index] for column in self.state.rows)
        rows.probe[:] = waiting.probes[waiting.places[index]]
        rows.tasks[:], rows.room[:] = waiting.tasks[index], waiting.rooms(index)
        rows.not_before[:] = now
        for at, record in enumerate(index.tolist() if self.known else ()):
            known = self.known.get(waiting.next_task(record))
            if known is not None:  # its start is given, and not now
                rows.not_before[at] = now + 1
                if known.start <= now + self.clock.interval:
                    rows.licences[at] = 0  # they are set aside for it
        return index, rows

    def _kept_licences(self) -> NDArray[np.int64]:
        """Return the licences set aside for jobs with known starts before the next cycle."""
        state, soon = self.state, np.zeros_like(self.state.licences)
        for key, one in self.known.items():
            late = one.start > self.clock.now + self.clock.interval
            record = None if late else self.waiting.record_of(key, one.partition)
            if record is not None:
                soon += state.rows.licences[record]
        return np.minimum(soon, state.licences)

    def _plans(self, rows: Records) -> Plans:
        count, room = len(rows.job), int(min(rows.tasks.sum(), self.waiting.room)) + 1
        made = empty_plans(count, room, len(self.state.names))
        return made._replace(state=np.zeros(count, np.int64))

    def _main(self, depth: int) -> None:
        """Run a pass of the main scheduler."""
        state, waiting = self.state, self.waiting
        self.passes += 1
        index, rows = self._queue()
        stops = "assoc_limit_stop" in self.cluster.scheduling.parameters
        plans = self._plans(rows)
        left = words_of(np.ones((1, len(state.names)), np.bool_))[0]
        partitions, sets, whole, idle = len(self.whole), self.sets, words_of(self.whole), idle_of(state.use)
        closed = np.zeros(partitions + len(state.closures.start), np.bool_)
        tried = np.zeros(partitions + 1, np.int64)
        parameters = state.parameters._replace(now=self.clock.now)
        held, refused = np.zeros(len(index), np.int8), np.zeros(len(index), np.bool_)
        kept = self._kept_licences()
        state.licences[:] -= kept
        at = 0
        while at < len(index):
            if waiting.restraints.count:
                held, busy, _ = waiting.restraints.verdicts(index, self.clock.now, self.jobs)
                held[held == 3] = 0
                held = np.where(held == 0, 3 * (busy & (not stops)), 1 if stops else held).astype(np.int8)
                rows.considered[:] = ((held != 1) | stops) & ~refused
            if self.together.any:
                sets = words_of(self.together.behind(index, rows, state.sets, self.jobs))
            before, noted = int(state.running.total[0]), int(plans.total[0])
            at = self.pass_kernel(
                at, np.arange(len(index)), rows, held, whole, state.closures, sets, state.options,
                self.leaving, state.machine, state.use, idle, state.running, state.licences, parameters,
                state.rules, depth, self.clock.partition_depth, waiting.one_by_one, left, closed, tried, self.room,
                plans,
            )  # fmt: skip
            places = plans.record[noted : int(plans.total[0])]
            for number, place in enumerate(places[~rows.probe[places]].tolist()):
                if self._exceeds(int(index[place]), before + number):  # then the pass returned after this start
                    self._take_back(before, [int(index[place])])
                    refused[place], at = True, place + 1
                    break
                self._started(int(index[place]), before + number, "main")
            rows.tasks[:], rows.room[:] = waiting.tasks[index], waiting.rooms(index)
        state.licences[:] += kept
        self._probed(index[rows.probe & (plans.state == PASSED) & (held == 0)])
        self.clock.changed |= len(index) > 0  # it updates reasons, which the backfill scheduler counts as a change

    def _backfill(self) -> bool:
        """Run a cycle of the backfill scheduler; return whether it plans anything."""
        state, waiting, now = self.state, self.waiting, self.clock.now
        self.cycles += 1
        stops = "assoc_limit_stop" in self.cluster.scheduling.parameters
        resolution = state.parameters.resolution
        parameters = state.parameters._replace(
            now=now, begin=now // resolution * resolution, starts_only=self.starts_only, most_plans=self.most_plans
        )
        jobs = tuple(self.jobs[one.job, one.task] for one in self.holders.who) if parameters.licenses else ()
        refused: set[int] = set()
        while True:
            index, rows = self._queue()
            if not len(index):
                return False
            if waiting.restraints.count and not stops:
                held, _, unplanned = waiting.restraints.verdicts(index, now, self.jobs)
                rows.considered[:] = ((held == 0) | (held == 3)) & ~np.isin(index, list(refused))
                rows.now_only[:] |= unplanned
            before = int(state.running.total[0])
            current: State = replace(
                state, records=[waiting.records[at] for at in index], rows=rows, parameters=parameters,
                running_jobs=jobs, leaving=self.leaving, sets=self.together.behind(index, rows, state.sets, self.jobs),
            )  # fmt: skip
            kept_licences = self._kept_licences()
            state.licences[:] -= kept_licences
            plans = run_state(current)
            state.licences[:] += kept_licences
            self._probed(index[rows.probe & (plans.state == STARTED)])
            new = int(state.running.total[0]) - before
            planned = bool(leaves_work(plans.state, rows.considered, rows.now_only, rows.unheld, rows.probe).any())
            if not new:
                return planned
            there = plans.record[: int(plans.total[0])]
            places = there[(plans.from_[: len(there)] == now) & ~rows.probe[there]].tolist()[:new]
            kept = 0
            for place in places:
                over = waiting.restraints.limited(index[[place]], now, self.jobs)[0] in (1, 2)
                if kept and (over or self.together.any or not waiting.tasks[index[place]]):
                    break  # earlier starts have started its tasks, used up its limit, or changed which nodes it prefers
                if not stops and self._exceeds(int(index[place]), before + kept):
                    refused.add(int(index[place]))
                    break
                self._started(int(index[place]), before + kept, "backfill")
                kept += 1
            if kept == new:
                return planned
            self._take_back(before + kept, index[places[kept:]].tolist())  # and the cycle runs again

    def _probed(self, records: NDArray[np.int64]) -> None:
        """Record that probes would start now, and remove them."""
        if not len(records):
            return
        places = np.unique(self.waiting.places[records])
        self.probed |= dict.fromkeys(places.tolist(), self.clock.now)
        if self.awaited is not None:
            self.awaited -= set(places.tolist())
        self.waiting.withdraw(places)

    def _exceeds(self, record: int, at: int) -> bool:
        """Return whether a record exceeds a limit as the running job at index `at`, whose start is not recorded yet."""
        running = self.state.running
        first, count = int(running.first[at]), int(running.shares[at])
        there = slice(first, first + count)
        names = (self.state.names[place] for place in running.node[there].tolist())
        cpus = dict(zip(names, running.cpus[there].tolist(), strict=True))
        return self.waiting.restraints.exceeds(record, cpus, self.clock.now, self.jobs)

    def _take_back(self, first: int, records: Sequence[int]) -> None:
        """Remove the running jobs of these records, from index `first` on; their starts are not recorded yet."""
        now, licences = self.clock.now, self.state.licences
        for _ in records:
            self.holders.append(Holder(0, None, -1, "", now, now, licences))
        for at in reversed(range(first, first + len(records))):
            self.holders.leave(at)
        licences[:] += self.state.rows.licences[list(records)].sum(axis=0)

    # -- starts

    def _started(self, record: int, at: int, by: str) -> None:
        """Record that the next task of a record has started, as the running job at index `at`."""
        waiting, now = self.waiting, self.clock.now
        key = waiting.next_task(record)
        job, partition = waiting.records[record].job, waiting.records[record].partition
        limit = int(self.state.running.end[at]) - now
        took = self.seconds.get(job.id, limit)
        real = took if isinstance(took, int) else int(took[waiting.number_of(record)])
        real -= int(self.coarse * (now - self.cluster.now)) // 2  # it would have started earlier
        end = now + max(real, 1)
        nodes = self.holders.nodes(at)
        names = tuple(self.state.names[place] for place in nodes.tolist())
        first = int(self.state.running.first[at])
        cpus = self.state.running.cpus[first : first + len(nodes)].tolist()
        licences = self.state.rows.licences[record]
        self.holders.append(Holder(key[0], key[1], waiting.place[record], partition.name, now, end, licences))
        given = dict(zip(names, cpus, strict=True))
        self.jobs[key] = replace(
            job, state="RUNNING", start=now, end=now + limit, nodes=names,
            cpus=counted_cpus(job, partition, self.cluster.settings, self._nodes, given), tasks=None,
            cpus_on=given, partitions=(partition.name,), reason="",
        )  # fmt: skip
        heappush(self.ends, (end, key[0], FIRST_TASK if key[1] is None else key[1]))
        waiting.started(record, self.jobs[key], now)
        self.known.pop(key, None)
        if self.awaited is not None:
            self.awaited.discard(waiting.place[record])
        self.starts.append(Start(key[0], key[1], partition.name, now, end, names, by))

    def _start_known(self) -> set[str]:
        """Start the jobs whose known starts are due; return the schedulers that start them."""
        due = [(one.start, key) for key, one in self.known.items() if one.start <= self.clock.now]
        begun: set[str] = set()
        for _, key in sorted(due, key=lambda one: (one[0], one[1][0], one[1][1] or 0)):
            found = self.known[key]
            record = self.waiting.record_of(key, found.partition)
            if record is None:
                continue
            state, rows = self.state, self.state.rows
            there = np.zeros(len(state.names), np.bool_)
            there[[self.places[name] for name in found.nodes]] = True
            chosen = cpus_on(state, record, there)
            for name, cpus in (found.cpus or {}).items():
                chosen[self.places[name]] = cpus
            at = int(state.running.total[0])
            if begin(record, rows, state.machine, state.use, state.running, self.clock.now, 0, chosen,
                     self.room.work.missing):  # fmt: skip
                state.licences[:] -= rows.licences[record]
                self._started(record, at, "known")
                begun.add(found.by)
                self.clock.changed = True
        return begun
