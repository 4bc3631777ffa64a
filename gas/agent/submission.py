"""Submission of one job to one of several schedulers, exactly once.

One submission has one key, which all its requests carry, also those of later plans (`gas.endpoints.s3` explains why
that makes at most one job). This module ensures that the key goes to one scheduler only. It goes to another one only if
the first has refused it and no request to it is in doubt. A user's own key is safe also across submissions: before
planning, all schedulers are searched for it, and its target is noted before anything is sent.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gas.agent.choice import Planned
from gas.agent.claims import Claim
from gas.agent.holdings import claimed
from gas.agent.offering import offering, without_offers
from gas.agent.options import PlanOptions, Run
from gas.agent.schedulers import Scheduler, called, find_by_key, identity_of
from gas.agent.scripts import Asking
from gas.agent.states import describe
from gas.endpoints import Endpoint, InDoubt, JobDescription, JobEndpoint, Request, S3Endpoint
from gas.endpoints.journal import Page, open_page
from gas.endpoints.tagging import TaggingEndpoint
from gas.errors import BadInput, Conflict, Draining, Forbidden, GasError, OverLimit, StalePlan
from gas.planner import Candidate, Plan
from gas.times import duration_text

if TYPE_CHECKING:
    from gas.resources import Resources

__all__ = ["ATTEMPTS", "Prepared", "Submission", "Submitted", "job_for", "prepared", "slack"]

ATTEMPTS = 5
"""Number of times that a stale plan is made again."""


@runtime_checkable
class Forgetful(JobEndpoint, Protocol):
    """A scheduler that forgets ended jobs."""

    def retention(self) -> int | None:
        """Return for how many seconds, at least, the scheduler remembers ended jobs; None if unknown."""


@runtime_checkable
class Scripted(JobEndpoint, Protocol):
    """A scheduler that submits job scripts."""

    script: Any
    """The script of its jobs; None if they run commands."""

    def with_script(self, script: Any) -> JobEndpoint:
        """Return the scheduler with another script with the same options."""


@dataclass(frozen=True)
class Prepared:
    """The request that finishes first, ready for submission.

    Attributes
    ----------
    preview
        The submission in the scheduler's own syntax; None if it has none.
    """

    planned: Planned
    request: Request
    job: JobDescription
    preview: str | None


def prepared(planned: Planned, run: Run) -> Prepared:
    """Return the best request of a plan, ready for submission; raise `Infeasible` if there is none."""
    chosen = planned.endpoint
    if run.job.job_class is not None and not chosen.takes_classes:
        raise BadInput(
            f"class {run.job.job_class}: {chosen.name} has no classes of jobs, only S³ has; leave the class out, or "
            f"use an S³ service"
        )
    if run.job.notice is not None:
        offering(chosen, f"notice {duration_text(run.job.notice)}")
    request, job = _request(planned), job_for(run, planned.best, chosen, planned.resources)
    return Prepared(planned, request, job, chosen.preview(request, job) if isinstance(chosen, JobEndpoint) else None)


def job_for(run: Run, best: Candidate, chosen: Endpoint, resources: Resources | None = None) -> JobDescription:
    """Return the job description for a request to a scheduler."""
    job = run.job
    job = replace(
        job,
        directory=job.directory or (str(Path.cwd()) if run.here and chosen.is_local else None),
        run_time=best.execution_time if run.simulate else job.run_time,
        native=() if isinstance(chosen, Asking) else job.native,  # it plans with them and has them
    )
    known = None
    if resources is not None:
        known = resources.values(best.processors, best.layout)
    return job.sized(best.processors, best.walltime, known, chosen.settles)


def _request(planned: Planned) -> Request:
    found, best = planned.plan, planned.best
    others = ((c.processors, c.walltime) for c in found.candidates if c.scheduler == best.scheduler and c != best)
    alternatives = tuple(others) if planned.endpoint.moldable else ()
    return Request(
        best.processors, best.walltime, best.start + slack(found, best), planned.not_before, alternatives, best.layout
    )


def slack(found: Plan, best: Candidate) -> int:
    """Return the delay of a start that is tolerated without a new plan: 1% of the turn-around time, at least 1 s.

    A start "now" is a second later when the request arrives, which changes no decision.
    """
    return max(1, math.ceil(found.turnaround(best) * 0.01))


def _other_work(asked: JobDescription, job: Mapping[str, Any], where: JobEndpoint) -> str | None:
    """Return in words how the job of a key differs from the submitted one; None if it may be the same.

    Slurm and OAR keep the name of a job, but not the submitted command; another size or walltime may come from an
    earlier plan. In the command that S³ returns, placeholders are replaced.
    """
    if isinstance(where, TaggingEndpoint):
        shown = where.shown_name(asked)  # a name with other characters may come back changed
        return f"job {job['id']} ({job['name']})" if job["name"] != shown and shown.isascii() else None
    if not isinstance(where, S3Endpoint):
        return None
    if job["kind"] == "reservation":
        return f"reservation {job['id']} ({job['name']})"
    if job["name"] != asked.name:
        return f"job {job['id']} ({job['name']})"
    if job["command"] is None:  # too long for the answer
        return None
    wanted, command = Claim.without(asked.command), Claim.without(job["command"])
    pairs = zip(wanted, command, strict=False)
    same = len(wanted) == len(command) and all(one == its for one, its in pairs if "{" not in one)
    return None if same else f"job {job['id']}, which runs another command ({shlex.join(command)[:60]})"


def _that_was_sent_to(page: Page, schedulers: Sequence[Scheduler]) -> list[Scheduler]:
    """Return the scheduler to which a request of a page went, by its address or else by its identity."""
    if page.address is None:
        return []
    its: list[Scheduler] = [one for one in schedulers if not isinstance(one, tuple) and one.address == page.address]
    if its or page.identity is None:  # do not query others, which may be down
        return its
    its += [one for one in schedulers if isinstance(one, S3Endpoint) and identity_of(one) == page.identity][:1]
    return its


@dataclass(frozen=True, repr=False)
class Submitted:
    """A job, its scheduler, and the plan of its submission.

    Attributes
    ----------
    planned
        None if an earlier submission with this key made the job.
    attempts
        Number of plans made.
    """

    endpoint: JobEndpoint
    scheduler: str
    job: dict[str, Any]
    key: str
    planned: Planned | None = None
    attempts: int = 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} to {self.scheduler}: {describe(self.job)}>"

    @property
    def reference(self) -> str:
        """The number of the job, as the commands of `gas` accept it."""
        return f"{self.job['id']} -e {called(self.endpoint)}"


class Submission:
    """Submission of one job to one of several schedulers.

    Parameters
    ----------
    application
        Its name.
    plan
        Queries schedulers and plans with those that answer.
    key
        The key of all its requests.
    remark
        Called with remarks for the user.
    config
        The configuration that names the schedulers, for the command that looks up the job.
    before
        Called with each plan just before its request is sent.
    claim
        The claim that the job takes before it runs, if it is one of several; None if it is the only one.
    users_key
        The key of the user's command, if the key of this request is derived from it.
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
        config: Path | None = None,
        before: Callable[[Planned], object] | None = None,
        claim: Claim | None = None,
        users_key: str | None = None,
    ) -> None:
        self.key = key
        self._users_key = users_key or key
        self._claim = claim
        self._before = before
        self._application = application
        self._plan = plan
        self._endpoints = list(schedulers)
        self._run = run
        self._options = options
        self._remark = remark
        self._config = config

    def make_or_find(self, *, of_coallocation: bool = False, is_new: bool = False) -> Submitted:
        """Return the job of an earlier submission with this key, or submit it.

        Parameters
        ----------
        of_coallocation
            Whether the key belongs to a coallocation that goes to one machine.
        is_new
            Whether no job can have the key, so that schedulers that do not answer are left out.
        """
        with open_page(self.key) as page:
            if not of_coallocation and (made := claimed(self.key)) is not None:
                raise Conflict(
                    f"--key {self._users_key}: belongs to a gas submit --coallocate, which {made}; add --coallocate, "
                    "or use another key for another job"
                )
            self._refuse_another_claim(page)
            sent_to = page.address
            its = _that_was_sent_to(page, self._endpoints)
            if sent_to is not None and not its:
                raise Conflict(
                    f"--key {self._users_key}: was sent to {sent_to} before and may have created a job there; submit "
                    f"to that scheduler (-e {sent_to}), or use another key for another job"
                )
            # Another partition of the same Slurm would also report the job, which takes the claim under its own name
            places = its if self._claim and its else self._endpoints
            if not is_new and (earlier := find_by_key(places, self.key)) is not None:
                endpoint, job = earlier
                if self._claim is not None and sent_to is None:
                    raise Conflict(
                        f"--key {self._users_key}: job {job['id']} on {endpoint.name} has it, but this account has no "
                        "record of that submission; use another key for another job"
                    )
                if (other := _other_work(self._run.job, job, endpoint)) is not None:
                    raise Conflict(
                        f"--key {self._users_key}: belongs to {other} on {endpoint.name}; use another key for "
                        "another job"
                    )
                return Submitted(endpoint, endpoint.name, job, self.key)
            if sent_to is not None:
                self._endpoints = its
                if (ended := self._forgotten(page)) is not None:
                    return ended
            return self.make(page, stays=sent_to is not None)

    def _refuse_another_claim(self, page: Page) -> None:
        """Raise `Conflict` if the job of the key takes another claim, or if only one of the two takes one."""
        its, own = page.claim, None if self._claim is None else str(self._claim.folder)
        if page.address is None or its == own:
            return
        if its is None:
            said = "belongs to a gas submit without --redundant; leave --redundant out"
        elif own is None:
            said = "belongs to a gas submit --redundant; add --redundant"
        else:
            said = f"belongs to a gas submit --redundant with --shared {shlex.quote(str(Path(its).parent))}; add that"
        raise Conflict(f"--key {self._users_key}: {said}, or use another key for another job")

    def _forgotten(self, page: Page) -> Submitted | None:
        """Return the job of the key if its scheduler forgets ended jobs and has forgotten it.

        Raises
        ------
        InDoubt
            There may have been a job.
        """
        chosen = self._endpoints[0]
        if isinstance(chosen, tuple) or not isinstance(chosen, Forgetful):
            return None
        if page.job is not None:
            forgotten = {"id": page.job, "name": self._application, "state": "forgotten"}
            return Submitted(chosen, chosen.name, forgotten, self.key)
        memory = chosen.retention()
        if page.sent is not None and memory is not None and time.time() < page.sent + memory:
            return None
        raise InDoubt(
            f"--key {self.key}: was sent to {chosen.name}, which did not confirm it and forgets jobs some time after "
            "they have ended: a job may have run; if you know that none has, use another key",
            self.key,
        )

    def make(self, page: Page | None = None, *, stays: bool = False) -> Submitted:
        """Plan and submit; plan again if the plan was stale.

        Parameters
        ----------
        page
            The note of the key's target.
        stays
            Whether an earlier call left a request in doubt, so that the key must not go elsewhere.
        """
        stale = 0
        with self._explaining_doubt(page, stays):
            while stale < ATTEMPTS:
                planned = self._plan(self._endpoints, self._options)
                self._options = self._options.fixed(planned.not_before, planned.deadline)
                best, chosen = planned.best, planned.endpoint
                if not isinstance(chosen, JobEndpoint):
                    raise BadInput(
                        f"{best.scheduler}: finishes first but accepts no jobs; it is an availability list only"
                    )
                request = _request(planned)
                job = self._claiming(job_for(self._run, best, chosen, planned.resources), chosen)
                if self._before is not None:
                    self._before(planned)
                try:
                    accepted = self._send(chosen, request, job, page, stays)
                except StalePlan as error:
                    stale += 1
                    self._remark(f"the plan went stale ({error}); planning again, attempt {stale} of {ATTEMPTS}")
                    if chosen.in_doubt(self.key):
                        self._endpoints = [chosen]
                    time.sleep(0.05 * stale)
                    continue
                except (Draining, OverLimit, Forbidden) as refusal:
                    self._leave_out(chosen, refusal)
                    continue
                in_minutes = -(-request.walltime // 60) * 60
                others = accepted["walltime"] not in (request.walltime, in_minutes)
                if others or (isinstance(chosen, S3Endpoint) and accepted["processors"] != request.processors):
                    self._remark(
                        "an earlier request had already created the job, with the size and walltime requested then"
                    )
                if (why := without_offers(accepted, planned.plan.now)) is not None:
                    self._remark(why)
                made = planned.prediction
                if made is not None and accepted["processors"] == best.processors:
                    from gas.agent.ledgers import note_prediction

                    note_prediction(chosen, int(accepted["id"]), made, self._remark, anew=False)
                return Submitted(chosen, best.scheduler, accepted, self.key, planned, stale + 1)
            raise StalePlan(
                f"{self._application}: the schedule changed {ATTEMPTS} times between planning and submitting; "
                "nothing was submitted; try again"
            )

    def _send(
        self, chosen: JobEndpoint, request: Request, job: JobDescription, page: Page | None, stays: bool
    ) -> dict[str, Any]:
        """Submit to a scheduler; it is noted before, unless no job with this key can be there."""
        chosen.tell = self._tell
        if page is not None:
            identity = identity_of(chosen) if isinstance(chosen, S3Endpoint) else None
            claim = None if self._claim is None else str(self._claim.folder)
            page.sent_to(chosen.address, int(time.time()), identity, claim)
            chosen.noted = lambda id: self._noted(page, id)
        if stays:
            chosen.suspect(self.key)
        else:  # the key is new, or was searched for
            chosen.unused(self.key)
        if self._claim is not None and isinstance(chosen, Scripted) and chosen.script is not None:
            chosen = chosen.with_script(self._claim.script(self._claim.target_of(chosen), chosen.script))
        try:
            made = chosen.submit(request, job, self.key)
        except BaseException:
            if page is not None and not stays and not chosen.in_doubt(self.key):
                page.refused()
            raise
        if page is not None:
            self._noted(page, int(made["id"]))
        return made

    def _claiming(self, job: JobDescription, where: JobEndpoint) -> JobDescription:
        """Return a job as a scheduler gets it: with the claim before its command."""
        if self._claim is None or not job.command:
            return job
        target = self._claim.target_of(where)
        return replace(
            job,
            command=self._claim.command(target, job.command),
            template=self._claim.template(target, job.template) if job.template else (),
        )

    def _tell(self, line: str) -> None:
        self._remark(line)

    def _leave_out(self, endpoint: JobEndpoint, refusal: GasError) -> None:
        """Continue without a scheduler that accepts nothing from this user now."""
        others = [e for e in self._endpoints if isinstance(e, tuple) or e.name != called(endpoint)]
        if endpoint.in_doubt(self.key) or not any(isinstance(e, JobEndpoint) for e in others):
            raise refusal
        self._remark(f"{refusal}; planning without it")
        self._endpoints = others

    @contextmanager
    def _explaining_doubt(self, page: Page | None, stays: bool) -> Iterator[None]:
        """Explain an error that leaves it open whether there is a job, and note the key's target."""
        try:
            yield
        except BaseException as problem:
            endpoint = next((e for e in self._endpoints if isinstance(e, JobEndpoint) and e.in_doubt(self.key)), None)
            if endpoint is None and not stays:
                raise
            words = ["gas", "status", "--key", self.key]
            words += [] if endpoint is None else ["-e", called(endpoint)]
            words += [] if self._config is None else ["--config", str(self._config)]
            way_out = (
                f"the job may or may not have been submitted: {shlex.join(words)} shows it if it exists; the same gas "
                f"submit with --key {self._users_key} submits it if it does not"
            )
            if page is None and endpoint is not None:
                with open_page(self.key) as new:
                    new.sent_to(endpoint.address, int(time.time()))
            if isinstance(problem, GasError):
                raise InDoubt(f"{problem}; {way_out}", self.key) from None
            self._remark(way_out)
            raise

    def _noted(self, page: Page, id: int) -> None:
        """Note a job; an error in noting does not undo it."""
        try:
            page.made(id)
        except GasError as error:
            self._remark(f"job {id} was submitted, but {error}")
