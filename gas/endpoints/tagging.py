"""Endpoints of schedulers that know no keys: their jobs bear tags, and none is submitted twice.

Of two equal submissions such a scheduler makes two jobs. So the key's tag is in the job's name
(`gas.endpoints.wording`), and:

1. A job of the tag is looked for before anything is sent, unless the caller knows that there is none (`unused`).
2. What certainly was not sent (`NotSent`) is sent again for some time, if the scheduler's own rules say so; it may go
   elsewhere then.
3. What was sent without an answer (`Unclear`) is looked for. Found, it is the job. If not, it is not sent again by this
   call: the error is `InDoubt` and names the key. Only where the program that carried it has ended, so that it has
   done whatever it ever will, nothing was submitted.
4. A refusal is believed if there is no job of the tag: what submits can fail after it has submitted.
5. A repetition with the key goes to the only scheduler where it can be (`gas.endpoints.journal`), and looks for
   it until it would have settled before anything is sent.
6. After everything that was sent, the jobs of the tag are counted, and all but the first that have not started are
   cancelled: two calls with one key may have met, on two machines that share no journal, or a request may have arrived
   that was given up.
7. An error that comes together with a job (`RefusedAs`) means what it means there.

For how long it is sent again, searched for and settles, and what that rests on, each scheduler's endpoint says.
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
"""Between two looks at what has become of something."""

SEARCHES = 10
"""How often a job is looked for at least."""

T = TypeVar("T", bound=SendingTransport[Any])
B = TypeVar("B")


@dataclass(frozen=True)
class Spans:
    """For how many seconds something is tried.

    Attributes
    ----------
    resend
        What certainly was not sent is sent again.
    settle
        The scheduler has answered, and shows whatever has reached it; what an earlier call sent is searched for.
    search
        The same of what this call has sent: longer where what carries it may hang, and cannot be ended.
    """

    resend: float
    settle: float
    search: float


class TaggingEndpoint(JobEndpoint, ABC, Generic[T, B]):
    """A scheduler that takes jobs and knows no keys.

    Parameters
    ----------
    name
        What the user calls it.
    transport
        How it is spoken to.
    part
        The partition or queue of it that is meant, if one is named.
    limits
        What bounds a request.
    patience
        Seconds for which one is asked what has become of a job who does not answer.
    spans
        For how long the rest is tried.

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
        """Return what is submitted."""

    @abstractmethod
    def _tagged(self, key: str) -> list[dict[str, Any]]:
        """Return the user's jobs that bear the tag of a key, as far as they count."""

    @abstractmethod
    def _made_with_error(self, error: RefusedAs, key: str) -> dict[str, Any]:
        """Return the job that an error came with, or raise the error, `InDoubt` if it is not known which."""

    @abstractmethod
    def _unseen(self, id: int, batch: B) -> dict[str, Any]:
        """Return a job that was just submitted and cannot be asked for."""

    def _tell_of(self, batch: B, job: JobDescription) -> None:
        """Say what is not looked at of a job that is about to be submitted."""

    # ---------------------------------------------------------------------------------------------------- submitting

    def submit(self, request: Request, job: JobDescription, key: str | None = None) -> dict[str, Any]:
        """Submit a job and return it; what is expected of it is known a moment later, and `start_by` is not looked at.

        A `key` that was used before returns the job that it made.

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
            self._tell_of(batch, job)
            earlier = self._sent(batch, key, suspected)
        self._doubtful.discard(key)
        return earlier

    def _sent(self, batch: B, key: str, suspected: bool) -> dict[str, Any]:
        """Send it until it is sent or not worth trying, and return the job."""
        ends = time.monotonic() + self._spans.resend
        pause, said = 0.5, False
        while True:
            self._doubtful.add(key)  # stays there if Ctrl-C ends what follows
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
                return self._come_to_light(key, error, suspected)
            except RefusedAs as error:
                return self._named_by_error(key, error, suspected)
            except GasError as refusal:
                return self._made_all_the_same(key, refusal, suspected)
            else:
                self.noted(id)
                return self._first_of_several(key, id) or self._unseen(id, batch)

    def _come_to_light(self, key: str, problem: Unclear, suspected: bool) -> dict[str, Any]:
        """Return the job of a submission that nothing is known of, or raise what is to be said if it is not found."""
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
        """Return the job of a key of which nothing is known.

        None if none has come to light by when the scheduler has answered for so many seconds.

        Raises
        ------
        InDoubt
            It does not answer until patience is over.
        """
        pause = min(PAUSE_SECONDS, seconds / SEARCHES) or PAUSE_SECONDS
        patience_ends = time.monotonic() + self._patience
        searched = 0
        while True:
            try:
                found = self.job_by_key(key)
            except Unreachable as error:
                if time.monotonic() + pause > patience_ends:
                    unknown = f"and the scheduler cannot be asked: {error}"
                    raise InDoubt(f"{problem}; {unknown}; the request may have arrived (key {key})", key) from None
                searched = 0
            else:
                if found is not None or searched * pause >= seconds:
                    return found
                searched += 1
            time.sleep(pause)

    def _named_by_error(self, key: str, error: RefusedAs, suspected: bool) -> dict[str, Any]:
        """Return the job that an error came with, or raise what is to be said."""
        try:
            return self._made_with_error(error, key)
        except InDoubt:
            raise
        except GasError:
            if not suspected:  # else what was sent before may still arrive
                self._doubtful.discard(key)
            raise

    def _made_all_the_same(self, key: str, refusal: GasError, suspected: bool) -> dict[str, Any]:
        """Return the job of a submission that was refused, or raise the refusal if there is none."""
        try:
            found = self.job_by_key(key)
        except Unreachable as error:
            raise InDoubt(
                f"{refusal}; and whether that created a job cannot be queried: {error} (key {key})", key
            ) from None
        if found is None and suspected:  # what was sent before may still arrive
            raise refusal
        if found is None or found["state"] not in ACTIVE:
            self._doubtful.discard(key)
            raise refusal
        self.tell(f"{refusal}; but the job exists")
        return self._first_of_several(key) or found

    def _first_of_several(self, key: str, known: int | None = None) -> dict[str, Any] | None:
        """Return the job of a key, None if it cannot be asked for; of several the first, and cancel others that wait.

        Parameters
        ----------
        known
            The number that has been noted.
        """
        try:
            found = self._tagged(key)
        except GasError as error:  # it was submitted, and that is what counts
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
        """Take it that something with this key was sent before, by another call, and may still arrive."""
        self._doubtful.add(key)

    def unused(self, key: str) -> None:
        """Take it that there is no job of this key: it is new, or has just been looked for. Good for one submission."""
        self._unused.add(key)

    def in_doubt(self, key: str) -> bool:
        """Whether a request with this key was sent that got no definite answer, so that it may have made a job."""
        return key in self._doubtful

    def job_by_key(self, key: str) -> dict[str, Any] | None:
        """Return the user's own job that was submitted with this key, None if there is none, or none any more."""
        return _first(self._tagged(key))


def _first(jobs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the job of a key: of several one that has started, else the first of those that wait.

    One that has ended and never started may be a second one that was cancelled.
    """

    def order(job: dict[str, Any]) -> tuple[int, int]:
        waits, started = job["state"] == "queued", job["state"] in ACTIVE or job["start"] is not None
        return (1 if waits else 0 if started else 2), job["id"]

    return min(jobs, key=order, default=None)
