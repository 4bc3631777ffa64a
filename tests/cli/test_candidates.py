"""Tables of candidates: trade-offs first, in 80 columns, and omitted rows are counted."""

import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.cli.candidates import show_impossible, show_trade_offs
from gas.cli.plan import MOST_SHOWN, explain_star, show_best_candidates
from gas.planner import Candidate, Plan, Rejected

NOW = 1_700_000_000


def candidate(processors, time, start=0, scheduler="cluster"):
    return Candidate(scheduler, processors, time + 60, time, NOW + start, "promise")


def plan(*candidates, best=None, rejected=()):
    found = sorted(candidates, key=lambda c: (c.finish, c.processors))
    return Plan("app", "exact", NOW, found[0] if best is None else best, found, list(rejected))


def sizes(table):
    """The processors of each row of the printed tables."""
    return [int(found[1]) for line in table.splitlines() if (found := re.match(r"\W*cluster +(\d+) ", line))]


def test_a_star_is_explained_only_below_rows_that_have_one(capsys, monkeypatch):
    few, many = candidate(1, 100), candidate(2, 100)
    unsure = SimpleNamespace(share=0.5)
    found = SimpleNamespace(
        certain={few: unsure, many: unsure},
        predictions={few: SimpleNamespace(checked=True), many: SimpleNamespace(checked=False)},
    )
    monkeypatch.setattr("gas.cli.plan.predicted", lambda found: found)
    explain_star(found, [few])
    assert capsys.readouterr().out == ""
    explain_star(found, [few, many])
    assert capsys.readouterr().out.startswith("*: not checked yet")


EFFICIENT = [candidate(n, round(360_000 / n + 20 * n)) for n in range(1, 101)]
"""The more processors, the sooner it finishes and the more it costs."""


def test_the_trade_offs_are_those_that_none_beats_in_both(capsys):
    beaten, fastest, cheapest = candidate(6, 5000, start=9000), candidate(8, 3600), candidate(4, 7000)
    show_trade_offs(plan(beaten, fastest, cheapest), everything=False)
    shown = capsys.readouterr().out
    assert sizes(shown) == [8, 4]
    assert "56m40s later, 3% cheaper" in shown
    assert "(more candidates with --all: 1 no better in any respect)" in shown


def test_the_best_is_shown_even_if_one_beats_it(capsys):
    """A tolerance may ask for the fewest processors, which then use more."""
    fastest, fewest = candidate(8, 3600), candidate(7, 4200)
    show_trade_offs(plan(fastest, fewest, best=fewest), everything=False)
    shown = capsys.readouterr().out
    assert sizes(shown) == [8, 7]
    assert "10m00s sooner, 2% cheaper" in shown


def test_of_many_trade_offs_some_between_the_ends_are_shown_and_the_others_counted(capsys):
    show_trade_offs(plan(*EFFICIENT), everything=False)
    shown = capsys.readouterr().out
    assert sizes(shown)[0] == 100
    assert sizes(shown)[-1] == 1
    assert 6 <= len(sizes(shown)) <= MOST_SHOWN
    assert f"(more candidates with --all: {100 - len(sizes(shown))} between these)" in shown
    show_trade_offs(plan(*EFFICIENT), everything=True)
    assert sizes(capsys.readouterr().out) == list(range(100, 0, -1))


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1, max_size=30))
def test_no_candidate_beats_one_of_the_front_and_one_of_the_front_beats_each_other(rows):
    found = plan(*(candidate(*row) for row in rows))
    front = found.undominated
    for one in front:
        assert not any(
            c.finish <= one.finish and c.processor_seconds <= one.processor_seconds and (c.finish, c.processor_seconds)
            != (one.finish, one.processor_seconds) for c in found.candidates
        )  # fmt: skip
    for other in found.candidates:
        assert any(f.finish <= other.finish and f.processor_seconds <= other.processor_seconds for f in front)


@pytest.mark.parametrize("name", ["cluster", "mare-nostrum-5", "a-scheduler-with-a-long-name"])
def test_nothing_is_wider_than_80_columns(capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    late = [candidate(n, 10**7 // n + 500 * n, start=10**6, scheduler=name) for n in (1000, 10_000, 100_000, 900_000)]
    refused = [Rejected(name, 10**6, "its walltime of 92d14h13m20s is above the scheduler's limit of 7d00h")]
    found = plan(*late, candidate(2_000_000, 10**6, start=10**6, scheduler=name), rejected=refused)
    show_trade_offs(found, everything=True)
    show_impossible(found, everything=True)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "..." not in shown
    assert "…" not in shown


def test_the_first_candidates_and_the_best_wherever_it_stands(capsys):
    show_best_candidates(plan(*EFFICIENT, best=EFFICIENT[0]))
    shown = capsys.readouterr().out
    assert sizes(shown) == [*range(100, 100 - MOST_SHOWN + 1, -1), 1]
    assert f"({100 - MOST_SHOWN} more candidates: --explain)" in shown


def test_what_is_impossible_is_counted_where_it_is_not_listed(capsys):
    refused = [Rejected("cluster", n, "the machine has only 4 processors") for n in range(5, 30)]
    show_impossible(plan(candidate(4, 60), rejected=refused), everything=False)
    shown = capsys.readouterr().out
    assert shown.startswith("Impossible (13 more: --all):")
    assert sizes(shown) == list(range(5, 17))
