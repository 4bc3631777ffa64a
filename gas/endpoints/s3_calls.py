"""Requests to S³ over HTTP: timeouts, repetition of safe requests, and exactly-once submission.

Reading and cancelling are safe to repeat, and are repeated a few times. A key of the client makes submitting and
reserving safe, so they are repeated with that key until there is a definite answer or patience is over.

Why nothing is submitted twice. One submission has *one* key K, however often it is planned and sent.

1. The service keeps (user, key) unique in its store, across restarts. So of all requests with K, whatever they request,
   whenever and however often they arrive at one scheduler, at most one creates a job there. That alone covers a lost
   answer, a connection cut anywhere, a slow answer, a restart, and a copy delayed on the way.
2. An answer is *definite* if S³ gave it completely: the job, or a refusal with its kind. Anything else (no answer, a
   part of one, an error page of an intermediary, an internal error of the service) leaves the request *in doubt*, from
   before its first byte is sent until an answer with the job arrives. A connection that was never made leaves no doubt.
3. If a refused request is the only one ever sent with K, nothing is on its way, so the next plan may go anywhere. After
   doubt this does not hold: an earlier copy may still arrive, for example from a proxy, at a restarted service. The
   next plan may then go only to that same scheduler (`in_doubt`), where 1 holds.
4. A request with K that differs from the one that created K's job is answered with 409; the job is then fetched by its
   key. It is the submission's own, of an earlier plan.
5. When patience is over in doubt, the error is `InDoubt` and names K. A submission repeated with K first queries every
   scheduler for it, and (`gas.endpoints.journal`) sends it to no scheduler other than the one in doubt.

Assumptions: an intermediary between client and service may lose, delay or cut requests, but does not forward a request
to another scheduler; and a job is remembered as long as its key may be repeated (``gas serve --keep``).
"""

from __future__ import annotations

import time
from typing import Any

from gas.endpoints.access import Access
from gas.endpoints.connection import Connection, NoAnswer
from gas.endpoints.endpoint import InDoubt, JobEndpoint
from gas.endpoints.exchange import Answer
from gas.endpoints.s3_answers import job_of, jobs_of, machine_of
from gas.errors import Conflict, Draining, GasError, TooMany, Unreachable
from gas.planner import Limits

__all__ = ["PATIENCE_SECONDS", "RETRIES", "TIMEOUT_SECONDS", "S3Calls"]

TIMEOUT_SECONDS = 10.0
RETRIES = 2
PATIENCE_SECONDS = 30.0


class S3Calls(JobEndpoint):
    """Requests to one S³ by one user, and their answers; see `S3Endpoint`."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries: int = RETRIES,
        patience: float = PATIENCE_SECONDS,
        limits: Limits | None = None,
        access: Access | None = None,
    ) -> None:
        self.connection = Connection(name, url, timeout, access)
        self.name = name
        self.address = self.connection.address
        self.is_local = self.connection.is_local
        self.credential = self.connection.access
        self.limits = limits or Limits()
        self.patience = patience
        self.timeout = (retries + 1) * timeout + patience  # for a query, with all repetitions
        self._retries = retries
        self._doubtful: set[str] = set()

    def call(self, method: str, path: str, body: object = None) -> Answer:
        """Make a request, repeatedly if it gets no answer; repeat a PUT only if nothing of it was sent."""
        patience_ends = time.monotonic() + self.patience
        tries, pause = 0, 0.2
        while True:
            try:
                return self.connection.ask(method, path, body)
            except TooMany as error:
                if time.monotonic() + error.retry_after > patience_ends:
                    raise
                time.sleep(error.retry_after)
            except NoAnswer as problem:
                if not problem.again or tries >= self._retries or (method == "PUT" and problem.sent):
                    raise
                tries += 1
                time.sleep(pause)
                pause *= 2

    def post(self, path: str, content: dict[str, Any], key: str) -> dict[str, Any]:
        """Repeat the request of a key until there is a definite answer or patience is over (see the module)."""
        patience_ends = time.monotonic() + self.patience
        pause, said = 0.1, False
        body = {**content, "key": key}
        while True:
            try:
                return self._post_once(path, body, key)
            except TooMany as error:
                if not self.in_doubt(key) and time.monotonic() + error.retry_after > patience_ends:
                    raise
                problem, wait, again = str(error), error.retry_after, True
            except NoAnswer as error:
                problem, wait, again = str(error), pause, error.again
                pause = min(2.0, pause * 1.6)
            except Draining:
                raise
            except Conflict as error:
                if (earlier := self._made_before(key, error)) is None:
                    raise
                self._doubtful.discard(key)
                return earlier
            if not again or time.monotonic() + wait > patience_ends:
                if self.in_doubt(key):
                    raise InDoubt(f"{problem}; the request may have arrived (key {key})", key) from None
                raise Unreachable(f"{problem}; nothing was submitted") from None
            if not said:
                self.tell(f"{problem}; trying again for {max(0, patience_ends - time.monotonic()):.0f} s")
                said = True
            time.sleep(wait)

    def _post_once(self, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        """Make the request of a key once, recording doubt."""
        before = key in self._doubtful
        self._doubtful.add(key)  # stays there if Ctrl-C ends the following steps
        try:
            job = self.job_in(self.connection.ask("POST", path, body))
        except NoAnswer as error:
            if not before and not error.sent:
                self._doubtful.discard(key)
            raise
        except Unreachable as error:  # an answer, but not a job
            raise NoAnswer(str(error)) from None
        except GasError:
            if not before:
                self._doubtful.discard(key)
            raise
        self._doubtful.discard(key)
        return job

    def _made_before(self, key: str, refusal: Conflict) -> dict[str, Any] | None:
        """Return the job of a key that was refused for a different request."""
        try:
            return self.job_by_key(key)
        except GasError as error:
            raise InDoubt(f"{refusal}; and Gas cannot find out whether this created a job: {error}", key) from None

    def json_of(self, answer: Answer) -> Any:
        """Return the JSON of an answer, or raise `Unreachable`."""
        try:
            return answer.json()
        except ValueError as error:
            raise Unreachable(f"{self.connection.called} returned something that is not JSON ({error})") from None

    def job_in(self, answer: Answer) -> dict[str, Any]:
        """Return the job of an answer, or raise `Unreachable`."""
        return job_of(self.json_of(answer), self.name)

    def machine_in(self, answer: Answer) -> dict[str, Any]:
        """Return the machine of an answer, or raise `Unreachable`."""
        return machine_of(self.json_of(answer), self.name)

    def jobs_in(self, answer: Answer) -> list[dict[str, Any]]:
        """Return the jobs of an answer, or raise `Unreachable`."""
        return jobs_of(self.json_of(answer), self.name)
