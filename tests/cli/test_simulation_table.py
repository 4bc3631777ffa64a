"""The tables of ``gas simulate``: the cells of each result, and the best one of a column."""

import io
from typing import get_args

from gas.cli.simulation_table import EXPLANATION, show_results
from gas.simulation.schedule import Policy

MONTH = {
    "month": "1996-10", "jobs": 12, "load": 0.5, "mean_wait": 10.0, "mean_response": 20.0, "mean_slowdown": 2.0,
    "mean_bounded_slowdown": 2.0, "mean_bounded_slowdown_unclamped": 1.5, "backfilled": 0.25,
}  # fmt: skip


def result(policy="easy", **more):
    """Return a result of `gas.simulation/1`, with the shown values."""
    return {
        "trace": "KTH", "policy": policy, "order": "instant", "overrun": "kill", "processors": 100, "jobs": 1200,
        "skipped": 0, "zero_length": 0, "longer_than_estimate": 0, "parts": [], "months": [], "utilization": 0.7,
        "loss_of_capacity": 0.1, **{key: value for key, value in MONTH.items() if key not in ("month", "jobs", "load")},
    } | more  # fmt: skip


def shown(monkeypatch, *logs, months=False):
    """Return the printed lines."""
    monkeypatch.setenv("COLUMNS", "200")
    out = io.StringIO()
    show_results(logs, months, out)
    return out.getvalue().splitlines()


def row_of(lines, policy):
    """Return the cells of a policy's row."""
    (row,) = (line.split() for line in lines if line.split()[:1] == [policy])
    return row[1:]


def test_the_heading_says_what_was_simulated_how_and_what_was_left_out(monkeypatch):
    assert shown(monkeypatch, [result()])[0] == "KTH: 1,200 jobs, 100 processors; --order instant --overrun kill"
    odd = result(jobs=1, processors=1, skipped=3, zero_length=2, order="event", overrun="extend")
    assert shown(monkeypatch, [odd])[0] == (
        "KTH: 1 job (2 of length 0, not in slowdown), 3 left out, 1 processor; --order event --overrun extend"
    )
    parts = result(parts=["submitted in 1996-10", "Load scaled from 0.7 to 0.8"])
    assert shown(monkeypatch, [parts])[1:3] == ["only jobs submitted in 1996-10", "Load scaled from 0.7 to 0.8"]


def test_figures_are_rounded_for_reading_and_what_is_not_known_is_a_dash(monkeypatch):
    lines = shown(monkeypatch, [result(mean_wait=12345.6, mean_slowdown=None)])
    assert row_of(lines, "easy") == ["12,346", "20", "-", "2.00", "1.50", "25.0%", "70.0%", "10.0%"]


def test_the_best_of_each_column_has_a_star_be_it_the_least_or_the_most(monkeypatch):
    lines = shown(monkeypatch, [result(), result("s3", mean_wait=9.0, utilization=0.6, backfilled=0.5)])
    easy, s3 = row_of(lines, "easy"), row_of(lines, "s3")
    assert (easy[0], s3[0]) == ("10", "9*"), "a shorter wait is better"
    assert (easy[6], s3[6]) == ("70.0%*", "60.0%"), "a higher utilization is better"
    assert (easy[5], s3[5]) == ("25.0%", "50.0%"), "more backfilling is neither"


def test_differences_below_the_digits_that_are_shown_are_none(monkeypatch):
    lines = shown(monkeypatch, [result(mean_wait=10.2), result("s3", mean_wait=9.8)])
    assert not any("*" in line for line in lines)
    lines = shown(monkeypatch, [result(mean_wait=None), result("s3")])
    assert (row_of(lines, "easy")[0], row_of(lines, "s3")[0]) == ("-", "10*")


def test_killed_jobs_are_counted_unless_none_can_be(monkeypatch):
    said = "killed at their estimates; --overrun extend lets them finish"
    assert shown(monkeypatch, [result(longer_than_estimate=300)])[-1] == f"300 of 1,200 jobs (25.0%) {said}"
    assert shown(monkeypatch, [result(longer_than_estimate=1)])[-1].endswith(
        "killed at its estimate; --overrun extend lets it finish"
    )
    for none in (result(), result(longer_than_estimate=9, overrun="extend")):
        assert not any("killed" in line for line in shown(monkeypatch, [none]))


def test_months_have_a_table_of_their_own_in_which_each_is_named_once(monkeypatch):
    both = [result(months=[MONTH]), result("s3", months=[MONTH | {"mean_wait": 5.0}])]
    assert not any("1996-10" in line for line in shown(monkeypatch, both))
    lines = shown(monkeypatch, both, months=True)
    at = next(at for at, line in enumerate(lines) if line.startswith("1996-10"))
    assert lines[at].split()[:5] == ["1996-10", "12", "0.500", "easy", "10"]
    assert lines[at + 1].split()[:2] == ["s3", "5*"]


def test_logs_follow_each_other_with_a_line_between(monkeypatch):
    lines = shown(monkeypatch, [result()], [result(trace="CTC")])
    at = next(at for at, line in enumerate(lines) if line.startswith("CTC: "))
    assert lines[at - 1] == ""


def test_what_a_log_says_moves_no_cursor(monkeypatch):
    assert "\x1b" not in "".join(shown(monkeypatch, [result(trace="\x1b[2J", parts=["a\nb\x1b[2J"])]))


def test_every_policy_and_column_is_explained():
    for policy in get_args(Policy):
        assert f"  {policy} " in EXPLANATION
    for column in ("wait", "slowdown", "utilization", "capacity lost"):
        assert f"  {column} " in EXPLANATION
