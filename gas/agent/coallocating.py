"""One application on several machines that start together: planned, reserved on each of them, and submitted.

First, every part is reserved for the common start, by a reservation that lapses at its start unless a job has replaced
it. If a machine refuses, the other reservations are released and Gas plans again. Then each job replaces its
reservation in one step, so that no other job can take the processors in between. Each reservation is recorded on disk
before it is made (`gas.agent.holdings`): after a crash, the same submission continues where it ended or releases
everything, and reservations that no submission continues lapse. Reservations take only free processors, so other jobs
keep their promises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gas.agent.holdings import Holdings, Part, abandoned, open_holdings
from gas.agent.options import Run
from gas.agent.schedulers import Scheduler, called, find_by_key, identity_of
from gas.agent.spreading import PlannedTogether
from gas.agent.states import ENDED
from gas.agent.submission import ATTEMPTS, Submitted, job_for
from gas.endpoints import InDoubt, JobDescription, Request, S3Endpoint
from gas.endpoints.journal import open_page
from gas.errors import BadInput, Conflict, Draining, Forbidden, GasError, NotFound, OverLimit, StalePlan
from gas.planner import Candidate
from gas.times import iso_time

__all__ = ["SubmittedTogether", "Together"]


@dataclass(frozen=True)
class SubmittedTogether:
    """A submission: the job of each part, with its scheduler.

    Attributes
    ----------
    planned
        None if an earlier submission with this key created the jobs.
    """

    jobs: Sequence[Submitted]
    key: str
    planned: PlannedTogether | None = None
    attempts: int = 0


class Together:
    """The submission of an application to one machine, or to several that start together.

    Parameters
    ----------
    plan
        Makes a plan without some machines, which are given by name with the reason.
    single
        Submits to one machine, with this key.
    application
        The fingerprint of the submission (`gas.agent.holdings`).
    schedulers
        The schedulers that may get parts.
    own
        Whether Gas chose the key.
    before
        Called with each plan before anything of it is sent.
    """

    def __init__(
        self,
        plan: Callable[[Mapping[str, str]], PlannedTogether],
        single: Callable[[], Submitted],
        application: str,
        schedulers: Sequence[Scheduler],
        run: Run,
        key: str,
        remark: Callable[[str], object],
        *,
        own: bool,
        before: Callable[[PlannedTogether], object] | None = None,
    ) -> None:
        self.key = key
        self._plan = plan
        self._single = single
        self._application = application
        self._schedulers = schedulers
        self._endpoints = {one.address: one for one in schedulers if isinstance(one, S3Endpoint)}
        self._run = run
        self._own = own
        self._remark = remark
        for endpoint in self._endpoints.values():
            endpoint.tell = self._tell  # tells the user whom it waits for
        self._before = before or (lambda planned: None)

    def _tell(self, line: str) -> None:
        self._remark(line)

    def make(self) -> SubmittedTogether:
        """Submit to the machines that finish first together, or continue what an earlier call with this key began.

        Raises
        ------
        Infeasible
            No request is possible.
        StalePlan
            The schedules changed again and again; nothing is taken.
        Conflict
            Some parts had started without the others, and were cancelled; a part of an earlier call was cancelled; or
            the key belongs to another submission.
        InDoubt
            A part could not be released.
        """
        if self._own:
            self._release_abandoned()
        with open_holdings(self.key) as held:
            try:
                return self._earlier(held) or self._made(held)
            except BaseException:
                if held.phase == "planned" and (self._own or self._sent_to_one() is None):
                    held.free()
                raise

    def _made(self, held: Holdings) -> SubmittedTogether:
        """Plan and submit, again if the plan went stale."""
        without: dict[str, str] = {}
        for attempt in range(1, ATTEMPTS + 1):
            planned = self._plan(without)
            self._before(planned)
            if len(planned.best.parts) == 1:
                return SubmittedTogether([self._single()], self.key, planned, attempt)
            try:
                return SubmittedTogether(self._take(held, planned, without), self.key, planned, attempt)
            except StalePlan as error:
                self._remark(f"the plan went stale ({error}); planning again, attempt {attempt} of {ATTEMPTS}")
                time.sleep(0.05 * attempt)
        raise StalePlan(
            f"{self._run.job.name}: the schedules changed {ATTEMPTS} times; nothing was reserved; try again"
        )

    def _claim(self, held: Holdings) -> None:
        """Record the key as that of this application, unless a submission to one machine has it."""
        with open_page(self.key) as page:  # waits for a present submission; later ones find the record
            if page.address is None:
                held.planned(self._application)
        try:
            made = self._job_of_one()
        except BaseException:
            held.free()
            raise
        if made is not None:
            held.free()
            raise Conflict(
                f"--key {self.key}: belongs to a gas submit without --coallocate, which {made}; leave --coallocate "
                "out, or use another key for another application"
            )

    def _sent_to_one(self) -> str | None:
        """Return the address of the single machine to which the key went, if known here."""
        with open_page(self.key) as page:
            return page.address

    def _job_of_one(self) -> str | None:
        """Return in words what the key may have created at a single machine; None if it has not gone to one."""
        found = find_by_key(self._schedulers, self.key)
        if found is not None:
            return f"made job {found[1]['id']} on {called(found[0])}"
        sent = self._sent_to_one()
        return None if sent is None else f"may have made a job on {sent}"

    def _take(self, held: Holdings, planned: PlannedTogether, without: dict[str, str]) -> list[Submitted]:
        """Reserve all parts and submit their jobs, or release everything."""
        parts = []
        for part in planned.best.parts:
            chosen = planned.endpoint(part)
            if not isinstance(chosen, S3Endpoint):
                raise BadInput(f"{part.scheduler}: is in the best combination but accepts no reservations for jobs")
            size = part.processors, part.walltime, part.execution_time, part.start
            parts.append(Part(part.scheduler, chosen.address, *size, identity_of(chosen)))
        held.taking(parts, own=self._own)
        try:
            for place in range(len(parts)):
                self._reserve(held, place, without)
            held.using()
            jobs = self._use(held)
        except BaseException as problem:
            self._release(held, problem)
            raise
        held.made()
        return jobs

    def _reserve(self, held: Holdings, place: int, without: dict[str, str]) -> None:
        part, (key, _) = held.parts[place], held.keys(place)
        where = self._of(part)
        name, size = f"{self._run.job.name} (part {place + 1} of {len(held.parts)})", part.processors
        try:
            where.reserve(name, size, part.start, part.walltime, key, lapses=True)
        except (Draining, OverLimit, Forbidden) as refusal:
            without[part.scheduler] = str(refusal).removeprefix(f"{where.name}: ")
            raise StalePlan(str(refusal)) from None

    def _use(self, held: Holdings) -> list[Submitted]:
        """Submit the job of each part into its reservation; a job that is already there stays."""
        known = [self._of(part).job_by_key(held.keys(place)[1]) for place, part in enumerate(held.parts)]
        if None in known:
            for part, job in zip(held.parts, known, strict=True):
                if job is not None and job["state"] in ENDED:
                    raise StalePlan(
                        f"{part.scheduler}: job {job['id']} is {job['state']}, before all parts were submitted"
                    )
        jobs = []
        for place, part in enumerate(held.parts):
            where, (reserved, key), job = self._of(part), held.keys(place), known[place]
            if job is None:
                reservation = where.job_by_key(reserved)
                if reservation is None or reservation["state"] != "reserved":
                    raise StalePlan(f"{part.scheduler}: the reservation lapsed before its job was submitted")
                request = Request(part.processors, part.walltime, None, part.start)
                try:
                    job = where.submit(request, self._job(held, place), key, reservation=int(reservation["id"]))
                except (Conflict, NotFound) as error:
                    raise StalePlan(str(error)) from None
            jobs.append(Submitted(where, part.scheduler, job, key))
        return jobs

    def _job(self, held: Holdings, place: int) -> JobDescription:
        """Return the job of a part; its environment tells which part it is."""
        part, count = held.parts[place], len(held.parts)
        every = sum(one.processors for one in held.parts)
        known = {"GAS_PART": place, "GAS_PARTS": count, "GAS_ALL_PROCESSORS": every, "GAS_COALLOCATION": self.key}
        environment = {**self._run.job.environment, **{name: str(value) for name, value in known.items()}}
        run = replace(self._run, job=replace(self._run.job, environment=environment))
        candidate = Candidate(
            part.scheduler, part.processors, part.walltime, part.execution_time, part.start, "promise"
        )
        return job_for(run, candidate, self._of(part))

    def _earlier(self, held: Holdings) -> SubmittedTogether | None:
        """Return the submission that an earlier call with this key made, or complete it; None if nothing is held.

        Then the key is recorded as that of this application, before any request for it is sent.
        """
        if held.phase == "taking":
            self._release(held)
        elif held.phase == "nothing":
            if self._own:
                held.planned(self._application)
            else:
                self._claim(held)
            return None
        elif held.application != self._application:
            raise Conflict(
                f"--key {self.key}: belongs to another application, for which it {held.said}; use another key"
            )
        if held.phase == "planned":
            if not self._own and self._job_of_one() is not None:
                return SubmittedTogether([self._single()], self.key)
            held.planned(self._application)
        if held.phase in ("using", "made"):
            try:
                jobs = self._use(held)
            except StalePlan as problem:
                if held.phase == "made":
                    raise Conflict(
                        f"--key {self.key}: its jobs were submitted and are no longer known; use another key"
                    ) from problem
                self._release(held, problem)
                self._remark(f"{problem}; the reservations of an earlier call were released")
                return None
            held.made()
            self._refuse_cancelled(jobs)
            return SubmittedTogether(jobs, self.key)
        return None

    def _refuse_cancelled(self, jobs: Sequence[Submitted]) -> None:
        """Raise `Conflict` if a part was cancelled: the submission with this key cannot run then."""
        if all(one.job["state"] != "cancelled" for one in jobs):
            return
        became = ", ".join(f"job {one.reference} is {one.job['state']}" for one in jobs)
        rest = ", ".join(f"gas cancel {one.reference}" for one in jobs if one.job["state"] not in ENDED)
        ways = [f"cancel the rest ({rest})"] if rest else []
        ways.append("use another key to submit again")
        raise Conflict(
            f"--key {self.key}: was submitted, but does not run on all of its machines: {became}; {' and '.join(ways)}"
        )

    def _release_abandoned(self) -> None:
        """Release the reservations of ended processes, unless all of their jobs are submitted."""
        for key in abandoned():
            with open_holdings(key) as held:
                if held.phase == "nothing" or None in map(self._known, held.parts):
                    continue
                try:
                    if all(self._of(part).job_by_key(held.keys(i)[1]) for i, part in enumerate(held.parts)):
                        held.made()
                        continue
                    self._release(held)
                except GasError as error:
                    self._remark(f"{error}")
                else:
                    self._remark("the reservations of an interrupted coallocation were released")

    def _release(self, held: Holdings, why: BaseException | None = None) -> None:
        """Cancel all reservations and jobs of the parts.

        The reservation goes first: without it, a submission into it that is still on its way is refused.

        Raises
        ------
        InDoubt
            A scheduler does not answer.
        Conflict
            A part had started.
        """
        silent: list[str] = []
        started: list[str] = []
        for place, part in enumerate(held.parts):
            where = self._of(part)
            try:
                for key in held.keys(place):
                    job = where.job_by_key(key)
                    if job is None:
                        continue
                    if job["state"] not in ENDED:
                        where.cancel(int(job["id"]))
                    if job.get("kind") == "job" and job.get("start") is not None:
                        started.append(f"job {job['id']} on {part.scheduler}")
            except GasError as error:
                silent.append(str(error))
        because = "" if why is None else f"{why}; "
        if silent:
            raise InDoubt(
                f"{because}not all parts could be released ({'; '.join(silent)}): reservations without a job lapse at "
                f"{iso_time(held.parts[0].start)}; the same gas submit with --key {self.key} settles the rest",
                self.key,
            ) from why
        held.released()
        if started:
            raise Conflict(
                f"{because}{', '.join(started)} had started without the other parts and was cancelled; submit again "
                "if the application may run again"
            ) from why

    def _known(self, part: Part) -> S3Endpoint | None:
        """Return the scheduler of a part, at its earlier address or another one; None if it is not named now."""
        where = self._endpoints.get(part.address)
        if where is None and part.identity is not None:
            where = next((one for one in self._endpoints.values() if identity_of(one) == part.identity), None)
            if where is not None:
                self._endpoints[part.address] = where
        return where

    def _of(self, part: Part) -> S3Endpoint:
        where = self._known(part)
        if where is None:
            raise Conflict(
                f"--key {self.key}: has taken processors on {part.scheduler} ({part.address}); give that scheduler too "
                f"(-e {part.address}), or use another key"
            )
        return where
