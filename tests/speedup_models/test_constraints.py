import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from speedup_models.constraints import (
    MOST_COUNTS,
    MOST_PROCESSORS,
    Constraint,
    ConstraintError,
    constraint_from_table,
)
from speedup_models.model import ModelError


def accepts(constraint, n):
    """Whether a constraint accepts n, by its definition."""
    right = {
        "any": True,
        "power-of-two": bin(n).count("1") == 1,
        "perfect-square": any(i * i == n for i in range(1, n + 1)) if n < 1000 else math.isqrt(n) ** 2 == n,
        "multiple": constraint.multiple is not None and n % constraint.multiple == 0,
        "list": constraint.sizes is not None and n in constraint.sizes,
    }[constraint.kind]
    return right and constraint.minimum <= n and (constraint.maximum is None or n <= constraint.maximum)


@st.composite
def constraints(draw):
    """Constraints with at least one member; empty ones get wider bounds."""
    kind = draw(st.sampled_from(["any", "power-of-two", "perfect-square", "multiple", "list"]))
    minimum = draw(st.integers(1, 40))
    maximum = draw(st.none() | st.integers(minimum, 150))
    multiple = draw(st.integers(1, 12)) if kind == "multiple" else None
    sizes = tuple(draw(st.lists(st.integers(1, 150), min_size=1, max_size=6))) if kind == "list" else None
    try:
        return Constraint(kind, minimum, maximum, multiple, sizes)
    except ConstraintError:
        return Constraint(kind, multiple=multiple, sizes=sizes)


@given(constraints(), st.integers(1, 200))
def test_allowed_counts_are_those_accepted_by_definition_in_ascending_order(constraint, machine):
    allowed = constraint.allowed(machine)
    assert allowed.dtype == np.int64
    assert allowed.tolist() == [n for n in range(1, machine + 1) if accepts(constraint, n)]


@given(constraints(), st.integers(-3, 200))
def test_permits_agrees_with_the_definition(constraint, n):
    assert constraint.permits(n) == (n >= 1 and accepts(constraint, n))


@pytest.mark.parametrize(
    ("constraint", "machine", "expected"),
    [
        (Constraint("power-of-two", 2, 128), 100, [2, 4, 8, 16, 32, 64]),
        (Constraint("perfect-square"), 128, [n * n for n in range(1, 12)]),
        (Constraint("multiple", 5, None, multiple=4), 17, [8, 12, 16]),
        (Constraint("list", sizes=(64, 16, 256, 16)), 100, [16, 64]),
        (Constraint("any", 3, 5), 4, [3, 4]),
        (Constraint("any", 8), 4, []),
        (Constraint("power-of-two"), 1, [1]),
    ],
)
def test_examples(constraint, machine, expected):
    assert constraint.allowed(machine).tolist() == expected


def test_powers_and_squares_are_exact_up_to_the_largest_machine():
    powers = Constraint("power-of-two").allowed(MOST_PROCESSORS)
    assert powers.tolist() == [2**i for i in range(32)]
    squares = Constraint("perfect-square")
    root = math.isqrt(MOST_PROCESSORS)
    assert squares.allowed(MOST_PROCESSORS)[-1] == root * root
    assert squares.permits(root * root)
    assert not squares.permits(root * root - 1)


def test_a_huge_machine_is_refused_only_where_the_counts_themselves_are_too_many():
    assert Constraint("any", maximum=128).allowed(2**31).size == 128
    with pytest.raises(ConstraintError, match=f"2147483648 processor counts.*more than {MOST_COUNTS}.*set a maximum"):
        Constraint("any").allowed(2**31)


@pytest.mark.parametrize("machine", [0, -1, MOST_PROCESSORS + 1])
def test_a_machine_without_processors_or_beyond_belief_is_refused(machine):
    with pytest.raises(ConstraintError, match="a machine has from 1 to"):
        Constraint("any").allowed(machine)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "any", "minimum": 9, "maximum": 8}, "at least 9 and at most 8 .* lower the minimum or raise"),
        (
            {"kind": "power-of-two", "minimum": 5, "maximum": 7},
            "no count from 5 to 7 is a power of two; lower the minimum to 4 or raise the maximum to 8",
        ),
        ({"kind": "perfect-square", "minimum": 2, "maximum": 3}, "lower the minimum to 1 or raise the maximum to 4"),
        ({"kind": "multiple", "multiple": 4, "maximum": 3}, "no count up to 3 is a multiple of 4; raise .* to 4"),
        ({"kind": "list", "sizes": (16,), "minimum": 17}, "no count of at least 17 is exactly 16; lower .* to 16"),
        ({"kind": "list", "sizes": ()}, "list of processor counts is empty"),
        ({"kind": "list"}, 'sizes belongs to the constraint "list"'),
        ({"kind": "multiple"}, 'multiple belongs to the constraint "multiple"'),
        ({"kind": "any", "multiple": 4}, "multiple belongs to"),
        ({"kind": "any", "sizes": (4,)}, "sizes belongs to"),
        ({"kind": "powers-of-two"}, 'did you mean "power-of-two"'),
        ({"kind": "any", "minimum": 0}, "minimum: 0 is not a count from 1"),
        ({"kind": "any", "maximum": 2.5}, "maximum: 2.5 is not a whole number"),
        ({"kind": "any", "minimum": True}, "minimum: True is not a whole number"),
        ({"kind": "multiple", "multiple": 0}, "multiple: 0 is not a count"),
        ({"kind": "list", "sizes": (4, 0)}, "a size of the list: 0 is not a count"),
    ],
)
def test_constraints_that_accept_nothing_or_make_no_sense_are_refused_with_the_way_out(arguments, message):
    with pytest.raises(ConstraintError, match=message):
        Constraint(**arguments)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (Constraint("any"), "any count"),
        (Constraint("any", maximum=128), "any count up to 128"),
        (Constraint("power-of-two", 2, 128), "a power of two from 2 to 128"),
        (Constraint("perfect-square", 4), "a perfect square of at least 4"),
        (Constraint("multiple", multiple=4), "a multiple of 4"),
        (Constraint("list", sizes=(64, 16)), "one of 16, 64"),
        (Constraint("list", 20, sizes=(64, 16)), "exactly 64"),
        (Constraint("list", sizes=tuple(range(1, 31))), "one of 1, 2, 3, 4, ..., 30 (30 counts)"),
    ],
)
def test_descriptions_are_nouns(constraint, words):
    assert constraint.describe() == words


def test_constraints_with_the_same_meaning_are_equal_and_hashable():
    assert Constraint("list", sizes=(64, 16)) == Constraint("list", sizes=(16, 64))
    assert len({Constraint("any"), Constraint("any", 1)}) == 1


def test_numpy_counts_are_taken_and_fractions_are_not():
    assert Constraint("any", np.int64(2)).permits(np.int64(2))
    with pytest.raises(TypeError):
        Constraint("any").permits(2.0)


def read(**table):
    return constraint_from_table(Fields(table, "lu.toml [processors]"))


def test_a_table_without_keys_accepts_any_count():
    assert read() == Constraint("any")


def test_bounds_alone_need_no_kind():
    assert read(min=2, max=128) == Constraint("any", 2, 128)


def test_all_kinds_can_be_written():
    assert read(constraint="power-of-two", max=128) == Constraint("power-of-two", 1, 128)
    assert read(constraint="perfect-square") == Constraint("perfect-square")
    assert read(constraint="multiple", multiple=4) == Constraint("multiple", multiple=4)
    assert read(constraint="list", list=[64, 16]) == Constraint("list", sizes=(16, 64))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"constraint": "square"}, r'lu.toml \[processors\] constraint: "square" is not known'),
        ({"constraint": "multiple"}, "multiple: is missing.*multiple = 4"),
        ({"constraint": "list"}, r"list: is missing.*list = \[16, 64\]"),
        ({"multiple": 4}, 'multiple: does not belong to the constraint "any"; write constraint = "multiple"'),
        ({"constraint": "any", "list": [4]}, 'list: does not belong .* write constraint = "list"'),
        ({"constraint": "list", "list": []}, "is not a list of whole numbers"),
        ({"constraint": "list", "list": [4, 8, 4]}, "list: names 4 more than once"),
        ({"min": 8, "max": 4}, r"lu.toml \[processors\]: at least 8 and at most 4"),
        ({"min": 0}, "min: 0 is below 1"),
        ({"max": 2**40}, "is above 2147483648"),
        ({"min": True}, "not a whole number"),
        ({"maximum": 4}, 'has no key "maximum"'),
        ({"constraint": "power-of-two", "min": 5, "max": 7}, "no count from 5 to 7 is a power of two"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_by_their_place(table, message):
    with pytest.raises(FieldError, match=message):
        read(**table)


def test_a_refused_constraint_is_a_model_error():
    assert issubclass(ConstraintError, ModelError)
