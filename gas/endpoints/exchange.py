"""One request over HTTP and its whole answer, with a deadline and a limit on bytes.

A server may be hostile or broken: it may send a byte now and then, or never stop. So the time limit covers connection,
head and body together, nothing is unpacked (a few bytes may become gigabytes), redirects are not followed, and reading
stops at the limit on bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gas.errors import Unreachable
from gas.json_text import parsed

if TYPE_CHECKING:  # imported where they are used: planning on a file needs no HTTP
    import requests

__all__ = ["MOST_ANSWER_BYTES", "Answer", "Unreadable", "exchange", "new_session", "stream"]

MOST_ANSWER_BYTES = 2**26
"""64 MiB: some 60,000 jobs of S³, some 10,000 of slurmrestd. Larger answers would need gigabytes once parsed."""

_PIECE = 2**16


class Unreadable(Unreachable):
    """An answer that was not read to its end; the message follows the name of the sender."""


class Answer(NamedTuple):
    """A whole answer."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """Return the body as text, whatever its header states."""
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        """Return the body's JSON, or raise `ValueError`."""
        return parsed(self.content, finite=True)


def new_session() -> requests.Session:
    """Return a session for `exchange` and `stream`."""
    import requests

    from gas.endpoints.sockets import DeadlineAdapter

    session = requests.Session()
    session.headers["Accept-Encoding"] = "identity"
    for scheme in ("http://", "https://"):
        session.mount(scheme, DeadlineAdapter())
    return session


def exchange(
    session: requests.Session,
    method: str,
    url: str,
    *,
    timeout: float,
    most: int = MOST_ANSWER_BYTES,
    **options: Any,
) -> Answer:
    """Make a request and return its answer.

    Parameters
    ----------
    timeout
        Seconds for the whole exchange.
    most
        Largest size of the answer in bytes.
    options
        As for `requests.Session.request`.

    Raises
    ------
    Unreadable
        The answer is too long, too slow or packed.
    requests.RequestException, OSError
        There is no answer, or only a part of one.
    """
    from gas.endpoints.sockets import Patience, within

    with within(Patience(time.monotonic() + timeout)):
        answer = session.request(method, url, timeout=timeout, stream=True, allow_redirects=False, **options)
        with answer:
            return Answer(answer.status_code, answer.headers, _body(answer, most, timeout))


def _body(answer: requests.Response, most: int, timeout: float) -> bytes:
    import requests

    _check_unpacked(answer)
    too_long = Unreadable(f"its answer exceeds the limit of {most / 2**20:,.4g} MiB")
    announced = answer.headers.get("Content-Length", "")
    if announced.isascii() and announced.isdigit() and (len(announced) > 18 or int(announced) > most):
        raise too_long
    pieces, length = [], 0
    try:
        with _errors_of_requests():
            while piece := answer.raw.read(_PIECE, decode_content=False):
                pieces.append(piece)
                length += len(piece)
                if length > most:
                    raise too_long
    except requests.ReadTimeout:
        raise Unreadable(f"its answer was not complete after {timeout:g} s (timeout)") from None
    return b"".join(pieces)


@contextmanager
def stream(
    session: requests.Session, url: str, *, timeout: float, silence: float, **options: Any
) -> Iterator[tuple[Answer, Iterator[bytes] | None]]:
    """Make a request whose answer has no end; yield its header, then its pieces as they arrive.

    An answer that is not a stream of events is read completely, with None in place of pieces.

    Parameters
    ----------
    timeout
        Seconds for the head.
    silence
        Seconds without a byte after which the stream counts as lost.
    """
    from gas.endpoints.sockets import Patience, within

    patience = Patience(time.monotonic() + timeout)
    with within(patience):
        answer = session.request("GET", url, timeout=timeout, stream=True, allow_redirects=False, **options)
    with answer:
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if not 200 <= answer.status_code < 300 or kind != "text/event-stream":
            content = _body(answer, 2**20, timeout)
            yield Answer(answer.status_code, answer.headers, content), None
            return
        _check_unpacked(answer)
        patience.until, patience.silence = float("inf"), silence
        yield Answer(answer.status_code, answer.headers, b""), _pieces(answer)


def _pieces(answer: requests.Response) -> Iterator[bytes]:
    read: Callable[..., bytes] | None = getattr(answer.raw, "read1", None)
    with _errors_of_requests():
        while piece := answer.raw.read(1, decode_content=False) if read is None else read(_PIECE):
            yield piece


def _check_unpacked(answer: requests.Response) -> None:
    packed = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if packed not in ("identity", ""):
        raise Unreadable(f"its answer is compressed ({packed[:40]}), which was not requested")


@contextmanager
def _errors_of_requests() -> Iterator[None]:
    """Turn the errors of the underlying reader into those of requests, as requests' own readers do."""
    import requests
    from urllib3.exceptions import HTTPError, ReadTimeoutError

    try:
        yield
    except ReadTimeoutError as error:
        raise requests.ReadTimeout(error) from error
    except (HTTPError, OSError) as error:
        raise requests.ConnectionError(error) from error
