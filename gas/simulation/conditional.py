"""Conditional backfilling in simulations: a share of the jobs gets offers of earlier starts, and accepts them.

A job of a log has one shape, so an earlier start is always better, and it accepts every offer. The cost is the notice:
no start is earlier than this time after it was found, and until the answer, processors are held twice. The jobs run
through the live scheduler's own code (`gas.s3.machine`), job by job.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.compiled import available
from gas.errors import BadInput
from gas.s3 import S3, Machine
from gas.s3.offers import verify_notice
from gas.simulation.inputs import checked_machine
from gas.simulation.schedule import NEVER_STARTED, Schedule
from gas.times import parse_duration
from workloads import Overrun, RigidJobs, apply_overrun

__all__ = ["Conditional", "parse_conditional", "simulate_conditional"]


@dataclass(frozen=True)
class Conditional:
    """The jobs that are asked before they move to an earlier start.

    Attributes
    ----------
    share
        Share of the jobs, from 0 to 1; drawn independently for each job, and the same for the same log.
    notice, answers_after
        Seconds in which they may answer, and after which they do; the second number is smaller.
    """

    share: float
    notice: int
    answers_after: int = 0

    def __post_init__(self) -> None:
        verify_notice(self.notice)
        if not 0 <= self.answers_after < self.notice:
            raise BadInput(
                f"an answer after {self.answers_after} s: must come before the notice of {self.notice} s is over"
            )

    def notices(self, count: int) -> NDArray[np.int64]:
        """Return the notice of each of a number of jobs, 0 for those that move without being asked."""
        chosen = np.random.default_rng(0).random(count) < self.share
        return np.where(chosen, self.notice, 0)

    def simulate(self, jobs: RigidJobs, **more: Any) -> Schedule:
        """Return the schedule with jobs asked in this way; `simulate_conditional` documents the other parameters."""
        return simulate_conditional(jobs, self.notices(len(jobs)), self.answers_after, **more)


def parse_conditional(text: str) -> Conditional:
    """Parse an option: ``25%:10m``, or ``25%:10m:2m`` if answers take two minutes."""
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)%:([^:]+)(?::([^:]+))?", text, re.ASCII)
    if match is None or not 0 <= float(match[1]) <= 100:
        raise BadInput(f"--notice {text}: write SHARE%:NOTICE or SHARE%:NOTICE:ANSWER, for example 25%:10m:2m")
    after = 0 if match[3] is None else parse_duration(match[3], "--notice", minimum=0)
    notice = parse_duration(match[2], "--notice")
    try:
        return Conditional(float(match[1]) / 100, notice, after)
    except BadInput as error:
        raise BadInput(f"--notice {text}: {error}") from None


def simulate_conditional(
    jobs: RigidJobs,
    notices: NDArray[np.int64],
    answers_after: int = 0,
    *,
    overrun: Overrun = "kill",
    progress: Callable[[float], None] | None = None,
) -> Schedule:
    """Return the schedule of S³, in order `instant`, if some of the jobs are asked before they move.

    Parameters
    ----------
    jobs
        In submission order.
    notices
        Seconds in which each job may answer; 0 for a job that is not asked.
    answers_after
        Seconds after which it accepts.
    """
    as_run = apply_overrun(jobs, overrun)
    run, first = _Run(as_run, answers_after), int(as_run.submit[0]) if len(jobs) else 0
    columns = (as_run.submit - first, as_run.processors, as_run.estimate, as_run.run_time, notices)
    for k, (submit, size, estimate, run_time, notice) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        run.move_on(submit)
        entry = run.machine.submit(size, estimate, run_time, notice=notice or None)
        run.promise[k] = entry.promise
        if entry.state == "running":
            run.start[k] = entry.start
        if progress is not None and k % 1000 == 0:
            progress(k / len(jobs))
    run.move_on(None)
    run.start += first
    run.promise += first
    end = run.start + np.minimum(as_run.run_time, as_run.estimate)
    return Schedule(as_run, run.start, end, run.promise, "s3", overrun=overrun)


class _Run:
    """A machine whose offers are accepted; job k + 1 of its schedule is the k-th of the log."""

    def __init__(self, jobs: RigidJobs, answers_after: int) -> None:
        self.machine = Machine(S3(checked_machine(jobs.machine), 0, machine_code=available()))
        self.start = np.full(len(jobs), NEVER_STARTED, np.int64)
        self.promise = np.full(len(jobs), NEVER_STARTED, np.int64)
        self._after = answers_after
        self._answers: list[tuple[int, int, int]] = []  # instant, job, offered start

    def move_on(self, until: int | None) -> None:
        """Handle every instant before `until`, and the first round of `until`; None for all instants."""
        while True:
            instants = [self.machine.next_instant(), self._answers[0][0] if self._answers else None]
            instant = min((t for t in instants if t is not None), default=None)
            if instant is None or (until is not None and instant >= until):
                break
            self._handle(instant, settle=True)
        if until is not None and until > self.machine.schedule.now:
            self._handle(until, settle=False)

    def _handle(self, instant: int, *, settle: bool) -> None:
        machine, schedule = self.machine, self.machine.schedule
        events = machine.advance(max(instant, schedule.now), settle=settle)
        while True:
            for entry in schedule.take_changed():
                if entry.offer is not None and entry.answer_by is not None:
                    made = entry.answer_by - (entry.notice or 0)
                    heappush(self._answers, (made + self._after, entry.id, entry.offer))
            if not self._answers or self._answers[0][0] > schedule.now:
                break
            _, id, offer = heappop(self._answers)
            entry_now = schedule.entries.get(id)
            if entry_now is not None and entry_now.offer == offer:
                events += machine.accept(id, offer)
        for event in events:
            if event.kind == "started":
                self.start[event.id - 1] = event.time
