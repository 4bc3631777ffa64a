"""One job on its way to one of several schedulers, made exactly once.

One call of ``gas submit`` has one key, which every request of it bears, whichever plan it is of (`gas.endpoints.s3`
says why that makes at most one job). What is left to see to here is that the key goes to one scheduler only: to another
one if, and only if, the first has refused it and nothing sent to it is in doubt. With ``--key``, also over several
calls: the key is looked for everywhere before anything is planned, and where it goes is written down before it goes
there.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from gas.application import Application
from gas.cli.options import find_by_key
from gas.cli.planning import Wishes, make_plan, why_nothing
from gas.cli.tables import note
from gas.endpoints import Answer, Endpoint, InDoubt, JobDescription, JobEndpoint, Request, S3Endpoint
from gas.endpoints.journal import Page, open_page
from gas.errors import BadInput, Conflict, Draining, Forbidden, GasError, Infeasible, OverLimit, StalePlan
from gas.planner import Candidate, Plan

__all__ = ["Made", "Submission", "called", "planned"]

ATTEMPTS = 5
"""How often a plan that went stale is made again."""


@runtime_checkable
class Forgetful(JobEndpoint, Protocol):
    """A scheduler that forgets jobs which have ended."""

    def memory(self) -> int | None:
        """Return for how many seconds it remembers them at least, None if that is not known."""


def called(endpoint: Endpoint) -> str:
    """Return the name by which other commands know a scheduler: with one of its choices fixed, it has another."""
    name: str = getattr(endpoint, "configured_as", endpoint.name)
    return name


def planned(
    app: Application, endpoints: Sequence[Endpoint | tuple[str, Exception]], wishes: Wishes
) -> tuple[list[Answer], Plan, Candidate, Endpoint]:
    """Return the answers, the plan, its best request and the scheduler of that, or raise `Infeasible`."""
    answers, found = make_plan(app, endpoints, wishes)
    best = found.best
    if best is None:
        raise Infeasible(why_nothing(found))
    return answers, found, best, next(a.endpoint for a in answers if a.name == best.scheduler and a.availability)


@dataclass(frozen=True)
class Made:
    """A job, where it is, and the plan that it was made by; None if an earlier call made it."""

    endpoint: JobEndpoint
    scheduler: str
    job: dict[str, Any]
    plan: Plan | None = None
    answers: Sequence[Answer] = ()
    attempts: int = 0


class Submission:
    """One job on its way to one of several schedulers.

    Attributes
    ----------
    key
        What every request for it bears.
    """

    def __init__(
        self,
        app: Application,
        endpoints: Sequence[Endpoint | tuple[str, Exception]],
        wishes: Wishes,
        sized: Callable[[Plan, Candidate, Endpoint], tuple[Request, JobDescription]],
        key: str,
        config: Path | None,
    ) -> None:
        self.key = key
        self._app = app
        self._endpoints = list(endpoints)
        self._wishes = wishes
        self._sized = sized
        self._config = config

    def make_or_find(self) -> Made:
        """Return the job that a call with this key has made, or make it."""
        with open_page(self.key) as page:
            sent_to = page.address
            if sent_to is not None and sent_to not in [e.address for e in self._endpoints if not isinstance(e, tuple)]:
                raise Conflict(
                    f"--key {self.key}: was sent to {sent_to} before, and what was sent there may have made a job; "
                    f"submit to that scheduler (-e {sent_to}), or use another key for another job"
                )
            if (earlier := find_by_key(self._endpoints, self.key)) is not None:
                endpoint, job = earlier
                return Made(endpoint, endpoint.name, job)
            if sent_to is not None:
                self._endpoints = [e for e in self._endpoints if not isinstance(e, tuple) and e.address == sent_to]
                if (ended := self._forgotten(page)) is not None:
                    return ended
            return self.make(page, stays=sent_to is not None)

    def _forgotten(self, page: Page) -> Made | None:
        """Return the job of the key that its scheduler, which forgets what has ended, has forgotten.

        Raises
        ------
        InDoubt
            It may be that there was one.
        """
        chosen = self._endpoints[0]
        if isinstance(chosen, tuple) or not isinstance(chosen, Forgetful):
            return None
        if page.job is not None:
            return Made(chosen, chosen.name, {"id": page.job, "name": self._app.name, "state": "forgotten"})
        memory = chosen.memory()
        if page.sent is not None and memory is not None and time.time() < page.sent + memory:
            return None
        raise InDoubt(
            f"--key {self.key}: was sent to {chosen.name}, which did not say whether it took it, and forgets jobs some "
            "time after they have ended: a job of it may have run; if you know that none has, use another key",
            self.key,
        )

    def make(self, page: Page | None = None, *, stays: bool = False) -> Made:
        """Plan and submit, again if the plan went stale.

        Parameters
        ----------
        page
            Where it is noted where the key goes.
        stays
            Whether a call before this one has left a request in doubt, so that the key must not go elsewhere.
        """
        stale = 0
        with self._explaining_doubt(page, stays):
            while stale < ATTEMPTS:
                answers, found, best, chosen = planned(self._app, self._endpoints, self._wishes)
                if not isinstance(chosen, JobEndpoint):
                    raise BadInput(
                        f"{best.scheduler}: finishes first but takes no jobs; it is an availability list only"
                    )
                request, job = self._sized(found, best, chosen)
                try:
                    accepted = self._send(chosen, request, job, page, stays)
                except StalePlan as error:
                    stale += 1
                    note(f"gas: the plan went stale ({error}); planning again, attempt {stale} of {ATTEMPTS}")
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
                    note("gas: an earlier request got through after all; the job is as that one asked for it")
                return Made(chosen, best.scheduler, accepted, found, answers, stale + 1)
            raise StalePlan(
                f"{self._app.name}: the schedule changed {ATTEMPTS} times between planning and submitting; nothing was "
                "submitted; try again"
            )

    def _send(
        self, chosen: JobEndpoint, request: Request, job: JobDescription, page: Page | None, stays: bool
    ) -> dict[str, Any]:
        """Submit to a scheduler; it is on the page unless nothing of this key can be there."""
        if hasattr(chosen, "tell"):
            chosen.tell = lambda text: note(f"gas: {text}")
        if page is not None:
            page.sent_to(chosen.address, int(time.time()))
            if hasattr(chosen, "noted"):
                chosen.noted = lambda id: _noted(page, id)
        if stays and hasattr(chosen, "suspect"):
            chosen.suspect(self.key)
        elif hasattr(chosen, "unused"):  # the key is new, or has been looked for
            chosen.unused(self.key)
        try:
            made = chosen.submit(request, job, self.key)
        except BaseException:
            if page is not None and not stays and not chosen.in_doubt(self.key):
                page.refused()
            raise
        if page is not None:
            _noted(page, int(made["id"]))
        return made

    def _leave_out(self, endpoint: JobEndpoint, refusal: GasError) -> None:
        """Go on without a scheduler that takes nothing from this user now."""
        others = [e for e in self._endpoints if isinstance(e, tuple) or e.name != called(endpoint)]
        if endpoint.in_doubt(self.key) or not any(isinstance(e, JobEndpoint) for e in others):
            raise refusal
        note(f"gas: {refusal}; planning without it")
        self._endpoints = others

    @contextmanager
    def _explaining_doubt(self, page: Page | None, stays: bool) -> Iterator[None]:
        """See to it that nobody leaves in doubt without being told, and without a note of where the key went."""
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
                f"the job may or may not have been submitted: {shlex.join(words)} finds out, and the same gas submit "
                f"with --key {self.key} submits it if it was not"
            )
            if page is None and endpoint is not None:
                with open_page(self.key) as new:
                    new.sent_to(endpoint.address, int(time.time()))
            if isinstance(problem, GasError):
                raise InDoubt(f"{problem}; {way_out}", self.key) from None
            note(f"gas: {way_out}")
            raise


def _noted(page: Page, id: int) -> None:
    """Note a job; a note that cannot be made does not undo it."""
    try:
        page.made(id)
    except GasError as error:
        note(f"gas: job {id} was submitted, but {error}")
