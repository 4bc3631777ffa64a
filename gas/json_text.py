"""JSON that a server or a program wrote, read only if what it becomes has room in memory.

A long list can be read item by item (`parsed_items`), so that only one of them is there as JSON at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Any

__all__ = ["MOST_MEMORY_BYTES", "parsed", "parsed_items"]

MOST_MEMORY_BYTES = 700 * 2**20
"""What a document may take with all its values; a few bytes of text may be hundreds in memory, as ``[[],[]...``."""

_VALUE_BYTES = 64
"""A bracket, colon or comma brings no more than so much: an empty list with its place in another one."""


def parsed(document: str | bytes, *, strict: bool = True, finite: bool = False) -> Any:
    """Return what a document says.

    Parameters
    ----------
    strict
        Whether text may not hold control characters.
    finite
        Whether numbers must be such: ``NaN`` and ``Infinity`` are not JSON, ``1e999`` is and has no value here.

    Raises
    ------
    ValueError
        It is not JSON, not UTF-8, nested too deeply, or would take too much memory; so of a number of thousands of
        digits.
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
    """Return a number with a fraction or an exponent, or raise `ValueError`."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"the number {text[:40]} is not finite")
    return value


def _must_have_room(text: str) -> None:
    """Refuse a text that takes too much memory with its values."""
    widest = 1 if text.isascii() else 5  # characters outside of ASCII make all of a text take up to four bytes each
    takes = len(text) * (1 + widest) + _VALUE_BYTES * sum(text.count(mark) for mark in "[{,:")
    if takes > MOST_MEMORY_BYTES:
        raise ValueError(f"it would take {takes / 2**20:,.0f} MiB of memory, above {MOST_MEMORY_BYTES >> 20} MiB")


# ------------------------------------------------------------------------------------------------ item by item

_BLANKS = re.compile(rb"[ \t\n\r]*")
_FIRST_PIECE = 1 << 14
"""Bytes in which most items end; those that do not are tried in pieces of so many times more."""


def parsed_items(document: bytes, key: str, build: Callable[[Any], Any], *, strict: bool = True) -> Any:
    """Return what a document says, with each item of the list at `key` replaced by what `build` makes of it.

    Only one item is there as JSON at a time, so that a document may be much longer than what `parsed` would read. Bytes
    that are no UTF-8 become U+FFFD.

    Raises
    ------
    ValueError
        As from `parsed`, of any one item.
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
    """A document that is read from its beginning to its end."""

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
        """Go on behind a mark if it is the next, and return whether it is."""
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
        """Return the name of a value and go on to that."""
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
                if whole or end < len(text) - 1:  # a number may go on behind the piece
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
        """Return what is made of the items of a list whose first bracket is passed."""
        found: list[Any] = []
        if self.passes(b"]"):
            return found
        while True:
            found.append(build(self.value()))
            if self.passes(b"]"):
                return found
            self.must_pass(b",")
