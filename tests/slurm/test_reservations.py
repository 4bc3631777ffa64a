"""Which reservations attract a job, are open to it, and what they keep from it; each rule as seen on a real Slurm."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NEW, NOW, cluster, job, outlook, planned, running

from gas.slurm.accounting import Accounting, Association
from gas.slurm.cluster import Licence, Partition, Reservation, Scheduling
from gas.slurm.reservations import attracts, is_open
from gas.slurm.settings import Settings
from gas.slurm.why import Why

HOUR = 3600
ACCOUNTS = Accounting(
    "me",
    (
        Association("root", parent=""), Association("lab", parent="root"), Association("lab", "me"),
        Association("dept", parent="root"), Association("dept", "other"),
    ),
    default_account="lab",
)  # fmt: skip


def kept(*nodes, start=0, end=HOUR, flags=("MAGNETIC",), **fields):
    return Reservation("r", NOW + start, NOW + end, nodes, flags, **fields)


@pytest.mark.parametrize(
    ("lists", "is_in"),
    [
        ({"users": ("me",)}, True), ({"users": ("other",)}, False), ({"users": ("-other",)}, True),
        ({"users": ("-me",)}, False), ({"accounts": ("lab",)}, True), ({"accounts": ("root",)}, True),
        ({"accounts": ("dept",)}, False), ({"accounts": ("-dept",)}, True), ({"accounts": ("-root",)}, False),
        ({"users": ("me",), "accounts": ("-lab",)}, False), ({"users": ("me",), "accounts": ("dept",)}, False),
        ({"users": ("me",), "partitions": ("p",)}, True), ({"users": ("me",), "partitions": ("q",)}, False),
        ({"users": ("me",), "qos": ("normal",)}, True), ({"users": ("me",), "qos": ("high",)}, False),
        ({"groups": ("staff",)}, None), ({"users": ("me",), "flags": ("MAGNETIC", "TIME_FLOAT")}, False),
    ],
)  # fmt: skip
def test_a_reservation_is_open_by_users_accounts_and_those_above_partitions_and_qos(lists, is_in):
    own = kept("n0", **lists)
    made = cluster(reservations=(own,), accounting=ACCOUNTS, settings=Settings(enforced=frozenset({"associations"})))
    assert is_open(made, own, job(user="me")) is is_in
    assert attracts(made, own, job(user="me")) is (is_in is True)
    assert not attracts(made, replace(own, flags=()), job(user="me"))


def test_where_associations_are_not_enforced_the_accounts_above_do_not_count():
    own = kept("n0", accounts=("root",))
    made = cluster(reservations=(own,), accounting=ACCOUNTS, settings=Settings(enforced=frozenset()))
    assert is_open(made, own, job(user="me")) is False
    assert is_open(replace(made, accounting=None), own, job(user="me")) is None  # nobody says which account


def test_plans_in_a_magnetic_reservation_hold_nothing():
    """Seen on 22.05, 24.11 and 26.05: a job that names the reservation starts on a node of the plan."""
    own = kept("n0", "n1", end=10 * HOUR, users=("u",))
    there = [running(1, "n0", end=HOUR, reservation="r"), running(2, "n2", "n3", end=2 * HOUR, user="v")]
    made = cluster(*there, job(3, 8, minutes=60), nodes=4, reservations=(own,))
    named = job(0, 3, minutes=90, reservation="r", required_nodes=("n1",))
    assert planned(made, named) == (0, [1])
    slots = replace(made, version=MIDDLE, scheduling=Scheduling(parameters={"bf_allow_magnetic_slot": ""}))
    assert planned(slots, named) == (2 * HOUR, [1])


def test_a_magnetic_reservation_is_used_wholly_or_not_at_all():
    made = cluster(reservations=(kept("n0", "n1", users=("u",)),), nodes=3)
    assert planned(made, job(cpus=8)) == (0, [0, 1])
    assert planned(made, job(cpus=12)) == (HOUR + 1, [0, 1, 2])
    assert planned(made, job(cpus=4, user="v")) == (0, [2])


def test_in_it_a_job_comes_before_others_of_higher_priority():
    ahead = job(1, 4, 10, user="v"), job(2, 4, 10, user="v")
    made = cluster(*ahead, running(3, "n1", end=HOUR), reservations=(kept("n0", users=("u",)),))
    assert planned(made, job(cpus=4, minutes=20)) == (0, [0])


@pytest.mark.parametrize(("version", "start"), [(MIDDLE, 0), (NEW, HOUR + 1)])
def test_from_26_05_on_it_attracts_only_what_ends_before_it_does(version, start):
    made = cluster(reservations=(kept("n0", "n1", users=("u",)),), version=version)
    assert planned(made, job(cpus=4, minutes=60))[0] == 0
    assert planned(made, job(cpus=4, minutes=61))[0] == start


def test_of_a_waiting_job_that_it_will_attract_only_the_published_plan_is_kept():
    waiting = job(1, 4, 10, start=NOW, planned_nodes=("n2",))
    made = cluster(waiting, reservations=(kept("n0", start=600, users=("u",)),), nodes=3)
    assert planned(made, job(cpus=8, minutes=5, user="v")) == (0, [0, 1])


def test_licences_reserved_for_later_are_not_for_those_who_would_still_have_them_then():
    own = kept(start=HOUR, end=2 * HOUR, flags=(), licences={"l": 4})
    made = cluster(reservations=(own,), licences=(Licence("l", 6),))
    assert planned(made, job(licences={"l": 2}, minutes=90))[0] == 0
    assert planned(made, job(licences={"l": 3}, minutes=60))[0] == 0
    assert outlook(made, job(licences={"l": 3}, minutes=61)).why is Why.LICENCES


def test_licences_reserved_now_are_for_its_own_jobs_and_count_once():
    own = kept("n0", flags=(), licences={"l": 4})
    made = cluster(reservations=(own,), licences=(Licence("l", 6, reserved=4),))
    assert planned(made, job(licences={"l": 2}))[0] == 0
    assert planned(made, job(licences={"l": 3})) is None
    assert planned(made, job(licences={"l": 5}, reservation="r"))[0] == 0
    hidden = replace(made, reservations=(), licences=(Licence("l", 6, reserved=4),))
    assert planned(hidden, job(licences={"l": 3})) is None


def test_jobs_of_a_flexible_reservation_use_other_nodes_and_times_too():
    own = kept("n0", start=600, end=1200, flags=("FLEX",))
    made = cluster(reservations=(own,))
    assert planned(made, job(cpus=8, minutes=99, reservation="r")) == (0, [0, 1])
    assert planned(made, job(cpus=8, minutes=99)) == (1201, [0, 1])
    assert outlook(made, job(cpus=8, minutes=99, reservation="r")).expected == NOW


def test_jobs_of_a_reservation_of_licences_use_any_nodes_while_it_lasts():
    """Seen on 26.05: it has no nodes (ANY_NODES), and its jobs start only while it is active."""
    own = kept(end=1200, flags=("ANY_NODES",), licences={"lic": 2})
    made = cluster(running(1, "n0", end=60), reservations=(own,), licences=(Licence("lic", 4),))
    assert planned(made, job(cpus=8, minutes=5, reservation="r")) == (60, [0, 1])
    assert planned(made, job(cpus=8, minutes=5, licences={"lic": 3})) is None
    assert planned(made, job(cpus=8, minutes=5, reservation="r", licences={"lic": 3})) == (60, [0, 1])
    later = replace(made, reservations=(replace(own, start=NOW + 600),))
    assert planned(later, job(cpus=8, minutes=5, reservation="r")) is None


def test_nodes_of_a_reservation_that_moves_ahead_are_free_before_it_whatever_their_state_says():
    own = kept("n0", "n1", start=600, end=1200, flags=("TIME_FLOAT",))
    made = cluster(reservations=(own,))
    made = replace(made, nodes=tuple(replace(node, reserved=True) for node in made.nodes))
    assert planned(made, job(cpus=8, minutes=10)) == (0, [0, 1])


def test_what_would_reach_into_a_reservation_that_moves_ahead_never_starts_on_its_nodes():
    """Slurm plans it behind the reservation, cycle after cycle."""
    own = kept("n0", start=600, end=1200, flags=("TIME_FLOAT",))
    made = cluster(running(1, "n1", end=HOUR), reservations=(own,))
    assert planned(made, job(cpus=4, minutes=11)) == (HOUR, [1])
    found = outlook(made, job(cpus=8, minutes=11))
    assert (found.planned, found.expected) == (None, None)
    assert "moves ahead with time" in found.words
    assert planned(made, job(cpus=8, minutes=10)) == (HOUR, [0, 1])  # it is as far away then
    whole = replace(made, reservations=(replace(own, flags=("TIME_FLOAT", "ALL_NODES"), nodes=("n0", "n1")),))
    assert outlook(whole, job(cpus=4, minutes=11)).expected is None


def test_a_reservation_of_some_cores_is_too_small_for_more():
    made = cluster(reservations=(kept("n0", "n1", flags=(), cores=3),))
    assert planned(made, job(cpus=3, reservation="r"))[0] == 0
    found = outlook(made, job(cpus=4, reservation="r"))
    assert (found.planned, found.never) == (None, True)
    assert found.words == 'reservation "r" holds 3 CPUs, and 4 are requested'


def test_a_job_is_attracted_in_the_partitions_that_are_allowed():
    partitions = Partition("p", ("n0", "n1")), Partition("q", ("n0", "n1"))
    made = cluster(reservations=(kept("n0", "n1", users=("u",), partitions=("q",)),), partitions=partitions)
    assert planned(made, job(cpus=4))[0] == HOUR + 1
    assert planned(made, job(cpus=4, partitions=("p", "q")))[0] == 0
