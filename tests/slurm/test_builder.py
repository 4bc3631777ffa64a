"""The machine and what runs on it as arrays: what is in use is what running jobs have, and what is not shown."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import MIDDLE, NOW, OLD, cluster, job, running, with_nodes

from gas.slurm.builder import Builder, Sets, numbers_of
from gas.slurm.cluster import Gres, Partition, Reservation
from gas.slurm.machine import BOUNDLESS
from gas.slurm.settings import Settings
from gas.slurm.will_run import add

GPU = Gres("gpu", "a100", 1)


def built(made, *, memory=None, unseen_until=None, room=0):
    builder = Builder(made, memory)
    machine = builder.machine()
    jobs = [one for one in made.jobs if not one.pending]
    return builder, machine, *builder.running(machine, jobs, unseen_until, room)


# -- sets


def test_equal_sets_have_one_number():
    sets = Sets(3)
    first = sets.add(np.array([True, False, True]))
    assert sets.add(np.array([False, False, True])) == first + 1
    assert sets.add(np.array([True, False, True])) == first
    assert sets.array().tolist() == [[True, False, True], [False, False, True]]


def test_a_set_of_names_leaves_out_nodes_that_are_not_there():
    builder = Builder(cluster(nodes=3), None)
    assert builder.of_names(("n2", "gone")).tolist() == [False, False, True]


def test_numbers_stay_the_same_whenever_they_are_asked_for():
    builder = Builder(cluster(), None)
    assert builder.numbers("user", "abca").tolist() == [0, 1, 2, 0]
    assert builder.numbers("user", "cd").tolist() == [2, 3]
    assert builder.numbered("user") == ["a", "b", "c", "d"]
    assert numbers_of("xyx").tolist() == [0, 1, 0]


def test_a_constraint_stands_once_among_the_options_with_a_set_for_each_alternative():
    made = with_nodes(cluster(nodes=2), features=[frozenset("a"), frozenset("ab")])
    builder = Builder(made, None)
    first, count = builder.features("[a|b]")
    found = builder.sets.array()[builder.options[first : first + count]]
    assert found.tolist() == [[True, True], [False, True]]
    assert builder.features("[a|b]") == (first, count)
    assert builder.unclear == []


# -- the machine


@pytest.mark.parametrize(("version", "count"), [(OLD, 2), (MIDDLE, 0)])
def test_nodes_keep_weights_from_one_test_to_the_next_on_old_releases_only(version, count):
    assert len(Builder(cluster(nodes=2, version=version), None).machine().near) == count


def test_memory_that_is_not_said_is_without_bounds():
    made = with_nodes(cluster(nodes=2), memory=[None, 8000])
    assert Builder(made, True).machine().memory.tolist() == [BOUNDLESS, 8000]


@pytest.mark.parametrize(
    ("settings", "allocated", "counts"),
    [
        (Settings(selection="select/cons_tres", selection_parameters=("CR_CORE_MEMORY",)), 0, True),
        (Settings(selection="select/cons_tres", selection_parameters=("CR_CORE",)), 4000, False),
        (None, 4000, True), (None, 0, False),
    ],
)  # fmt: skip
def test_memory_counts_where_that_is_configured_or_else_where_nodes_have_given_some_out(settings, allocated, counts):
    made = replace(with_nodes(cluster(), memory_allocated=[allocated, 0]), settings=settings)
    assert Builder(made, None).with_memory == counts


def test_a_node_that_a_reservation_holds_is_usable_where_it_is_known_when_that_ends():
    made = with_nodes(cluster(nodes=2), reserved=[True, True])
    known = replace(made, reservations=(Reservation("r", NOW - 60, NOW + 600, ("n1",)),))
    assert Builder(known, None).usable.tolist() == [False, True]


# -- what runs


def test_jobs_are_in_the_order_of_their_ends_and_use_what_they_have():
    jobs = [
        running(1, "n0", end=900, cpus_on={"n0": 3}, gres_on={"n0": (GPU,)}, memory_on={"n0": 500}),
        running(2, "n1", "n2", end=300, cpus_on={"n1": 1, "n2": 2}, memory_per_cpu=10),
    ]
    made = with_nodes(cluster(*jobs, nodes=3), gres=[(replace(GPU, count=2),), (), ()], memory=[1000] * 3)
    _, _, found, use, unseen = built(made, memory=True)
    assert found.order.tolist() == [1, 0]
    assert use.cpus.tolist() == [3, 1, 2]
    assert use.memory.tolist() == [500, 10, 20]
    assert use.gres.max(axis=1).tolist() == [1, 0, 0]  # counted as GPUs, and as those of a type
    assert unseen.tolist() == [0, 0, 0]


@pytest.mark.parametrize("whole", ["exclusive", "whole_nodes"])
def test_whole_nodes_are_in_use_with_all_their_cpus(whole):
    one = running(1, "n0", end=300, cpus_on={"n0": 1}, exclusive=whole == "exclusive")
    made = cluster(one, partitions=(Partition("p", ("n0", "n1"), whole_nodes=whole == "whole_nodes"),))
    *_, use, _ = built(made)
    assert use.cpus.tolist() == [4, 0]


def test_cpus_in_use_that_no_job_shown_has_are_taken_until_an_instant():
    made = with_nodes(cluster(running(1, "n0", end=300, cpus_on={"n0": 1})), allocated=[3, 2])
    _, _, found, use, unseen = built(made, unseen_until=NOW + 7200)
    assert unseen.tolist() == [2, 2]
    assert use.cpus.tolist() == [3, 2]
    assert sorted(found.end[: found.total[0]].tolist()) == [NOW + 300, NOW + 7200, NOW + 7200]


shown = st.builds(
    lambda id, cpus, end: running(id, *cpus, end=end, cpus_on=cpus), st.integers(1, 99),
    st.dictionaries(st.sampled_from(("n0", "n1", "n2", "gone")), st.integers(1, 4), min_size=1), st.integers(-60, 9000),
)  # fmt: skip


@given(st.lists(shown, max_size=5), st.integers(0, 3))
def test_what_is_taken_away_when_all_have_ended_leaves_nothing_in_use(jobs, room):
    _, _, found, use, _ = built(cluster(*jobs, nodes=3), room=room)
    assert use.cpus.sum() == sum(count for one in jobs for name, count in one.cpus_on.items() if name != "gone")
    ends = found.end[found.order[: found.total[0]]]
    assert np.all(ends[1:] >= ends[:-1])
    for one in range(found.total[0]):
        add(use, found, one, -1)
    assert all(not part.any() for part in use)
    assert not built(cluster(job(1), nodes=3))[3].cpus.any()  # those that wait use nothing


@pytest.mark.parametrize(("mode", "cpus", "whole"), [("", 0, 0), ("REQUEUE", 0, 0), ("GANG,SUSPEND", 4, 1)])
def test_a_suspended_job_keeps_its_memory_and_gives_its_cpus_back_unless_slurm_resumes_it_by_itself(mode, cpus, whole):
    """Seen on 22.05 and 26.05 after scontrol suspend: others start on its CPUs, exclusive jobs on its nodes too."""
    held = running(1, "n0", end=600, state="SUSPENDED", memory_on={"n0": 300}, exclusive=True)
    made = replace(cluster(held), settings=Settings(preempt_mode=mode))
    _, _, _, use, _ = built(made, memory=True)
    assert (use.cpus[0], use.memory[0], use.whole[0], use.jobs[0]) == (cpus, 300, whole, whole)
