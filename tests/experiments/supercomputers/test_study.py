"""``gas experiment supercomputers``: charges and equilibria, and the whole study on made-up logs."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest
from study_files import contents

SHORT = ("--seeds", 1, "--percent", 10, "--months", 1, "--no-other-settings")


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "supercomputers", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.mark.thorough
def test_two_workers_and_shards_give_the_same_bytes(gas, made_logs, tmp_path):
    once, parts = tmp_path / "once", tmp_path / "parts"
    run_once(once, made_logs, *SHORT)
    command = ("experiment", "supercomputers", "--traces", made_logs, "--output", parts, "--workers", 2, *SHORT)
    for part in ("2/2", "1/2"):
        assert gas(*command, "--shard", part).code == 0
        assert not (parts / "supercomputers.md").exists()
    kept = sorted((parts / "runs").iterdir())
    assert gas(*command).code == 0
    assert sorted((parts / "runs").iterdir()) == kept  # nothing was left to compute
    assert contents(parts) == contents(once)


def test_without_two_logs_there_is_nothing_to_study(gas, tmp_path):
    found = gas("experiment", "supercomputers", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "--traces" in found.err
