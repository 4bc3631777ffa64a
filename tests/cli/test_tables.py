"""Tables fit the terminal without loss, and text does not control the terminal."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.agent.states import describe
from gas.cli.tables import draw_text, many, note, print_json, print_json_line, print_table, say, write_output
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
    assert all(one.isprintable() or one == "\n" for one in out.getvalue())


CONTROL = [
    "\x1b[2J",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\u200e",
    "\u061c",
    "\u200b",
    "\u2028",
    "\ufeff",
    "\ud800",
    "\x85",
    "\r",
    "\U0010f3cf",
]
JOB = {
    "id": 7, "name": "", "user": "ann", "state": "queued", "processors": 4, "walltime": 60, "promise": 0, "start": None,
    "due": None, "finished": None, "exit_status": None, "signal": None, "message": None,
}  # fmt: skip


class Terminal(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self):
        return True

    def text(self):
        return self.buffer.getvalue().decode()


@pytest.mark.parametrize("text", CONTROL)
@pytest.mark.parametrize(
    "write",
    [
        say, note, draw_text, print_json, print_json_line,
        lambda text: print_table(["name", text], [(text, text)]),
        lambda text: say(describe({**JOB, "name": text, "message": text})),
        lambda text: write_output(text.encode(errors="replace"), raw=False),
    ],
)  # fmt: skip
def test_nothing_that_others_named_steers_a_terminal(monkeypatch, text, write):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    write(f"a{text}b" if not isinstance(text, list) else text)
    said = terminal.text().replace("\x1b[1m", "").replace("\x1b[0m", "")  # of titles, which are ours
    assert said
    assert all(one.isprintable() or one == "\n" for one in said), ascii(said)


def test_a_name_does_not_forge_a_line(monkeypatch):
    out = io.StringIO()
    print_table(["job", "name"], [("7", "a\njob 8: completed")], to=out)
    assert len(out.getvalue().splitlines()) == 2
    assert "\n" not in describe({**JOB, "name": "a\njob 8, completed"})


def test_the_output_of_a_job_is_raw_in_a_pipe_and_with_raw(monkeypatch):
    coloured = b"\x1b[31mred\x1b[0m\tand\r\nlines\n"
    terminal, pipe = Terminal(), io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", pipe)
    write_output(coloured, raw=False)
    assert pipe.buffer.getvalue() == coloured
    monkeypatch.setattr("sys.stdout", terminal)
    write_output(coloured, raw=False)
    assert terminal.text() == "?[31mred?[0m\tand\nlines\n"
    write_output(coloured, raw=True)
    assert terminal.buffer.getvalue().endswith(coloured)


def test_colours_of_our_own_pictures_stay(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    draw_text("\x1b[32mgreen\x1b[0m \x1b[2J")
    assert terminal.text() == "\x1b[32mgreen\x1b[0m ?[2J\n"
