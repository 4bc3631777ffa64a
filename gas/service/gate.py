"""The gate: the first checks of every request, of its user, rate and size.

A request without the required right is answered from its head alone. The bodies of other requests are read here, up to
their size limit and within their time limit, so that no route ever waits for a slow client.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Protocol
from urllib.parse import urlsplit

from anyio import BrokenResourceError
from fastapi import Depends, Request
from h11 import LocalProtocolError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from documents.fields import shown
from gas.endpoints.access import is_loopback
from gas.errors import Forbidden, GasError, TooLarge, TooMany, Unauthorized
from gas.service.limits import Limits, Pace, RateLimiter
from gas.service.metrics import Metrics
from gas.service.refusals import refusal, refuse
from gas.service.rights import Action, Principal, admit, allowed, requested_action
from gas.service.tokens import Tokens, the_service_user

__all__ = ["BODY_GRACE", "BODY_SECONDS", "LEAST_RATE", "VISITOR", "Caller", "Gate", "Visitor", "principal_of"]

log = logging.getLogger("gas.s3")

BODY_SECONDS = 60.0
"""Seconds in which a client must send the body of a request, if it is large."""

BODY_GRACE = 10.0
"""Seconds allowed in any case, in addition to the time that the received bytes take at `LEAST_RATE`."""

LEAST_RATE = 2**16
"""Bytes per second at which a client must send a long request and read a long answer."""

MOST_ARRIVING = 2**26
"""Largest total size of one user's requests that are arriving or not answered yet."""

MOST_RATE = 8 * 2**20
"""Bytes per second at which the requests of one user are read: reading JSON delays all others meanwhile."""

MOST_PLAN_BYTES = 2**20
"""The largest planning request: reading more JSON would delay others."""

STRANGERS_RATE, STRANGERS_PAUSE = 50.0, 2.0
"""Largest rate of requests without a valid token per address and second, and the delay in seconds of requests that
exceed it."""

VISITOR = "gas.visitor"
"""The key of the connection in the state of a request, if it is a `Visitor`."""

_PRINCIPAL = "gas.principal"


def principal_of(scope: Scope) -> Principal:
    """Return the user of a request that has passed the gate and, with tokens, needed one."""
    principal = scope[_PRINCIPAL]
    assert isinstance(principal, Principal), "the gate admits only principals to routes that need one"
    return principal


async def _caller(request: Request) -> Principal:
    return principal_of(request.scope)


Caller = Annotated[Principal, Depends(_caller)]
"""The user of a request, as an argument of a route."""


class Visitor(Protocol):
    """The interface of a connection for the gate."""

    address: str

    async def recognize(self, user: str) -> None:
        """Record the user of the request."""


@dataclass
class _Kept:
    """The number of kept bytes of one request, and their user."""

    user: str = ""
    size: int = 0


class Gate:
    """ASGI middleware.

    Parameters
    ----------
    app
        The application behind the gate.
    tokens
        The tokens of users; with None every client is the user who runs the service, as an operator.
    own_names_only
        Whether requests must be addressed to this machine by a loopback name. Otherwise a web page elsewhere could make
        a browser on this machine send requests under a name of its own (DNS rebinding), if no token prevents this.
    limits, metrics
        Limits per user, and counters of requests.
    """

    def __init__(
        self, app: ASGIApp, tokens: Tokens | None, limits: Limits, metrics: Metrics, *, own_names_only: bool = False
    ) -> None:
        self._app = app
        self._own_names_only = own_names_only
        self._tokens = tokens
        self._everybody = the_service_user() if tokens is None else None
        self._limits = limits
        self._rate = RateLimiter(limits.max_rate)
        self._strangers = RateLimiter(STRANGERS_RATE)
        self._metrics = metrics
        self._arriving: Counter[str] = Counter()
        self._pace = Pace(MOST_RATE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on with its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status, gone, kept = 0, False, _Kept()

        async def send_noting_status(message: Message) -> None:
            nonlocal status, gone
            if message["type"] == "http.response.start":
                status = message["status"]
            try:
                if not gone:
                    await send(message)
            except LocalProtocolError:  # garbage followed the request; uvicorn has answered 400 and closed
                gone = True

        try:
            scope[_PRINCIPAL] = await self._identify_in_time(scope)
            body = await self._body(scope, receive, kept)
            if self._tokens is not None and scope[_PRINCIPAL] is not None:
                self._authenticate(scope)  # a token may be revoked while the body arrives
        except GasError as error:
            await refusal(error)(scope, receive, send_noting_status)
        except TimeoutError:
            text = (
                f"the body did not arrive in time: {kept.size} bytes have arrived; the limits are {BODY_GRACE:g} s "
                f"and then {LEAST_RATE // 1024} KiB a second, {BODY_SECONDS:g} s in all; send it again"
            )
            await refuse(408, "Timeout", text)(scope, receive, send_noting_status)
        else:
            try:
                if body is not None:
                    await self._app(scope, body, send_noting_status)
            except* BrokenResourceError:
                pass  # the client of the event stream left while an event was being sent
        finally:
            self._forget(kept)
            self._note(scope, status, time.perf_counter() - began)

    async def _identify_in_time(self, scope: Scope) -> Principal | None:
        """Return the principal as `_identify`; an address with too many unidentified requests must wait."""
        visitor: Visitor | None = scope.get("state", {}).get(VISITOR)
        try:
            principal = self._identify(scope)
        except Unauthorized:
            await self._detain(visitor)
            raise
        if principal is None:
            await self._detain(visitor)
        elif visitor is not None:
            await visitor.recognize(principal.user)
        return principal

    async def _detain(self, visitor: Visitor | None) -> None:
        try:
            if visitor is not None:
                self._strangers.admit(visitor.address, time.monotonic())
        except TooMany:
            await asyncio.sleep(STRANGERS_PAUSE)

    def _identify(self, scope: Scope) -> Principal | None:
        """Return the principal; None if the request needs none; raise if the principal has no right to it."""
        public = _is_public(scope)
        if self._own_names_only:
            _check_own_name(scope)
        if self._tokens is None:
            principal = self._everybody
        elif public:
            return None
        else:
            principal = self._authenticate(scope)
        admit(scope["method"], scope["path"], principal)
        if principal is not None and not public:
            self._rate.admit(principal.user, time.monotonic())
        return principal

    def _authenticate(self, scope: Scope) -> Principal:
        assert self._tokens is not None, "called only if tokens are required"
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return self._tokens.authenticate(given[0].decode("latin-1") if len(given) == 1 else None)

    async def _body(self, scope: Scope, receive: Receive, kept: _Kept) -> Receive | None:
        """Return the complete body in the form for an application; None if the client has left."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit():
                self._check_size(scope, int(value[:20]))
        parts: list[bytes] = []
        loop = asyncio.get_running_loop()
        began, more = loop.time(), True
        kept.user = scope[_PRINCIPAL].user if scope[_PRINCIPAL] is not None else ""
        async with asyncio.timeout(None) as patience:
            while more:
                patience.reschedule(began + min(BODY_SECONDS, BODY_GRACE + kept.size / LEAST_RATE))
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                self._keep(kept, len(part))
                self._check_size(scope, kept.size)
                parts.append(part)
                if pause := self._pace.pause(kept.user, len(part), loop.time()):
                    began += pause  # the delay is ours
                    patience.reschedule(None)
                    await asyncio.sleep(pause)
                more = message.get("more_body", False)
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": b"".join(parts), "more_body": False}

        return replay

    def _check_size(self, scope: Scope, size: int) -> None:
        self._limits.check_size(size)
        if size > MOST_PLAN_BYTES and requested_action(scope["method"], scope["path"]) is Action.PLAN:
            raise TooLarge(
                f"the request has {size} bytes or more, and the limit for planning is {MOST_PLAN_BYTES}; "
                "shorten the application file, or plan with `gas plan`"
            )

    def _keep(self, kept: _Kept, size: int) -> None:
        kept.size += size
        self._arriving[kept.user] += size
        if self._arriving[kept.user] > MOST_ARRIVING:
            raise TooMany(
                f"the requests of {kept.user} together exceed the limit of {MOST_ARRIVING} bytes in transit; send "
                "fewer at the same time",
                1,
            )

    def _forget(self, kept: _Kept) -> None:
        self._arriving[kept.user] -= kept.size
        if not self._arriving[kept.user]:
            del self._arriving[kept.user]

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(
            scope.get("route"), "path", "other"
        )  # never the path itself: clients can invent any number of them
        if status == 405:
            route = "other"
        method = scope["method"] if route != "other" else "other"
        self._metrics.requests.labels(method, route, status).observe(seconds)
        principal = scope.get(_PRINCIPAL)
        user = principal.user if principal is not None else None
        log.debug(
            "%s %s %d", method, route, status,
            extra={"event": "request", "user": user, "milliseconds": round(seconds * 1000, 3)},
        )  # fmt: skip


def _is_public(scope: Scope) -> bool:
    """Whether a request needs no token."""
    action = requested_action(scope["method"], scope["path"])
    return action is not None and allowed(action, None)


def _check_own_name(scope: Scope) -> None:
    """Raise `Forbidden` unless a request names this machine as its host, and comes from no other site's page."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in (b"host", b"origin")}
    for name, value in headers.items():
        try:
            own = is_loopback(urlsplit(value if name == b"origin" else f"//{value}"))
        except ValueError:  # brackets that do not close
            own = False
        if not own:
            raise Forbidden(
                f"the {name.decode()} {shown(value)} is not this machine; without tokens S³ answers only requests to "
                "127.0.0.1, ::1 or localhost"
            )
