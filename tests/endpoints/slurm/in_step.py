"""The engine in step with a recorded Slurm: it gets the instants of Slurm's log, not only their seconds.

The engine counts whole seconds. Whether a job has ended when a cycle begins in the same second, or whether a pass of
the main scheduler follows in that second or in the next, is an accident of real time, and one second may change the
order of a queue for minutes. Here the schedulers run when the log says that Slurm's did, and a job that starts as in
Slurm ends at the instant at which it did there: so any remaining difference comes from a rule. Recorded starts are not
given.

Parts of that can be left to the engine's rules instead, which shows what they count: `ENDS` are then noticed in the
next second, `PASSES` of the main scheduler and `CYCLES` of the backfill scheduler run when they are due.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from heapq import heapify, heappush

from recorded_runs import Key, Recorded

from gas.slurm.beginning import Beginning
from gas.slurm.forward import FIRST_TASK, Forward
from gas.slurm.starts import Run

__all__ = ["CYCLES", "ENDS", "PASSES", "in_step", "opened_at"]

ENDS, PASSES, CYCLES = "ends", "passes", "cycles"

SEEN = 0.005
"""Seconds from the end of a job until all of its nodes have said so, on a machine that plays a dozen of them."""
STOPPED = 0.08
"""Seconds from a time limit until the processes of a job have gone."""
WITHIN = 0.3
"""Seconds that a pass takes at the most."""
BEFORE = 1e-4
OPENING = 4
"""Seconds from the snapshot until the partitions are open at the latest, and a pass has followed."""


def opened_at(found: Recorded) -> int:
    """Return when Slurm first did something: partitions are opened one by one, which takes seconds.

    What looked at the queue in these seconds, before anything started, looked at partitions that were not open.
    """
    base = found.cluster.now
    first = min(found.starts.values(), default=base + OPENING)
    looked = [int(at) for at in (*found.cycles, *(at for at, _ in found.passes)) if at >= base]
    if not looked:
        return min(base, first)
    return min([first, *(at for at in looked if at >= min(first, base + OPENING))])


def in_step(
    found: Recorded, seconds: Mapping[int, int | list[int]], until: int | None = None, by_rule: Collection[str] = ()
) -> Run:
    """Run the engine from the snapshot with the instants of a recording, but for what happens by the engine's rules."""
    steps: dict[int, list[tuple[float, bool, bool]]] = {}
    for at in found.cycles:
        steps.setdefault(int(at), []).append((at, False, False))
    for at, full in found.passes:
        one = _as_slurm_read_it(found, at)
        steps.setdefault(int(one), []).append((one, True, full))
    opened = opened_at(found)
    steps = {second: sorted(there) for second, there in steps.items() if second >= opened}
    return InStep(found, seconds, opened, steps, by_rule).run(until)


def _as_slurm_read_it(found: Recorded, at: float) -> float:
    """Return the instant of a pass by the clock that gives jobs their starts.

    That clock is read to a few milliseconds: at the beginning of a second it may show the one before, in which the jobs
    of the pass have started then.
    """
    for instant, words in found.log:
        match = re.match(r"(?:sched: )?Allocate JobId=(\d+)(?:_(\d+))?", words)
        if match and at <= instant < at + WITHIN:
            start = found.starts.get((int(match[1]), int(match[2]) if match[2] else None))
            return int(at) - BEFORE if start == int(at) - 1 else at
    return at


class InStep(Forward):
    """The machine at one second; what happens within it is sorted by the instants of a recording."""

    def __init__(
        self, found: Recorded, seconds: Mapping[int, int | list[int]], opened: int,
        steps: Mapping[int, list[tuple[float, bool, bool]]], by_rule: Collection[str],
    ) -> None:  # fmt: skip
        cycle = next((at for at in found.cycles if at >= opened), float(opened))
        full = next((int(at) for at, of_all in found.passes if of_all and at >= opened), None)
        begin = Beginning.of(replace(found.cluster, now=opened), found.arrivals)
        super().__init__(begin, seconds, None, int(cycle), full)
        self.found, self.steps, self.last_step = found, steps, max(steps, default=0)
        self.by_rule, self.phase = by_rule, cycle % 1
        self.began: dict[Key, int] = {}
        self.turning = False
        self.ended_at: dict[Key, float] = {}
        self.came_at: dict[int, float] = {}
        for at, words in found.log:
            if match := re.match(r"(?:_job_complete: )?JobId=(\d+)(?:_(\d+))?(?:\(\d+\))? done$", words):
                self.ended_at[int(match[1]), int(match[2]) if match[2] else None] = at
            elif match := re.match(r"Time limit exhausted for JobId=(\d+)(?:_(\d+))?", words):
                self.ended_at.setdefault((int(match[1]), int(match[2]) if match[2] else None), at + STOPPED)
            elif match := re.match(r"(?:\w+: )?JobId=(\d+)\b.* InitPrio=", words):
                self.came_at[int(match[1])] = at

    def _instant(self) -> None:
        clock, now = self.clock, self.clock.now
        if now > self.last_step:
            super()._instant()
            return
        for at, main, full in self._steps():
            if self._advance(at):
                clock.changed = clock.asked = True
            if main:
                depth = clock.pass_due() if PASSES in self.by_rule else 0 if full else clock.depth
                if depth is not None:
                    self.turning = at > now + 1 - 2 * BEFORE
                    self._main(depth)
                    self.turning = False
                    clock.last, clock.asked = now, False
                    clock.full = now + clock.every if depth == 0 else clock.full
            elif CYCLES not in self.by_rule or clock.cycle_due():
                planned = self._backfill()
                clock.changed = planned or (bool(self.starts) and self.starts[-1].start == now)
        if self._advance(now + 1 - BEFORE):
            clock.changed = clock.asked = True

    def _steps(self) -> list[tuple[float, bool, bool]]:
        """Return when the schedulers run in this second, or whether they do is asked: the main one at its beginning."""
        now = self.clock.now
        left_out = [main for name, main in ((PASSES, True), (CYCLES, False)) if name in self.by_rule]
        steps = [one for one in self.steps.get(now, ()) if one[1] not in left_out]
        return sorted(steps + [(now + 0.004 if main else now + self.phase, main, False) for main in left_out])

    def _advance(self, at: float) -> bool:
        """Let jobs end and come until an instant of this second; return whether any did."""
        now, waiting = self.clock.now, self.waiting
        later = [one for one in self.ends if self._end_of(one) > at]
        self.ends = [one for one in self.ends if self._end_of(one) <= at]
        heapify(self.ends)
        ended = self._end()
        for one in later:
            heappush(self.ends, one)
        released = self._release()
        waiting.age(now)
        for place, job in enumerate(waiting.jobs):
            came = self.came_at.get(job.id)
            if came is not None and not waiting.arrived[place]:
                waiting.comes_at[place] = now if came <= at else max(int(came), now + 1)
        return any((ended, released, *(True for _ in waiting.arriving(now))))

    def _end_of(self, one: tuple[int, int, int | None]) -> float:
        """Return when the nodes of a job are free: half a second into its last one, if it did not start so."""
        end, job, task = one
        key = (job, None if task == FIRST_TASK else task)
        if ENDS in self.by_rule:
            return end + 1 - 2 * BEFORE
        if key in self.ended_at and self.began.get(key) == self.found.starts.get(key):
            return self.ended_at[key] + SEEN
        return end + 0.5

    def _started(self, record: int, at: int, by: str) -> None:
        now, theirs = self.clock.now, self.found.starts.get(self.waiting.next_task(record))
        if self.turning and theirs == now + 1:  # a pass that begins in one second and ends in the next
            self.clock.now = theirs
        super()._started(record, at, by)
        self.clock.now, own = now, self.starts[-1]
        self.began[own.job, own.task] = own.start

    def _following(self, event: int | None) -> int | None:
        if self.clock.now >= self.last_step:
            return super()._following(event)
        return self.clock.now + 1

    def _stands_still(self, event: int | None) -> bool:
        return self.clock.now >= self.last_step and super()._stands_still(event)
