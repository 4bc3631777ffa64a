"""A test with many cases is one test that tries all of them, and reports which failed and why."""

import pytest
from folded import Folded, cases_of, fold


def of(*marks):
    def test_it(a, b):
        """Compare."""
        if b is None:
            pytest.skip("nothing to compare")
        assert a == b

    for mark in reversed(marks):
        test_it = mark(test_it)
    return test_it


one_by_one = pytest.mark.parametrize
A, B, AB = ("a", [1, 2]), ("b", (1, 2)), ("a, b", [(1, 1), (2, 1)])


def test_cases_are_those_of_pytest():
    assert cases_of(of(one_by_one(*AB))) == [{"a": 1, "b": 1}, {"a": 2, "b": 1}]
    assert cases_of(of(one_by_one(("a", "b"), AB[1], ids=str))) == cases_of(of(one_by_one(*AB)))
    assert cases_of(of(one_by_one("a, b", [pytest.param(3, 4, id="x")]))) == [{"a": 3, "b": 4}]
    both = cases_of(of(one_by_one(*A), one_by_one(*B)))
    assert sorted(tuple(sorted(one.items())) for one in both) == [(("a", a), ("b", b)) for a in (1, 2) for b in (1, 2)]
    assert cases_of(of(one_by_one("a", [(1, 2)]), one_by_one(["b"], [(1,)]))) == [{"a": (1, 2), "b": 1}]


@pytest.mark.parametrize(
    "marks",
    [
        [],
        [one_by_one(*A)],  # b is a fixture
        [one_by_one(*AB), pytest.mark.apart],
        [one_by_one(*AB), pytest.mark.thorough(but=1)],
        [one_by_one(*AB, indirect=True)],
        [one_by_one("a, b", iter(AB[1]))],
        [one_by_one("a, b", [])],
        [one_by_one("a, b", [pytest.param(3, 4, marks=pytest.mark.xfail)])],
    ],
)
def test_any_other_test_is_left_to_pytest(marks):
    assert cases_of(of(*marks)) is None


def test_one_that_fails_is_raised_with_its_case():
    test = of()
    fold(test, [{"a": 1, "b": 1}])()
    with pytest.raises(AssertionError) as failure:
        fold(test, [{"a": 1, "b": 1}, {"a": 2, "b": "x" * 999}, {"a": 2, "b": 2}, {"a": 0, "b": None}])()
    (note,) = failure.value.__notes__
    assert note.startswith("in the case a=2, b='xxx")
    assert len(note) < 250


def test_of_several_each_is_raised():
    test = of()
    with pytest.raises(ExceptionGroup, match="2 of 4 cases") as failures:
        fold(test, [{"a": 1, "b": 2}, {"a": 0, "b": None}, {"a": 3, "b": 3}, {"a": 4, "b": 5}])()
    assert [one.__notes__ for one in failures.value.exceptions] == [["in the case a=1, b=2"], ["in the case a=4, b=5"]]


def test_one_with_a_skipped_case_tries_the_others_and_is_skipped():
    with pytest.raises(pytest.skip.Exception, match="nothing to compare"):
        fold(of(), [{"a": 0, "b": None}, {"a": 1, "b": 1}])()


MODULE = """
import pytest

@pytest.mark.parametrize("case", ["good", "bad", "worse", "fine"])
def test_it(case):
    assert "d" not in case and case != "worse"

class TestMore:
    @pytest.mark.parametrize("case", [1, 2])
    def test_it(self, case):
        pass
"""


def test_pytest_tries_all_as_one_and_each_where_tests_are_named(tmp_path, monkeypatch, capfd):
    file = tmp_path / "test_cases.py"
    file.write_text(MODULE)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)  # it may have options of the cache

    def run(*words):
        options = [
            "-q",
            "-p",
            "no:faulthandler",
            "-p",
            "no:cacheprovider",
            "--import-mode=importlib",
            "-c",
            "/dev/null",
        ]
        pytest.main([*options, *map(str, words)], plugins=[Folded()])
        return capfd.readouterr().out

    shown = run(file)
    assert "1 failed, 2 passed" in shown
    assert [case in shown for case in ("case='good'", "case='bad'", "case='worse'", "case='fine'")] == [
        *[True] * 3,
        False,
    ]
    shown = run(f"{file}::test_it[worse]")
    assert "1 failed" in shown
    assert "passed" not in shown
    assert "3 failed, 1 passed, 2 deselected" in run(file, "-k", "test_it and not TestMore")
