"""A scheduler without events is polled; if it does not answer, Gas retries for a while."""

import pytest

from gas.agent.polling import Poll
from gas.errors import Infeasible, NotFound, TooMany, Unreachable


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def remarks():
    return []


@pytest.fixture
def poll(clock, remarks):
    return Poll(30.0, remarks.append, clock=clock)


def ask(poll, error=None, *passing):
    with poll.asking(*passing):
        if error is not None:
            raise error


def test_one_that_has_never_answered_is_not_asked_again(poll):
    for error in (Unreachable("away"), TooMany("slowly", 1.0), Infeasible("drained")):
        with pytest.raises(type(error)):
            ask(poll, error, Infeasible)


def test_one_that_has_answered_is_asked_until_patience_is_over(poll, clock):
    ask(poll)
    clock.now = 30.0
    ask(poll, Unreachable("away"))
    clock.now = 30.5
    with pytest.raises(Unreachable):
        ask(poll, Unreachable("away"))


def test_a_silence_is_told_once_and_the_next_one_again(poll, remarks):
    ask(poll)
    for error in (Unreachable("away"), Unreachable("still"), None, TooMany("slowly", 1.0)):
        ask(poll, error)
    assert remarks == ["away; asking again", "slowly; asking again"]


def test_what_passes_is_waited_for_without_end(poll, clock, remarks):
    ask(poll)
    clock.now = 1e6
    ask(poll, Infeasible("drained"), Infeasible)
    assert remarks == ["drained; asking again"]


def test_other_errors_are_not_overlooked(poll):
    ask(poll)
    for error in (NotFound("gone"), Infeasible("drained")):
        with pytest.raises(type(error)):
            ask(poll, error)


def test_an_answer_counts_from_when_it_came(poll, clock):
    poll.heard()
    clock.now = 30.0
    ask(poll, Unreachable("away"))


def test_pauses_grow_to_the_longest_and_begin_anew_at_a_change(poll):
    seen = []
    for changed in (True, False, False, False, False, True):
        poll.lengthen((1.0, 2.0), changed=changed)
        seen.append(poll.pause)
    assert seen == pytest.approx([1.0, 1.3, 1.69, 2.0, 2.0, 1.0])
