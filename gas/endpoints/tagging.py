"""Endpoints of schedulers without keys: tags in the names of jobs prevent a second submission.

Such a scheduler creates two jobs from two equal submissions. So the key's tag is in the job's name
(`gas.endpoints.wording`), and:

1. Before anything is sent, a job with the tag is searched for, unless the caller knows that there is none (`unused`).
2. A submission that certainly was not sent (`NotSent`) is sent again for some time, if the scheduler's own rules say
  so; then it may go to another scheduler.
3. A submission without an answer (`Unclear`) is searched for. If it is found, it is the job. If not, this call does not
  send it again: the error is `InDoubt` and names the key. Nothing was submitted only if the program that carried it has
  ended.
4. A refusal counts only if no job has the tag: sbatch and its like can fail after they have submitted.
5. A repetition with the key goes to the only scheduler that can have the job (`gas.endpoints.journal`), and searches
  for as long as an earlier submission may take to appear before anything is sent.
6. After each submission, the jobs with the tag are counted, and all but the first are cancelled if they have not
  started: two calls with one key may have met, on two machines that share no journal, or a request that was given up
  may have arrived.
7. An error that arrives together with a job (`RefusedAs`) has the meaning that the scheduler gives it.

The endpoint of each scheduler sets how long it sends again, searches and settles, and explains why.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gas.endpoints.endpoint import InDoubt, JobDescription, JobEndpoint, Request
from gas.endpoints.records import ACTIVE
from gas.endpoints.sending import NotSent, RefusedAs, SendingTransport, Unclear
from gas.errors import GasError, Unreachable
from gas.planner import Limits

__all__ = ["PATIENCE_SECONDS", "Spans", "TaggingEndpoint"]

PATIENCE_SECONDS = 30.0
PAUSE_SECONDS = 1.0
"""Seconds between two searches."""

SEARCHES = 10
"""Fewest searches for a job."""

T = TypeVar("T", bound=SendingTransport[Any])
B = TypeVar("B")


@dataclass(frozen=True)
class Spans:
    """The time limit of each step, in seconds.

    Attributes
    ----------
    resend
        Send again what certainly was not sent.
    settle
        Search for submissions of earlier calls, once the scheduler answers and shows all that has reached it.
    search
        Search for submissions of this call: longer if the program that carries them may hang and cannot be ended.
    """

    resend: float
    settle: float
    search: float


class TaggingEndpoint(JobEndpoint, ABC, Generic[T, B]):
    """A scheduler that accepts jobs but has no keys.

    Parameters
    ----------
    name
        Its name in the configuration.
    transport
        Connection to the scheduler.
    part
        Its partition or queue, if one is named.
    limits
        Limits of a request.
    patience
        Seconds to wait for an answer on the state of a job.
    spans
        Seconds for the other steps.

    """

    def __init__(
        self, name: str, transport: T, part: str | None, limits: Limits | None, patience: float, spans: Spans
    ) -> None:
        self.name = name
        self.transport = transport
        self.address = transport.address if part is None else f"{transport.address}#{part}"
        self.limits = limits or Limits()
        self.timeout = transport.timeout
        self._patience, self._spans = patience, spans
        self._doubtful: set[str] = set()
        self._unused: set[str] = set()

    # ------------------------------------------------------------------------------- what each scheduler does its way

    @abstractmethod
    def batch(self, request: Request, job: JobDescription, key: str) -> B:
        """Return the submission."""

    def shown_name(self, job: JobDescription) -> str:
        """Return the name under which a job is shown, without its tag."""
        return job.name

    @abstractmethod
    def _tagged(self, key: str) -> list[dict[str, Any]]:
        """Return the user's jobs with the tag of a key that count."""

    @abstractmethod
    def _made_with_error(self, error: RefusedAs, key: str) -> dict[str, Any]:
        """Return the job that an error came with, or raise the error; `InDoubt` if it is unknown which."""

    @abstractmethod
    def _unseen(self, id: int, batch: B) -> dict[str, Any]:
        """Return a job that was just submitted and cannot be queried."""

    def _warn_of(self, batch: B, job: JobDescription) -> None:
        """Warn of what is not checked for a job that is about to be submitted."""

    # ---------------------------------------------------------------------------------------------------- submitting

    def submit(self, request: Request, job: JobDescription, key: str | None = None) -> dict[str, Any]:
        """Submit a job and return it; its expected start is known a moment later, and `start_by` is ignored.

        With a `key` that was used before, return its job.

        Raises
        ------
        InDoubt
            No definite answer came; the job may or may not have been submitted.
        Unreachable
            The scheduler cannot be reached; nothing was sent.
        GasError
            The scheduler refused it.
        """
        suspected = key is not None and self.in_doubt(key)
        earlier = None
        if key is not None and suspected:
            earlier = self._searched(key, "it was sent before", self._spans.settle)
            earlier = earlier and (self._first_of_several(key) or earlier)
        elif key is not None and key not in self._unused:
            earlier = self.job_by_key(key)
        key = key or uuid.uuid4().hex
        self._unused.discard(key)
        if earlier is None:
            batch = self.batch(request, job, key)
            self._warn_of(batch, job)
            earlier = self._sent(batch, key, suspected)
        self._doubtful.discard(key)
        return earlier

    def _sent(self, batch: B, key: str, suspected: bool) -> dict[str, Any]:
        """Send until it is submitted or hopeless, and return the job."""
        ends = time.monotonic() + self._spans.resend
        pause, said = 0.5, False
        while True:
            self._doubtful.add(key)  # stays there if Ctrl-C ends the steps below
            try:
                id = self.transport.submit(batch)
            except NotSent as error:
                if suspected:
                    raise InDoubt(f"{error}; an earlier request may have arrived (key {key})", key) from None
                self._doubtful.discard(key)
                if time.monotonic() + pause > ends:
                    raise Unreachable(f"{error}; nothing was submitted") from None
                if not said:
                    self.tell(f"{error}; trying again for {max(0, ends - time.monotonic()):.0f} s")
                    said = True
                time.sleep(pause)
                pause = min(5.0, 1.6 * pause)
            except Unclear as error:
                return self._after_no_answer(key, error, suspected)
            except RefusedAs as error:
                return self._after_error_with_job(key, error, suspected)
            except GasError as refusal:
                return self._after_refusal(key, refusal, suspected)
            else:
                self.noted(id)
                return self._first_of_several(key, id) or self._unseen(id, batch)

    def _after_no_answer(self, key: str, problem: Unclear, suspected: bool) -> dict[str, Any]:
        """Return the job of a submission without an answer, or raise the error to report if it is not found."""
        self.tell(f"{problem}; checking whether the job exists")
        over = problem.over and not suspected
        found = self._searched(key, str(problem), 0.0 if over else self._spans.search)
        if found is not None:
            return self._first_of_several(key) or found
        if not over:
            raise InDoubt(f"{problem}; the request may have arrived (key {key})", key)
        self._doubtful.discard(key)
        raise Unreachable(f"{problem}; nothing was submitted")

    def _searched(self, key: str, problem: str, seconds: float) -> dict[str, Any] | None:
        """Return the job of a key after a submission without an answer.

        None if no job has appeared after the scheduler has answered for that many seconds.

        Raises
        ------
        InDoubt
            The scheduler does not answer within the patience.
        """
        pause = min(PAUSE_SECONDS, seconds / SEARCHES) or PAUSE_SECONDS
        patience_ends = time.monotonic() + self._patience
        searched = 0
        while True:
            try:
                found = self.job_by_key(key)
            except Unreachable as error:
                if time.monotonic() + pause > patience_ends:
                    unknown = f"and the scheduler cannot be queried: {error}"
                    raise InDoubt(f"{problem}; {unknown}; the request may have arrived (key {key})", key) from None
                searched = 0
            else:
                if found is not None or searched * pause >= seconds:
                    return found
                searched += 1
            time.sleep(pause)

    def _after_error_with_job(self, key: str, error: RefusedAs, suspected: bool) -> dict[str, Any]:
        """Return the job that an error came with, or raise the error to report."""
        try:
            return self._made_with_error(error, key)
        except InDoubt:
            raise
        except GasError:
            if not suspected:  # else an earlier submission may still arrive
                self._doubtful.discard(key)
            raise

    def _after_refusal(self, key: str, refusal: GasError, suspected: bool) -> dict[str, Any]:
        """Return the job of a refused submission, or raise the refusal if there is none."""
        try:
            found = self.job_by_key(key)
        except Unreachable as error:
            raise InDoubt(
                f"{refusal}; and Gas cannot find out whether this created a job: {error} (key {key})", key
            ) from None
        if found is None and suspected:  # an earlier submission may still arrive
            raise refusal
        if found is None or found["state"] not in ACTIVE:
            self._doubtful.discard(key)
            raise refusal
        self.tell(f"{refusal}; but the job exists")
        return self._first_of_several(key) or found

    def _first_of_several(self, key: str, known: int | None = None) -> dict[str, Any] | None:
        """Return the job of a key; None if it cannot be queried. Of several, keep the first and cancel those that wait.

        Parameters
        ----------
        known
            The number noted earlier.
        """
        try:
            found = self._tagged(key)
        except GasError as error:  # it was submitted, which is what counts
            self.tell(f"it is not known whether there is a second job with the key {key}: {error}")
            return None
        kept = _first(found)
        if kept is not None and kept["id"] != known:
            self.noted(kept["id"])
        for job in found:
            if kept is not None and job["id"] != kept["id"] and job["state"] == "queued":
                called = f"job {job['id']} is a second job with the key {key}"
                try:
                    self.tell(f"{called}, and is cancelled")
                    self.transport.cancel(job["id"])
                except GasError as error:
                    self.tell(f"{called}, and could not be cancelled: {error}")
        return kept

    # --------------------------------------------------------------------------------------------------------- doubt

    def suspect(self, key: str) -> None:
        """Assume that a request with this key was sent before, by another call, and may still arrive."""
        self._doubtful.add(key)

    def unused(self, key: str) -> None:
        """Assume that this key has no job: it is new, or was just searched for. Valid for one submission."""
        self._unused.add(key)

    def in_doubt(self, key: str) -> bool:
        """Return whether a request with this key was sent without a definite answer, so it may have made a job."""
        return key in self._doubtful

    def job_by_key(self, key: str) -> dict[str, Any] | None:
        """Return the user's own job with this key; None if there is none (any more)."""
        return _first(self._tagged(key))


def _first(jobs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the job of a key: of several, one that has started, else the first that waits.

    A job that ended without starting may be a duplicate that was cancelled.
    """

    def order(job: dict[str, Any]) -> tuple[int, int]:
        waits, started = job["state"] == "queued", job["state"] in ACTIVE or job["start"] is not None
        return (1 if waits else 0 if started else 2), job["id"]

    return min(jobs, key=order, default=None)
