"""The report on wrong models: the gain with them, and up to which error there is one."""

import csv

import pytest
from study_files import contents

from experiments.accuracy.beliefs import ERRORS, PLANS


def test_the_report_says_up_to_which_error_gas_gains(reported):
    folder, out, err = reported
    text = (folder / "accuracy.md").read_text()
    for section in (
        "Accuracy of the performance model",
        "Verdicts",
        "Break-even",
        "Gain by error",
        "Users' own sizes: uniform over the sizes that the benchmark accepts",
        "Users' own sizes: the size of the job that is replaced",
        "How it was done",
        "Items of the paper",
        "Reproducing this report",
    ):
        assert f"## {section}" in text
    assert "> Not the full study" in text
    assert "SDSC-SP2-1998" in text  # a log that is not at hand
    assert {path.name for path in folder.glob("*.svg")} == {"accuracy-gain-uniform.svg", "accuracy-gain-own.svg"}
    assert "error 300%: fewer jobs lose with cautious requests" in out
    assert "Traceback" not in out + err


def test_rows_hold_each_way_to_ask_of_each_job(reported):
    with (reported[0] / "accuracy-outcomes.csv").open() as file:
        rows = list(csv.DictReader(file))
    jobs = {(row["opponent"], row["log"], row["month"], row["submit"], row["benchmark"], row["static"]) for row in rows}
    assert len(jobs) >= 2 * 2 * 6
    assert len(rows) % len(PLANS) == 0
    assert {int(row["error"]) for row in rows} == set(ERRORS)
    exact = [row for row in rows if row["error"] == "0"]
    assert {row["killed"] for row in exact} == {"0"}
    assert all(row["turnaround"] == row["static"] for row in exact if row["way"] == "same model")


@pytest.mark.thorough
def test_shards_give_the_same_bytes(gas, made_logs, tmp_path):
    small = ("--runs", 4, "--no-other-terms")
    once, parts = (("experiment", "accuracy", "--traces", made_logs, "-o", tmp_path / name) for name in "ab")
    assert gas(*once, *small, "--workers", 1).code == 0
    assert [gas(*parts, *small, "--shard", f"{i}/2").code for i in (2, 1)] == [0, 0]
    assert not (tmp_path / "b" / "accuracy.md").exists()
    assert gas(*parts, *small).code == 0
    assert contents(tmp_path / "b") == contents(tmp_path / "a")
