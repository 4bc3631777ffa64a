"""One record in the output of Slurm's commands; errors name the place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import TypeVar

from documents.fields import quoted
from gas.endpoints.slurm.notation import instant
from gas.errors import BadInput, Unreachable

__all__ = ["Record", "count", "ended", "limit", "whole"]

T = TypeVar("T")

LARGEST = 2**48
"""Largest number accepted: Slurm's own have 32 bits, and sums of damaged ones must not overflow 64 bits."""


class Record:
    """Texts by key, and where they were found."""

    def __init__(self, where: str, values: Mapping[str, str], zone: tzinfo | None) -> None:
        self.where = where
        self.values = values
        self.zone = zone

    def read(self, key: str, reader: Callable[[str], T]) -> T:
        """Return a value as parsed by `reader`; raise `Unreachable`, with the place, if it cannot be."""
        if key not in self.values:
            raise Unreachable(f"{self.where} has no {key}; is it Slurm that answered?")
        try:
            return reader(self.values[key])
        except BadInput as error:
            raise Unreachable(f"{self.where}, {key}: {error}") from None

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; empty for Slurm's forms of a missing value."""
        if default is not None and key not in self.values:
            return default
        value = self.read(key, str.strip)
        return "" if value in ("(null)", "N/A") else value

    def understood(self, key: str, default: str, reader: Callable[[str], T]) -> T:
        """Return a text, or a default if there is none, as parsed by `reader`; raise as `read` does."""
        return self.read(key, lambda _: reader(self.text(key) or default)) if key in self.values else reader(default)

    def number(self, key: str) -> int:
        """Return a whole number."""
        plain = _plain(self.values.get(key, ""))
        return self.read(key, whole) if plain is None else plain

    def instant(self, key: str) -> int | None:
        """Return a time."""
        plain = _plain(self.values.get(key, ""))
        if plain is not None:
            return plain or None
        return self.read(key, lambda text: instant(text, self.zone))


def _plain(text: str) -> int | None:
    """Return a number of few digits, as most are; None for anything else."""
    return int(text) if len(text) < 12 and text.isdecimal() and text.isascii() else None


def whole(text: str) -> int:
    """Return a whole number."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal()):
        raise BadInput(f"{quoted(text)} is not a whole number")
    if len(text) > 20 or int(text) > LARGEST:
        raise BadInput(f"{quoted(text[:40])} exceeds the largest possible value")
    return int(text)


def count(text: str) -> tuple[int, int | None]:
    """Return minimum and maximum of ``4`` or ``2-4``."""
    least, dash, most = text.partition("-")
    return whole(least), whole(most) if dash else None


def ended(text: str) -> tuple[int, int]:
    """Return the exit status and the signal of ``0:15``."""
    status, _, signal = text.partition(":")
    return whole(status), whole(signal or "0")


def limit(text: str) -> int | None:
    """Return a number; None for no limit."""
    return None if text == "UNLIMITED" else whole(text)
