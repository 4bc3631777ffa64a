"""What studies print on the terminal: their progress, and which statements hold."""

import re
import sys
import threading

import pytest

import experiments.framework.console as module
from experiments.framework.claims import Claim
from experiments.framework.console import often_reported, tell, tell_claims, tell_verdict

CLAIM = "KTH: put `a-long-name-1.swf.gz` there: " + "so that 12.5 ± 3.0% of these words need more than one line, " * 4


@pytest.fixture
def terminal(monkeypatch):
    """Standard output is a terminal of this width."""

    def of(columns):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))

    return of


@pytest.mark.parametrize(("columns", "widest"), [(60, 60), (80, 80), (400, 120)])
def test_a_terminal_shows_a_statement_in_lines_of_its_width_below_each_other(terminal, capsys, columns, widest):
    terminal(columns)
    tell_verdict("no verdict", CLAIM)
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("  no verdict: KTH: put ")
    assert others
    assert all(line.startswith(" " * 14) and line[14] != " " for line in others)
    assert widest - 20 < max(map(len, (first, *others))) <= widest


def test_nothing_is_lost_but_the_marks_of_markdown(terminal, capsys):
    terminal(60)
    tell_verdict("yes", CLAIM)
    assert capsys.readouterr().out.split() == ["yes:", *CLAIM.replace("`", "").split()]


def test_names_are_not_broken_however_narrow_the_terminal_is(terminal, capsys):
    terminal(1)
    tell_verdict("yes", CLAIM)
    assert "a-long-name-1.swf.gz" in capsys.readouterr().out


def test_a_statement_without_a_verdict_is_quoted_behind_this_so_that_it_is_no_finding(capsys):
    tell_claims([Claim("The walk is slower", None, "log 0.00%", where="Fig. 1", untested="not resolved")])
    assert capsys.readouterr().out == 'not resolved: Fig. 1: "The walk is slower": log 0.00%\n'


def test_elsewhere_a_statement_is_one_line_to_search_in(capsys):
    tell_verdict("no", CLAIM)
    tell("To see more: `gas --help`.")
    assert capsys.readouterr().out == (f"          no: {CLAIM}\nTo see more: gas --help.\n").replace("`", "")


def test_without_a_terminal_a_line_comes_now_and_then_even_while_nothing_is_done(monkeypatch, capsys):
    seen = [threading.Event() for _ in range(4)]
    threads = threading.active_count()

    def noted(text):
        found = re.fullmatch(r"gas: simulating 4 runs: ([0-9]) done after [0-9]+s", text)
        seen[int(found[1])].set()

    monkeypatch.setattr(module, "note", noted)
    monkeypatch.setattr(module, "_OFTEN", 0.01)
    with often_reported(4) as show:
        assert seen[0].wait(30)
        show(3)
        assert seen[3].wait(30)
    assert threading.active_count() == threads
    assert capsys.readouterr().out == ""


def test_lines_come_at_least_every_quarter_of_a_minute():
    assert module._OFTEN <= 15


def test_a_study_says_how_far_it_is_and_when_it_goes_on_to_its_report(gas, made_logs, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_OFTEN", 0.001)
    found = gas("experiment", "walk", "--traces", made_logs, "--output", tmp_path, "--runs", 4, "--workers", 1)
    assert found.code == 0
    lines = found.err.splitlines()
    assert any(line.startswith("gas: simulating ") for line in lines[: lines.index("gas: writing the report")])


def test_work_that_is_soon_done_says_nothing(capsys):
    with often_reported(4) as show:
        show(4)
    assert capsys.readouterr() == ("", "")


def test_what_goes_wrong_goes_through():
    with pytest.raises(KeyError), often_reported(4):
        raise KeyError("x")
