"""Redundant requests: one job waits in the queues of several machines, and runs where it starts first.

The request that finishes first by the plan is submitted as always. If it has to wait, each other machine gets its best
request among those that do not run longer, so whichever starts first also ends no later than the first request would
have from that start on. Each of these jobs runs its command only if it takes the claim (`gas.agent.claims`), so the
command never runs twice, even if two of them start in the same second or nobody is there to withdraw the others.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gas.agent.choice import Planned
from gas.agent.claims import Claim
from gas.agent.following import WAITING_PATIENCE, WAITING_PAUSES
from gas.agent.options import PlanOptions, Run
from gas.agent.polling import Poll
from gas.agent.schedulers import Scheduler, called
from gas.agent.states import ENDED
from gas.agent.submission import Submission, Submitted
from gas.endpoints import JobEndpoint, S3Endpoint
from gas.endpoints.journal import state_directory
from gas.errors import BadInput, Conflict, Draining, Forbidden, GasError, Infeasible, NotFound, OverLimit
from gas.times import duration_text

__all__ = ["Redundant", "SubmittedRedundantly"]

_LONGEST = 160
"""Characters of a key to which those of its further requests are added, so that they stay within the 200 of a key."""


@dataclass(frozen=True)
class SubmittedRedundantly:
    """The jobs of one submission, of which one runs.

    Attributes
    ----------
    jobs
        That of the request that finishes first by the plan, then the others.
    claim
        What only one of them takes.
    planned
        None if an earlier submission with this key made the first job.
    """

    jobs: Sequence[Submitted]
    key: str
    claim: Claim
    planned: Planned | None = None

    @property
    def winner(self) -> Submitted | None:
        """The job that runs or ran; None if none has started yet."""
        name = self.claim.winner()
        return next((one for one in self.jobs if Claim.name_of(one.endpoint.target) == name), None)

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
            Seconds for which a scheduler is asked again if it stops answering.

        Raises
        ------
        Conflict
            All jobs have ended, and none ran the command.
        """
        states = {one.key: str(one.job["state"]) for one in self.jobs}
        polls = {one.key: Poll(patience, remark) for one in self.jobs}
        pause = Poll(patience, remark)
        while (winner := self.winner) is None:
            for one in self.jobs:
                if states[one.key] not in ENDED:
                    states[one.key] = _state(one, polls[one.key]) or states[one.key]
            if self.winner is None and all(state in ENDED for state in states.values()):
                found = ", ".join(f"job {one.reference} is {states[one.key]}" for one in self.jobs)
                raise Conflict(f"none of the jobs ran the command: {found}; gas logs shows why")
            pause.lengthen(WAITING_PAUSES, changed=False)
            time.sleep(pause.pause if self.winner is None else 0)
        for one in self.jobs:
            if one is not winner:
                _withdraw(one, report, remark)
        return winner


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
        Idempotency key of all requests.
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
        key: str,
        remark: Callable[[str], object],
        *,
        shared: Path | None = None,
        before: Callable[[Planned], object] | None = None,
    ) -> None:
        if run.simulate:
            raise BadInput("redundant requests need a command or a job script, which runs in one of the jobs only")
        self.key = key
        self._application, self._plan, self._schedulers = application, plan, list(schedulers)
        self._run, self._options, self._remark = run, options, remark
        self._before = before
        folder = (state_directory() / "claims") if shared is None else shared.absolute()
        self._claim = Claim.of(folder, key)

    def make(self) -> SubmittedRedundantly:
        """Submit, or continue what an earlier call with this key began; raises the errors of `Agent.submit`."""
        self._claim.make()
        try:
            first = self._submission(self._schedulers, self.key, self._plan, self._noting).make_or_find()
        except GasError:
            if not self._claim.noted():
                self._claim.remove()  # nothing was sent
            raise
        jobs = [first]
        longest = self._claim.noted().get("longest")
        waits = first.job["state"] == "queued" and self._claim.winner() is None
        for one in self._schedulers:
            if isinstance(one, JobEndpoint) and longest is not None and not _same(one, first.endpoint):
                further = self._further(one, int(longest), waits=waits)
                jobs += [] if further is None else [further]
        return SubmittedRedundantly(jobs, self.key, self._claim, first.planned)

    def _noting(self, planned: Planned) -> None:
        """Keep how long further requests may run, before the first is sent."""
        if self._before is not None:
            self._before(planned)
        best = planned.best
        waits = best.start > planned.plan.now
        self._claim.note({"longest": best.execution_time} if waits else {"longest": None})

    def _further(self, where: JobEndpoint, longest: int, *, waits: bool) -> Submitted | None:
        """Submit to a further machine, or find what an earlier call has submitted there; None if nothing is there."""
        base = self.key if len(self.key) <= _LONGEST else hashlib.sha256(self.key.encode()).hexdigest()
        key = f"{base}/{Claim.name_of(where.target)}"

        def plan(schedulers: Sequence[Scheduler], options: PlanOptions) -> Planned:
            return _no_longer(self._plan(schedulers, options), longest)

        submission = self._submission([where], key, plan, None)
        try:
            if not waits:
                job = where.job_by_key(key)
                return None if job is None else Submitted(where, called(where), job, key)
            return submission.make_or_find()
        except (Infeasible, Draining, OverLimit, Forbidden) as error:
            self._remark(f"{called(where)}: gets no request: {error}")
        except GasError as error:
            self._remark(f"{called(where)}: {error}; if a job is there, it runs nothing once another has started")
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
            self._application, plan, schedulers, self._run, self._options, key, remark, before=before, claim=claim
        )


def _same(one: JobEndpoint, other: JobEndpoint) -> bool:
    """Whether two endpoints are the same scheduler, perhaps under two addresses."""
    if one.target == other.target:
        return True
    return isinstance(one, S3Endpoint) and isinstance(other, S3Endpoint) and one.identity() == other.identity()


def _no_longer(planned: Planned, longest: int) -> Planned:
    """Return a plan with the requests that run for at most so many seconds."""
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
        remark(f"{error}; if job {one.reference} starts, it runs nothing")
