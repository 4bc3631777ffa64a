"""Cells of a log as text: reading numbers, and the errors of unreadable lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from workloads.log import LARGEST, Field, LogError

__all__ = ["Complaints", "Malformed", "number_of", "places", "quoted"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_NAMED = 12
"""Most lines that a message names individually."""


class Malformed(Exception):
    """An unreadable line or job; errors of the same kind have the same reason."""

    def __init__(self, reason: str, text: str, field: Field | None = None) -> None:
        super().__init__(reason, text, field)
        self.reason = reason
        self.text = text
        self.field = field


class Complaints:
    """Errors of lines: the log is refused or, with `lenient`, errors are counted by reason, with the first lines."""

    def __init__(self, name: str, lenient: bool) -> None:
        self.skipped: Counter[str] = Counter()
        self._name = name
        self._lenient = lenient
        self._first: LogError | None = None
        self._lines: list[int] = []

    def add(self, number: int, problem: Malformed) -> None:
        """Leave a line out, or raise for it."""
        error = LogError(self._name, problem.text, line=number, at_field=problem.field)
        if not self._lenient:
            raise error
        self._first = self._first or error
        self._lines += [number] if len(self._lines) < _NAMED else []
        self.skipped[problem.reason] += 1

    @property
    def summary(self) -> list[str]:
        """The warning that lines were left out, if any were."""
        count = self.skipped.total()
        if not self._first:
            return []
        others = f" ({places(self._lines, count)})" if count > 1 else ""
        return [f"{count} malformed line{'' if count == 1 else 's'} left out{others}; the first: {self._first}"]


def places(lines: Sequence[int], count: int) -> str:
    """Return in words the places of `count` lines, of which `lines` are the first."""
    shown = ", ".join(map(str, lines[:_NAMED]))
    return f"line{'' if count == 1 else 's'} {shown}{', …' if count > len(lines[:_NAMED]) else ''}"


def number_of(token: str, field: Field) -> float:
    """Return the number in a cell.

    Raises
    ------
    Malformed
        It is not a number, or not one that the field can hold.
    """
    if not _NUMBER.fullmatch(token):
        if token.lstrip("+-").lower() in ("nan", "inf", "infinity"):
            raise Malformed("not a finite number", f"{token} is not a finite number; write -1 if it is unknown", field)
        hint = "write times in seconds; " if ":" in token else ""
        raise Malformed("not a number", f"{quoted(token)} is not a number; {hint}write -1 if it is unknown", field)
    value = float(token)
    digits = token.lstrip("+-")
    too_large = abs(value) > LARGEST or (digits.isdigit() and len(digits) < 20 and int(digits) > LARGEST)
    if too_large:
        raise Malformed("too large", f"{quoted(token)} is beyond ±2**53, the largest number kept", field)
    if field.kind == "identity" and not value.is_integer():
        raise Malformed("fraction in a whole number", f"{quoted(token)} is not a whole number", field)
    return value


def quoted(text: str) -> str:
    """Return the text of a line for messages, on one line."""
    short = text.strip()
    return repr(short if len(short) <= 60 else short[:57] + "...")
