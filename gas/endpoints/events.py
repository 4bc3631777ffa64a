"""Server-sent events (WHATWG HTML, section 9.2) as S³ sends them: a strict reader of the stream's bytes.

This module only reads; `S3Endpoint.events` connects, and reconnects with the last id after a loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gas.errors import Unreachable
from gas.json_text import parsed

__all__ = ["EventReader", "ServiceEvent"]

MOST_EVENT_BYTES = 2**22
"""The longest event in bytes; a job with the longest accepted command is far shorter."""


@dataclass(frozen=True)
class ServiceEvent:
    """One event: ``machine``, ``job`` or ``reset``, its JSON object, and the id with which to resume."""

    kind: str
    data: dict[str, Any]
    id: str | None


class EventReader:
    """Turns bytes, in pieces of any size, into events.

    Parts that the standard allows a reader to ignore (comments, ``retry``, unknown fields) are ignored; data that is
    not a JSON object is an error.

    Attributes
    ----------
    last_id
        The id of the latest complete event, to be sent as ``Last-Event-ID``.
    """

    def __init__(self, last_id: str | None = None) -> None:
        self.last_id = last_id
        self._rest: list[bytes] = []  # of an incomplete line, in pieces: joined once, not with every piece
        self._begin()

    def _begin(self) -> None:
        self._kind, self._data, self._id = "message", list[str](), self.last_id
        self._length = 0

    def feed(self, piece: bytes) -> Iterator[ServiceEvent]:
        """Yield the events that are complete after this piece.

        Raises
        ------
        Unreachable
            The stream is not from an S³.
        """
        *ends, rest = piece.split(b"\n")
        for end in ends:
            line = b"".join((*self._rest, end))
            self._rest = []
            self._grow(len(end))
            if line.startswith(b":"):
                self._length -= len(line)  # comments are not stored
            if (event := self._line(line.removesuffix(b"\r"))) is not None:
                yield event
        if rest:
            self._rest.append(rest)
            self._grow(len(rest))

    def _grow(self, more: int) -> None:
        self._length += more
        if self._length > MOST_EVENT_BYTES:
            raise Unreachable(f"an event of more than {MOST_EVENT_BYTES} bytes; is it an S³ service?")

    def _line(self, raw: bytes) -> ServiceEvent | None:
        if not raw:
            return self._end()
        if raw.startswith(b":"):
            return None
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise Unreachable("an event that is not UTF-8; is it an S³ service?") from None
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _end(self) -> ServiceEvent | None:
        kind, data, id = self._kind, self._data, self._id
        self.last_id = id
        self._begin()
        if not data:
            return None
        try:
            content = parsed("\n".join(data), finite=True)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise Unreachable(f"an event {kind!r} without a JSON object; is it an S³ service?")
        return ServiceEvent(kind, content, id)
