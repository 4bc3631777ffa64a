"""OAR by its REST API, with requests: the same data as by the commands, and the same readers.

The user is named by a token (``token_file``), by name and password in ``~/.netrc``, or, if a site's API trusts that, by
a name in the header X-REMOTE-IDENT (``ident``). Reading usually needs none of these.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from documents.fields import Fields, quoted
from gas.endpoints.access import Access, is_loopback, split_address
from gas.endpoints.connection import cause_of, never_made
from gas.endpoints.exchange import MOST_ANSWER_BYTES, Answer, Unreadable, exchange, new_session
from gas.endpoints.oar.answers import (
    KILLED_ALREADY,
    NOT_YOURS,
    errors_of,
    jobs_of,
    page_of,
    parsed,
    resources_of,
    submitted_as,
    usage_of,
)
from gas.endpoints.oar.conditions import condition_of, fulfils
from gas.endpoints.oar.machine import Job, Machine, Usage
from gas.endpoints.oar.order import WINDOW_SECONDS, needs_usage
from gas.endpoints.oar.submission import Batch, body_of
from gas.endpoints.oar.transport import NO_DATABASE
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.errors import BadInput, Conflict, Forbidden, NotFound, Unauthorized, Unreachable

if TYPE_CHECKING:  # imported where they are used: planning on a file needs no HTTP
    import requests

__all__ = ["TIMEOUT_SECONDS", "RestTransport"]

TIMEOUT_SECONDS = 30.0
"""The API is usually a CGI program, which takes half a second for the simplest query."""

PAGE = 500
"""Number of objects per request; a site may allow fewer."""

MOST_PAGES = 2000

MEMORY_SECONDS = 90 * 86400
"""Seconds back for which ended jobs are requested: without a limit OAR would search all jobs that it ever had."""

DAY = 86400

ENDED = "Terminated,Error,toError"


class RestTransport:
    """The REST API of one OAR.

    Parameters
    ----------
    name
        Its name for the user.
    url
        Its address, for example ``https://frontend/oarapi``.
    timeout
        Seconds for an exchange: the connection and the whole answer.
    access
        A token and certificates.
    ident
        The user's name, for APIs that trust the header X-REMOTE-IDENT.
    properties
        A condition on the resources that count (`gas.endpoints.oar.conditions.condition_of`).
    netrc
        Whether name and password of ``~/.netrc`` may be sent.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        timeout: float = TIMEOUT_SECONDS,
        access: Access | None = None,
        ident: str | None = None,
        properties: str | None = None,
        netrc: bool = True,
    ) -> None:
        from requests.utils import get_netrc_auth

        parts = split_address(url)
        self.name = name
        self.address = url.rstrip("/")
        self.timeout = 4 * timeout  # reading the state takes up to four requests
        self._timeout = timeout
        self._access = access or Access()
        self._condition = None if properties is None else condition_of(properties)
        self._user: str | None = None
        self._session = new_session()
        self._session.trust_env = not is_loopback(parts)  # a proxy does not know services of this machine
        self._session.headers["Accept"] = "application/json"
        credentials = get_netrc_auth(self.address) if netrc and self._access.token is None else None
        self._credentials = credentials
        self._session.auth = self._sign
        if ident is not None:
            self._session.headers["X-REMOTE-IDENT"] = ident

    @classmethod
    def configured(cls, name: str, fields: Fields, properties: str | None) -> RestTransport:
        """Return the transport of a table.

        Its keys are ``url``, ``timeout``, ``ident``, ``token_file``, ``ca_file`` and ``insecure``.
        """
        url = fields.text("url")
        timeout = fields.number("timeout", TIMEOUT_SECONDS, above=0, maximum=3600)
        ident = fields.text("ident", None)
        if ident is not None and not re.fullmatch(r"[\w.-]+", ident, re.ASCII):
            raise fields.fail("ident", f"{quoted(ident)} is not the name of a user")
        others = {key: value for key, value in os.environ.items() if key != "GAS_TOKEN"}  # which is for S³
        try:
            parts = split_address(url)
            access = Access.of(url.rstrip("/"), fields, others)
        except BadInput as error:
            raise fields.fail("url", str(error)) from None
        netrc = parts.scheme == "https" or is_loopback(parts) or fields.boolean("insecure", False)
        try:
            return cls(name, url, timeout=timeout, access=access, ident=ident, properties=properties, netrc=bool(netrc))
        except BadInput as error:
            raise fields.fail("properties", str(error)) from None

    @property
    def user(self) -> str:
        """Return the user as whom it acts; empty if the API knows no user."""
        if self._user is None:
            content = self._ask("whoami.json")
            found = content.get("authenticated_user") if isinstance(content, Mapping) else None
            self._user = found if isinstance(found, str) else ""
        return self._user

    def machine(self, name: str, queue: str = "default") -> Machine:
        """Return the published state."""
        source = f"{self.name}: resources/full.json"
        listed, _ = self._pages("resources/full.json", {})
        resources = resources_of(listed, source)
        if self._condition is not None:
            resources = tuple(one for one in resources if fulfils(one, self._condition))
        jobs, now = self._pages("jobs/details.json", {})
        found = jobs_of(jobs, f"{self.name}: jobs/details.json")
        now = int(time.time()) if now is None else now
        user = self._user_if_known()
        usage = self._usage(now) if needs_usage(found, queue, user) else None
        return Machine(name, now, resources, found, user, usage)

    def _user_if_known(self) -> str:
        """Return the same; empty also if the API refuses to report it, as reading needs no user."""
        try:
            return self.user
        except (Unauthorized, Forbidden, NotFound):
            self._user = ""
            return ""

    def _usage(self, now: int) -> Usage | None:
        """Return the use by users in the window of a fair share, of all queues; None for an older API."""
        span = {"from": str(now - WINDOW_SECONDS + DAY), "to": str(now)}  # by ends of days, and by their starts
        try:
            listed, _ = self._pages("accounting.json", span)
        except NotFound:
            return None
        return usage_of(listed, f"{self.name}: accounting.json")

    def preview(self, batch: Batch) -> str:
        """Return the request that would submit a job."""
        return f"POST {self.address}/jobs.json\n{json.dumps(body_of(batch), indent=2)}\n"

    def job(self, id: int) -> Job | None:
        """Return a job, also one that has ended; None if there is none."""
        return next((job for job in self._details([id]) if job.id == id), None)

    def active_jobs(self) -> tuple[Job, ...]:
        """Return all jobs that have not ended."""
        listed, _ = self._pages("jobs/details.json", {})
        return tuple(job for job in jobs_of(listed, f"{self.name}: jobs/details.json") if job.active)

    def ended_jobs(self, count: int) -> tuple[Job, ...]:
        """Return the recently ended jobs with the highest numbers."""
        if count < 1:
            return ()
        query = {"state": ENDED, "from": str(int(time.time()) - MEMORY_SECONDS)}
        _, total, _, _ = self._page("jobs.json", query | {"limit": "1"})
        listed, _ = self._pages("jobs/details.json", query, offset=max(0, total - count))
        return jobs_of(listed, f"{self.name}: jobs/details.json")[-count:]

    def tagged_jobs(self, tag: str) -> tuple[Job, ...]:
        """Return the user's jobs whose names end with a tag, also those that have ended."""
        if not self.user:
            raise Unauthorized(f"{self.name}: {self.address} does not accept the credentials; {self._hint}")
        since = str(int(time.time()) - MEMORY_SECONDS)
        found: set[int] = set()
        for query in ({}, {"state": ENDED, "from": since}):
            listed, _ = self._pages("jobs.json", {"user": self.user} | query)
            jobs = jobs_of(listed, f"{self.name}: jobs.json")
            found |= {job.id for job in jobs if job.name.endswith(f".{tag}") and job.user == self.user}
        return self._details(sorted(found)) if found else ()

    def submit(self, batch: Batch) -> int:
        """Submit a job and return its number."""
        body = body_of(batch)
        answer = self._send("POST", "jobs.json", body)
        content, words = _content(answer)
        id = content.get("id") if isinstance(content, Mapping) else None
        status = answer.status_code
        if 200 <= status < 300 and isinstance(id, int) and id > 0:
            return id
        problem = f"{self.name}: {words}" if words else f"{self.name}: {self.address} returned HTTP {status}"
        made = submitted_as(words)
        if made is not None:
            raise RefusedAs(f"{self.name}: oarsub created job {made}, but ended with: {errors_of(words)}", made)
        if status in (401, 403) or status == 404 or status == 405:
            raise self._refusal(status, words)
        if NO_DATABASE.search(words):
            raise NotSent(f"{self.name}: {errors_of(words)}")
        if words and (400 <= status < 500 or "Oarsub command exited with status" in words):
            raise BadInput(f"{self.name}: oarsub refuses: {errors_of(words)}")
        raise Unclear(errors_of(problem), over=200 <= status < 300)

    def cancel(self, id: int) -> None:
        """Request the end of a job; it comes a moment later."""
        answer = self._send("DELETE", f"jobs/{id}.json", repeatable=True)
        if 200 <= answer.status_code < 300:
            return
        _, words = _content(answer)
        if KILLED_ALREADY in words:
            return
        if NOT_YOURS in words:
            raise Forbidden(f"{self.name}: job {id} is not yours or does not exist")
        if "REGISTERED" in words:
            raise Conflict(f"{self.name}: the cancellation of job {id} is recorded, but OAR's server does not respond")
        raise self._refusal(answer.status_code, words)

    # ------------------------------------------------------------------------------------------------ requests

    def _details(self, ids: list[int]) -> tuple[Job, ...]:
        listed, _ = self._pages("jobs/details.json", {"ids": ":".join(map(str, ids))})
        return jobs_of(listed, f"{self.name}: jobs/details.json")

    def _pages(
        self, path: str, query: Mapping[str, str], offset: int = 0
    ) -> tuple[list[Mapping[str, Any]], int | None]:
        """Return the objects of all pages, and the time of the first query."""
        found: dict[object, Mapping[str, Any]] = {}
        queried: int | None = None
        ends, most = time.monotonic() + self.timeout, MOST_ANSWER_BYTES
        for _ in range(MOST_PAGES):
            records, total, now, length = self._page(
                path, {**query, "limit": str(PAGE), "offset": str(offset)}, ends, most
            )
            most -= length
            queried = now if queried is None else queried
            if not all(isinstance(record.get("id"), int | None) for record in records):
                raise Unreachable(f"{self.name}: {path} has invalid numbers; is it the REST API of OAR?")
            places = itertools.count(offset)
            keyed = [(record.get("id"), next(places)) for record in records]  # the list may change between two pages
            found |= {place if id is None else str(id): one for (id, place), one in zip(keyed, records, strict=True)}
            offset += len(records)
            if not records or offset >= total:
                return list(found.values()), queried
        raise Unreachable(f"{self.name}: {path} has no end")

    def _page(
        self, path: str, query: Mapping[str, str], ends: float = math.inf, most: int = MOST_ANSWER_BYTES
    ) -> tuple[list[Mapping[str, Any]], int, int | None, int]:
        """Return the objects of a page, the total number, the time of the query, and its bytes."""
        target = f"{path}?{urlencode({**query, 'structure': 'simple'}, safe=':,')}"
        answer = self._answered(self._send("GET", target, repeatable=True, ends=ends, most=most))
        source = f"{self.name}: {path}"
        return *page_of(parsed(answer.text, source), source), len(answer.content)

    def _ask(self, path: str) -> Any:
        return parsed(self._answered(self._send("GET", path, repeatable=True)).text, f"{self.name}: {path}")

    def _answered(self, answer: Answer) -> Answer:
        if not 200 <= answer.status_code < 300:
            raise self._refusal(answer.status_code, _content(answer)[1])
        return answer

    def _send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        repeatable: bool = False,
        ends: float = math.inf,
        most: int = MOST_ANSWER_BYTES,
    ) -> Answer:
        """Make a request.

        Parameters
        ----------
        repeatable
            Whether it may be repeated safely, so that a lost answer leaves no doubt.
        ends
            Instant of the monotonic clock by which it must be answered, if that is before the timeout.
        most
            Largest size of its answer in bytes.
        """
        import requests

        where = f"{self.name}: {self.address}"
        timeout = max(0.05, min(self._timeout, ends - time.monotonic()))
        try:
            return exchange(
                self._session, method, f"{self.address}/{path}", json=body, timeout=timeout, most=max(0, most),
                verify=self._access.certificates or True,
            )  # fmt: skip
        except Unreadable as error:
            problem = f"{where}: {error}; is it the REST API of OAR?"
        except requests.ConnectTimeout:
            raise NotSent(f"{where} cannot be reached within {self._timeout:g} s") from None
        except requests.Timeout:
            problem = f"{where} has not answered for {self._timeout:g} s (`timeout` in its table)"
        except (requests.RequestException, OSError) as error:
            if never_made(error) or type(error) is OSError:  # requests raises this for unreadable certificates
                raise NotSent(f"{where} cannot be reached ({cause_of(error)})") from None
            problem = f"{where}: the connection was lost ({cause_of(error)})"
        raise Unreachable(problem) if repeatable else Unclear(problem)

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the token, or name and password; with this in place, requests looks for no others."""
        if self._credentials is not None:
            request.prepare_auth(self._credentials)
            return request
        return self._access.sign(request)

    @property
    def _hint(self) -> str:
        return "put name and password into ~/.netrc, or name a token_file, or an ident if the API trusts that"

    def _refusal(self, status: int, words: str) -> Exception:
        """Return the error for an answer."""
        problem = errors_of(words) or f"HTTP {status}"
        if status == 401:
            return Unauthorized(f"{self.name}: {problem}; {self._hint}")
        if status == 403:
            return Forbidden(f"{self.name}: {problem}")
        if status == 404 and words:
            return NotFound(f"{self.name}: {problem}")
        return Unreachable(f"{self.name}: {self.address} returned {problem}; is it the REST API of OAR?")


def _content(answer: Answer) -> tuple[Any, str]:
    """Return an answer, and its message if it is an error of OAR; both may be missing."""
    try:
        content = parsed(answer.text, "")
    except Unreachable:
        return None, ""
    if not isinstance(content, Mapping):
        return None, ""
    message = content.get("message") or content.get("cmd_output") or ""
    return content, str(message)
