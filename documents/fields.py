"""Reading one table of a TOML or JSON document strictly, key by key.

A person wrote the table, so every refusal names the place, the value, the limit and the way out. A key that is not read
is an error that names the nearest valid key. Application files, model tables and the configuration are all read through
`Fields`.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

__all__ = ["REQUIRED", "FieldError", "Fields", "Unusable", "nearest"]


class Unusable(ValueError):
    """Unusable text in a document; the message names the place, the error and the way out."""


class FieldError(Unusable):
    """An unusable value in a document; the message starts with its place."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.problem), vars(self)


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final[Any] = _Required()
"""The default that marks a required key."""


def nearest(word: str, known: Iterable[str], *, otherwise: str | None = None) -> str:
    """Return a hint like `; did you mean "sigma"?` for a mistyped word; without a match, the known words or a text."""
    known = sorted(known)
    word = word[:100]
    match = difflib.get_close_matches(word.lower(), [k.lower() for k in known], n=1, cutoff=0.6)
    if match:
        right = next(k for k in known if k.lower() == match[0])
        return f"; did you mean {quoted(right)}?"
    if otherwise is not None:
        return otherwise
    return f"; known: {', '.join(known)}" if known else ""


def shown(value: object) -> str:
    """Return a value for a message: short, on one line."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits has no decimal text
        return "a number of thousands of digits"
    except RecursionError:
        return "something nested very deeply"
    return text if len(text) <= 60 else text[:57] + "..."


def quoted(text: str) -> str:
    """Return a word quoted for a message: on one line, in double quotes."""
    written = json.dumps(text if len(text) <= 60 else text[:57] + "...", ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in written)


class Fields:
    """One table whose keys are taken one by one; `done` refuses keys that were not taken.

    Parameters
    ----------
    table
        The result of the TOML or JSON reader; anything but a table is refused.
    place
        Name of the table in messages, for example ``lu.toml, [speedup]``.
    """

    def __init__(self, table: object, place: str) -> None:
        if not isinstance(table, Mapping):
            raise FieldError(place, f"{shown(table)} is not a table of keys and values")
        self._table: Mapping[str, Any] = table
        self._asked: list[str] = []
        self.place = place

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def where(self, key: str) -> str:
        """Return the name of this key in messages."""
        return f"{self.place} {key}"

    def fail(self, key: str, problem: str) -> FieldError:
        """Return the error to raise for a key of this table."""
        return FieldError(self.where(key), problem)

    def value(self, key: str, default: Any = REQUIRED) -> Any:
        """Return a key's value without checks."""
        self._asked.append(key)
        if key in self._table:
            return self._table[key]
        if default is REQUIRED:
            others = [k for k in self._table if k not in self._asked]
            close = difflib.get_close_matches(key, others, n=1, cutoff=0.6)
            hint = f" (is {quoted(close[0])} meant for it?)" if close else ""
            raise self.fail(key, f"is missing{hint}; add it")
        return default

    def text(self, key: str, default: Any = REQUIRED, *, choices: Iterable[str] | None = None) -> Any:
        """Return a non-empty string, one of `choices` if given."""
        value = self.value(key, default)
        if key not in self._table:
            return value
        if not isinstance(value, str) or not value.strip():
            raise self.fail(key, f"{shown(value)} is not a string; write it in quotes")
        if choices is not None:
            known = list(choices)
            if value not in known:
                raise self.fail(key, f"{quoted(value)} is not known{nearest(value, known)}")
        return value

    def boolean(self, key: str, default: Any = REQUIRED) -> Any:
        """Return true or false."""
        value = self.value(key, default)
        if key in self._table and not isinstance(value, bool):
            raise self.fail(key, f"{shown(value)} is neither true nor false")
        return value

    def integer(
        self, key: str, default: Any = REQUIRED, *, minimum: int | None = None, maximum: int | None = None
    ) -> Any:
        """Return a whole number within the limits."""
        value = self.value(key, default)
        if key not in self._table:
            return value
        return whole_number(value, self.where(key), minimum=minimum, maximum=maximum)

    def number(
        self,
        key: str,
        default: Any = REQUIRED,
        *,
        minimum: float | None = None,
        above: float | None = None,
        maximum: float | None = None,
    ) -> Any:
        """Return a finite number: at least `minimum`, or more than `above`, and at most `maximum`."""
        value = self.value(key, default)
        if key not in self._table:
            return value
        return finite_number(value, self.where(key), minimum=minimum, above=above, maximum=maximum)

    def integers(self, key: str, default: Any = REQUIRED, *, minimum: int, maximum: int) -> Any:
        """Return a non-empty list of whole numbers within the limits."""
        value = self.value(key, default)
        if key not in self._table:
            return value
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or not value:
            raise self.fail(key, f"{shown(value)} is not a list of whole numbers; write it like [16, 64, 256]")
        return [
            whole_number(item, f"{self.where(key)}[{i}]", minimum=minimum, maximum=maximum)
            for i, item in enumerate(value)
        ]

    def table(self, key: str, default: Any = REQUIRED) -> Fields:
        """Return a table inside this one."""
        return Fields(self.value(key, default), f"{self.place} [{key}]")

    def keys(self) -> list[str]:
        """Return the keys in the order they were written."""
        return list(self._table)

    def rest(self) -> dict[str, Any]:
        """Take all keys not asked for so far (for plug-ins that check their own) and return them."""
        left = {k: v for k, v in self._table.items() if k not in self._asked}
        self._asked += left
        return left

    def done(self) -> None:
        """Refuse the first key that was not asked for."""
        for key in self._table:
            if key not in self._asked:
                raise FieldError(self.place, f"has no key {quoted(str(key))}{nearest(str(key), set(self._asked))}")


def whole_number(value: object, place: str, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return `value` if it is a whole number within the limits, else raise an error naming the place."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(place, f"{shown(value)} is not a whole number")
    if minimum is not None and value < minimum:
        raise FieldError(place, f"{shown(value)} is below {minimum}, the minimum")
    if maximum is not None and value > maximum:
        raise FieldError(place, f"{shown(value)} is above {maximum}, the maximum")
    return value


def finite_number(
    value: object,
    place: str,
    *,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
) -> float:
    """Return `value` as a float if it is finite and within the limits, else raise an error naming the place."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError(place, f"{shown(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        raise FieldError(place, f"{shown(value)} is too large a number") from None
    if not math.isfinite(number):
        raise FieldError(place, f"{shown(value)} is not a finite number")
    if minimum is not None and number < minimum:
        raise FieldError(place, f"{shown(value)} is below {minimum:g}, the minimum")
    if above is not None and number <= above:
        raise FieldError(place, f"{shown(value)} must be more than {above:g}")
    if maximum is not None and number > maximum:
        raise FieldError(place, f"{shown(value)} is above {maximum:g}, the maximum")
    return number
