"""Tables that fit the terminal without losing anything, and text that does not steer it."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.cli.tables import many, print_json, print_table
from gas.printable import printable

TITLES = ["name", "place", "num-\nber", "long\ntitle"]
ROWS = [("one-long-name", "somewhere far away", "1", "12,345"), ("two", "here", "22,222", "-")]


def printed(monkeypatch, width, **options):
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    print_table(TITLES, ROWS, left=("name", "place"), whole=("name",), to=out, **options)
    return out.getvalue().splitlines()


def test_titles_are_one_line_where_there_is_room(monkeypatch):
    lines = printed(monkeypatch, 80)
    assert lines[0].split() == ["name", "place", "number", "long", "title"]
    assert len(lines) == 3


def test_titles_are_broken_before_anything_else(monkeypatch):
    wide = len(printed(monkeypatch, 80)[0].rstrip())
    lines = printed(monkeypatch, wide - 1)
    assert [line.split() for line in lines[:2]] == [["num-", "long"], ["name", "place", "ber", "title"]]
    assert max(map(len, lines)) <= wide - 1


@given(st.integers(1, 90))
def test_no_width_loses_a_word(width):
    with pytest.MonkeyPatch.context() as monkeypatch:
        lines = printed(monkeypatch, width)
    words = " ".join(lines).split()
    for row in ROWS:
        for word in " ".join(row).split():
            assert word in words
    assert not any("…" in line for line in lines)
    if width >= len("one-long-name  somewhere"):
        assert max(map(len, lines)) <= width


def test_what_has_no_room_follows_with_the_names_again(monkeypatch):
    lines = printed(monkeypatch, 26)
    assert sum(line.startswith("one-long-name") for line in lines) >= 2
    assert "" in lines


def test_without_a_width_a_row_is_a_line(monkeypatch):
    monkeypatch.delenv("COLUMNS")
    out = io.StringIO()
    print_table(TITLES, ROWS, left=("name", "place"), whole=("name",), to=out)
    assert len(out.getvalue().splitlines()) == 3


def test_one_thing_is_not_called_things():
    assert [many(count, "job") for count in (0, 1, 2, 1200)] == ["0 jobs", "1 job", "2 jobs", "1,200 jobs"]


@given(st.text())
def test_printable_text_moves_no_cursor_and_printable_text_stays(text):
    shown = printable(text)
    assert len(shown) == len(text)
    assert all(one.isprintable() or one == "\n" for one in shown)
    assert all(a == b for a, b in zip(shown, text, strict=True) if b.isprintable() or b == "\n")


@given(st.text(st.characters()))
def test_json_says_what_it_says_and_no_more_to_the_terminal(text):
    with pytest.MonkeyPatch.context() as monkeypatch:
        out = io.StringIO()
        monkeypatch.setattr("sys.stdout", out)
        print_json({"text": text})
    assert json.loads(out.getvalue()) == {"text": text}
    assert not set(out.getvalue()) & {
        chr(code) for code in [*range(9), *range(14, 32), *range(127, 160), 0x202E, 0xD800]
    }
