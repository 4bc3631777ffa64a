"""S³ over HTTP: queries and changes (`gas.endpoints.s3_calls` makes the requests)."""

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
from gas.endpoints.connection import NoAnswer, age_of
from gas.endpoints.endpoint import JobDescription, Request, Standing, limits_from
from gas.endpoints.exchange import MOST_ANSWER_BYTES
from gas.endpoints.s3_answers import job_of, jobs_of, next_page_of, standing_of
from gas.endpoints.s3_calls import PATIENCE_SECONDS, RETRIES, TIMEOUT_SECONDS, S3Calls
from gas.endpoints.s3_requests import submission_of
from gas.errors import BadInput, Conflict, NotFound, TooMany, Unreachable
from gas.times import duration_text

if TYPE_CHECKING:
    from gas.endpoints.events import ServiceEvent
    from gas.prediction.history import History
    from gas.prediction.snapshot import Snapshot

__all__ = ["S3Endpoint"]

FOLLOW_PATIENCE_SECONDS = 300.0
"""Seconds for which a lost stream of events is retried: a user is watching, and services are restarted."""

MOST_LISTED_BYTES = 2 * MOST_ANSWER_BYTES
"""Bytes of all pages of a list: some 130,000 jobs."""

_VETTED: Mapping[str, Callable[[Any, str], dict[str, Any]]] = {"job": job_of, "machine": standing_of}
OLDEST_SECONDS = 60
"""Largest age of a cached list; an older one shows past availability."""

REMEMBERED = 5_000
"""Number of ended jobs requested as its history; some 600 bytes each."""


class S3Endpoint(S3Calls):
    """An S³ service.

    Parameters
    ----------
    name
        Its name in messages and plans.
    url
        Its address, for example ``http://127.0.0.1:8642``.
    timeout
        Seconds for one exchange: the connection and the whole answer.
    retries
        Number of repetitions of a request that only reads, or cancels, without an answer.
    patience
        Seconds for which a request to submit or reserve is repeated if it gets no answer.
    access
        The token and the certificates; by default those of the environment (`Access.of`).

    Attributes
    ----------
    is_local
        Whether the service runs on this machine, so that paths have the same meaning there.
    """

    _identity: str | None = None

    policy: Final = "s3"
    takes_classes = True
    queue_remarks: Final = ()
    keeps_own_clock = True

    @classmethod
    def configured(cls, name: str, fields: Fields) -> S3Endpoint:
        """Return the endpoint of a table.

        Its keys are ``url`` and, optionally, ``timeout``, ``retries``, ``patience``, ``token_file``, ``ca_file``,
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
        answer = self.call("GET", f"/v1/availability{left_out}")
        if (age := age_of(answer.headers)) > OLDEST_SECONDS:
            raise Unreachable(
                f"{self.name}: a cache between here and {self.address} answered with a list that is "
                f"{duration_text(age)} old (the limit is {OLDEST_SECONDS} s); such answers must not be cached"
            )
        try:
            return AvailabilityList.from_wire(self.json_of(answer), "availability")
        except FieldError as error:
            raise Unreachable(f"{self.name}: returned an availability list that breaks the format: {error}") from None

    def submit(
        self, request: Request, job: JobDescription, key: str | None = None, *, reservation: int | None = None
    ) -> dict[str, Any]:
        """Submit a job and return it with its promise.

        For a `key` that was used before, return the job that it created. By default each call has a key of its own.

        Parameters
        ----------
        reservation
            Number of a reservation of the user that the job replaces; the request has its processors and walltime, and
            does not start before it.

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
        return self.post("/v1/jobs", submission_of(request, job, reservation), key or uuid.uuid4().hex)

    def reserve(
        self, name: str, processors: int, start: int, walltime: int, key: str | None = None, *, lapses: bool = False
    ) -> dict[str, Any]:
        """Reserve processors from `start` on and return the reservation; errors as for `submit`.

        With `lapses`, it ends at its start unless a job has been submitted into it by then.
        """
        body = {"name": name, "processors": processors, "start": start, "walltime": walltime}
        body |= {"lapses": True} if lapses else {}
        return self.post("/v1/reservations", body, key or uuid.uuid4().hex)

    def in_doubt(self, key: str) -> bool:
        """Whether a request with this key got no definite answer, so that it may still arrive."""
        return key in self._doubtful

    def job(self, id: int) -> dict[str, Any]:
        """Return a job with its current state, or raise `NotFound`."""
        return self.job_in(self.call("GET", f"/v1/jobs/{id}"))

    def job_by_key(self, key: str) -> dict[str, Any] | None:
        """Return the user's own job that was submitted with this key; None if there is none."""
        jobs = self.jobs_in(self.call("GET", f"/v1/jobs?key={quote(key, safe='')}"))
        if len(jobs) > 1:
            raise Unreachable(f"{self.name}: returned {len(jobs)} jobs for one key; is it an S³ service?")
        return jobs[0] if jobs else None

    def jobs(self, ended: int = 0, fields: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return the jobs in the schedule and the latest `ended` ones that have ended, in submission order.

        The list comes in pages. A job that ends while they are read is listed as it was, or left out.

        Parameters
        ----------
        fields
            The fields of each job to request, besides its number; empty for all.
        """
        chosen = f"&fields={','.join(fields)}" if fields else ""
        listed: list[dict[str, Any]] = []
        after: int | None = 0
        length = 0
        while after is not None:
            answer = self.call("GET", f"/v1/jobs?ended={ended}&after={after}{chosen}")
            length += len(answer.content)
            if length > MOST_LISTED_BYTES:
                raise Unreachable(f"{self.name}: lists more than {MOST_LISTED_BYTES >> 20} MiB of jobs, the limit")
            listed += jobs_of(self.json_of(answer), self.name, partial=bool(fields))
            after = next_page_of(self.json_of(answer), after, self.name)
        return listed

    def output(
        self, id: int, stream: Literal["stdout", "stderr"] = "stdout", limit: int = 2**20, after: int | None = None
    ) -> bytes:
        """Return the last `limit` bytes of a job's output, or at most `limit` bytes from an offset on."""
        begin = "" if after is None else f"&after={after}"
        return self.call("GET", f"/v1/jobs/{id}/output?stream={stream}&limit={limit}{begin}").content

    def cancel(self, id: int) -> dict[str, Any]:
        """Cancel a job or a reservation and return it."""
        return self.job_in(self.call("DELETE", f"/v1/jobs/{id}"))

    def standing(self, id: int) -> Standing:
        """Return the state of a job, and the availability list without it; all other jobs keep their starts."""
        found: AvailabilityList | None = None
        with suppress(Conflict, NotFound):  # it does not wait (any more)
            found = self.availability(without=id)
        job = self.job(id)  # after the list: its state is at least as new
        if found is None or job["state"] != "queued":
            return Standing(job, None, "")
        return Standing({**job, "expected": job["promise"]}, found, found.version)

    def reshape(
        self, id: int, processors: int, walltime: int, *, start_by: int | None = None, layout: None = None
    ) -> dict[str, Any]:
        """Give a waiting job another shape in the first slot that delays no other job, and return the job.

        Repeated with one key if there is no answer.
        """
        body = {"processors": processors, "walltime": walltime, "start_by": start_by}
        return self._change("PATCH", id, f"/v1/jobs/{id}", body)

    def answer(
        self, id: int, *, accepts: bool, start: int | None = None, not_before: int | None = None
    ) -> dict[str, Any]:
        """Accept or decline the earlier start that a waiting job is offered, and return the job.

        Repeated with one key if there is no answer.
        """
        said = {"answer": "accept" if accepts else "decline", "start": start, "not_before": not_before}
        return self._change("POST", id, f"/v1/jobs/{id}/offer", said)

    def _change(self, method: str, id: int, path: str, wanted: dict[str, Any]) -> dict[str, Any]:
        """Change a waiting job once, even if the request has to be repeated, and return it."""
        try:
            return self.job_in(self.call(method, path, {**wanted, "key": uuid.uuid4().hex}))
        except NoAnswer as problem:
            if not problem.sent:
                raise
            raise Unreachable(f"{problem}; job {id} may have been changed: check with gas status {id}") from None

    def snapshot(self, users: Mapping[str, int]) -> Snapshot:
        """Return the running and the waiting jobs."""
        from gas.endpoints.s3_queue import fields_of, in_turn, snapshot_of

        machine = self.machine()  # before the jobs: only starts in between can be handled
        return snapshot_of(self.name, machine, in_turn(self.jobs(fields=fields_of(machine))), users)

    def place(self, id: int, users: Mapping[str, int]) -> tuple[Snapshot, int]:
        """Return the running and the waiting jobs without a waiting job, and the number of jobs ahead of it."""
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
        """Return the state of the machine, and the caller's user."""
        return self.machine_in(self.call("GET", "/v1/machine"))

    def identity(self) -> str:
        """Return the identity of the service under all of its addresses, queried once; `GasError` without an answer."""
        if self._identity is None:
            self._identity = self.machine().get("identity") or self.target
        return self._identity

    def change_machine(
        self, *, processors: int | None = None, accepting: bool | None = None, cancel_larger: bool = False
    ) -> dict[str, Any]:
        """Change the size of the machine, or whether it accepts jobs; return it, with the ``broken`` promises.

        With `cancel_larger`, waiting jobs larger than the machine are cancelled; without it, they raise `Conflict`.
        Not repeated once it may have arrived: the answer to a second request would not list the broken promises.
        """
        wanted = {"processors": processors, "accepting": accepting, "cancel_larger": cancel_larger or None}
        body = {name: value for name, value in wanted.items() if value is not None}
        try:
            answer = self.call("PUT", "/v1/machine", body)
        except NoAnswer as problem:
            if not problem.sent:
                raise
            raise Unreachable(f"{problem}; the machine may have been changed: check with gas machine") from None
        return self.machine_in(answer)

    def events(self) -> Iterator[ServiceEvent]:
        """Yield the changes of the schedule from now on, without end.

        A lost stream is resumed where it ended. The first event of every stream is ``machine``; ``reset`` means that
        some events were missed.

        Raises
        ------
        Unreachable
            It cannot be resumed for `FOLLOW_PATIENCE_SECONDS`, or is not from an S³.
        GasError
            The service refuses it.
        """
        from gas.endpoints.events import EventReader

        reader, heard, pause, said = EventReader(), time.monotonic(), 0.2, False
        patience = 0.0  # a service that has never answered is not retried
        while True:
            try:
                with self.connection.stream(reader.last_id) as pieces:
                    reader = EventReader(reader.last_id)
                    for piece in pieces:
                        heard, pause, said, patience = time.monotonic(), 0.2, False, FOLLOW_PATIENCE_SECONDS
                        for event in reader.feed(piece):
                            vetted = _VETTED.get(event.kind)
                            yield event if vetted is None else replace(event, data=vetted(event.data, self.name))
                raise NoAnswer(f"{self.connection.called} ended the stream")
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
