"""Both passes together: probes change nothing for others, no plan breaks what is asked for, machine code is equal."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, listed, running, with_nodes
from thorough import examples

from gas import compiled
from gas.slurm.cluster import Gres, Licence, Partition, Reservation, Scheduling, Tasks
from gas.slurm.forecast import forecast, reproduced
from gas.slurm.node_weights import weights_stay

NAMES = tuple(f"n{n}" for n in range(6))


@st.composite
def clusters(draw):
    half = NAMES[:3]
    partitions = (
        Partition("p", NAMES), Partition("q", half, longest=3600, most_nodes=2, most_cpus=2),
        Partition("w", NAMES, whole_nodes=True, tier=draw(st.integers(1, 2))),
    )  # fmt: skip
    jobs = []
    for place, end in enumerate(draw(st.lists(st.integers(-40, 4000), max_size=6))):
        if end:
            name = NAMES[place]
            share = {
                "cpus_on": {name: draw(st.integers(1, 4))},
                "gres_on": {name: (Gres("gpu", "", draw(st.integers(0, 1))),)},
            }
            jobs.append(running(place + 1, name, end=end, **share))
    for number in range(draw(st.integers(0, 8))):
        fields = {
            "partitions": draw(st.sampled_from((("p",), ("q",), ("w",), ("p", "q")))),
            "exclusive": draw(st.booleans()), "least_nodes": draw(st.integers(1, 2)),
            "priority": draw(st.integers(1, 5)), "excluded_nodes": draw(st.sampled_from(((), ("n0",)))),
            "required_nodes": draw(st.sampled_from(((), ("n1",)))),
            "eligible": draw(st.sampled_from((None, NOW + 1000))), "user": draw(st.sampled_from("uv")),
            "gres_per_node": draw(st.sampled_from(((), (Gres("gpu", "", 1),)))),
            "features": draw(st.sampled_from(("", "a", "[a|b]"))),
        }  # fmt: skip
        if draw(st.booleans()):
            at_once = draw(st.sampled_from((None, 1, 2)))
            fields |= {"array": 100 + number, "tasks": Tasks((range(draw(st.integers(1, 4))),), at_once)}
        elif draw(st.integers(0, 3)) == 0:
            start = NOW + draw(st.integers(1, 9000))
            fields |= {"start": start, "planned_nodes": draw(st.sampled_from((NAMES[:1], NAMES)))}
        jobs.append(job(100 + number, draw(st.integers(1, 12)), draw(st.integers(1, 120)), **fields))
    parameters = draw(st.sampled_from(({}, {"bf_max_job_user": "2"}, {"bf_one_resv_per_job": ""}, {"bf_licenses": ""})))
    made = cluster(
        *jobs, nodes=6, partitions=partitions, version=draw(st.sampled_from((OLD, MIDDLE, NEW))),
        reservations=draw(st.sampled_from(((), (Reservation("r", NOW + 900, NOW + 5000, half),)))),
        scheduling=Scheduling(depth=draw(st.sampled_from((3, 500))), parameters=parameters),
        licences=(Licence("l", 2),),
    )  # fmt: skip
    features = [frozenset(draw(st.sets(st.sampled_from("ab")))) for _ in NAMES]
    return with_nodes(made, features=features, gres=[(Gres("gpu", "", 2),)] * 4 + [()] * 2, weight=[1, 1, 2, 1, 1, 1])


probes = st.builds(
    job, st.just(0), st.integers(1, 12), st.integers(1, 120), priority=st.integers(0, 6),
    partitions=st.sampled_from((("p",), ("q", "w"))),
)  # fmt: skip


def wrong_with(found):
    """Return what is wrong with plans that were made anew, in words."""
    wrong = []
    state = found.state
    rows = state.rows
    taken = []
    for one in found.plans:
        at = next(
            k
            for k, record in enumerate(state.records)
            if record.job is one.job and record.partition.name == one.partition
        )
        nodes = np.isin(np.arange(len(state.names)), one.places)
        if one.start < NOW:
            wrong.append(f"job {one.job.id} starts before now")
        if np.any(nodes & ~state.sets[rows.nodes[at]]) or np.any(state.sets[rows.required[at]] & ~nodes):
            wrong.append(f"job {one.job.id} is on nodes that it may not have, or not on those that it must have")
        if not rows.need[at][3] <= np.count_nonzero(nodes) <= rows.need[at][5]:
            wrong.append(f"job {one.job.id} has another number of nodes than it may")
        if one.cpus.sum() < rows.need[at][0]:
            wrong.append(f"job {one.job.id} has too few CPUs")
        resolution = state.parameters.resolution
        end = one.start + one.limit
        span = one.start // resolution * resolution, end // resolution * resolution
        if one.start > NOW:
            wrong += [
                f"jobs {one.job.id} and {other} are on the same nodes at once"
                for first, last, places, other in taken
                if first < span[1] and last > span[0] and np.any(places & nodes)
            ]
            taken.append((*span, nodes, one.job.id))
    return wrong


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.lists(probes, max_size=3))
def test_no_planned_job_is_in_anothers_way_or_breaks_what_it_asks_for(made, asked):
    found = forecast(made, asked, pinned=False, beyond=False)
    assert wrong_with(found) == []
    again = forecast(made, asked, pinned=False, beyond=False)
    assert listed(again) == listed(found)


@pytest.mark.thorough
@given(clusters(), st.lists(probes, max_size=3))
def test_a_probe_changes_nothing_for_others(made, asked):
    assume(not weights_stay(made, asked))  # where its submission leaves weights of nodes
    assert listed(forecast(made, asked, beyond=False)) == listed(forecast(made, beyond=False))


@pytest.fixture(scope="module")
def as_machine_code():
    pytest.importorskip("numba")
    return compiled.compiled


@pytest.mark.thorough  # 20 s of CPU go into compiling what all others here run as plain Python
@examples(60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(clusters(), st.lists(probes, max_size=3))
def test_machine_code_plans_the_same(as_machine_code, made, asked):
    from gas.slurm import passes as module

    plain = forecast(made, asked, pinned=False)
    patch = pytest.MonkeyPatch()
    patch.setattr(module, "fastest", lambda kernel, steps, **_: as_machine_code(kernel))
    try:
        quick = forecast(made, asked, pinned=False)
    finally:
        patch.undo()
    assert listed(quick) == listed(plain)
    assert quick.outlooks == plain.outlooks


def test_probes_at_several_places_are_answered_in_one_pass():
    made = cluster(running(9, "n0", end=600), job(1), job(2), nodes=1)
    found = forecast(made, [job(priority=10_000), job(priority=998, submitted=NOW), job()]).outlooks
    assert [one.planned - NOW for one in found] == [600, 1800, 1800]


def test_plans_are_trusted_as_far_as_a_cycle_makes_them_again():
    as_published = job(1, 4, start=NOW + 600, planned_nodes=("n0",))
    elsewhen = job(2, 4, start=NOW + 9000, planned_nodes=("n0",))
    made = cluster(running(9, "n0", end=600), as_published, elsewhen, nodes=1)
    assert reproduced(made) == (1, 2)
