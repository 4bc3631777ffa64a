"""What was answered and what ran, and what must hold of both.

It believes clients and the kernel only: answers as a client gets them, commands as the kernel executes them. What the
service thinks is looked at for nothing but the size of what else runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gas.errors import Conflict, Draining, GasError, StoreFailed, StoreInDoubt
from gas.service.changes import Answer, Reshape
from gas.service.jobs import ACTIVE, Job, JobRequest
from simulated.asked import Asked, shape_of
from simulated.sizes import Resize, Sizes

SLACK = 3.0
"""Seconds by which a start or an end may be late on a machine without faults: polling, a new wrapper, its graces."""


CLOCK_SLACK = 10.0
"""Seconds by which the service's clock may be behind the wall clock in the end."""


@dataclass
class Oracle:
    """The judge of one run.

    Attributes
    ----------
    disturbed_until
        True time up to which a fault may explain a broken promise or a lost job.
    sizes
        The sizes that the machine may have. What runs goes on when it is made smaller; what starts after that must fit.
    coming
        The largest size that counts for commands which had started, and were not executed yet, when it was resized.
    accepting
        Whether the machine may accept new jobs.
    """

    now: Any
    asked: dict[str, Asked] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # who was seen under a number
    executing: dict[str, Asked] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)  # to offers
    disturbed_until: float = -1.0
    runs_disturbed_until: float = -1.0
    began: float = float("inf")  # time of the request whose answer is checked: it may show any state since
    sizes: Sizes = field(default_factory=lambda: Sizes(0))
    coming: dict[str, int] = field(default_factory=dict)
    accepting: Sizes = field(default_factory=lambda: Sizes(True))
    violations: list[str] = field(default_factory=list)
    outages: int = 0
    evictions: bool = False
    clock_moved: bool = False

    def fail(self, text: str) -> None:
        self.violations.append(text)

    def disturb(self, until: float, *, runs: bool = True) -> None:
        """Note a fault; `runs` says whether it may also change how long a job runs, or how it ends."""
        self.disturbed_until = max(self.disturbed_until, until)
        if runs:
            self.runs_disturbed_until = max(self.runs_disturbed_until, until)
            for each in self.executing.values():
                each.disturbed_run = True

    # ------------------------------------------------------------------------------------------------- requests

    def asks(self, request: JobRequest) -> Asked:
        found = self.asked.get(request.name)
        if found is None:
            found = self.asked[request.name] = Asked(request.name, request, request.user)
        found.pending += 1
        found.refused = ""
        return found

    def unanswered(self, asked: Asked) -> None:
        asked.pending -= 1
        asked.maybe = True

    def refused(self, asked: Asked, error: GasError) -> None:
        asked.pending -= 1
        if isinstance(error, StoreInDoubt):
            asked.maybe = True
        elif asked.answered_at is None and not asked.maybe and not asked.pending:
            asked.refused = f"{type(error).__name__}: {error}"
        if asked.answered_at is not None and not asked.lost and not isinstance(error, StoreFailed):
            self.fail(f"{asked.token} was accepted as job {asked.id}, and asking again was refused: {error}")

    def accepted(self, asked: Asked, job: Job) -> None:
        asked.pending -= 1
        asked.refused = ""
        if asked.answered_at is None:
            asked.answered_at = self.now()
        elif asked.id is not None and asked.id != job.id and not asked.lost:
            self.fail(f"{asked.token} was job {asked.id}, and asked again with its key is job {job.id}")
        asked.id = job.id
        self.see(job)

    def asks_for_shape(self, asked: Asked, wanted: Reshape) -> None:
        asked.reshaping, asked.promise = True, None
        asked.reshapes.append(wanted)
        asked.shapes.add(shape_of(wanted))

    def reshaped(
        self, asked: Asked, wanted: Reshape, answer: Job | GasError | None, before: set[tuple[int, int]]
    ) -> None:
        """Judge the answer to a request for another shape; None if it was lost, `before` are the shapes before it."""
        asked.reshaping = False
        if isinstance(answer, Job):
            shape = answer.request.processors, answer.request.walltime
            if shape != shape_of(wanted) and wanted is asked.reshapes[-1] and not asked.lost:
                self.fail(f"{asked.token} was given {shape_of(wanted)} by an answer that says {shape}")
            asked.shapes = {shape}
            self.see(answer)
        elif answer is not None and not isinstance(answer, StoreInDoubt):
            asked.shapes = before

    # ------------------------------------------------------------------------------------------------------ seen

    def see(self, job: Job) -> None:
        """Judge a job as an answer shows it."""
        token = job.request.name
        asked = self.asked.get(token)
        if asked is None:
            return self.fail(f"job {job.id} is of {token!r}, which was never submitted")
        before = self.names.setdefault(job.id, token)
        if before != token:
            return self.fail(f"number {job.id} was {before}'s and is given again, to {token}")
        if asked.refused:
            return self.fail(f"{token} was refused ({asked.refused}), and is job {job.id} now, {job.state}")
        if job.request.user != asked.user:
            return self.fail(f"{token} of {asked.user} is said to be {job.request.user}'s")
        if job.request.job_class != asked.request.job_class:
            return self.fail(f"{token} of class {asked.request.job_class} is said to be of {job.request.job_class}")
        if asked.id is None:
            asked.id = job.id
        elif asked.id != job.id and not asked.lost:
            return self.fail(f"{token} was job {asked.id} and is job {job.id} now")
        if asked.seen_at >= self.began:
            return None  # values seen meanwhile may be newer than this
        asked.seen_at = self.now()
        if asked.state and asked.state not in ACTIVE and job.state != asked.state and not asked.lost:
            return self.fail(f"{token} (job {job.id}) was {asked.state} and is {job.state} now")
        if (job.request.processors, job.request.walltime) not in asked.shapes:
            shape = job.request.processors, job.request.walltime
            return self.fail(f"{token} (job {job.id}) has the shape {shape}, and may have {sorted(asked.shapes)}")
        if job.state in ("queued", "reserved"):
            if asked.promise is not None and job.promise > asked.promise[0] and self.disturbed_until < asked.promise[1]:
                self.fail(
                    f"{token} (job {job.id}) was promised {asked.promise[0]} at {asked.promise[1]:.3f} and is promised "
                    f"{job.promise}, and no fault since explains that"
                )
            if job.request.notice is not None and asked.promise is not None and job.state == "queued":
                moved = job.promise < asked.promise[0] and job.promise not in asked.accepting
                if moved and self.disturbed_until < asked.promise[1]:
                    self.fail(
                        f"{token} (job {job.id}) asked for offers and was moved from {asked.promise[0]} to "
                        f"{job.promise} without being asked"
                    )
            asked.promise = None if asked.reshaping else (job.promise, self.now())
            if asked.never_started and not asked.lost:
                self.fail(f"{token} (job {job.id}) was cancelled while it waited, and waits again")
        if job.request.lapses and job.state in ("running", "completed"):
            self.fail(f"{token} (job {job.id}) is a reservation for a job, of which none came, and is {job.state}")
        lapsed = job.request.lapses and job.finished == job.start
        if job.state == "cancelled" and not asked.cancel_asked and not self.evictions and not lapsed:
            self.fail(f"{token} (job {job.id}) is cancelled ({job.message}), which no answered request asked for")
        if job.state not in ACTIVE:
            self._judge_end(asked, job)
            start = job.to_wire()["start"]
            if asked.never_started and start is not None and not asked.lost:
                self.fail(f"{token} (job {job.id}) was cancelled before it started, and now it started at {start}")
            asked.never_started |= job.state == "cancelled" and start is None
        asked.state = job.state
        return None

    def _judge_end(self, asked: Asked, job: Job) -> None:
        if job.request.actuator != "process":
            return
        quiet = not asked.disturbed_run and self.disturbed_until < (asked.began or asked.answered_at or 0.0)
        named = f"{asked.token} (job {job.id})"
        if job.state == "completed" and not asked.executions:
            self.fail(f"{named} is completed and was never executed")
        if asked.token in self.executing:
            self.fail(f"{named} is {job.state}, and processes of it still run")
        if job.exit_status is not None and asked.executions and job.exit_status != asked.status:
            self.fail(f"{named} has exit status {job.exit_status}, and its command ended with {asked.status}")
        if job.exit_status is not None and not asked.executions:
            self.fail(f"{named} has exit status {job.exit_status}, and was never executed")
        if job.state == "lost" and quiet and self.outages == 0:
            self.fail(f"{named} is lost without any fault: {job.message}")

    def output(self, asked: Asked, job: Job, output: bytes) -> None:
        """Judge what a reader got as the output of a job."""
        for line in output.decode(errors="replace").split():
            if line != job.request.name and line in self.asked:
                self.fail(f"the output of job {job.id} ({job.request.name} of {job.request.user}) shows {line}'s")

    def resized(self, asked: Resize, answer: object, running: Iterable[str]) -> None:
        """Note the answer to a request for another size; `running` are the processes that had started by then."""
        most = max(self.sizes.possible)
        if not isinstance(answer, GasError):
            late = [token for token in running if token in self.asked and not self.asked[token].executions]
            self.coming |= {token: max(most, self.coming.get(token, 0)) for token in late}
        done = None if isinstance(answer, StoreInDoubt) else not isinstance(answer, GasError)
        self.sizes.end(asked, done=done)

    # -------------------------------------------------------------------------------------------------- admission

    def judge_admission(self, request: JobRequest, answer: object, before: Resize | None) -> None:
        """Judge an answer to a submission by whether the machine accepts jobs; `before` was certain when it was sent.

        A job in the place of a reservation is accepted by a machine that is drained, too.
        """
        if before is None or before is not self.accepting.certain:
            return
        if isinstance(answer, Draining) and before.size:
            self.fail(f"{request.name} was refused because the machine is drained, and it accepts jobs: {answer}")
        if isinstance(answer, tuple) and answer[1] and request.reservation is None and not before.size:
            self.fail(f"{request.name} was accepted as job {answer[0].id}, and the machine is drained")
        if isinstance(answer, tuple) and answer[1] and request.reservation is not None:
            job = answer[0]
            if job.promise != request.start:
                self.fail(
                    f"{request.name} is promised {job.promise}, in the place of a reservation from {request.start}"
                )
            held = self.names.get(request.reservation)
            others = [a for a in self.asked.values() if a.request.reservation == request.reservation and not a.lost]
            if len(named := [a.token for a in others if a.answered_at is not None]) > 1:
                self.fail(f"{' and '.join(named)} are both in the place of {held} (job {request.reservation})")

    def judge_acceptance(self, wanted: Answer, answer: object) -> None:
        """Judge the answer to a job that accepts, for the first time, what it was offered a moment ago."""
        named = f"{self.names.get(wanted.id)} (job {wanted.id})"
        if isinstance(answer, Job) and answer.promise != wanted.start:
            self.fail(f"{named} accepted {wanted.start}, and is promised {answer.promise}")
        if isinstance(answer, Conflict) and self.disturbed_until < self.began:
            self.fail(f"{named} was offered {wanted.start}, and may not accept it: {answer}")

    # -------------------------------------------------------------------------------------------------- commands

    def executes(self, token: str, id: int, processors: int, walltime: int, other: int, clock: int | None) -> None:
        """Judge that a command is executed now, with so many processors for so long.

        `other` are processors that simulated jobs and reservations hold at this moment, `clock` the service's second.
        """
        asked = self.asked.get(token)
        if asked is None:
            return self.fail(f"a command of {token!r}, which was never submitted, is executed")
        asked.executions += 1
        if asked.executions > 1:
            return self.fail(f"{token} (job {id}) is executed again: {asked.executions} times by now")
        if asked.refused:
            return self.fail(f"{token} was refused ({asked.refused}), and is executed now as job {id}")
        if asked.never_started and not asked.lost:
            return self.fail(f"{token} (job {id}) was cancelled before it started, and is executed now")
        if asked.state and asked.state not in ACTIVE and not asked.lost:
            return self.fail(f"{token} (job {id}) was {asked.state}, and is executed now")
        before = self.names.setdefault(id, token)
        if before != token:
            return self.fail(f"number {id} was {before}'s and is given again, to {token}, whose command runs")
        if (processors, walltime) not in asked.shapes:
            self.fail(f"{token} (job {id}) runs as {(processors, walltime)}, and may have {sorted(asked.shapes)}")
        asked.processors, asked.walltime, asked.began = processors, walltime, self.now()
        asked.disturbed_run = self.runs_disturbed_until >= self.now()
        in_use = sum(each.processors for each in self.executing.values()) + processors
        self.executing[token] = asked
        most = max(*self.sizes.possible, self.coming.pop(token, 0))
        if in_use + other > most:
            names = ", ".join(f"{t} ({each.processors})" for t, each in self.executing.items())
            return self.fail(f"{in_use}+{other} processors are in use and the machine has {most}: {names}")
        first = asked.request.start
        if first is not None and clock is not None and clock < first and not self.clock_moved and not asked.lost:
            self.fail(f"{token} (job {id}) is executed at {clock}, and asked not to be before {first}")
        promised = asked.promise
        if promised is None or clock is None or self.disturbed_until >= promised[1]:
            return None
        if clock > promised[0] + SLACK:
            self.fail(f"{token} (job {id}) starts at {clock}, promised was {promised[0]}; no fault explains it")
        return None

    def ends(self, token: str) -> None:
        """Note that no process of a job is left."""
        asked = self.executing.pop(token, None)
        if asked is None:
            return
        asked.ended = self.now()
        asked.disturbed_run |= self.runs_disturbed_until >= self.now()
        lasted = asked.ended - asked.began
        if lasted > asked.walltime + SLACK and not asked.disturbed_run:
            self.fail(f"{token} ran {lasted:.1f} s with a walltime of {asked.walltime} s, and no fault explains it")

    def command_ended(self, token: str, status: int) -> None:
        """Note how a command itself ended."""
        asked = self.asked[token]
        asked.status = status
        lasted = self.now() - asked.began
        killed = status < 0 and not asked.cancel_asked and not asked.disturbed_run
        if killed and self.runs_disturbed_until < asked.began and lasted < 0.9 * asked.walltime - SLACK:
            self.fail(f"{token} was killed after {lasted:.1f} s of its walltime of {asked.walltime} s")

    # ---------------------------------------------------------------------------------------------------- whole

    def account(self, jobs: Iterable[Job]) -> None:
        """Judge the list of all jobs: nothing that was answered is missing."""
        found = set()
        for job in jobs:
            self.see(job)
            found.add(job.request.name)
        for asked in self.asked.values():
            answered = asked.answered_at is not None and asked.answered_at < self.began
            if answered and not asked.lost and asked.token not in found:
                self.fail(f"{asked.token} was accepted as job {asked.id} at {asked.answered_at:.3f} and is gone")

    def final(self, jobs: list[Job], clock: int, wall: float) -> None:
        """Judge the end: all faults are mended, and nothing is left to do.

        `clock` is what the service's clock shows.
        """
        self.account(jobs)
        if wall - clock > CLOCK_SLACK:
            self.fail(
                f"the service's clock is {wall - clock:.0f} s behind the wall clock, and was given time to follow"
            )
        for job in jobs:
            asked = self.asked[job.request.name]
            if job.active and (job.request.start or 0) > clock:
                continue
            if job.active:
                self.fail(f"{asked.token} (job {job.id}) is still {job.state}, promised {job.promise}")
            elif job.request.actuator == "process" and not asked.executions and job.state not in ("cancelled",):
                if job.state in ("lost", "failed", "timeout") and self.outages:
                    continue  # its walltime ended before it could be started, say
                self.fail(f"{asked.token} (job {job.id}) is {job.state} and was never executed: {job.message}")

    def restored(self, known: dict[str, str]) -> None:
        """Note that a backup was restored, which knew these submissions and their states."""
        for asked in self.asked.values():
            if asked.token not in known:
                asked.lost = True
                asked.maybe = True
            else:
                asked.state = ""
                asked.never_started = False
            asked.promise = None
            asked.refused = ""
            asked.shapes |= {(asked.request.processors, asked.request.walltime), *map(shape_of, asked.reshapes)}
