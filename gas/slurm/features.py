"""The nodes that a constraint allows (sbatch(1), --constraint): features with & and |, parentheses or brackets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Allowed", "allowed", "with_counts"]

Nodes = NDArray[np.bool_]

_WORD = re.compile(r"[^&|()\[\],*\s]+")
_COUNT = re.compile(r"\*\d+")
DEEPEST = 50


@dataclass(frozen=True)
class Allowed:
    """The nodes that a constraint allows.

    Attributes
    ----------
    options
        Sets of nodes; all nodes of a job must be from the same set.
    clear
        Whether it was understood. Counts (``[a*2&b*4]``) are not: `options` then has all nodes that may be used.
    """

    options: tuple[Nodes, ...]
    clear: bool = True


def with_counts(constraint: str) -> bool:
    """Return whether a constraint requests numbers of nodes with features (``[a*2&b*4]``)."""
    return _COUNT.search(constraint) is not None


def allowed(
    constraint: str, with_feature: Callable[[str], Nodes], everywhere: Nodes, *, all_options: bool = True
) -> Allowed:
    """Return the nodes that a constraint allows.

    Parameters
    ----------
    with_feature
        Returns the nodes that have a feature.
    everywhere
        All nodes.
    all_options
        Whether options in brackets also count behind one in parentheses (`gas.slurm.versions.Rules`).
    """
    if not constraint.strip():
        return Allowed((everywhere,))
    if with_counts(constraint):
        words = [word for word in _WORD.findall(_COUNT.sub("", constraint)) if word]
        return Allowed((np.logical_or.reduce([with_feature(word) for word in words] or [everywhere]),), clear=False)
    reader = _Reader(constraint, with_feature, all_options)
    try:
        options = reader.options()
    except _Unclear:
        return Allowed((everywhere,), clear=False)
    return Allowed(tuple(options))


class _Unclear(Exception):
    """The constraint is malformed."""


class _Reader:
    def __init__(self, text: str, with_feature: Callable[[str], Nodes], all_options: bool) -> None:
        self.text, self.at, self.with_feature, self.all_options = text, 0, with_feature, all_options
        self.depth = 0

    def options(self) -> list[Nodes]:
        found = self._any()
        if self.at < len(self.text):
            raise _Unclear
        return found

    def _next(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at] if self.at < len(self.text) else ""

    def _any(self) -> list[Nodes]:
        found = self._all()
        while self._next() == "|":
            self.at += 1
            other = self._all()
            found = [one | more for one in found for more in other]
        return found

    def _all(self) -> list[Nodes]:
        found = self._one()
        while self._next() and self._next() in "&,":
            self.at += 1
            other = self._one()
            found = [one & more for one in found for more in other]
            if len(found) > DEEPEST:
                raise _Unclear
        return found

    def _one(self) -> list[Nodes]:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Unclear
        found: list[Nodes]
        if self._next() == "(":
            self.at += 1
            found = self._any()
            self._close(")")
        elif self._next() == "[":
            self.at += 1
            grouped = self._next() == "("
            found = self._all()
            while self._next() == "|":  # all nodes from one alternative
                self.at += 1
                counts = self.all_options or not grouped
                grouped = self._next() == "("
                other = self._all()
                found = found + other if counts else found
            self._close("]")
        else:
            word = _WORD.match(self.text, self.at)
            if word is None:
                raise _Unclear
            self.at = word.end()
            found = [self.with_feature(word[0])]
        self.depth -= 1
        return found

    def _close(self, bracket: str) -> None:
        if self._next() != bracket:
            raise _Unclear
        self.at += 1
