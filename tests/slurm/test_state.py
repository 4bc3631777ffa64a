"""What a cycle begins with: who runs, what is kept, which licences are free, what is not shown."""

from dataclasses import replace

from made_clusters import NOW, cluster, job, running, with_nodes

from gas.slurm.cluster import Licence, Reservation
from gas.slurm.order import queue
from gas.slurm.state import state_of


def state(made, **options):
    return state_of(made, queue(made), **options)


def test_jobs_that_have_nodes_run_but_those_that_complete_only_keep_others_from_starting_there_now():
    leaves = running(2, "n1", end=-5, state="COMPLETING")
    found = state(cluster(running(1, "n0", end=600, cpus_on={"n0": 3}), leaves, nodes=3))
    assert [one.id for one in found.running_jobs] == [1]
    assert found.use.cpus.tolist() == [3, 0, 0]
    assert found.leaving.tolist() == [False, True, False]


def test_cpus_in_use_by_jobs_that_are_not_shown_are_taken():
    made = with_nodes(cluster(running(1, "n0", end=600, cpus_on={"n0": 1}), nodes=2), allocated=[3, 1])
    found = state(made, unseen_until=NOW + 900)
    assert (found.unseen.tolist(), found.use.cpus.tolist()) == ([2, 1], [3, 1])
    assert int(found.running.total[0]) == 3
    assert state(made).unseen.tolist() == [0, 0]


def test_nodes_that_are_down_are_left_out_and_those_of_a_reservation_that_is_shown_come_back():
    made = with_nodes(cluster(nodes=4), why_not=[("DOWN",), (), (), ()], reserved=[False, True, True, False])
    kept = Reservation("kept", NOW - 60, NOW + 600, ("n2",), flags=("MAINT",))
    past = Reservation("past", NOW - 60, NOW - 30, ("n3",))
    found = state(replace(made, reservations=(kept, past), jobs=(job(1),)))
    assert found.usable.tolist() == [False, False, True, True]
    assert found.closures.end.tolist() == [NOW + 600]


def test_licences_that_others_keep_are_not_free():
    licences = (Licence("a", 10, used=4, reserved=1), Licence("b", 2, used=5))
    found = state(replace(cluster(running(1, "n0", end=600, licences={"a": 3}), nodes=1), licences=licences))
    assert (found.licence_names, found.licences.tolist(), found.all_licences.tolist()) == (("a", "b"), [5, 0], [8, -3])


def test_the_machine_of_22_05_remembers_how_jobs_with_gpus_weighed_nodes():
    assert len(state(cluster(nodes=3, version="22.05.8")).machine.near) == 3
    assert len(state(cluster(nodes=3, version="24.11.5")).machine.near) == 0
