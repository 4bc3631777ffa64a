"""One object in an answer of slurmrestd, read by path; errors name the place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from documents.fields import shown
from gas.endpoints.slurm.notation import LATEST, LONGEST, node_names, words
from gas.errors import BadInput, Unreachable

__all__ = ["REQUIRED", "VERSIONS", "Entry"]

T = TypeVar("T")

VERSIONS = range(36, 47)
"""Last numbers of the supported versions, v0.0.36 to v0.0.46."""

NO_VALUES = frozenset({0xFFFE, 0xFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 2**64 - 2, 2**64 - 1})
"""Slurm's integers for "not set" and "no limit", some of which early versions publish."""

REQUIRED: Final[Any] = object()


class Entry:
    """One object in an answer, read by path (``maximums/time``); errors name the place."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise Unreachable(f"{where}: {shown(value)} is not an object")
        self.value: dict[str, Any] = value
        self.where = where

    def find(self, *paths: str, default: Any = REQUIRED) -> Any:
        """Return the value at the first path that exists."""
        for path in paths:
            value: Any = self.value.get(path, REQUIRED)
            if value is REQUIRED and "/" in path:
                value = self.value
                for key in path.split("/"):
                    value = value.get(key, REQUIRED) if isinstance(value, dict) else REQUIRED
                    if value is REQUIRED:
                        break
            if value is not REQUIRED:
                return value
        if default is REQUIRED:
            others = f" (nor {', '.join(paths[1:])})" if paths[1:] else ""
            raise Unreachable(
                f"{self.where} has no key {paths[0]}{others}; Gas reads v0.0.{VERSIONS[0]} to v0.0.{VERSIONS[-1]}"
            )
        return default

    def fail(self, path: str, value: object, wanted: str) -> Unreachable:
        """Return the error to raise for a value."""
        return Unreachable(f"{self.where}, {path}: {shown(value)} is not a {wanted}")

    def number(self, *paths: str, default: Any = REQUIRED) -> int | None:
        """Return a whole number in either format; None if it is not set, or means no limit."""
        value = self.find(*paths, default=default)
        if isinstance(value, dict):
            if "number" not in value:
                raise self.fail(paths[0], value, "number")
            value = value["number"] if value.get("set", True) and not value.get("infinite", False) else None
        if value is None:
            return None
        if type(value) is int and 0 <= value < 0xFFFE:  # as most are
            return value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or (abs(value) >= 2**63 and value not in NO_VALUES):
            raise self.fail(paths[0], value, "whole number")
        return None if value < 0 or value in NO_VALUES else value

    def sure(self, *paths: str) -> int:
        """Return a whole number that must be set."""
        value = self.number(*paths)
        if value is None:
            raise Unreachable(f"{self.where}, {paths[0]} is not set")
        return value

    def instant(self, *paths: str, default: Any = REQUIRED) -> int | None:
        """Return an epoch second, at most `LATEST`; None for 0."""
        value = self.number(*paths, default=default)
        return min(value, LATEST) if value else None

    def minutes(self, *paths: str, default: Any = REQUIRED) -> int | None:
        """Return a limit in minutes as seconds; None for no limit, or above `LONGEST`."""
        value = self.number(*paths, default=default)
        return None if value is None or 60 * value > LONGEST else 60 * value

    def text(self, *paths: str, default: Any = REQUIRED) -> str:
        """Return a text, empty for null."""
        value = self.find(*paths, default=default)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.fail(paths[0], value, "string")
        return value

    def texts(self, *paths: str, default: Any = REQUIRED) -> tuple[str, ...]:
        """Return a list of texts, which may also be one comma-separated text."""
        value = self.find(*paths, default=default)
        if value is None:
            return ()
        if isinstance(value, str):
            return words(value)
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise self.fail(paths[0], value, "list of strings")
        return tuple(value)

    def understood(self, reader: Callable[[str], T], *paths: str) -> T:
        """Return a text, or a list joined with commas, as parsed by `reader`; a missing value counts as empty."""
        value = self.find(*paths, default=None)
        text = value if isinstance(value, str) else ",".join(self.texts(*paths, default=()))
        try:
            return reader(text)
        except BadInput as error:
            raise Unreachable(f"{self.where}, {paths[0]}: {error}") from None

    def names(self, *paths: str, default: Any = REQUIRED) -> tuple[str, ...]:
        """Return the names of a node list."""
        listed = self.texts(*paths, default=default)
        try:
            return node_names(",".join(listed))
        except BadInput as error:
            raise Unreachable(f"{self.where}, {paths[0]}: {error}") from None
