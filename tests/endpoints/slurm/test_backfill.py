"""When and where Slurm's backfill scheduler would start a job."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.slurm.backfill import Backfill, Closure
from gas.endpoints.slurm.selection import Held, Request, nodes_of, places_of

NOW = 1_800_000_000  # a multiple of 60


def machine(*running, nodes=4, cpus=2, **fields):
    return Backfill(NOW, np.full(nodes, cpus), running, **fields)


def held(end, *places, cpus=2):
    return Held(NOW + end, tuple((place, cpus) for place in places))


def asked(cpus, minutes, places=range(4), **fields):
    return Request(cpus, 60 * minutes, nodes_of(places), **fields)


def found(backfill, request):
    placement = backfill.find(request)
    return None if placement is None else (placement.start - NOW, list(places_of(placement.nodes)))


@given(st.frozensets(st.integers(0, 300)))
def test_a_set_of_places_has_those_places(places):
    assert list(places_of(nodes_of(places))) == sorted(places)


def test_what_fits_starts_now_on_the_first_nodes():
    assert found(machine(), asked(4, 10)) == (0, [0, 1])


def test_of_runs_of_neighbours_the_tightest_is_taken():
    assert found(machine(held(9999, 2), nodes=7), asked(4, 10, range(7))) == (0, [0, 1])
    assert found(machine(held(9999, 3), nodes=7), asked(4, 10, range(7))) == (0, [0, 1])
    assert found(machine(held(9999, 4), nodes=7), asked(4, 10, range(7))) == (0, [5, 6])
    assert found(machine(held(9999, 0, 3), nodes=7), asked(8, 10, range(7)))[1] == [1, 4, 5, 6]


def test_a_job_of_one_node_gets_the_one_that_is_left_least():
    part = held(9999, 2, cpus=1)
    assert found(machine(part), asked(1, 10)) == (0, [2])


def test_ends_of_running_jobs_are_taken_together_in_windows_that_double():
    """Counted from the first end, rounded up to 30 s: to 30 s after, then a minute, two, four."""
    ends = [100, 149, 151, 209, 211]  # the base is 120: windows to 150, 180, 240
    backfill = machine(*(held(end, place) for place, end in enumerate(ends)), nodes=5)
    assert [found(backfill, asked(cpus, 1, range(5)))[0] for cpus in (2, 4, 6, 8, 10)] == [149, 149, 151, 211, 211]


def test_nodes_of_planned_jobs_are_free_before_and_after_but_not_for_what_ends_when_they_begin():
    backfill = machine(nodes=1)
    backfill.take(NOW + 1800, 600, 1)
    assert found(backfill, asked(1, 29, [0])) == (0, [0])
    assert found(backfill, asked(1, 30, [0])) == (2400, [0])


def test_a_start_when_a_running_job_ends_may_overlap_a_plan_within_the_resolution():
    backfill = machine(held(77, 0), nodes=1)
    backfill.take(NOW + 660, 600, 1)
    assert found(backfill, asked(1, 10, [0])) == (77, [0])
    assert found(backfill, asked(1, 11, [0])) == (1260, [0])


def test_a_short_job_has_no_plan_while_nothing_becomes_free_until_it_would_end():
    backfill = machine()
    for start, minutes, places in ((0, 90, [3]), (30, 60, [2]), (60, 30, [0, 1])):
        backfill.take(NOW + 60 * start, 60 * minutes, nodes_of(places))
    short, long = backfill.find(asked(8, 5)), backfill.find(asked(8, 61))
    assert (short.start, short.listed) == (NOW + 5400, False)
    assert (long.start, long.listed) == (NOW + 5400, True)


def test_exclusive_jobs_want_nodes_that_are_quite_free():
    backfill = machine(held(600, 0, cpus=1), held(900, 1, cpus=1), nodes=2)
    assert found(backfill, asked(2, 5, range(2))) == (0, [0, 1])
    assert found(backfill, asked(2, 5, range(2), exclusive=True)) == (600, [0])
    assert found(backfill, asked(3, 5, range(2), exclusive=True)) == (900, [0, 1])


def test_required_nodes_and_the_number_of_nodes_are_kept():
    assert found(machine(), asked(2, 5, required=nodes_of([3]))) == (0, [3])
    assert found(machine(), asked(2, 5, least=2))[1] == [0, 1]
    assert found(machine(), asked(2, 5, least=1, most=3))[1] == [0, 1, 2]
    assert found(machine(held(300, 0, cpus=1)), asked(2, 5, most=1)) == (0, [1])
    assert found(machine(), asked(4, 5, most=1)) is None


def test_a_job_starts_no_earlier_than_it_may_and_ends_no_later():
    assert found(machine(), asked(1, 5, not_before=NOW + 90))[0] == 90
    assert found(machine(held(600, 0, 1, 2, 3)), asked(1, 5, not_after=NOW + 900))[0] == 600
    assert found(machine(held(601, 0, 1, 2, 3)), asked(1, 5, not_after=NOW + 900)) is None


@pytest.mark.parametrize(
    ("fields", "start"),
    [({}, 1201), ({"reservation": "kept"}, 0), ({"user": "me"}, 0), ({"user": "you"}, 1201)],
)
def test_a_closure_is_open_to_those_who_name_it_and_to_its_users(fields, start):
    closure = Closure(NOW + 300, NOW + 1199, nodes_of(range(4)), "kept", frozenset({"me"}))
    assert found(machine(closures=[closure]), asked(1, 10, **fields))[0] == start


def test_a_closure_is_kept_to_the_second():
    closure = Closure(NOW + 300, NOW + 1199, nodes_of(range(4)))
    assert found(machine(closures=[closure]), asked(1, 5))[0] == 0


def test_what_never_fits_is_nowhere():
    assert found(machine(), asked(9, 5)) is None
    assert found(machine(), asked(1, 5, [])) is None


sizes = st.integers(1, 10)
minutes = st.integers(1, 90)
running_jobs = st.lists(
    st.tuples(st.integers(1, 5000), st.integers(0, 4), st.integers(1, 2)), max_size=6, unique_by=lambda one: one[1]
)


@st.composite
def machines(draw):
    ends = [held(end, place, cpus=cpus) for end, place, cpus in draw(running_jobs)]
    closures = draw(
        st.lists(
            st.builds(
                lambda start, length, nodes: Closure(NOW + start, NOW + start + length, nodes),
                st.integers(-100, 5000), st.integers(1, 3000), st.integers(1, 31),
            ), max_size=1,
        )
    )  # fmt: skip
    return machine(*ends, nodes=5, closures=closures)


requests = st.builds(
    asked, sizes, minutes, st.sets(st.integers(0, 4), min_size=1), least=st.integers(1, 3), exclusive=st.booleans()
)


@given(machines(), st.lists(requests, max_size=12))
def test_what_is_planned_one_after_the_other_is_in_nobodys_way(backfill, queue):
    spans = []
    for request in queue:
        placement = backfill.find(request)
        if placement is None:
            continue
        assert placement.start >= NOW
        assert placement.nodes & ~request.nodes == 0
        assert placement.nodes.bit_count() >= request.least
        assert 2 * placement.nodes.bit_count() >= request.cpus
        first, last = backfill.span(placement.start, request.walltime)
        for start, end, nodes in spans:
            assert end <= first or start >= last or not nodes & placement.nodes
        if placement.start > NOW:
            assert not backfill.taken(placement.start, request.walltime, placement.nodes)
        backfill.take(placement.start, request.walltime, placement.nodes)
        assert backfill.taken(placement.start, request.walltime, placement.nodes)
        spans.append((first, last, placement.nodes))


@given(machines(), st.lists(requests, max_size=10), requests)
def test_a_quick_search_finds_the_same_start_on_the_same_nodes(backfill, queue, last):
    for request in [*queue, last, replace(last, cpus=last.cpus + 1)]:
        exact, quick = backfill.again().find(request), backfill.find(request, quick=True)
        assert (exact is None) == (quick is None)
        if exact is not None and quick is not None:
            assert (quick.start, quick.nodes) == (exact.start, exact.nodes)
            backfill.take(exact.start, request.walltime, exact.nodes)


@given(machines(), requests)
def test_running_jobs_have_left_the_nodes_that_a_job_gets(backfill, request):
    placement = backfill.find(request)
    if placement is not None:
        free = np.full(5, 2)
        for one in backfill.running:
            for place, cpus in one.shares:
                free[place] -= cpus if one.end > placement.start else 0
        there = list(places_of(placement.nodes))
        if request.exclusive:
            assert all(free[place] == 2 for place in there)
        assert sum(free[place] for place in there) >= request.cpus
