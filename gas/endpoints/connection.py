"""One service over HTTP, one exchange at a time: the result is an answer, a refusal by S³, or no definite answer.

Nothing is repeated here; `gas.endpoints.s3` decides what may be repeated, and for how long.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gas.endpoints.access import Access, is_loopback, split_address
from gas.endpoints.exchange import MOST_ANSWER_BYTES, Answer, Unreadable, exchange, new_session, stream
from gas.errors import (
    BadInput,
    Conflict,
    Draining,
    Forbidden,
    Infeasible,
    Missing,
    NotFound,
    OverLimit,
    StalePlan,
    StoreDamaged,
    StoreFailed,
    TooLarge,
    TooMany,
    Unauthorized,
    Unreachable,
)

if TYPE_CHECKING:  # imported where they are used: planning on a file needs no HTTP
    import requests

__all__ = ["Connection", "NoAnswer", "age_of", "cause_of", "never_made"]

SILENCE_SECONDS = 45.0
"""A stream without data for so long is dead: the service sends a comment every 15 s."""

_REFUSALS = {
    kind.__name__: kind
    for kind in (
        BadInput, Conflict, Draining, Forbidden, Infeasible, Missing, NotFound, OverLimit, StalePlan, StoreDamaged,
        StoreFailed, TooLarge, Unauthorized,
    )
}  # fmt: skip
"""The refusals of S³ by their kind on the wire; after ``TooMany`` and ``Timeout`` the client should retry."""


class NoAnswer(Unreachable):
    """There is no definite answer: none, an incomplete one, or one that is not from S³.

    Attributes
    ----------
    sent
        Whether the service may have received the request.
    again
        Whether a retry may help.
    """

    def __init__(self, text: str, *, sent: bool = True, again: bool = True) -> None:
        super().__init__(text)
        self.sent = sent
        self.again = again


class Connection:
    """A service, and the access to it.

    Parameters
    ----------
    name
        Its name for the user.
    url
        Its address.
    timeout
        Seconds for an exchange: the connection and the whole answer.
    access
        The token and the certificates.

    Attributes
    ----------
    access
        As given, or that of the environment.
    is_local
        Whether the service runs on this machine.
    called
        Its name in messages.
    """

    def __init__(self, name: str, url: str, timeout: float, access: Access | None) -> None:
        self.address = url.rstrip("/")
        self.is_local = is_loopback(split_address(url))
        self.name = name
        self.called = self.address if name.rstrip("/") == self.address else f"{name}: {self.address}"
        self._timeout = timeout
        self.access = access or Access.of(self.address)
        self._session = new_session()
        self._session.trust_env = not self.is_local  # a proxy does not know services of this machine
        self._session.auth = self.access.sign
        self._session.headers["Cache-Control"] = "no-cache"  # the present availability is requested

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Make one request and return its answer.

        Raises
        ------
        NoAnswer
            There is no definite answer.
        GasError
            S³ refuses the request.
        """
        data = None if body is None else json.dumps(body).encode()
        answer = self._send(method, path, data)
        if 200 <= answer.status_code < 300:
            return answer
        raise self._refusal(answer)

    def _send(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
        most: int = MOST_ANSWER_BYTES,
    ) -> Answer:
        headers = {**(headers or {}), **({} if data is None else {"Content-Type": "application/json"})}
        with self._losses(again=method == "POST"):
            return exchange(
                self._session,
                method,
                self.address + path,
                timeout=self._timeout,
                most=most,
                data=data,
                headers=headers,
                verify=self.access.certificates or True,
            )

    @contextmanager
    def _losses(self, *, again: bool = False) -> Iterator[None]:
        """Turn errors into `NoAnswer`; `again` says whether to retry if an answer was not read completely.

        A retry is unlikely to help, but a request with a key is repeated rather than left in doubt.
        """
        import requests

        try:
            yield
        except Unreadable as error:
            raise NoAnswer(f"{self.called}: {error}; is it the right address?", again=again) from None
        except requests.Timeout as error:
            sent = not isinstance(error, requests.ConnectTimeout)
            raise NoAnswer(f"{self.called} did not answer within {self._timeout:g} s", sent=sent) from None
        except requests.RequestException as error:
            raise self._lost(error) from None
        except OSError as error:  # requests raises this for unreadable certificates
            raise NoAnswer(f"{self.called} cannot be reached ({error})", sent=False, again=False) from None

    def _lost(self, error: requests.RequestException) -> NoAnswer:
        """Return the error for a broken connection, with whether anything was sent over it."""
        import ssl

        untrusted = isinstance(_innermost(error), ssl.SSLCertVerificationError)
        unmade = untrusted or never_made(error)
        text = f"{self.called} cannot be reached ({cause_of(error)})"
        if untrusted:
            text += "; set ca_file in the endpoint's table, or GAS_CA_FILE, to a file of the certificates to trust"
        return NoAnswer(text, sent=not unmade, again=not untrusted)

    @contextmanager
    def stream(self, last_id: str | None) -> Iterator[Iterator[bytes]]:
        """Open the stream of events; yield its pieces as they come."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        verify = self.access.certificates or True
        with (
            self._losses(),
            stream(
                self._session,
                f"{self.address}/v1/events",
                timeout=self._timeout,
                silence=SILENCE_SECONDS,
                headers=headers,
                verify=verify,
            ) as (answer, pieces),
        ):
            if not 200 <= answer.status_code < 300:
                raise self._refusal(answer)
            if pieces is None:
                raise Unreachable(f"{self.called} did not answer with an event stream; is it an S³ service?")
            yield pieces

    def _refusal(self, answer: Answer) -> Exception:
        """Return the error of an answer: a refusal of S³, or `NoAnswer` if it is not from S³."""
        status = answer.status_code
        try:
            error = answer.json()["error"]
            kind, message = error["kind"], error["message"]
        except (ValueError, KeyError, TypeError):
            kind = message = None
        if not isinstance(kind, str) or not isinstance(message, str):
            return NoAnswer(f"{self.called} returned HTTP {status}; is it an S³ service?", again=status >= 500)
        text = f"{self.name}: {message}"
        if kind == "TooMany":
            return TooMany(text, _seconds(answer.headers.get("Retry-After")))
        if kind == "Unauthorized":
            text = f"{text}; {self.access.hint}"
        if kind in _REFUSALS:
            return _REFUSALS[kind](text)
        return NoAnswer(text, again=status >= 500 or status == 408)


def _seconds(text: str | None) -> float:
    """Return the seconds in ``Retry-After``; one second for a date or none."""
    try:
        seconds = float(text or "")
    except ValueError:
        return 1.0
    return min(86400.0, max(0.1, seconds)) if math.isfinite(seconds) else 1.0


def age_of(headers: Mapping[str, str]) -> int:
    """Return the age of an answer in seconds, as a cache on the way states it (RFC 9111)."""
    text = headers.get("Age", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def never_made(error: BaseException) -> bool:
    """Return whether a request failed because there was no trusted connection, so that nothing was sent."""
    import ssl

    from urllib3.exceptions import NewConnectionError

    return any(isinstance(one, NewConnectionError | ssl.SSLCertVerificationError) for one in _reasons(error))


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """Yield the causes that a failed request states, from the outside in, not merely preceding errors."""
    inner: object = error
    while isinstance(inner, BaseException):
        yield inner
        inner = getattr(inner, "reason", None) or next((a for a in inner.args if isinstance(a, BaseException)), None)


def _innermost(error: BaseException) -> BaseException:
    """Return the first cause of a failed request."""
    while True:
        inner = getattr(error, "reason", None) or error.__cause__ or error.__context__
        if not isinstance(inner, BaseException):
            return error
        error = inner


def cause_of(error: BaseException) -> str:
    """Return the cause of a failed request in words."""
    cause = _innermost(error)
    if type(cause) is ValueError:  # from the reader of chunks, for a truncated one
        return "the answer was cut off"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__
