"""Progress of long work: a bar on a terminal, otherwise an occasional line."""

import pytest

import gas.cli.progress as module
from gas.cli.progress import progress


def test_without_a_terminal_a_line_is_written_once_in_a_while(monkeypatch, capsys):
    instants = iter([0.0, 10.0, 61.0, 61.0, 70.0, 130.0, 130.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(instants))
    with progress("simulating") as show:
        for share in (0.1, 0.5, 0.6, 0.9):
            show(share)
    told = capsys.readouterr()
    assert told.err.splitlines() == ["gas: simulating: 50%", "gas: simulating: 90%"]
    assert told.out == ""


def test_short_work_says_nothing(capsys):
    with progress("simulating") as show:
        show(1.0)
    assert capsys.readouterr() == ("", "")


def test_what_goes_wrong_goes_through():
    with pytest.raises(KeyError), progress("simulating"):
        raise KeyError("x")
