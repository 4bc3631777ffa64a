"""Starts as OAR's scheduler finds them: on units in a hierarchy, at quotas, and of besteffort jobs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gas.availability import Spans
from gas.endpoints.oar.availability import Charted, Nested, OarAvailability
from gas.endpoints.oar.hierarchy import Hierarchy
from gas.endpoints.oar.quotas import Held, JobNames, Quota, Quotas
from gas.profile.flat import NEVER

ANN = JobNames("default", "default", (), "ann")


def availability(rows, capacity=(4,), **more):
    return OarAvailability("m", "estimate", 0, "1", np.array(capacity, np.int64), Spans.of(rows), **more)


def starts(found, *requests, first=0):
    sizes, times = (np.array(column) for column in zip(*requests, strict=True))
    return found.anchors(sizes, times, first).tolist()


def test_without_more_it_is_what_the_nodes_leave():
    assert starts(availability([(0, 0, 100, 3)]), (1, 50), (2, 50), (5, 1)) == [0, 100, NEVER]


def test_a_job_of_which_oar_does_not_plan_the_walltime_fits_where_the_planned_part_does():
    found = availability([(0, 300, 900, 4)], duration=240)
    assert starts(found, (4, 86400), (4, 1)) == [0, 0]
    assert starts(availability([(0, 300, 900, 4)]), (4, 86400)) == [900]


def test_a_start_keeps_quotas_and_is_still_one_at_which_resources_are_free():
    held = (Held(ANN, 4, 0, 139),)
    quotas = Quotas.of((Quota("*", "*", "*", "ann", 4),), ANN, held, 60)
    found = availability([(0, 150, 400, 4)], quotas=quotas, resources_each=2)
    assert starts(found, (1, 10), (2, 10), (3, 10)) == [400, 400, NEVER]  # at 200 the quota is free, the node is not
    assert starts(availability([], quotas=quotas), (1, 10)) == [200]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=3), min_size=4, max_size=4),
    st.sampled_from(["host/core=2", "host/core=1", "host=2/core", "host=1/core"]),
    st.integers(1, 3),
    st.integers(1, 12),
    st.integers(0, 20),
)
def test_the_earliest_start_in_a_hierarchy_is_that_of_trying_every_second(spans, text, size, walltime, first):
    """Two hosts of two cores each; spans that are taken are apart."""
    hierarchy = Hierarchy.of(text)
    units = []
    for number, lengths in enumerate(spans):
        begin, taken = 0, []
        for pause, length in lengths:
            begin += pause + 1
            taken.append((begin, begin + length))
            begin += length
        units.append(Charted((f"n{number // 2}", str(number)), tuple(taken)))
    nested = Nested(hierarchy, tuple(units))

    def fits(start):
        free = [
            unit.path
            for unit in units
            if all(not a <= second < b for a, b in unit.taken for second in range(start, start + walltime))
        ]
        return hierarchy.most(free) >= size

    wanted = next((start for start in range(first, 200) if fits(start)), NEVER)
    assert starts(availability([], nested=nested), (size, walltime), first=first) == [wanted]
