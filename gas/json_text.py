"""JSON from servers and programs, parsed only if the parsed values fit in memory.

A long list can be read item by item (`parsed_items`), so that only one item at a time is in memory as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Any

__all__ = ["MOST_MEMORY_BYTES", "parsed", "parsed_items"]

MOST_MEMORY_BYTES = 700 * 2**20
"""Memory limit of a document with all its values; a few bytes of text may become hundreds, as ``[[],[]...`` does."""

_VALUE_BYTES = 64
"""Upper bound on the memory per bracket, colon or comma: an empty list and its place in another list."""


def parsed(document: str | bytes, *, strict: bool = True, finite: bool = False) -> Any:
    """Return the value of a JSON document.

    Parameters
    ----------
    strict
        Whether to refuse control characters in strings.
    finite
        Whether to refuse infinite numbers and NaN: ``NaN`` and ``Infinity`` are not JSON; ``1e999`` is, but overflows.

    Raises
    ------
    ValueError
        It is not JSON, not UTF-8, nested too deeply, contains a number of thousands of digits, or would take too much
        memory.
    """
    text = document if isinstance(document, str) else document.decode(json.detect_encoding(document), "surrogatepass")
    _must_have_room(text)
    try:
        if finite:
            return json.loads(text, strict=strict, parse_float=_finite, parse_constant=_finite)
        return json.loads(text, strict=strict)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(text: str) -> float:
    """Return a number with a fraction or an exponent; raise `ValueError` if it is not finite."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"the number {text[:40]} is not finite")
    return value


def _must_have_room(text: str) -> None:
    """Refuse a text that would take too much memory with its values."""
    widest = 1 if text.isascii() else 5  # one character outside ASCII widens all of a text to up to four bytes each
    takes = len(text) * (1 + widest) + _VALUE_BYTES * sum(text.count(mark) for mark in "[{,:")
    if takes > MOST_MEMORY_BYTES:
        raise ValueError(f"it would take {takes / 2**20:,.0f} MiB of memory, above {MOST_MEMORY_BYTES >> 20} MiB")


# ------------------------------------------------------------------------------------------------ item by item

_BLANKS = re.compile(rb"[ \t\n\r]*")
_FIRST_PIECE = 1 << 14
"""Most items end within this number of bytes; longer items are tried in pieces 16 times as large."""


def parsed_items(document: bytes, key: str, build: Callable[[Any], Any], *, strict: bool = True) -> Any:
    """Return the value of a document, with each item of the list at `key` replaced by `build` of the item.

    Only one item at a time is in memory as JSON, so a document may be much longer than `parsed` accepts. Bytes that are
    not UTF-8 become U+FFFD.

    Raises
    ------
    ValueError
        As from `parsed`, for any single item.
    """
    reader = _Reader(document, strict)
    if not reader.passes(b"{"):
        found = reader.value()
        reader.must_end()
        return found
    values: dict[str, Any] = {}
    if not reader.passes(b"}"):
        while True:
            name = reader.name()
            values[name] = reader.items(build) if name == key and reader.passes(b"[") else reader.value()
            if reader.passes(b"}"):
                break
            reader.must_pass(b",")
    reader.must_end()
    return values


class _Reader:
    """Reads a document from start to end."""

    def __init__(self, document: bytes, strict: bool) -> None:
        self._document = document
        self._decoder = json.JSONDecoder(strict=strict)
        self._at = 0
        self._skip()

    def _skip(self) -> None:
        blanks = _BLANKS.match(self._document, self._at)
        self._at = self._at if blanks is None else blanks.end()

    def _problem(self, message: str) -> ValueError:
        return ValueError(f"{message}: byte {self._at:,}")

    def passes(self, mark: bytes) -> bool:
        """Skip a mark if it comes next, and return whether it did."""
        if not self._document.startswith(mark, self._at):
            return False
        self._at += len(mark)
        self._skip()
        return True

    def must_pass(self, mark: bytes) -> None:
        if not self.passes(mark):
            raise self._problem(f"expecting {mark.decode()!r}")

    def must_end(self) -> None:
        if self._at != len(self._document):
            raise self._problem("there is more text after the end")

    def name(self) -> str:
        """Return the name of a member and advance to its value."""
        name = self.value()
        if not isinstance(name, str):
            raise self._problem("expecting a name in double quotes")
        self.must_pass(b":")
        return name

    def value(self) -> Any:
        """Return the next value."""
        size = _FIRST_PIECE
        while True:
            piece = self._document[self._at : self._at + size]
            whole = self._at + size >= len(self._document)
            text = piece.decode(errors="surrogateescape")
            if size > _FIRST_PIECE:
                _must_have_room(text)
            try:
                value, end = self._decoder.raw_decode(text)
                if whole or end < len(text) - 1:  # a number may continue behind the piece
                    if not piece.isascii():
                        end = len(text[:end].encode(errors="surrogateescape"))
                        value = self._decoder.decode(piece[:end].decode(errors="replace"))
                    self._at += end
                    self._skip()
                    return value
            except RecursionError:
                raise ValueError("nested too deeply") from None
            except json.JSONDecodeError as error:
                if whole:
                    raise self._problem(f"{error.msg} {error.pos:,} characters after that") from None
            size *= 16

    def items(self, build: Callable[[Any], Any]) -> list[Any]:
        """Return the built items of a list; its opening bracket has been read."""
        found: list[Any] = []
        if self.passes(b"]"):
            return found
        while True:
            found.append(build(self.value()))
            if self.passes(b"]"):
                return found
            self.must_pass(b",")
