"""Jobs are cancelled one after the other; one that cannot be cancelled does not keep the others."""

import pytest

from gas.agent.cancelling import Cancelled, NotCancelled, cancel, cancel_each, own
from gas.errors import NotFound


class Held:
    """Jobs in a dictionary of states."""

    name = "held"

    def __init__(self, **states):
        self.states = {int(number[1:]): state for number, state in states.items()}

    def job(self, number):
        if number not in self.states:
            raise NotFound(f"there is no job {number}")
        return {"id": number, "state": self.states[number], "mine": number < 9}

    def jobs(self, ended):
        return [self.job(number) for number in self.states]

    def cancel(self, number):
        if self.states[number] != "completed":
            self.states[number] = "cancelled"
        return self.job(number)


def test_own_jobs_are_those_that_have_not_ended_and_reservations_stand_apart():
    held = Held(j1="queued", j2="running", j3="reserved", j4="completed", j9="queued")
    assert own(held) == ([1, 2], [3])


def test_a_job_that_had_ended_is_said_to_have():
    held = Held(j1="queued", j2="completed")
    assert [cancel(held, number).had_ended for number in (1, 2)] == [False, True]
    assert held.states == {1: "cancelled", 2: "completed"}


def test_each_is_cancelled_and_reported_in_turn():
    held, reported = Held(j1="queued", j3="running"), []
    found = cancel_each(["1", "2", "3"], lambda named: (held, int(named)), reported.append)
    assert found == reported
    assert [type(one) for one in found] == [Cancelled, NotCancelled, Cancelled]
    assert (found[1].named, str(found[1].error)) == ("2", "there is no job 2")
    assert held.states == {1: "cancelled", 3: "cancelled"}


def test_an_error_of_the_program_itself_ends_it():
    def find(named):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cancel_each(["1"], find, print)
