"""Conditions on resources, evaluated here for the REST API: comparisons, all of which must hold."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from documents.fields import quoted
from gas.endpoints.oar.machine import Resource
from gas.errors import BadInput

__all__ = ["Condition", "condition_of", "fulfils"]

_TERM = re.compile(r"\s*(\w+)\s*(<>|!=|<=|>=|=|<|>)\s*(?:'([^'\\]*)'|(\d+))\s*", re.ASCII)

_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip

Condition = tuple[tuple[str, str, str], ...]
"""Triples of property, operator and value."""


def condition_of(text: str) -> Condition:
    """Return the comparisons of ``name = 'value' AND other >= 8``, all of which must hold.

    Raises
    ------
    BadInput
        The condition uses more of SQL.
    """
    found = []
    for term in re.split(r"\bAND\b", text, flags=re.IGNORECASE):
        match = _TERM.fullmatch(term)
        if match is None:
            raise BadInput(
                f"{quoted(term.strip())}: over REST, conditions must have the form name = 'value' AND other >= 8; "
                "without url, OAR's own commands accept any SQL condition"
            )
        found.append((match[1], match[2], match[4] if match[3] is None else match[3]))
    return tuple(found)


def fulfils(resource: Resource, condition: Condition) -> bool:
    """Return whether a resource satisfies a condition."""
    return all(
        name in resource.properties and _holds(resource.properties[name], sign, value)
        for name, sign, value in condition
    )


def _holds(left: str, sign: str, right: str) -> bool:
    """Return whether a comparison holds; by numbers if both sides are numbers."""
    numbers = left.isdecimal() and right.isdecimal()
    a, b = ((int(left), ""), (int(right), "")) if numbers else ((0, left), (0, right))
    return _SIGNS[sign](a, b)
