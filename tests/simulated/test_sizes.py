"""Which sizes a machine may have, whatever of what was asked for was answered."""

import pytest

from simulated.sizes import Sizes


@pytest.fixture
def sizes():
    return Sizes(6)


def test_what_is_asked_for_counts_from_then_on_and_what_was_before_until_it_is_answered(sizes):
    asked = sizes.ask(4)
    assert sizes.possible == {6, 4}
    sizes.end(asked, done=True)
    assert sizes.possible == {4}


def test_a_refused_request_has_changed_nothing(sizes):
    sizes.end(sizes.ask(4), done=False)
    assert sizes.possible == {6}


def test_of_requests_that_were_on_their_way_together_either_may_be_the_latest(sizes):
    first, second = sizes.ask(5), sizes.ask(7)
    sizes.end(first, done=True)
    assert sizes.possible == {5, 7}
    sizes.end(second, done=True)
    assert sizes.possible == {5, 7}
    sizes.end(sizes.ask(3), done=True)
    assert sizes.possible == {3}


def test_what_was_not_answered_may_have_been_done_until_something_later_was(sizes):
    sizes.ask(4)
    sizes.service_died()
    assert sizes.possible == {6, 4}
    third = sizes.ask(3)
    sizes.end(third, done=None)
    assert sizes.possible == {6, 4, 3}
    sizes.end(sizes.ask(8), done=True)
    assert sizes.possible == {8}
