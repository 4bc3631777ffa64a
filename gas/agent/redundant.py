"""Redundant requests: one job waits in the queues of several machines, and runs where it starts first.

The request that finishes first by the plan is submitted as always. If it has to wait, each other machine gets its best
request among those that do not run longer, so whichever starts first also ends no later than the first request would
have from that start on. Each of these jobs runs its command only if it takes the claim (`gas.agent.claims`), so the
command never runs twice, even if two of them start in the same second or the others are never cancelled.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from gas.agent.choice import Planned
from gas.agent.claims import Claim
from gas.agent.following import WAITING_PATIENCE, WAITING_PAUSES
from gas.agent.options import PlanOptions, Run
from gas.agent.polling import Poll
from gas.agent.schedulers import Scheduler, called
from gas.agent.states import ENDED
from gas.agent.submission import Submission, Submitted
from gas.endpoints import InDoubt, JobEndpoint
from gas.endpoints.journal import state_directory
from gas.errors import BadInput, Conflict, GasError, Infeasible, NotFound, TooMany, Unreachable
from gas.times import duration_text

__all__ = ["Redundant", "SubmittedRedundantly"]

_LONGEST = 160
"""Characters of a key to which those of its further requests are added, so that they stay within the 200 of a key."""


@dataclass(frozen=True)
class SubmittedRedundantly:
    """The jobs of one submission, only one of which runs.

    Attributes
    ----------
    by_name
        The jobs by the names under which they take the claim; first the job that finishes first by the plan.
    claim
        The claim that only one of them takes.
    silent
        Addresses of schedulers that do not answer and may have another job, by the name of that job in the claim.
    planned
        None if an earlier submission with this key made the first job.
    """

    by_name: Mapping[str, Submitted]
    key: str
    claim: Claim
    silent: Mapping[str, str]
    planned: Planned | None = None

    @property
    def jobs(self) -> list[Submitted]:
        """All jobs, in this order."""
        return list(self.by_name.values())

    @property
    def winner(self) -> Submitted | None:
        """The job that runs or ran; None if none has started yet."""
        return self.by_name.get(self.claim.winner() or "")

    @property
    def waits(self) -> bool:
        """Whether jobs can only be withdrawn later, once one has started."""
        return self.claim.winner() is None and len(self.by_name) + len(self.silent) > 1

    def settle(
        self,
        report: Callable[[Submitted, dict[str, Any]], object],
        remark: Callable[[str], object],
        *,
        patience: int = WAITING_PATIENCE,
    ) -> Submitted:
        """Wait until one of the jobs has started, withdraw the others, and return that one.

        Parameters
        ----------
        report
            Called with each job that was withdrawn, and the job then.
        remark
            Called with remarks for the user.
        patience
            Seconds for which schedulers are asked again if none of them answers.

        Raises
        ------
        Conflict
            All jobs have ended, and none ran the command; or that of a scheduler which does not answer runs it.
        Unreachable
            No scheduler of a job that has not ended answers.
        """
        jobs = self.jobs
        states = {one.key: str(one.job["state"]) for one in jobs}
        polls = {one.key: Poll(patience, remark) for one in jobs}
        for poll in polls.values():
            poll.heard()  # of the submission
        pause, ended = Poll(patience, remark), list[Submitted]()
        while (name := self.claim.winner()) is None:
            left = [one for one in jobs if states[one.key] not in ENDED]
            lost: list[GasError] = []
            for one in left:
                try:
                    states[one.key] = _state(one, polls[one.key]) or states[one.key]
                except (Unreachable, TooMany) as error:  # the claim shows whether another one has started
                    lost.append(error)
                if states[one.key] in ENDED:
                    ended.append(one)
            if left and len(lost) == len(left) and self.claim.winner() is None:
                raise Unreachable(
                    f"{lost[0]}; its job may still start: the same command with --key {self.key} asks again"
                )
            over = all(state in ENDED for state in states.values()) or not self.claim.exists()
            if over and self.claim.winner() is None:
                raise Conflict(self._why_none(states))
            while ended and self.claim.winner() is None:
                one = ended.pop()
                remark(f"job {one.reference} is {states[one.key]} and has not run the command; waiting for the others")
            pause.lengthen(WAITING_PAUSES, changed=False)
            time.sleep(pause.pause if self.claim.winner() is None else 0)
        if name not in self.by_name and name not in self.silent:  # it may be one of these jobs under another name
            raise Conflict(
                f"the command runs, or ran, in a job that took the claim {self.claim.folder} under an unknown name, "
                f"{name}; nothing was withdrawn; use the schedulers and the configuration of the first command with "
                f"--key {self.key}"
            )
        for its, one in self.by_name.items():
            if its != name:
                _withdraw(one, report, remark)
        if name not in self.by_name:
            where = self.silent[name]
            raise Conflict(
                f"the command runs, or ran, in the job on {where}, which did not answer: the same command with --key "
                f"{self.key} reports it when {where} answers"
            )
        return self.by_name[name]

    def _why_none(self, states: Mapping[str, str]) -> str:
        """Return the error if no job has run the command."""
        found = ", ".join(f"job {one.reference} is {states[one.key]}" for one in self.jobs)
        if not self.claim.exists():
            rest = "".join(f"gas cancel {one.reference}, " for one in self.jobs if states[one.key] not in ENDED)
            way = f"{rest}{'and ' if rest else ''}use another key"
            return f"the claim {self.claim.folder} is gone, without which no job runs the command: {found}; {way}"
        if self.silent:
            others = ", ".join(self.silent.values())
            return (
                f"no job has run the command: {found}; one on {others} may do so later: the same command with --key "
                f"{self.key} asks again"
            )
        return f"none of the jobs ran the command: {found}; gas logs shows why"


class Redundant:
    """A submission to several machines.

    Parameters
    ----------
    application
        Its name.
    plan
        Queries schedulers and plans with those that answer.
    schedulers
        Each gets a request.
    key
        Idempotency key of all requests; None for a new one.
    shared
        Folder on a file system that all machines share; None for that of the user's state.
    before
        Called with the plan of the first request before anything is sent.
    """

    def __init__(
        self,
        application: str,
        plan: Callable[[Sequence[Scheduler], PlanOptions], Planned],
        schedulers: Sequence[Scheduler],
        run: Run,
        options: PlanOptions,
        key: str | None,
        remark: Callable[[str], object],
        *,
        shared: Path | None = None,
        before: Callable[[Planned], object] | None = None,
    ) -> None:
        if run.simulate:
            raise BadInput("redundant requests need a command or a job script, which runs in one of the jobs only")
        self.key = uuid4().hex if key is None else key
        self._is_new = key is None
        self._application, self._plan, self._schedulers = application, plan, list(schedulers)
        self._run, self._options, self._remark = run, options, remark
        self._before = before
        folder = (state_directory() / "claims") if shared is None else shared.absolute()
        self._claim = Claim.of(folder, self.key)

    def make(self) -> SubmittedRedundantly:
        """Submit, or continue what an earlier call with this key began; raises the errors of `Agent.submit`."""
        self._refuse_unnamed()
        submission = self._submission(self._schedulers, self.key, self._plan, self._noting)
        first = submission.make_or_find(is_new=self._is_new)
        if not self._claim.exists():  # a new one could be taken although a job has taken the old one
            raise Conflict(
                f"--key {self.key}: the claim {self._claim.folder} of its jobs is gone, so those that still wait run "
                f"nothing, such as job {first.reference}; cancel them, and use another key"
            )
        jobs: dict[str, Submitted] = {}
        longest = self._claim.noted().get("longest")
        waits = first.job["state"] == "queued" and self._claim.winner() is None
        try:
            jobs[self._name(first.endpoint)] = first
            if longest is not None:
                self._add_further(jobs, int(longest), waits=waits)
        except BaseException:
            known = "; ".join(f"job {one.reference}" for one in [first, *list(jobs.values())[1:]])
            self._remark(f"submitted: {known}; the same command with --key {self.key} continues")
            raise
        silent = {name: address for name, address in self._claim.sent().items() if name not in jobs}
        return SubmittedRedundantly(jobs, self.key, self._claim, silent, first.planned)

    def _refuse_unnamed(self) -> None:
        """Raise `Conflict` if an earlier call has sent a request to a scheduler that is not named now."""
        sent = self._claim.sent()
        given = [one for one in self._schedulers if isinstance(one, JobEndpoint)]
        addresses = {one.address for one in given} | {one[0] for one in self._schedulers if isinstance(one, tuple)}
        unnamed = {name: address for name, address in sent.items() if address not in addresses}
        for one in given if unnamed else ():
            with contextlib.suppress(GasError):
                unnamed.pop(self._name(one), None)
        for address in unnamed.values():
            raise Conflict(
                f"--key {self.key}: was also sent to {address} before, where a job may wait; name it too (-e "
                f"{address}), or use another key for another job"
            )

    def _name(self, where: JobEndpoint) -> str:
        """Return the name under which the job of a scheduler takes the claim; raise the errors of its identity."""
        return Claim.name_of(self._claim.target_of(where))

    def _add_further(self, jobs: dict[str, Submitted], longest: int, *, waits: bool) -> None:
        """Add the jobs of the other schedulers to that of the first."""
        tried = set(jobs)  # one scheduler may be named by two addresses
        for one in self._schedulers:
            if not isinstance(one, JobEndpoint):
                continue
            try:
                name = self._name(one)
            except GasError as error:
                self._remark(f"{called(one)}: gets no request: {error}")
                continue
            if name in tried:
                continue
            tried.add(name)
            if (further := self._further(one, name, longest, waits=waits)) is not None:
                jobs[name] = further

    def _noting(self, planned: Planned) -> None:
        """Make the claim, and record how long further requests may run, before the first request is sent."""
        if self._before is not None:
            self._before(planned)
        self._options = self._options.fixed(planned.not_before, planned.deadline)  # of further requests too
        if self._claim.winner() is not None:  # the scheduler has forgotten its job, or this account the submission
            raise Conflict(
                f"--key {self.key}: its command has run already, as {self._claim.folder} says; use another key to run "
                "it again"
            )
        self._claim.make()
        self._claim.delete_old()
        best = planned.best
        waits = best.start > planned.plan.now
        chosen = planned.endpoint
        self._claim.note(
            {
                "longest": best.execution_time if waits else None,
                "endpoint": chosen.address,
                "target": self._claim.target_of(chosen),
            }
        )

    def _further(self, where: JobEndpoint, name: str, longest: int, *, waits: bool) -> Submitted | None:
        """Submit to a further machine, or find what an earlier call has submitted there; None if nothing is there."""
        base = self.key if len(self.key) <= _LONGEST else hashlib.sha256(self.key.encode()).hexdigest()
        key = f"{base}/{name}"
        sent_before = name in self._claim.sent()

        def plan(schedulers: Sequence[Scheduler], options: PlanOptions) -> Planned:
            return _no_longer(self._plan(schedulers, options), longest)

        submission = self._submission([where], key, plan, lambda _: self._claim.note_sent(where))
        try:
            if not waits:
                job = where.job_by_key(key)
                return None if job is None else Submitted(where, called(where), job, key)
            return submission.make_or_find()
        except GasError as error:
            if sent_before or isinstance(error, InDoubt):
                self._remark(f"{called(where)}: {error}; if a job is there, it runs nothing once another has started")
            else:
                self._claim.unsent(name)
                self._remark(f"{called(where)}: gets no request: {error}")
        return None

    def _submission(
        self,
        schedulers: Sequence[Scheduler],
        key: str,
        plan: Callable[[Sequence[Scheduler], PlanOptions], Planned],
        before: Callable[[Planned], object] | None,
    ) -> Submission:
        """Return the submission of a job that takes the claim before it runs."""
        claim, remark = self._claim, self._remark
        return Submission(
            self._application,
            plan,
            schedulers,
            self._run,
            self._options,
            key,
            remark,
            before=before,
            claim=claim,
            users_key=self.key,
        )


def _no_longer(planned: Planned, longest: int) -> Planned:
    """Return a plan with the requests that run for at most this many seconds."""
    found = planned.plan
    kept = [one for one in found.candidates if one.execution_time <= longest]
    if not kept:
        raise Infeasible(
            f"no size that is possible there runs within {duration_text(longest)}, as the first request does"
        )
    best = found.best if found.best in kept else kept[0]
    return replace(planned, plan=replace(found, best=best, candidates=kept))


def _state(one: Submitted, poll: Poll) -> str | None:
    """Return the state of a job; None if its scheduler does not answer now."""
    state: str | None = None
    with poll.asking():
        try:
            state = str(one.endpoint.job(int(one.job["id"]))["state"])
        except NotFound:
            state = "lost"
    return state


def _withdraw(
    one: Submitted, report: Callable[[Submitted, dict[str, Any]], object], remark: Callable[[str], object]
) -> None:
    """Cancel a job that has nothing to run any more."""
    try:
        if one.endpoint.job(int(one.job["id"]))["state"] not in ENDED:
            report(one, one.endpoint.cancel(int(one.job["id"])))
    except (Conflict, NotFound):
        return  # it has ended in the meantime
    except GasError as error:
        remark(
            f"{error}; job {one.reference} was not withdrawn; it would run nothing, but waits until "
            f"gas cancel {one.reference}"
        )
