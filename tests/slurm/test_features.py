"""Which nodes a constraint allows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.slurm.features import allowed, with_counts

HAVE = {"a": [0, 1], "b": [1, 2], "c": [3]}


def sets(constraint, **options):
    def nodes(feature):
        found = np.zeros(4, np.bool_)
        found[HAVE.get(feature, [])] = True
        return found

    found = allowed(constraint, nodes, np.ones(4, np.bool_), **options)
    return [np.flatnonzero(one).tolist() for one in found.options], found.clear


@pytest.mark.parametrize(
    ("constraint", "options"),
    [
        ("", [[0, 1, 2, 3]]), ("a", [[0, 1]]), ("a&b", [[1]]), ("a|c", [[0, 1, 3]]), ("a&(b|c)", [[1]]),
        ("[a|c]", [[0, 1], [3]]), ("b&[a|c]", [[1], []]), ("x", [[]]), (" a & b ", [[1]]),
    ],
)  # fmt: skip
def test_features_are_joined(constraint, options):
    assert sets(constraint) == (options, True)


def test_on_22_05_plans_use_no_option_behind_one_in_parentheses():
    for constraint, old in (("[(a&b)|c]", [[1]]), ("[c|(a&b)]", [[3], [1]]), ("[a|c]", [[0, 1], [3]])):
        assert sets(constraint, all_options=False) == (old, True)
    assert sets("[(a&b)|c]") == ([[1], [3]], True)


def test_of_numbers_of_nodes_it_is_known_where_they_may_be():
    assert with_counts("[a*2&c*1]")
    assert not with_counts("[a&c]")
    assert sets("[a*2&c*1]") == ([[0, 1, 3]], False)
    assert sets("[a*2|c*1]") == ([[0, 1, 3]], False)


@pytest.mark.parametrize("constraint", ["a&", "(a", "[a", "a)", "&", "((((" * 50, "a||b"])
def test_what_is_no_constraint_leaves_all_nodes_and_is_not_clear(constraint):
    assert sets(constraint) == ([[0, 1, 2, 3]], False)


@given(st.text("ab&|()[]*2, ", max_size=30))
def test_any_text_gives_sets(text):
    options, _ = sets(text)
    assert options
