import os
import pty
import subprocess
import sys

import pytest

from gas.guide.contents import GROUPS, for_terminal, grouped, pages, title_of


def test_every_page_begins_with_its_title_and_fits_a_terminal():
    assert {"design", "formats", "formulas", "glossary", "operation", "rules", "security"} <= set(pages())
    wide = [
        f"{name}.md, line {number}: {len(line)} columns"
        for name, text in pages().items()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > 120 and not line.startswith("|")
    ]
    assert wide == []
    assert all(text.startswith("# ") for text in pages().values())


def test_every_page_is_in_one_group():
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(pages())


def test_a_page_of_no_group_is_listed_last():
    *_, (group, names) = grouped({**pages(), "unheard-of": "# Title\n"}).items()
    assert (group, names[-1]) == ("Other pages", "unheard-of")


def test_the_guide_lists_its_pages_in_groups_and_shows_one(gas):
    listed = gas("guide").out
    assert all(f"  {name:12} {title_of(text)}" in listed for name, text in pages().items())
    assert listed.startswith("First steps\n") or "first-plan" not in pages()
    assert gas("guide", "security").out.startswith("# ")


def test_the_name_of_a_file_stands_above_it():
    text = 'Save this:\n\n```toml title="app.toml"\nname = "a"\n```\n'
    assert for_terminal(text) == 'Save this:\n\nFile `app.toml`:\n\n```toml\nname = "a"\n```\n'


def test_the_files_of_a_page_are_written_once(gas, tmp_path):
    shown = gas("guide", "first-plan", "--files", tmp_path / "new")
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert {"ocean.toml", "cluster.json"} <= written
    assert len(shown.out.splitlines()) == len(written)
    assert '"gas.availability/1"' in (tmp_path / "new" / "cluster.json").read_text()
    again = gas("guide", "first-plan", "--files", tmp_path / "new")
    assert again.code == 2
    assert "exists already" in again.err


def test_an_unknown_page_is_an_error_that_names_the_nearest(gas):
    assert 'did you mean "security"?' in gas("guide", "securty").err


def on_a_terminal(*words, **environment):
    """Return the output of a command on a terminal of 80 columns."""
    master, slave = pty.openpty()
    surroundings = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **environment}
    command = [sys.executable, "-m", "gas", *words]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL, env=surroundings)
    os.close(slave)
    seen = b""
    while True:
        try:
            seen += os.read(master, 65536)
        except OSError:  # the reader has closed the pipe
            break
    os.close(master)
    assert process.wait() == 0
    return seen.decode()


@pytest.mark.parametrize("surroundings", [{"PAGER": "cat"}, {"PAGER": "no-such-pager", "PATH": ""}])
def test_on_a_terminal_a_page_is_formatted_and_paged(surroundings):
    seen = on_a_terminal("guide", "security", **surroundings)
    assert "\x1b[" in seen
    assert "Parties" in seen
    assert "## Parties" not in seen


def test_leaving_the_pager_at_once_is_no_error():
    assert "Traceback" not in on_a_terminal("guide", "operation", PAGER="true")


def test_plain_on_a_terminal_is_the_page_as_it_is_written():
    assert "## Parties" in on_a_terminal("guide", "security", "--plain")


def test_an_unknown_page_is_a_usage_error_with_the_nearest_one(gas):
    near, far = gas("guide", "gpu"), gas("guide", "zzzz")
    assert (near.code, near.err) == (2, 'gas: there is no page "gpu" in the guide; did you mean "gpus"?\n')
    assert far.code == 2
    assert far.err == 'gas: there is no page "zzzz" in the guide; gas guide lists the pages, gas --help the commands\n'
