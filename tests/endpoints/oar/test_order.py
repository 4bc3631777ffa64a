"""The waiting jobs that OAR plans before a new one: by the priority of queues, by their numbers, or by karma."""

import pytest

from gas.endpoints.oar.machine import Job, Machine, Usage
from gas.endpoints.oar.order import needs_usage, order_of, policy_of


def waiting(id, user, karma=None, queue="default", **more):
    message = "FIFO scheduling OK" if karma is None else f"R=4,W=1:0:0,J=B (Karma={karma:.3f},quota_ok)"
    return Job(id, "", user, "Waiting", queue=queue, message=message, **more)


def machine(*jobs, user="ann", usage=None):
    return Machine("m", 0, (), jobs, user, usage)


def test_messages_say_how_a_queue_is_ordered():
    assert policy_of([waiting(1, "bob")], "default") == "fifo"
    assert policy_of([waiting(1, "bob", 0.5)], "default") == "fair share"
    assert policy_of([waiting(1, "bob", -0.25)], "default") == "fair share"
    assert policy_of([waiting(1, "bob", 0.5, "night")], "default") == "unknown"
    assert policy_of([], "default") == "unknown"


def test_the_latest_message_counts_after_a_change_of_the_scheduler():
    assert policy_of([waiting(1, "bob"), waiting(2, "bob", 0.5)], "default") == "fair share"
    assert policy_of([waiting(1, "bob", 0.5), waiting(2, "bob")], "default") == "fifo"


def test_in_a_fifo_queue_all_that_wait_come_first():
    found = order_of(machine(waiting(1, "bob"), waiting(2, "ann"), waiting(3, "cy")), "default")
    assert (found.behind, found.remarks) == (frozenset(), ())


def test_users_of_a_higher_karma_come_later_and_the_own_jobs_first():
    jobs = (waiting(1, "bob", 0.9), waiting(2, "ann", 0.5), waiting(3, "cy", 0.1), waiting(4, "bob", 0.9))
    found = order_of(machine(*jobs), "default")
    assert (found.behind, found.remarks) == ({1, 4}, ())


def test_a_user_without_jobs_comes_by_what_was_used_if_the_weights_fit_the_others():
    """Of 300 s used bob has 200, of 400 asked for 300: 2 x 2/3 + 3/4 = 2.083; for ann it is 0.917, for cy 0."""
    usage = Usage({"ann": (100, 100), "bob": (200, 300)})
    found = order_of(machine(waiting(1, "bob", 2.083), waiting(2, "cy", 0.0), usage=usage), "default")
    assert (found.behind, found.remarks) == ({1}, ())


def test_weights_that_do_not_fit_leave_the_order_open_and_that_is_said():
    usage = Usage({"ann": (100, 100), "bob": (200, 300)})
    found = order_of(machine(waiting(1, "bob", 0.7), usage=usage), "default")
    assert found.behind == frozenset()
    assert "yours is not known: a start may come sooner" in found.remarks[0]


def test_weights_that_cannot_be_checked_are_used_and_that_is_said():
    usage = Usage({"ann": (100, 100), "bob": (200, 300)})
    found = order_of(machine(waiting(1, "cy", 0.0), usage=usage), "default")
    assert found.behind == frozenset()
    assert "0.917" in found.remarks[0]
    assert "could not be checked" in found.remarks[0]


def test_names_that_were_cut_are_found():
    usage = Usage({"annabella-": (100, 100), "bob": (200, 300)}, cut=10)
    assert usage.of("annabella-maria") == (100, 100)


@pytest.mark.parametrize("usage", [None, Usage({"bob": (1, 1)})])
def test_who_asks_must_be_known(usage):
    found = order_of(machine(waiting(1, "bob", 0.7), user="", usage=usage), "default")
    assert found.behind == frozenset()
    assert "the submitting user is not known" in found.remarks[0]


def test_users_of_the_same_karma_come_by_name_and_that_is_said():
    jobs = (waiting(1, "bob", 0.0), waiting(2, "abe", 0.0))
    found = order_of(machine(*jobs, usage=Usage({})), "default")
    assert found.behind == {1}
    assert "users abe, bob have the same karma as you (0.000)" in found.remarks[0]


def test_lower_queues_come_later_and_higher_ones_first():
    jobs = (waiting(1, "bob", queue="admin"), waiting(2, "bob", queue="besteffort"), waiting(3, "bob"))
    assert order_of(machine(*jobs), "default").behind == {2}
    assert order_of(machine(*jobs), "besteffort", policy="fifo").behind == frozenset()
    assert order_of(machine(*jobs), "admin").behind == {2, 3}


def test_a_queue_of_unknown_priority_is_taken_to_come_first_and_that_is_said():
    jobs = (waiting(1, "bob", queue="night"), waiting(2, "bob", queue="besteffort"))
    found = order_of(machine(*jobs), "default")
    assert found.behind == {2}
    assert "the priority of queue night is not known" in found.remarks[0]
    asked = order_of(machine(*jobs), "night")
    assert asked.behind == frozenset()
    assert "queue besteffort" in asked.remarks[0]


def test_priorities_of_the_sites_queues_can_be_said():
    jobs = (waiting(1, "bob", queue="night"), waiting(2, "bob", queue="day"))
    found = order_of(machine(*jobs), "default", priorities={"day": 0, "default": -1, "night": -2})
    assert (found.behind, found.remarks) == ({1}, ())


def test_reservations_and_held_jobs_keep_their_places():
    jobs = (waiting(1, "bob", 0.9, reserved=True), waiting(2, "ann", 0.1))
    assert order_of(machine(*jobs), "default").behind == frozenset()


def test_of_each_user_thirty_are_looked_at():
    mine = tuple(waiting(id, "ann", 0.5) for id in range(30))
    found = order_of(machine(*mine, waiting(99, "bob", 0.1)), "default")
    assert "30 jobs of yours wait in its queue" in found.remarks[-1]
    assert "no planned start at first" in found.remarks[-1]
    assert order_of(machine(*mine[1:]), "default").remarks == ()


def test_usage_is_asked_for_only_where_it_decides():
    assert needs_usage([waiting(1, "bob", 0.5)], "default", "ann")
    assert not needs_usage([waiting(1, "bob", 0.5), waiting(2, "ann", 0.5)], "default", "ann")
    assert not needs_usage([waiting(1, "bob")], "default", "ann")
    assert not needs_usage([], "default", "ann")
