"""S³ over HTTP, with requests: timeouts, repetition of what is safe to repeat, and exactly-once submission.

Reading and cancelling are safe to repeat, and are repeated a few times. Submitting and reserving are made so by a key
of the client's own, and are repeated with that key until there is a definite answer or patience is over.

Why nothing is submitted twice. One submission has *one* key K, however often it is planned and sent.

1. The service keeps (user, key) unique in its store, across restarts. So of all requests with K, whatever they ask
   for, whenever and however often they arrive at one scheduler, at most one makes a job there. That alone settles a
   lost answer, a connection cut anywhere, a slow answer, a restart, a copy that was held up on the way.
2. An answer is *definite* if S³ gave it in full: the job, or a refusal with its kind. Anything else (no answer, half of
   one, an error page of something in between, an unforeseen error of the service) leaves the request *in doubt*, from
   before its first byte is sent until an answer with the job arrives. A connection that was never made leaves none.
3. A refusal that is the only request ever sent with K leaves nothing on its way, so the next plan may go anywhere. A
   refusal after doubt does not: an earlier copy may still arrive, for example out of a proxy, at a service that has
   been restarted. The next plan may then go to that same scheduler only (`in_doubt`), where 1 holds.
4. A request with K that differs from the one that made K's job is answered with 409; the job is then fetched by its
   key. It is the submission's own, of an earlier plan.
5. When patience is over in doubt, the error is `InDoubt` and names K. A submission repeated with K first asks every
   scheduler for it, and (`gas.endpoints.journal`) sends it to no other scheduler than the one in doubt.

What this rests on: an intermediary between client and service may lose, delay or cut what it carries, but does not
send a request on to another scheduler; and a job is remembered as long as its key may be repeated
(``gas serve --keep``).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

from documents.fields import FieldError, Fields
from gas.availability import AvailabilityList
from gas.endpoints.access import Access, split_address
from gas.endpoints.connection import Connection, NoAnswer, age_of
from gas.endpoints.endpoint import InDoubt, JobDescription, JobEndpoint, Request, Standing, limits_from
from gas.endpoints.exchange import MOST_ANSWER_BYTES, Answer
from gas.endpoints.s3_answers import job_of, jobs_of, machine_of, next_page_of, standing_of
from gas.endpoints.s3_requests import submission_of
from gas.errors import BadInput, Conflict, Draining, GasError, NotFound, TooMany, Unreachable
from gas.planner import Limits
from gas.times import duration_text

if TYPE_CHECKING:
    from gas.endpoints.events import ServiceEvent
    from gas.prediction.history import History
    from gas.prediction.snapshot import Snapshot

__all__ = ["S3Endpoint"]

TIMEOUT_SECONDS = 10.0
RETRIES = 2
PATIENCE_SECONDS = 30.0
FOLLOW_PATIENCE_SECONDS = 300.0
"""How long a stream of events is tried again that was lost: a user watches, and services are restarted."""

MOST_LISTED_BYTES = 2 * MOST_ANSWER_BYTES
"""Of all pages of a list: some 130,000 jobs."""

_VETTED: Mapping[str, Callable[[Any, str], dict[str, Any]]] = {"job": job_of, "machine": standing_of}
OLDEST_SECONDS = 60
"""An older list is not what the service has free, but what it had."""

REMEMBERED = 5_000
"""Of how many ended jobs its past is asked for; some 600 bytes each."""


class S3Endpoint(JobEndpoint):
    """An S³ service.

    Parameters
    ----------
    name
        What the user calls it.
    url
        Where it is, for example ``http://127.0.0.1:8642``.
    timeout
        Seconds for one exchange: the connection and the whole answer.
    retries
        How often a request that only reads, or cancels, is repeated if it got no answer.
    patience
        Seconds for which a request to submit or reserve is repeated that got none.
    access
        The token and the certificates; by default those of the environment (`Access.of`).

    Attributes
    ----------
    is_local
        Whether the service runs on this machine, so that paths mean the same there.
    """

    policy: Final = "s3"
    takes_classes = True
    queue_remarks: Final = ()
    keeps_own_clock = True

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
        self._connection = Connection(name, url, timeout, access)
        self.name = name
        self.address = self._connection.address
        self.is_local = self._connection.is_local
        self.credential = self._connection.access
        self.limits = limits or Limits()
        self.patience = patience
        self.timeout = (retries + 1) * timeout + patience  # for a question, with all repetitions
        self._retries = retries
        self._doubtful: set[str] = set()

    @classmethod
    def configured(cls, name: str, fields: Fields) -> S3Endpoint:
        """Return the endpoint of a table.

        Its keys are ``url`` and perhaps ``timeout``, ``retries``, ``patience``, ``token_file``, ``ca_file``,
        ``insecure`` and limits.
        """
        url = fields.text("url")
        timeout = fields.number("timeout", TIMEOUT_SECONDS, above=0, maximum=3600)
        retries = fields.integer("retries", RETRIES, minimum=0, maximum=100)
        patience = fields.number("patience", PATIENCE_SECONDS, minimum=0, maximum=86400)
        limits = limits_from(fields)
        try:
            split_address(url)
            access = Access.of(url.rstrip("/"), fields)
        except BadInput as error:
            raise fields.fail("url", str(error)) from None
        fields.done()
        return cls(name, url, timeout=timeout, retries=retries, patience=patience, limits=limits, access=access)

    def availability(self, *, without: int | None = None) -> AvailabilityList:
        """Return the list, or raise `Unreachable`; `without` is a waiting job that is left out of it."""
        left_out = "" if without is None else f"?without={without}"
        answer = self._call("GET", f"/v1/availability{left_out}")
        if (age := age_of(answer.headers)) > OLDEST_SECONDS:
            raise Unreachable(
                f"{self.name}: a cache between here and {self.address} answered with a list that is "
                f"{duration_text(age)} old (the limit is {OLDEST_SECONDS} s); such answers must not be cached"
            )
        try:
            return AvailabilityList.from_wire(self._json(answer), "availability")
        except FieldError as error:
            raise Unreachable(f"{self.name}: answered an availability list that breaks the format: {error}") from None

    def submit(
        self, request: Request, job: JobDescription, key: str | None = None, *, reservation: int | None = None
    ) -> dict[str, Any]:
        """Submit a job and return it with its promise.

        A `key` that was used before returns the job that it made. By default each call has one of its own.

        Parameters
        ----------
        reservation
            The number of one of the user's whose place the job is to take; the request is of its processors and
            walltime, not before its start.

        Raises
        ------
        StalePlan
            It would start after ``request.start_by``; nothing was queued.
        InDoubt
            No definite answer came within `patience`; the job may or may not have been submitted.
        Unreachable
            The service cannot be reached; nothing was sent.
        GasError
            The service refused it.
        """
        return self._post("/v1/jobs", submission_of(request, job, reservation), key or uuid.uuid4().hex)

    def reserve(
        self, name: str, processors: int, start: int, walltime: int, key: str | None = None, *, lapses: bool = False
    ) -> dict[str, Any]:
        """Reserve processors from `start` on and return the reservation; errors as of `submit`.

        One that `lapses` ends at its start, unless a job has been submitted into it by then.
        """
        body = {"name": name, "processors": processors, "start": start, "walltime": walltime}
        body |= {"lapses": True} if lapses else {}
        return self._post("/v1/reservations", body, key or uuid.uuid4().hex)

    def in_doubt(self, key: str) -> bool:
        """Whether a request with this key was sent that got no definite answer, so that it may still arrive."""
        return key in self._doubtful

    def job(self, id: int) -> dict[str, Any]:
        """Return what has become of a job, or raise `NotFound`."""
        return self._job_of(self._call("GET", f"/v1/jobs/{id}"))

    def job_by_key(self, key: str) -> dict[str, Any] | None:
        """Return the user's own job that was submitted with this key, None if there is none."""
        jobs = self._jobs_of(self._call("GET", f"/v1/jobs?key={quote(key, safe='')}"))
        if len(jobs) > 1:
            raise Unreachable(f"{self.name}: answered {len(jobs)} jobs of one key; is it an S³ service?")
        return jobs[0] if jobs else None

    def jobs(self, ended: int = 0, fields: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return the jobs in the schedule and the latest `ended` ones that have ended, in submission order.

        The list comes in pages. A job that ends while they are read is listed as it was, or left out.

        Parameters
        ----------
        fields
            What to ask for of each job, besides its number; everything if empty.
        """
        chosen = f"&fields={','.join(fields)}" if fields else ""
        listed: list[dict[str, Any]] = []
        after: int | None = 0
        length = 0
        while after is not None:
            answer = self._call("GET", f"/v1/jobs?ended={ended}&after={after}{chosen}")
            length += len(answer.content)
            if length > MOST_LISTED_BYTES:
                raise Unreachable(f"{self.name}: lists more than {MOST_LISTED_BYTES >> 20} MiB of jobs, the most read")
            listed += jobs_of(self._json(answer), self.name, partial=bool(fields))
            after = next_page_of(self._json(answer), after, self.name)
        return listed

    def output(
        self, id: int, stream: Literal["stdout", "stderr"] = "stdout", limit: int = 2**20, after: int | None = None
    ) -> bytes:
        """Return the last `limit` bytes of what a job has written, or those after so many."""
        begin = "" if after is None else f"&after={after}"
        return self._call("GET", f"/v1/jobs/{id}/output?stream={stream}&limit={limit}{begin}").content

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job or a reservation and return it."""
        return self._job_of(self._call("DELETE", f"/v1/jobs/{id}"))

    def standing(self, id: int) -> Standing:
        """Return how a job stands, and what it could get beside the planned starts of all others."""
        found: AvailabilityList | None = None
        with suppress(Conflict, NotFound):  # it does not wait (any more)
            found = self.availability(without=id)
        job = self.job(id)  # after the list: how it stands is newer, if anything
        if found is None or job["state"] != "queued":
            return Standing(job, None, "")
        return Standing({**job, "expected": job["promise"]}, found, found.version)

    def reshape(
        self, id: int, processors: int, walltime: int, *, start_by: int | None = None, layout: None = None
    ) -> dict[str, Any]:
        """Give a waiting job another shape in the first slot that delays no other job, and return it.

        Repeated with one key if there is no answer.
        """
        body = {"processors": processors, "walltime": walltime, "start_by": start_by, "key": uuid.uuid4().hex}
        try:
            return self._job_of(self._call("PATCH", f"/v1/jobs/{id}", body))
        except NoAnswer as problem:
            if not problem.sent:
                raise
            raise Unreachable(f"{problem}; job {id} may have been changed: check with gas status {id}") from None

    def snapshot(self, users: Mapping[str, int]) -> Snapshot:
        """Return who runs and who waits."""
        from gas.endpoints.s3_queue import fields_of, in_turn, snapshot_of

        machine = self.machine()  # first: who has started meanwhile is seen to, but nothing else can be
        return snapshot_of(self.name, machine, in_turn(self.jobs(fields=fields_of(machine))), users)

    def place(self, id: int, users: Mapping[str, int]) -> tuple[Snapshot, int]:
        """Return who runs and who waits without a waiting job, and how many of these come before it."""
        from gas.endpoints.s3_queue import fields_of, in_turn, snapshot_of

        machine = self.machine()
        jobs = in_turn(self.jobs(fields=fields_of(machine)))
        if not any(job["id"] == id and job["state"] == "queued" for job in jobs):
            raise Conflict(f"{self.name}: job {id} is no longer waiting")
        place = [job["id"] for job in jobs].index(id)
        snapshot = snapshot_of(self.name, machine, [*jobs[:place], *jobs[place + 1 :]], users)
        return snapshot, min(len(snapshot), place)

    def history(self) -> History:
        """Return the latest jobs that have ended here, `REMEMBERED` at most, and those in the schedule."""
        from gas.endpoints.s3_queue import HISTORY_FIELDS, history_of

        return history_of(self.name, self.jobs(REMEMBERED, HISTORY_FIELDS))

    def machine(self) -> dict[str, Any]:
        """Return how the machine stands, and which user the caller is."""
        return self._machine_of(self._call("GET", "/v1/machine"))

    def change_machine(
        self, *, processors: int | None = None, accepting: bool | None = None, cancel_larger: bool = False
    ) -> dict[str, Any]:
        """Change the size of the machine, or whether it accepts jobs; return it, with the promises ``broken`` by that.

        Waiting jobs larger than the machine are cancelled only if `cancel_larger` says so; else it is a `Conflict`.
        Not repeated once it may have got through: the answer to a second request would name none of them.
        """
        wanted = {"processors": processors, "accepting": accepting, "cancel_larger": cancel_larger or None}
        body = {name: value for name, value in wanted.items() if value is not None}
        try:
            answer = self._call("PUT", "/v1/machine", body)
        except NoAnswer as problem:
            if not problem.sent:
                raise
            raise Unreachable(f"{problem}; the machine may have been changed: check with gas machine") from None
        return self._machine_of(answer)

    def events(self) -> Iterator[ServiceEvent]:
        """Yield what changes in the schedule from now on, without end.

        A stream that is lost is taken up again where it ended. The first event of every stream is ``machine``;
        ``reset`` says that some were missed.

        Raises
        ------
        Unreachable
            It cannot be taken up again for `FOLLOW_PATIENCE_SECONDS`, or is none of S³.
        GasError
            The service refuses it.
        """
        from gas.endpoints.events import EventReader

        reader, heard, pause, said = EventReader(), time.monotonic(), 0.2, False
        patience = 0.0  # a service that has never answered is not waited for
        while True:
            try:
                with self._connection.stream(reader.last_id) as pieces:
                    reader = EventReader(reader.last_id)
                    for piece in pieces:
                        heard, pause, said, patience = time.monotonic(), 0.2, False, FOLLOW_PATIENCE_SECONDS
                        for event in reader.feed(piece):
                            vetted = _VETTED.get(event.kind)
                            yield event if vetted is None else replace(event, data=vetted(event.data, self.name))
                raise NoAnswer(f"{self._connection.called} ended the stream")
            except (NoAnswer, TooMany) as problem:
                if isinstance(problem, TooMany):
                    pause = max(pause, problem.retry_after)
                final = isinstance(problem, NoAnswer) and not problem.again
                if final or time.monotonic() + pause > heard + patience:
                    raise problem if isinstance(problem, TooMany) else Unreachable(str(problem)) from None
                if not said:
                    self.tell(f"{problem}; trying again")
                    said = True
                time.sleep(pause)
                pause = min(10.0, pause * 2)

    # ------------------------------------------------------------------------------------------------ asking

    def _call(self, method: str, path: str, body: object = None) -> Answer:
        """Make a request, a few times if it gets no answer; a PUT only as long as nothing of it was sent."""
        patience_ends = time.monotonic() + self.patience
        tries, pause = 0, 0.2
        while True:
            try:
                return self._connection.ask(method, path, body)
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

    def _post(self, path: str, content: dict[str, Any], key: str) -> dict[str, Any]:
        """Make the request of a key until there is a definite answer or patience is over (see the module)."""
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
        """Make the request of a key once, keeping account of doubt."""
        before = key in self._doubtful
        self._doubtful.add(key)  # stays there if Ctrl-C ends what follows
        try:
            job = self._job_of(self._connection.ask("POST", path, body))
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
            raise InDoubt(
                f"{refusal}; and it cannot be queried whether the request created a job: {error}", key
            ) from None

    def _json(self, answer: Answer) -> Any:
        try:
            return answer.json()
        except ValueError as error:
            raise Unreachable(f"{self._connection.called} answered something that is not JSON ({error})") from None

    def _job_of(self, answer: Answer) -> dict[str, Any]:
        return job_of(self._json(answer), self.name)

    def _machine_of(self, answer: Answer) -> dict[str, Any]:
        return machine_of(self._json(answer), self.name)

    def _jobs_of(self, answer: Answer) -> list[dict[str, Any]]:
        return jobs_of(self._json(answer), self.name)
