"""The unit of a request: a level of the hierarchy, with fixed numbers of others."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.oar.hierarchy import Hierarchy
from gas.errors import BadInput


@pytest.mark.parametrize(
    ("text", "request_of_three", "name", "outside", "inside"),
    [
        ("core", "/core=3", "core", 1, 1),
        ("nodes", "/nodes=3", "nodes", 1, 1),
        ("host/core=4", "/host=3/core=4", "host", 1, 4),
        ("/host=2/core", "/host=2/core=3", "core", 2, 1),
        ("switch=2/host/cpu=1/core=4", "/switch=2/host=3/cpu=1/core=4", "host", 2, 4),
    ],
)
def test_the_level_without_a_number_is_chosen(text, request_of_three, name, outside, inside):
    hierarchy = Hierarchy.of(text)
    assert hierarchy.text(3) == request_of_three
    assert (hierarchy.name, hierarchy.outside, hierarchy.inside) == (name, outside, inside)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("host=2/core=4", "leaves 0 levels"),
        ("host/core", "leaves 2 levels"),
        ("host/core=0", "not a property"),
        ("host//core=4", "not a property"),
        ("core; rm", "not a property"),
        ("nodes/network_address=2", "names a level twice"),
    ],
)
def test_what_leaves_no_choice_or_two_is_refused(text, problem):
    with pytest.raises(BadInput, match=problem):
        Hierarchy.of(text)


def test_hosts_with_four_cores_free_are_counted():
    free = [("a", str(core)) for core in range(5)] + [("b", str(core)) for core in range(5, 8)]
    assert Hierarchy.of("host/core=4").most(free) == 1
    assert Hierarchy.of("host/core=3").most(free) == 2
    assert Hierarchy.of("host=2/core").most(free) == 3
    assert Hierarchy.of("host=1/core").most(free) == 5
    assert Hierarchy.of("host=3/core").most(free) == 0
    assert Hierarchy.of("host/core=4").most([]) == 0


@given(
    st.sets(st.tuples(st.sampled_from("xy"), st.sampled_from("abc"), st.sampled_from("012")), max_size=14),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_there_are_as_many_as_some_choice_of_resources_gives(free, first, second, chosen):
    """Compared with trying all choices of groups, from the outside in."""
    counts = [first, second]
    counts.insert(chosen, None)
    names = ["switch", "host", "core"]
    hierarchy = Hierarchy(tuple(zip(names, counts, strict=True)))

    def fits(prefix, wanted):
        depth = len(prefix)
        if depth == len(wanted):
            return True
        below = {path[depth] for path in free if path[:depth] == prefix}
        return any(
            all(fits((*prefix, one), wanted) for one in some) for some in itertools.combinations(below, wanted[depth])
        )

    sizes = [size for size in range(1, 4) if fits((), [size if count is None else count for count in counts])]
    assert hierarchy.most(sorted(free)) == max(sizes, default=0)
