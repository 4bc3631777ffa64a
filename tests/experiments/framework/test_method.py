"""How a study was done: its text, with values in it."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import experiments
from experiments.cli import names
from experiments.framework import method
from experiments.framework.method import method_section


def test_items_are_a_line_each_with_values_in_them(tmp_path, monkeypatch):
    (tmp_path / "method.md").write_text("- One\n  of {count:,} jobs - or more.\n- Two {{x}}.\n")
    monkeypatch.setattr(method, "files", lambda package: tmp_path)
    (bullets,) = method_section("x", count=1000).blocks
    assert bullets.items == ("One of 1,000 jobs - or more.", "Two {x}.")


def test_a_value_that_is_not_given_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "method.md").write_text("- {nothing}\n")
    monkeypatch.setattr(method, "files", lambda package: tmp_path)
    with pytest.raises(KeyError):
        method_section("x")


@pytest.mark.parametrize("name", names())
def test_every_study_can_be_imported_without_drawing(name):
    assert import_module(f"experiments.{name}.study").STUDY.name == name


@pytest.mark.parametrize(
    "text", sorted(Path(experiments.__file__).parent.glob("*/method.md")), ids=lambda path: path.parent.name
)
def test_a_method_has_no_other_markup_than_a_list_and_back_quotes(text):
    assert not re.findall(r"\*|^#|\]\(|^\s+-", text.read_text(encoding="utf-8"), flags=re.MULTILINE)
