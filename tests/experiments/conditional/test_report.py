"""The report on conditional backfilling, on made-up logs."""

import csv

import pytest


@pytest.mark.thorough
def test_the_report_says_who_waits_longer_and_that_no_promise_was_broken(gas, made_logs, tmp_path):
    done = gas("experiment", "conditional", "--traces", made_logs, "-o", tmp_path, "--workers", 1, "--quick")
    assert done.code == 0, done.err
    text = (tmp_path / "conditional.md").read_text()
    for section in ("Who waits, and how much longer", "Verdicts", "How it was done", "Reproducing this report"):
        assert f"## {section}" in text
    assert "> Not the full study" in text
    assert "0 broken" in done.out
    assert (tmp_path / "conditional-changes.svg").exists()
    with (tmp_path / "conditional-months.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["broken"] for row in rows} == {"0"}
    assert {(row["percent"], row["notice"]) for row in rows} == {("25", "600"), ("25", "3600")}
