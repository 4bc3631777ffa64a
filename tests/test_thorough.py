"""By default a part of the cases and no thorough tests, everything on request."""

from types import SimpleNamespace

import pytest
import thorough


@pytest.fixture(autouse=True)
def by_default(monkeypatch):
    monkeypatch.setattr(thorough, "ALL", False)
    monkeypatch.setattr(thorough, "EACH", False)


@pytest.mark.parametrize(
    ("asked", "few", "many", "made_up"), [("", 1, 34, [10, 4]), ("EACH", 1, 34, [17, 4]), ("ALL", 3, 100, [100, 20])]
)
def test_a_part_is_tried_unless_everything_is(monkeypatch, asked, few, many, made_up):
    if asked:
        monkeypatch.setattr(thorough, asked, True)
    assert [thorough.rounds(3), thorough.rounds(100)] == [few, many]
    assert [thorough.examples(count).max_examples for count in (100, 20)] == made_up


def test_some_values_are_spread_and_hold_the_first(monkeypatch):
    assert thorough.some(range(10), 3) == [0, 3, 6]
    assert thorough.some("ab", 2) == ["a", "b"]
    monkeypatch.setattr(thorough, "ALL", True)
    assert thorough.some(range(10), 3) == list(range(10))


class Item:
    def __init__(self, case, *marks):
        self.nodeid = f"tests/test_x.py::test_x[{case}]" if case else "tests/test_x.py::test_y"
        self.case, self.marks = case, {mark.name: mark for mark in marks}

    def get_closest_marker(self, name):
        return self.marks.get(name)


def chosen(mark, markexpr="not long", *named, more=pytest.mark.pure):
    """Return the selected cases of an ordinary test, which always runs, and of a marked test with ten cases."""
    left_out = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    config = SimpleNamespace(option=SimpleNamespace(markexpr=markexpr), args=[*named], hook=hook)
    items = [Item("", pytest.mark.pure), *(Item(str(case), more, mark) for case in range(10))]
    thorough.Thorough().pytest_collection_modifyitems(config, items)
    assert len(items) + len(left_out) == 11
    return [item.case for item in items[1:]]


def test_thorough_tests_run_only_with_everything_or_when_asked_for(monkeypatch):
    mark = pytest.mark.thorough
    assert chosen(mark, "not long", "tests") == chosen(mark, "not long", "tests/test_y.py") == []
    assert len(chosen(mark, "not long", "tests/test_x.py")) == 10
    assert len(chosen(mark, "thorough")) == len(chosen(mark, "not long", "tests/test_thorough.py::test_x")) == 10
    monkeypatch.setattr(thorough, "ALL", True)
    assert len(chosen(mark)) == 10


def test_long_and_live_tests_are_chosen_by_those_marks_alone():
    for more in (pytest.mark.long, pytest.mark.live):
        assert len(chosen(pytest.mark.thorough, more=more)) == 10


def test_of_a_thorough_test_some_cases_are_tried_always_the_same_with_the_first():
    assert chosen(pytest.mark.thorough(but=1)) == ["0"]
    three = chosen(pytest.mark.thorough(but=3))
    assert len(three) == 3
    assert three[0] == "0"
    assert chosen(pytest.mark.thorough(but=3)) == three
    assert len(chosen(pytest.mark.thorough(but=11))) == 10
    assert chosen(pytest.mark.thorough(but=["4", "7"])) == ["4", "7"]
    with pytest.raises(pytest.UsageError, match="has no case 11"):
        chosen(pytest.mark.thorough(but=["4", "11"]))


def test_where_each_is_tried_a_thorough_test_runs_on_one_case_at_least(monkeypatch):
    monkeypatch.setattr(thorough, "EACH", True)
    assert chosen(pytest.mark.thorough) == chosen(pytest.mark.thorough(but=1)) == ["0"]
    assert chosen(pytest.mark.thorough(but=["4", "7"])) == ["4", "7"]
    assert len(chosen(pytest.mark.thorough(but=9))) == 9
