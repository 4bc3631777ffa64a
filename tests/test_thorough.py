"""A third by default, everything where it is asked for."""

import pytest
import thorough


@pytest.mark.parametrize(("everything", "few", "many"), [(False, 1, 34), (True, 3, 100)])
def test_a_third_is_tried_unless_everything_is(monkeypatch, everything, few, many):
    monkeypatch.setattr(thorough, "ALL", everything)
    assert [thorough.rounds(3), thorough.rounds(100)] == [few, many]
    assert thorough.examples(100).max_examples == many


def test_some_values_are_spread_and_hold_the_first(monkeypatch):
    monkeypatch.setattr(thorough, "ALL", False)
    assert thorough.some(range(10), 3) == [0, 3, 6]
    assert thorough.some("ab", 2) == ["a", "b"]
    monkeypatch.setattr(thorough, "ALL", True)
    assert thorough.some(range(10), 3) == list(range(10))
