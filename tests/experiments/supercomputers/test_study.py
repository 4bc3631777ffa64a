"""``gas experiment supercomputers``: charges and equilibria, and the whole study on made-up logs."""

import pytest
from study_files import contents
from study_runs import run_study

SHORT = ("--seeds", 1, "--percent", 10, "--months", 1, "--no-other-settings")


@pytest.mark.thorough
def test_two_workers_and_shards_give_the_same_bytes(gas, made_logs, tmp_path):
    once, parts = tmp_path / "once", tmp_path / "parts"
    run_study("supercomputers", once, made_logs, *SHORT)
    command = ("experiment", "supercomputers", "--traces", made_logs, "--output", parts, "--workers", 2, *SHORT)
    for part in ("2/2", "1/2"):
        assert gas(*command, "--shard", part).code == 0
        assert not (parts / "supercomputers.md").exists()
    kept = sorted((parts / "runs").iterdir())
    assert gas(*command).code == 0
    assert sorted((parts / "runs").iterdir()) == kept  # nothing was left to compute
    assert contents(parts) == contents(once)


@pytest.mark.thorough
def test_a_log_of_ones_own_is_a_machine_among_others(gas, made_logs, tmp_path):
    own = tmp_path / "own.swf.gz"
    own.symlink_to(next(made_logs.glob("KTH-*")))
    command = ("experiment", "supercomputers", "--traces", made_logs, "--log", own, "--log", "CTC", *SHORT)
    found = gas(*command, "--output", tmp_path, "--workers", 1)
    assert found.code == 0, found.err
    assert found.err.count("log: own, ") == 1  # thanked once
    report = (tmp_path / "supercomputers.md").read_text(encoding="utf-8")
    assert "own: 1996-09 has" in report  # which it began near its end
    assert "own 1996-10" in report


def test_without_two_logs_there_is_nothing_to_study(gas, tmp_path):
    found = gas("experiment", "supercomputers", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "--traces" in found.err
