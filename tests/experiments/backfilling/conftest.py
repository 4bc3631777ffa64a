"""The quick study of the made-up logs, run once."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study run once, with one worker: its folder, and what it printed."""
    from gas.cli.main import run

    folder, out, err = tmp_path_factory.mktemp("study"), io.StringIO(), io.StringIO()
    arguments = ["--traces", str(made_logs), "--output", str(folder), "--workers", "1"]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "backfilling", "--quick", "--jobs-per-point", "2100", *arguments]) == 0
    return folder, out.getvalue(), err.getvalue()


@pytest.fixture(scope="session")
def done(reported):
    return reported[0]
