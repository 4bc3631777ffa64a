"""Set-ups: the choices that the paper leaves open, and which ones a search tries."""

import pytest

from experiments.setups.setups import CHOICES, named, near_set_ups, settings_of, text_of
from gas.errors import BadInput

OTHERS = sum(len(choice.others) for choice in CHOICES)


def test_the_usual_set_up_has_as_neighbours_each_alternative_once():
    found = near_set_ups((), 1)
    assert found[0] == ()
    assert len(found) == len(set(found)) == 1 + OTHERS


def test_pairs_never_change_one_choice_twice():
    pairs = [one for one in near_set_ups((), 2) if len(one) == 2]
    counts = [len(choice.others) for choice in CHOICES]
    assert len(pairs) == (sum(counts) ** 2 - sum(n * n for n in counts)) / 2
    assert all(len(dict(one)) == 2 for one in pairs)


def test_neighbours_of_another_set_up_go_back_to_the_usual_one_too():
    around = named("times=2,static=log")
    found = near_set_ups(around, 1)
    assert found[0] == around
    assert named("static=log") in found
    assert named("static=own,times=2") in found
    assert len(found) == len(set(found)) == 1 + OTHERS


def test_a_set_up_is_written_as_it_is_read():
    for setup in near_set_ups((), 1):
        assert named(text_of(setup)) == setup
    assert text_of(named("times=2,static=log")) == "static=log,times=2"
    assert settings_of(named("times=2"))["times"] == "2"
    assert settings_of(())["times"] == "1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("static=best", "static=best is not known"),
        ("times", "times= is not"),
        ("times=2,times=4", "names a choice twice"),
    ],
)
def test_what_is_not_known_is_refused_with_what_is(text, words):
    with pytest.raises(BadInput, match=words):
        named(text)
