"""The processor counts that an application accepts.

A count n is accepted if it lies within [minimum, maximum] and is of the right kind::

    any             every count          perfect-square  1, 4, 9, 16, ...
    power-of-two    1, 2, 4, 8, ...      multiple        m, 2m, 3m, ...        list   the sizes named

Members of each kind are numbered in ascending order (2**i, i*i, i*m, the i-th of the list), so the number of members
within bounds, and the first one, are arithmetic; only `allowed` makes an array.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from documents.fields import FieldError, Fields, nearest, shown
from speedup_models.model import ModelError

__all__ = [
    "MOST_COUNTS",
    "MOST_PROCESSORS",
    "Constraint",
    "ConstraintError",
    "Kind",
    "constraint_from_table",
]

Kind = Literal["any", "power-of-two", "perfect-square", "multiple", "list"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)

MOST_PROCESSORS: Final = 2**31
"""Larger than any machine."""

MOST_COUNTS: Final = 2**24
"""Largest number of counts for which `allowed` makes an array (128 MiB)."""


class ConstraintError(ModelError):
    """A constraint that no processor count satisfies, or whose parts contradict each other."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """The counts of one kind within bounds; there must be at least one.

    Attributes
    ----------
    minimum, maximum
        Bounds, both included; a maximum of None is the size of the machine.
    multiple
        The number of which the counts are multiples; for the kind "multiple" only.
    sizes
        The counts themselves, for the kind "list" only; kept in ascending order.

    Raises
    ------
    ConstraintError
        No count is left, or the parts contradict each other.
    """

    kind: Kind
    minimum: int = 1
    maximum: int | None = None
    multiple: int | None = None
    sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConstraintError(f"constraint {shown(self.kind)} is not known{nearest(str(self.kind), KINDS)}")
        for name in ("minimum", "maximum", "multiple"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _count(name, getattr(self, name)))
        for name, kind in (("multiple", "multiple"), ("sizes", "list")):
            if (getattr(self, name) is not None) != (self.kind == kind):
                raise ConstraintError(f'{name} belongs to the constraint "{kind}" only')
        if self.sizes is not None:
            sizes = sorted({_count("a size of the list", size) for size in self.sizes})
            if not sizes:
                raise ConstraintError("the list of processor counts is empty; give at least one")
            object.__setattr__(self, "sizes", tuple(sizes))
        if self.maximum is not None and self.minimum > self.maximum:
            raise ConstraintError(
                f"at least {self.minimum} and at most {self.maximum} processors: no count meets both; lower the "
                "minimum or raise the maximum"
            )
        if self._how_many(MOST_PROCESSORS) == 0:
            limits = _range(self.minimum, self.maximum)
            raise ConstraintError(f"no count{limits} is {self._noun()}; {self._nearest_counts()}")

    def allowed(self, machine: int) -> NDArray[np.int64]:
        """Return the accepted counts on a machine with this many processors, ascending; possibly none.

        All are in memory, 8 bytes each; more than `MOST_COUNTS` raise an error.
        """
        how_many = self._how_many(machine)
        if how_many > MOST_COUNTS:
            raise ConstraintError(
                f"{how_many} processor counts ({self.describe()}, machine of {machine}) are more than "
                f"{MOST_COUNTS}, the most that can be tried; set a maximum or a narrower constraint"
            )
        first, last = self._numbers(self.minimum, self._upper(machine))
        if self.sizes is not None:
            return np.array(self.sizes[first : last + 1], dtype=np.int64)
        numbers = np.arange(first, max(first, last + 1), dtype=np.int64)
        if self.kind == "power-of-two":
            return np.left_shift(np.int64(1), numbers)
        if self.kind == "perfect-square":
            return numbers * numbers
        return numbers * (self.multiple or 1)

    def permits(self, n: int) -> bool:
        """Return whether an application under this constraint can run on n processors."""
        n = operator.index(n)
        if n < self.minimum or (self.maximum is not None and n > self.maximum):
            return False
        first, last = self._numbers(n, n)
        return first == last

    def describe(self) -> str:
        """Return the constraint as a noun, for messages: "a power of two from 2 to 128"."""
        if self.sizes is not None:
            first, last = self._numbers(self.minimum, self._upper(MOST_PROCESSORS))
            inside = self.sizes[first : last + 1]
            if inside:
                return _listed(inside)
        return self._noun() + _range(self.minimum, self.maximum)

    def _noun(self) -> str:
        if self.sizes is not None:
            return _listed(self.sizes)
        nouns = {"any": "any count", "power-of-two": "a power of two", "perfect-square": "a perfect square"}
        return nouns.get(self.kind, f"a multiple of {self.multiple}")

    def _upper(self, machine: int) -> int:
        machine = operator.index(machine)
        if not 1 <= machine <= MOST_PROCESSORS:
            raise ConstraintError(f"a machine has from 1 to {MOST_PROCESSORS} processors, not {machine}")
        return machine if self.maximum is None else min(self.maximum, machine)

    def _numbers(self, low: int, high: int) -> tuple[int, int]:
        """Return the number of the first and of the last member within [low, high]; last < first if there is none."""
        if self.sizes is not None:
            return bisect_left(self.sizes, low), bisect_right(self.sizes, high) - 1
        if self.kind == "power-of-two":
            return (low - 1).bit_length(), high.bit_length() - 1
        if self.kind == "perfect-square":
            return math.isqrt(low - 1) + 1, math.isqrt(high)
        step = self.multiple or 1
        return -(-low // step), high // step

    def _how_many(self, machine: int) -> int:
        first, last = self._numbers(self.minimum, self._upper(machine))
        return max(0, last - first + 1)

    def _nearest_counts(self) -> str:
        """Return the advice for an empty constraint: the accepted counts on both sides of its bounds."""
        ways = []
        below = self._members(1, self.minimum - 1) if self.minimum > 1 else None
        upper = MOST_PROCESSORS if self.maximum is None else self.maximum
        above = self._members(upper + 1, MOST_PROCESSORS) if upper < MOST_PROCESSORS else None
        if below is not None:
            ways.append(f"lower the minimum to {below[1]}")
        if above is not None:
            ways.append(f"raise the maximum to {above[0]}")
        return " or ".join(ways) or "choose another constraint"

    def _members(self, low: int, high: int) -> tuple[int, int] | None:
        """Return the first and the last member of the kind within [low, high], ignoring the constraint's bounds."""
        first, last = self._numbers(low, high)
        if last < first:
            return None
        return self._member(first), self._member(last)

    def _member(self, number: int) -> int:
        if self.sizes is not None:
            return self.sizes[number]
        if self.kind == "power-of-two":
            return 1 << number
        return number * (number if self.kind == "perfect-square" else self.multiple or 1)


def constraint_from_table(fields: Fields) -> Constraint:
    """Return the constraint of an application file's [processors] table.

    Raises
    ------
    FieldError
        A key is unknown or invalid, or no count is left.
    """
    kind: Kind = fields.text("constraint", "any", choices=KINDS)
    limits = {"minimum": 1, "maximum": MOST_PROCESSORS}
    minimum = fields.integer("min", 1, **limits)
    maximum = fields.integer("max", None, **limits)
    multiple = fields.integer("multiple", None, **limits)
    sizes = fields.integers("list", None, **limits)
    fields.done()
    for key, value in (("multiple", multiple), ("list", sizes)):
        if value is not None and kind != key:
            way_out = f'write constraint = "{key}" or remove the key'
            raise fields.fail(key, f'does not belong to the constraint "{kind}"; {way_out}')
        if value is None and kind == key:
            example = "multiple = 4" if key == "multiple" else "list = [16, 64]"
            raise fields.fail(key, f'is missing, and constraint = "{kind}" needs it; write for example {example}')
    if sizes is not None and len(set(sizes)) < len(sizes):
        twice = next(n for n in sizes if sizes.count(n) > 1)
        raise fields.fail("list", f"names {twice} more than once")
    try:
        return Constraint(kind, minimum, maximum, multiple, None if sizes is None else tuple(sizes))
    except ConstraintError as error:
        raise FieldError(fields.place, str(error)) from None


def _count(name: str, value: object) -> int:
    """Return a count as an int; raise if it is not one."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise ConstraintError(f"{name}: {shown(value)} is not a whole number")
    if not 1 <= value <= MOST_PROCESSORS:
        raise ConstraintError(f"{name}: {shown(value)} is not a count from 1 to {MOST_PROCESSORS}")
    return int(value)


def _listed(sizes: tuple[int, ...]) -> str:
    if len(sizes) == 1:
        return f"exactly {sizes[0]}"
    if len(sizes) <= 10:
        return "one of " + ", ".join(map(str, sizes))
    return f"one of {', '.join(map(str, sizes[:4]))}, ..., {sizes[-1]} ({len(sizes)} counts)"


def _range(minimum: int, maximum: int | None) -> str:
    if maximum is None:
        return f" of at least {minimum}" if minimum > 1 else ""
    return f" from {minimum} to {maximum}" if minimum > 1 else f" up to {maximum}"
