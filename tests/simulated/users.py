"""What users and operators ask of the service."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gas.errors import Conflict, GasError, StoreInDoubt
from gas.service.changes import Answer, Reshape
from gas.service.jobs import Job, JobRequest
from simulated import commands
from simulated.asked import Asked
from simulated.service import Backup, Service


class Users(Service):
    """Requests, and what is noted of their answers."""

    def _wish(self, **more: Any) -> JobRequest:
        self.tokens += 1
        rng, token = self.rng, f"t{self.tokens}"
        walltime = rng.randint(2, self.longest)
        seconds = rng.choice([0.05, 0.5, walltime * 0.5, walltime * 0.9, walltime * 2.0, float(walltime)])
        flavour = rng.choice(commands.FLAVOURS)
        if flavour in commands.HOSTILE and "stopped wrapper" not in self.enabled:
            flavour = "plain"
        given: dict[str, Any] = {
            "kind": "job",
            "name": token,
            "processors": rng.randint(1, self.size),
            "walltime": walltime,
            "actuator": "process",
            "command": commands.command_line(token, seconds, rng.choice([0, 0, 1, 7]), flavour),
            "key": f"k{self.tokens}" if rng.random() < 0.8 else None,
            "user": rng.choice(["ann", "bob", "cyd"]),
        }
        if more.get("kind", "job") == "job":
            given["notice"] = (None, 10, None, 40, None)[self.tokens % 5]
            given["job_class"] = (None, "low", "urgent")[self.tokens % (2 if given["user"] == "cyd" else 3)]
        return JobRequest(**{**given, **more})

    def _now(self) -> int:
        return int(self.scheduler.clock.now()) if self.scheduler is not None else int(self.kernel.time())

    def submit(self) -> None:
        if (held := self._to_be_used()) is not None:
            self._use(held)
            return
        more: dict[str, Any] = {}
        if self.rng.random() < 0.1:
            more["start"] = self._now() + self.rng.randint(-5, 40)
        if self.rng.random() < 0.1:
            more["start_by"] = self._now() + self.rng.randint(0, 60)
        self._submit(self._wish(**more))

    def submit_simulated(self) -> None:
        walltime = self.rng.randint(1, self.longest)
        request = self._wish(
            actuator="simulated", command=(), run_time=self.rng.randint(0, walltime + 3), walltime=walltime
        )
        self._submit(request)

    def reserve(self) -> None:
        start = self._now() + self.rng.randint(1, 60)
        start_by = start + self.rng.randint(0, 30) if self.rng.random() < 0.3 else None
        lapses = 0 if self.tokens % 3 else None
        wish = self._wish(kind="reservation", actuator="none", command=(), start=start, run_time=lapses)
        self._submit(replace(wish, start_by=start_by))

    def _to_be_used(self) -> Asked | None:
        """Return a reservation for a job that was answered and is not yet used; every other one is never used."""
        again = self.rng.random() < 0.02  # a reservation that was used or cancelled
        for asked in reversed(self.oracle.asked.values()):
            known = asked.request.lapses and asked.id is not None and asked.state == "reserved" and not asked.lost
            if known and asked.promise is not None and asked.cancel_asked == again and (asked.id or 0) % 2:
                return asked
        return None

    def _use(self, held: Asked) -> None:
        """Submit a job into a reservation, which goes with it."""
        held.cancel_asked = True
        request, wish = held.request, self._wish()
        place: dict[str, Any] = {name: getattr(request, name) for name in ("processors", "walltime", "user")}
        place |= {"notice": None, "job_class": None, "reservation": held.id}
        place["start"] = request.start if held.promise is None else held.promise[0]
        if self.rng.random() < 0.2:
            place |= {"actuator": "simulated", "command": (), "run_time": self.rng.randint(0, request.walltime)}
        self._submit(replace(wish, key=f"k{self.tokens}", **place))

    def submit_again(self) -> None:
        known = [a for a in self.oracle.asked.values() if a.request.key is not None and not a.lost]
        if known:
            self._submit(self.rng.choice(known[-30:]).request, again=True)

    def _submit(self, request: JobRequest, again: bool = False) -> None:
        self.note(f"{request.user} submits {request.name}{' again' if again else ''}: {request.kind} "
                  f"{request.actuator} {request.processors} × {request.walltime} s {request.command[2:]}")  # fmt: skip
        heard = self.rng.random() > 0.05

        def then(answer: Any) -> None:
            if not heard:  # the answer is lost on its way
                self.oracle.unanswered(asked)
                self.note(f"{request.name}: the answer is lost")
            elif isinstance(answer, GasError):
                self.note(f"{request.name}: {type(answer).__name__}: {answer}")
                self.oracle.refused(asked, answer)
            else:
                job = answer[0]
                self.note(f"{request.name}: job {job.id}, {job.state}, promised {job.promise}")
                self.oracle.accepted(asked, job)
            if heard:
                self.oracle.judge_admission(request, answer, drained)

        asked = self.oracle.asks(request)
        drained = self.oracle.accepting.certain
        if not self.request(f"submit {request.name}", lambda s: s.submit(request), then):
            asked.pending -= 1  # no service was running: nothing was sent

    def _some(self, recent: int = 25) -> Asked | None:
        known = [a for a in self.oracle.asked.values() if a.id is not None and not a.lost]
        return self.rng.choice(known[-recent:]) if known else None

    def cancel(self) -> None:
        self.cancel_job(self._some(12))

    def cancel_job(self, asked: Asked | None) -> None:
        if asked is None or asked.id is None:
            return
        id = asked.id
        before, asked.cancel_asked = asked.cancel_asked, True
        self.note(f"cancel of {asked.token} (job {id})")

        def then(answer: Any) -> None:
            if isinstance(answer, GasError):
                self.note(f"cancel of {asked.token}: {type(answer).__name__}: {answer}")
                if type(answer).__name__ == "StoreFailed":
                    asked.cancel_asked = before
                return
            self.note(f"cancel of {asked.token}: {answer.state}")
            self.oracle.see(answer)

        if not self.request(f"cancel {asked.token}", lambda s: s.cancel(id), then):
            asked.cancel_asked = before

    def reshape(self) -> None:
        """Give a job another shape, or repeat the latest such request."""
        asked = self._some(12)
        if asked is None or asked.id is None or asked.reshaping:
            return
        again = bool(asked.reshapes) and self.rng.random() < 0.3
        if again:
            wanted = asked.reshapes[-1]
        else:
            self.tokens += 1
            processors, walltime = self.rng.randint(1, self.size), self.rng.randint(2, self.longest)
            start_by = self._now() + self.rng.randint(0, 60) if self.rng.random() < 0.3 else None
            key = f"k{self.tokens}"
            wanted = Reshape(asked.id, processors, walltime, None, start_by, key, self.rng.choice([asked.user, "op"]))
        self.note(f"{wanted.user} reshapes {asked.token} (job {asked.id}){' again' if again else ''}: {wanted}")
        before, heard = set(asked.shapes), self.rng.random() > 0.05
        self.oracle.asks_for_shape(asked, wanted)

        def then(answer: Any) -> None:
            said = answer if isinstance(answer, GasError) else f"{answer.state}, promised {answer.promise}"
            self.note(f"reshape of {asked.token}: {type(answer).__name__}: {said}{'' if heard else ', lost'}")
            self.oracle.reshaped(asked, wanted, answer if heard else None, before)

        if not self.request(f"reshape {asked.token}", lambda s: s.reshape(wanted), then):
            self.oracle.reshaped(asked, wanted, Conflict("no service there"), before)

    def answer(self) -> None:
        """Look what jobs are offered and answer that, or ask for offers, or repeat the latest answer."""
        rng, answers = self.rng, self.oracle.answers
        again, accepts, heard = bool(answers) and rng.random() < 0.2, rng.random() < 0.7, rng.random() > 0.05
        self.tokens += 1
        key, later = f"k{self.tokens}", rng.choice([None, 0, self._now() + rng.randint(0, 60)])
        place = rng.random()
        wanted: list[Answer] = []

        def ask(scheduler: Any) -> Any:
            if not again:
                waiting = [job for job in scheduler.jobs() if job.state == "queued" and job.request.notice is not None]
                known = [job for job in waiting if job.offer is not None] or waiting
                if not known:
                    return Conflict("no job waits that is offered anything")
                job = known[int(place * len(known))]
                accepted = accepts and job.offer is not None
                not_before = later if job.offer is None else None
                answers.append(Answer(job.id, accepted, job.offer, not_before, key, job.request.user))
                wanted.append(answers[-1])
                if accepted:
                    self.oracle.asked[job.request.name].accepting.add(job.offer)
            return scheduler.answer(answers[-1])

        def then(answer: Any) -> None:
            said = answer if isinstance(answer, GasError) else f"{answer.state}, promised {answer.promise}"
            self.note(f"answer{' again' if again else ''}: {answers[-1:]}: {said}{'' if heard else ', lost'}")
            if wanted and wanted[0].accepts:
                self.oracle.judge_acceptance(wanted[0], answer)
            if heard and isinstance(answer, Job):
                self.oracle.see(answer)

        self.request("answer", ask, then)

    def look_at_one(self) -> None:
        asked = self._some()
        if asked is None or asked.id is None:
            return
        id = asked.id

        def then(answer: Any) -> None:
            if isinstance(answer, Job):
                self.oracle.see(answer)
            elif type(answer).__name__ == "NotFound" and asked.answered_at is not None and not asked.lost:
                self.oracle.fail(f"{asked.token} was accepted as job {id}, and there is no such job: {answer}")

        self.request("look", lambda s: s.job(id), then)

    def look_at_all(self, final: bool = False) -> None:
        def then(answer: Any) -> None:
            if isinstance(answer, GasError):
                if final:
                    self.oracle.fail(f"no answer in the end: {answer}")
            elif final:
                jobs, clock = answer
                self.oracle.final(jobs, clock, self.kernel.time())
            else:
                self.oracle.account(answer)

        def ask(scheduler: Any) -> Any:
            with scheduler.frozen() as machine:
                machine.schedule.check()
            jobs = scheduler.jobs(ended=100_000)  # last: nothing may happen between this and the answer
            return (jobs, scheduler.clock.now()) if final else jobs

        if not self.request("list", ask, then) and final:
            self.oracle.fail(f"the service is not up in the end: {self.why_down}")

    def read_output(self) -> None:
        asked = self._some()
        if asked is None or asked.id is None or asked.request.actuator != "process":
            return
        id = asked.id

        def ask(scheduler: Any) -> Any:
            output = scheduler.output(id, "stdout", 65536)
            return scheduler.job(id), output

        def then(answer: Any) -> None:
            if not isinstance(answer, GasError):
                self.oracle.output(asked, *answer)

        self.request("output", ask, then)

    def resize(self) -> None:
        processors = self.rng.randint(2, 8)
        asked = self.oracle.sizes.ask(processors)
        self.oracle.disturb(self.kernel.now + 1)
        cancels = self.rng.random() < 0.7
        self.oracle.evictions |= cancels
        self.note(f"resize to {processors}{', cancelling what is larger' if cancels else ''}")

        def then(answer: Any) -> None:
            self.note(f"resize to {processors}: {type(answer).__name__}")
            self.oracle.resized(asked, answer, running)
            self.oracle.disturb(self.kernel.now + 1)

        running: list[str] = []

        def ask(scheduler: Any) -> Any:
            answer = scheduler.resize(processors, cancel_larger=cancels)
            running.extend(job.request.name for job in scheduler._book.jobs.values() if job.state == "running")
            return answer

        if not self.request("resize", ask, then):
            self.oracle.sizes.end(asked, done=False)

    def drain(self) -> None:
        """Have new jobs refused, and some time later accepted again."""
        self._accept(False)
        self.kernel.at(self.kernel.now + self.rng.choice([1.0, 5.0, 20.0]), lambda: self._accept(True))

    def _accept(self, accepting: bool) -> None:
        asked = self.oracle.accepting.ask(accepting)
        said = "accepted again" if accepting else "refused"
        self.note(f"new jobs are to be {said}")

        def then(answer: Any) -> None:
            self.note(f"new jobs are {said}: {type(answer).__name__}")
            done = None if isinstance(answer, StoreInDoubt) else not isinstance(answer, GasError)
            self.oracle.accepting.end(asked, done=done)

        if not self.request("accept", lambda s: s.accept(accepting), then):
            self.oracle.accepting.end(asked, done=False)

    def take_backup(self) -> None:
        def ask(scheduler: Any) -> Any:
            with scheduler._lock:
                jobs = [*scheduler._store.recent(100_000), *scheduler._store.active()]
                known = {job.request.name: job.state for job in jobs}
                facts = scheduler._store.meta()
                return (
                    scheduler._store._database.serialize(),
                    known,
                    int(facts["processors"]),
                    facts["accepting"] == "1",
                )

        def then(answer: Any) -> None:
            if not isinstance(answer, GasError):
                self.note("a backup was made")
                self.backups.append(Backup(*answer))

        self.request("backup", ask, then)
